"""How a table was read: a record to read a newer file of the same kind the same way."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from paralesn.tables.errors import TableError

_THOUSANDS = (",", ".", " ", "'")
_COLUMNS = ("targets", "exog", "by")


@dataclass(frozen=True)
class Reading:
    """How a table is written, and what its columns are; None and () leave it to the file.

    `read_observations` takes one and gives a complete one back as ``observations.reading``, with
    which a newer file is read the same way.

    Attributes
    ----------
    sep : str, optional
        The character between columns; a blank stands for any run of blanks and tabs.
    decimal : "." or ",", optional
    thousands : ",", ".", " " or "'", optional
    encoding : str, optional
        Of a file that is not UTF-8. A file that is, is read as such.
    header : int, optional
        Line with the names of the columns, from 1.
    sheet : str, optional
        Sheet of a workbook. Default: the first.
    time : str, optional
        The time column.
    time_format : str, optional
        How times are written, in the notation of strptime or by a name: ``"day first"``,
        ``"quarters"``, ``"epoch seconds"``, ... (`paralesn.tables.time_column.NOTATIONS`).
    targets, exog, by : tuple of str
        Columns to forecast, extra inputs, and columns that tell series of a long table apart.

    Examples
    --------
    >>> from paralesn.tables.reading import Reading
    >>> reading = Reading(sep=";", decimal=",")
    >>> reading.to_dict()
    {'sep': ';', 'decimal': ','}
    >>> Reading.from_dict(reading.to_dict()) == reading
    True
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: int | None = None
    sheet: str | None = None
    time: str | None = None
    time_format: str | None = None
    targets: tuple[str, ...] = ()
    exog: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n'):
            raise TableError(f"`sep` is {self.sep!r}, expected one character", parameter="sep")
        if self.decimal not in (None, ".", ","):
            raise TableError(f"`decimal` is {self.decimal!r}, expected . or ,", parameter="decimal")
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise TableError(
                f"`thousands` is {self.thousands!r}, expected a comma, point, blank or apostrophe",
                parameter="thousands",
            )
        if self.thousands is not None and self.thousands == self.decimal:
            raise TableError(
                f"`thousands` and `decimal` are both {self.decimal!r}, expected two characters",
                parameter="thousands",
            )

    def to_dict(self) -> dict[str, Any]:
        """What is known, as JSON can hold it."""
        known = {name: value for name, value in asdict(self).items() if value not in (None, ())}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in known.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The record that `to_dict` made; keys of later versions are left out."""
        names = {field.name for field in fields(cls)}
        known: dict[str, Any] = {name: value for name, value in values.items() if name in names}
        return cls(**known | {name: tuple(known[name]) for name in _COLUMNS if name in known})
