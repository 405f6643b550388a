"""Read people's own tables: text (CSV and its relatives), Parquet and Excel, columns by name.

What cannot be read is an error that names the line of the file, the column and the value. pandas,
an optional package, is loaded when a table is read; Parquet needs pyarrow as well, Excel openpyxl.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import require
from paralesn.tables.content import Content, load_content
from paralesn.tables.dialect import Dialect, check_widths, find_dialect, records
from paralesn.tables.errors import TableError as TableError
from paralesn.tables.notes import listed
from paralesn.tables.excel import Sheet, read_sheet
from paralesn.tables.numerals import (
    PLAIN, AmbiguousNumberError, NumberFormat, are_numbers, decimal_of, parse_numbers,
)  # fmt: skip
from paralesn.tables.reading import Reading

_SAMPLE = 200  # rows that tell how numbers are written


class TableFile:
    """A file that holds a table; `names` are its columns, `notes` say how it is written.

    Parameters
    ----------
    path : Path
    reading : Reading, optional
        How the file is written. Default: as its content suggests.
    """

    def __init__(self, path: Path, reading: Reading | None = None) -> None:
        self.path, self.reading = path, reading or Reading()
        self._content: Content = load_content(path, self.reading.encoding)
        self.kind, self.notes = self._content.kind, list(self._content.notes)
        self._dialect: Dialect | None = None
        self._sheet: Sheet | None = None
        implied = {",": ".", ".": ","}.get(self.reading.thousands or "")
        self.decimal = self.reading.decimal or implied
        if self.kind == "parquet":
            require("pyarrow", "tables", purpose="reading Parquet")
            from pyarrow import parquet

            schema = parquet.read_schema(io.BytesIO(self._content.data))
            self.names = [str(name) for name in schema.names]
        elif self.kind == "excel":
            self._sheet = read_sheet(self._content.data, path, self.reading.sheet)
            self.names = self._sheet.names
            self.notes += self._sheet.notes
        else:
            self._dialect = self._find_dialect()
            self.names = self._dialect.names
            self.notes += self._dialect.notes()

    def _find_dialect(self) -> Dialect:
        """The layout of a text file; a line of names is looked for where it was, then anywhere."""
        known, data, name = self.reading, self._content.data, self.path.name
        dialect = None
        if known.header is not None:
            try:
                dialect = find_dialect(data, name, known.sep, known.header)
            except TableError:
                dialect = None
        wanted = {*known.targets, *known.exog, *known.by, *([known.time] if known.time else [])}
        if dialect is None or not wanted <= set(dialect.names):
            dialect = find_dialect(data, name, known.sep)
        return dialect

    def as_read(self) -> Reading:
        """How the file was read, as far as that is known without its columns."""
        encoding = self._content.encoding if self.kind == "text" else None
        return Reading(
            sep=self._dialect.sep if self._dialect else None,
            encoding=encoding,
            header=self._dialect.header if self._dialect else None,
            sheet=self._sheet.title if self._sheet else None,
        )

    def location(self, row: int) -> str:
        """The line of a text file, or the row of others, that a row of the table came from."""
        if self._sheet is not None:
            return f"row {self._sheet.frame.index[row]}"
        if self._dialect is None:
            return f"row {row + 1}"
        return f"line {self._lines[row]}"

    @cached_property
    def _lines(self) -> list[int]:
        """The line that each row of the table ends in."""
        assert self._dialect is not None
        return [number for number, _ in records(self._content.data, self._dialect)]

    def frame(self, columns: Sequence[str]) -> Any:
        """The columns named, as a pandas frame."""
        columns = list(columns)
        if self.kind == "parquet":
            from pyarrow import parquet

            # With the metadata, pandas would turn columns that once were an index back into one.
            source = parquet.read_table(io.BytesIO(self._content.data), columns=columns)
            return source.to_pandas(ignore_metadata=True)
        if self._sheet is not None:
            positions = [self.names.index(name) for name in columns]
            frame = self._sheet.frame[positions].reset_index(drop=True)
            return frame.set_axis(columns, axis=1)
        self._check_widths()
        if self.decimal is None and self._sampled_decimal == ",":
            self.decimal = ","
        frame = self._read_csv(columns)
        if self.decimal is None and decimal_of(map(_texts, _text_columns(frame))) == ",":
            # With decimal commas, 1.234 in other columns is no number with three decimals.
            self.decimal = ","
            frame = self._read_csv(columns)
        return frame

    def _check_widths(self) -> None:
        assert self._dialect is not None
        check_widths(self._content.data, self._dialect, self.path.name)

    @cached_property
    def _sampled_decimal(self) -> str | None:
        """The decimal separator in the first rows, of all columns."""
        assert self._dialect is not None
        rows = [row for _, (_, row) in zip(
            range(_SAMPLE), records(self._content.data, self._dialect), strict=False
        )]  # fmt: skip
        return decimal_of(zip(*rows, strict=False))

    def _read_csv(self, columns: list[str]) -> Any:
        import pandas as pd

        assert self._dialect is not None
        names, sep = self.names, self._dialect.sep
        positions = [names.index(name) for name in columns]
        file = io.BytesIO(self._content.data)
        file.seek(self._dialect.start)
        try:
            frame = pd.read_csv(
                file, sep=r"\s+" if sep == " " else sep, header=None, names=range(len(names)),
                usecols=positions, index_col=False, skipinitialspace=True, low_memory=False,
                skip_blank_lines=len(names) > 1, encoding="utf-8", decimal=self.decimal or ".",
                float_precision="round_trip" if self.decimal != "," else None,
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame({position: [] for position in positions})
        except pd.errors.ParserError as error:
            raise TableError(f"{self.path.name} cannot be read: {error}") from error
        return frame.rename(columns=dict(enumerate(names)))[columns]


def _text_columns(frame: Any) -> list[Any]:
    """The columns that are not numbers, dates or truth values."""
    import pandas as pd

    kinds = (pd.api.types.is_numeric_dtype, pd.api.types.is_datetime64_any_dtype)
    return [frame[name] for name in frame.columns if not any(is_(frame[name]) for is_ in kinds)]


def _texts(column: Any) -> list[str | None]:
    """A column as text, None where it is empty."""
    return [None if is_empty else str(value)
            for value, is_empty in zip(column.tolist(), column.isna().tolist(), strict=True)]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """A table as read: `frame` is a pandas frame of the requested columns.

    `formats` and `marks` are filled as columns are read: how numbers are written in columns of
    text, and marks of missing values.
    """

    file: TableFile
    frame: Any
    formats: dict[str, NumberFormat] = field(default_factory=dict)
    marks: dict[str, dict[str, int]] = field(default_factory=dict)

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
        return _texts(self.column(name))

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
    source: Path | TableFile, columns: Sequence[str] | None = None, reading: Reading | None = None
) -> Table:
    """Read the columns named, or all columns whose names are unique."""
    require("pandas", "tables", purpose="reading tables")
    file = source if isinstance(source, TableFile) else TableFile(source, reading)
    names = file.names
    requested = [name for name in names if names.count(name) == 1]
    if columns is not None:
        requested = list(dict.fromkeys(columns))
    check_columns(file.path, names, requested)
    frame = file.frame(requested)
    if not len(frame):
        raise TableError(f"{file.path.name} has a header ({', '.join(names)}) and no rows")
    return Table(file, frame)
