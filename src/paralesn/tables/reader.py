"""Read people's own tables: CSV (plain, ``.gz``, ``.xz``) and Parquet, columns by name.

What cannot be read is an error that names the line of the file, the column and the value. pandas,
an optional package, is loaded when a table is read; Parquet needs pyarrow as well.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.files import opened, require

_SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(?:[. ]\d{3})*,\d+\s*")
_COMMA = (
    "a comma is not read as a decimal separator: write {point}, or convert the file once with "
    "pandas.read_csv(file, sep=';', decimal=',').to_csv(new, index=False)"
)


class TableError(ValueError):
    """A table that cannot be used as it is.

    In messages, parameters are marked by backticks, also with a value: `missing='error'`.

    Attributes
    ----------
    parameter : str or None
        The parameter that is wrong, or that decides what to do about the table.
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class Table(NamedTuple):
    """A table as read: `frame` is a pandas frame of the requested columns."""

    path: Path
    frame: Any
    names: list[str]  # of all columns of the file

    def location(self, row: int) -> str:
        """The file and the line, or the row of Parquet, that a row of the frame came from."""
        if is_parquet(self.path):
            return f"{self.path.name}, row {row + 1}"
        return f"{self.path.name}, line {_line_of(self.path, row)}"

    def numbers(self, name: str) -> np.ndarray:
        """A column as floats, NaN where it is empty; text and infinity are refused."""
        import pandas as pd

        column = self.frame[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(float, na_value=np.nan)
        elif pd.api.types.is_datetime64_any_dtype(column):
            raise TableError(f"{self.path.name}: column {name!r} holds dates, expected numbers")
        else:
            values = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
            self._refuse_text(name, np.isnan(values) & column.notna().to_numpy())
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise TableError(
                f"{self.location(row)}: column {name!r} is infinite, expected a number"
            )
        return values

    def _refuse_text(self, name: str, is_text: np.ndarray) -> None:
        """Raise for the first value that is text, with a hint where it has a decimal comma."""
        rows = np.flatnonzero(is_text)
        if not rows.size:
            return
        value = str(self.frame[name].iloc[rows[0]])
        more = f" ({rows.size} such values in this column)" if rows.size > 1 else ""
        hint = ""
        if _DECIMAL_COMMA.fullmatch(value):
            point = value.strip().replace(".", "").replace(" ", "").replace(",", ".")
            hint = "; " + _COMMA.format(point=point)
        raise TableError(
            f"{self.location(int(rows[0]))}: column {name!r} is {value!r}, expected a number"
            f"{more}{hint}"
        )


def is_parquet(path: Path) -> bool:
    """Whether a file is in the Parquet format, whatever its name."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def column_names(path: Path) -> list[str]:
    """Names of the columns of a table."""
    if is_parquet(path):
        require("pyarrow", "tables", purpose="reading Parquet")
        from pyarrow import parquet

        return [str(name) for name in parquet.read_schema(path).names]
    return _header(path).names


def check_columns(
    path: Path, names: Sequence[str], requested: Sequence[str], parameter: str | None = None
) -> None:
    """Raise for a column that the table does not have, or has twice.

    `names` are the table's columns, `parameter` is where the columns were requested.
    """
    for name in requested:
        if name not in names:
            by = "" if parameter is None else f" (`{parameter}`)"
            raise TableError(
                f"{path.name} has no column {name!r}{by}; its columns: {', '.join(names)}",
                parameter=parameter,
            )
        if names.count(name) > 1:
            raise TableError(
                f"{path.name} has {names.count(name)} columns named {name!r}", parameter=parameter
            )


def read_table(path: Path, columns: Sequence[str] | None = None) -> Table:
    """Read the columns named, or all columns whose names are unique."""
    require("pandas", "tables", purpose="reading tables")
    names = column_names(path)
    requested = [name for name in names if names.count(name) == 1]
    if columns is not None:
        requested = list(dict.fromkeys(columns))
    check_columns(path, names, requested)
    frame = _read_parquet(path, requested) if is_parquet(path) else _read_csv(path, requested)
    if not len(frame):
        raise TableError(f"{path.name} has a header ({', '.join(names)}) and no rows")
    return Table(path, frame, names)


def _read_parquet(path: Path, columns: list[str]) -> Any:
    from pyarrow import parquet

    # With the metadata, pandas would turn columns that once were an index back into one.
    return parquet.read_table(path, columns=columns).to_pandas(ignore_metadata=True)


def _read_csv(path: Path, columns: list[str]) -> Any:
    import pandas as pd

    head = _header(path)
    _check_widths(path, head)
    positions = [head.names.index(name) for name in columns]
    with opened(path) as file:
        file.readline()
        try:
            frame = pd.read_csv(
                file, sep=head.separator, header=None, names=range(len(head.names)),
                usecols=positions, index_col=False, skipinitialspace=True, low_memory=False,
                skip_blank_lines=len(head.names) > 1, encoding="utf-8",
                float_precision="round_trip",
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame({position: [] for position in positions})
        except (pd.errors.ParserError, UnicodeDecodeError) as error:
            raise TableError(f"{path.name} cannot be read: {error}") from error
    return frame.rename(columns=dict(enumerate(head.names)))[columns]


class _Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    separator: str


def _header(path: Path) -> _Header:
    """Read the names in the first line, and find what separates them."""
    with opened(path) as file:
        line = file.readline()
    if not line.strip():
        raise TableError(f"{path.name} is empty, or its first line is: expected names of columns")
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise TableError(
            f"{path.name} is neither a text file in UTF-8 nor Parquet: export it as CSV"
        )
    separator = max(_SEPARATORS, key=text.count)
    names = [
        name.strip()
        for name in next(csv.reader([text], delimiter=separator, skipinitialspace=True))
    ]
    if all(_is_number(name) for name in names):
        raise TableError(
            f"{path.name} begins with numbers ({text[:40]}), expected a line with the names of the "
            "columns"
        )
    return _Header(names, separator)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_widths(path: Path, head: _Header) -> None:
    """Refuse lines with more or fewer values than the header has names.

    pandas would drop values beyond the header, and fill short lines up with NaN.
    """
    count, separator = len(head.names) - 1, head.separator.encode()
    with opened(path) as file:
        file.readline()
        for number, line in enumerate(file, 2):
            if b'"' in line:
                break  # separators may be inside quotes
            if line.count(separator) != count and line.strip():
                _refuse_width(path, head, number, line.count(separator) + 1)
        else:
            return
    for number, record in _records(path, head):
        if len(record) != len(head.names):
            _refuse_width(path, head, number, len(record))


def _refuse_width(path: Path, head: _Header, number: int, width: int) -> None:
    """Raise for a line of `width` values."""
    hint = ""
    if head.separator == "," and width > len(head.names):
        hint = "; if numbers are written like 5,82: " + _COMMA.format(point="5.82")
    names = f"{len(head.names)} column{'s' if len(head.names) > 1 else ''}"
    raise TableError(
        f"{path.name}, line {number} has {width} values where the header names {names}{hint}"
    )


def _records(path: Path, head: _Header) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as Python's csv module reads them, with the number of the line each ends in."""
    with opened(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        rows = csv.reader(text, delimiter=head.separator, skipinitialspace=True)
        next(rows)
        for record in rows:
            if record or len(head.names) == 1:
                yield rows.line_num, record or [""]


def _line_of(path: Path, row: int) -> int:
    """Number of the line that a row of the table is in."""
    for count, (number, _) in enumerate(_records(path, _header(path))):
        if count == row:
            return number
    return row + 2
