"""A file that holds a table: its columns as pandas reads them, and where its rows are."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from paralesn.files import require
from paralesn.tables.content import load_content
from paralesn.tables.dialect import Dialect, check_widths, find_dialect, records, rows_of
from paralesn.tables.errors import TableError
from paralesn.tables.excel import Sheet, read_sheet
from paralesn.tables.formulas import unescaped
from paralesn.tables.notes import listed
from paralesn.tables.numerals import decimal_of
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
        self._content = load_content(path, self.reading.encoding)
        self.kind, self.notes = self._content.kind, list(self._content.notes)
        self._dialect: Dialect | None = None
        self._sheet: Sheet | None = None
        implied = {",": ".", ".": ","}.get(self.reading.thousands or "")
        self.decimal = self.reading.decimal or implied
        if self.kind == "parquet":
            require("pyarrow", "tables", purpose="reading Parquet")
            with self._parquet() as (file, parquet):
                self.names = [str(name) for name in parquet.read_schema(file).names]
        elif self.kind == "excel":
            self._sheet = read_sheet(self._content.data, path, self.reading.sheet)
            self.names = self._sheet.names
            self.notes += self._sheet.notes
        else:
            self._dialect = self._find_dialect()
            self.names = self._dialect.names
            self.notes += self._dialect.notes()
            plain = unescaped(self.names)
            marked = [name for name, own in zip(plain, self.names, strict=True) if name != own]
            if marked:
                self.names = plain
                self.notes.append(
                    "apostrophes that keep spreadsheets from running names are left out: "
                    f"{listed([repr(name) for name in marked], 5)}"
                )

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
        if dialect is None or not wanted <= {*dialect.names, *unescaped(dialect.names)}:
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
        return [number for number, _ in records(self._content.data, self._dialect, self.path.name)]

    def frame(self, columns: Sequence[str], text: Sequence[str] = ()) -> Any:
        """The columns named, as a pandas frame; of a text file, those of `text` as they stand."""
        columns = list(columns)
        if self.kind == "parquet":
            with self._parquet() as (file, parquet):
                # With the metadata, pandas would turn columns that were an index back into one.
                return parquet.read_table(file, columns=columns).to_pandas(ignore_metadata=True)
        if self._sheet is not None:
            positions = [self.names.index(name) for name in columns]
            frame = self._sheet.frame[positions].reset_index(drop=True)
            return frame.set_axis(columns, axis=1)
        self._check_widths()
        if self.decimal is None and self._sampled_decimal == ",":
            self.decimal = ","
        frame = self._read_csv(columns, text)
        if self.decimal is None and decimal_of(map(texts_of, _text_columns(frame))) == ",":
            # With decimal commas, 1.234 in other columns is no number with three decimals.
            self.decimal = ","
            frame = self._read_csv(columns, text)
        return frame

    @contextmanager
    def _parquet(self) -> Iterator[tuple[io.BytesIO, Any]]:
        """The content and the package that reads it, whose errors name the file."""
        from pyarrow import parquet

        try:
            yield io.BytesIO(self._content.data), parquet
        except Exception as error:  # of many kinds, from Thrift, Arrow and pandas
            raise TableError(f"{self.path.name} is damaged: {error}") from error

    def _check_widths(self) -> None:
        assert self._dialect is not None
        check_widths(self._content.data, self._dialect, self.path.name)

    @cached_property
    def _sampled_decimal(self) -> str | None:
        """The decimal separator in the first rows, of all columns."""
        assert self._dialect is not None
        rows = [row for _, (_, row) in zip(
            range(_SAMPLE), records(self._content.data, self._dialect, self.path.name), strict=False
        )]  # fmt: skip
        return decimal_of(zip(*rows, strict=False))

    def _read_csv(self, columns: list[str], text: Sequence[str]) -> Any:
        import pandas as pd

        assert self._dialect is not None
        names, sep = self.names, self._dialect.sep
        positions = [names.index(name) for name in columns]
        kinds = {names.index(name): "str" for name in text if name in columns}
        file = rows_of(self._content.data, self._dialect)
        try:
            frame = pd.read_csv(
                file, sep=r"\s+" if sep == " " else sep, header=None, names=range(len(names)),
                usecols=positions, index_col=False, skipinitialspace=True, low_memory=False,
                skip_blank_lines=len(names) > 1, encoding="utf-8", decimal=self.decimal or ".",
                float_precision="round_trip", dtype=kinds,
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


def texts_of(column: Any) -> list[str | None]:
    """A column as text, None where it is empty."""
    pairs = zip(column.tolist(), column.isna().tolist(), strict=True)
    return [None if is_empty else str(value) for value, is_empty in pairs]
