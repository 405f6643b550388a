"""Read people's own tables: text (CSV and its relatives), Parquet and Excel, columns by name.

What cannot be read is an error that names the line of the file, the column and the value. pandas,
an optional package, is loaded when a table is read; Parquet needs pyarrow as well, Excel openpyxl.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import require
from paralesn.tables.errors import TableError as TableError
from paralesn.tables.formulas import unescaped
from paralesn.tables.labels import as_names
from paralesn.tables.notes import listed
from paralesn.tables.numerals import (
    PLAIN,
    AmbiguousNumberError,
    NumberFormat,
    are_numbers,
    parse_numbers,
)  # fmt: skip
from paralesn.tables.reading import Reading
from paralesn.tables.table_file import TableFile, texts_of


@dataclass(frozen=True, eq=False)
class Table:
    """A table as read: `frame` is a pandas frame of the requested columns.

    `formats`, `marks` and `units` are filled as columns are read: how numbers are written in
    columns of text, marks of missing values, and signs such as % that numbers have.
    """

    file: TableFile
    frame: Any
    formats: dict[str, NumberFormat] = field(default_factory=dict)
    marks: dict[str, dict[str, int]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def names(self) -> list[str]:
        """Names of all columns of the file."""
        return self.file.names

    def location(self, row: int) -> str:
        """The file and the line, or the row of Parquet and Excel, that a row came from."""
        return f"{self.path.name}, {self.file.location(row)}"

    def column(self, name: str) -> Any:
        """A column, also one that was not requested."""
        return self.frame[name] if name in self.frame else self.file.frame([name])[name]

    def texts(self, name: str) -> list[str | None]:
        """A column as text, None where it is empty."""
        return texts_of(self.column(name))

    def names_in(self, name: str) -> Any:
        """A column of names or labels as an array of text without blanks at the ends.

        Names are text as it came; where all are whole numbers, 1 and 1.0 are the same one. Empty
        ones are None.
        """
        texts = [None if text is None else text.strip() or None for text in self.texts(name)]
        known = list(dict.fromkeys(text for text in texts if text is not None))
        plain = unescaped(known) if self.file.kind == "text" else known
        meant = dict(zip(known, as_names(plain), strict=True))
        return np.array([None if text is None else meant[text] for text in texts], object)

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers, in any notation."""
        import pandas as pd

        column = self.column(name)
        if pd.api.types.is_datetime64_any_dtype(column):
            return False
        return pd.api.types.is_numeric_dtype(column) or are_numbers(self.texts(name))

    def numbers(self, name: str) -> np.ndarray:
        """A column as floats, NaN where it is empty; text and infinity are refused."""
        import pandas as pd

        column = self.column(name)
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(float, na_value=np.nan)
            if self.file.decimal == ",":
                self.formats[name] = NumberFormat(",", "")
            elif (values[np.isfinite(values)] % 1).any():
                self.formats[name] = PLAIN
        elif pd.api.types.is_datetime64_any_dtype(column):
            raise TableError(f"{self.path.name}: column {name!r} holds dates, expected numbers")
        else:
            values = self._numbers_in_text(name)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise TableError(
                f"{self.location(row)}: column {name!r} is infinite, expected a number"
            )
        return values

    def _numbers_in_text(self, name: str) -> np.ndarray:
        """Numbers of a column of text."""
        known, texts = self.file.reading, self.texts(name)
        try:
            numerals = parse_numbers(texts, known.decimal, known.thousands, self.file.decimal)
        except AmbiguousNumberError as error:
            row = next(k for k, text in enumerate(texts) if text and text.strip() == error.text)
            readings = " or ".join(
                f"{one.value(error.text):.12g} (`thousands={one.thousands!r}`)" if one.thousands
                else f"{one.value(error.text):.12g} (`decimal={one.decimal!r}`)"
                for one in error.formats
            )  # fmt: skip
            raise TableError(
                f"{self.location(row)}: column {name!r} is {error.text!r}, which may be {readings}",
                parameter="decimal",
            ) from None
        self._refuse_text(name, numerals.is_wrong)
        self.formats[name] = numerals.format
        if numerals.marks:
            self.marks[name] = numerals.marks
        if numerals.unit:
            self.units[name] = numerals.unit
        return numerals.values

    def _refuse_text(self, name: str, is_text: np.ndarray) -> None:
        """Raise for the first value that is no number."""
        rows = np.flatnonzero(is_text)
        if rows.size:
            value = str(self.column(name).iloc[rows[0]])
            more = f" ({rows.size} such values in this column)" if rows.size > 1 else ""
            raise TableError(
                f"{self.location(int(rows[0]))}: column {name!r} is {value!r}, expected a number"
                f"{more}"
            )

    def number_notes(self) -> list[str]:
        """What is to be said about how numbers are written."""
        notes: dict[str, list[str]] = {}
        for name, format in self.formats.items():
            if format.words():
                notes.setdefault(f"numbers have {format.words()}", []).append(name)
        for name, unit in self.units.items():
            notes.setdefault(f"the sign {unit!r} of numbers is left out", []).append(name)
        for name, marks in self.marks.items():
            for mark, count in marks.items():
                times = "once" if count == 1 else f"{count} times"
                notes.setdefault(f"{mark!r} ({times}) is taken as missing", []).append(name)
        return [f"{words}: {listed(names, 5)}" for words, names in notes.items()]


def column_names(path: Path, reading: Reading | None = None) -> list[str]:
    """Names of the columns of a table."""
    return TableFile(path, reading).names


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


def read_table(
    source: Path | TableFile,
    columns: Sequence[str] | None = None,
    reading: Reading | None = None,
    text: Sequence[str] = (),
) -> Table:
    """Read the columns named, or all columns whose names are unique; those of `text` as text."""
    require("pandas", "tables", purpose="reading tables")
    file = source if isinstance(source, TableFile) else TableFile(source, reading)
    names = file.names
    requested = [name for name in names if names.count(name) == 1]
    if columns is not None:
        requested = list(dict.fromkeys(columns))
    check_columns(file.path, names, requested)
    frame = file.frame(requested, text)
    if not len(frame):
        raise TableError(f"{file.path.name} has a header ({', '.join(names)}) and no rows")
    return Table(file, frame)
