"""Tables that people bring: CSV (plain, ``.gz``, ``.xz``) and Parquet, columns by name.

What cannot be read is an error that says where: the line of the file, the column and the value.
pandas, an extra, is loaded when a table is read; Parquet needs pyarrow, too.
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
    """A table that cannot be used as it is."""


class Table(NamedTuple):
    """A table as read: `frame` is a pandas frame of the columns that were asked for."""

    path: Path
    frame: Any
    names: list[str]  # of all columns of the file

    def place(self, row: int) -> str:
        """Where a row is to be found in the file."""
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
            raise TableError(f"{self.place(row)}: column {name!r} is infinite, expected a number")
        return values

    def _refuse_text(self, name: str, is_text: np.ndarray) -> None:
        found = np.flatnonzero(is_text)
        if not found.size:
            return
        value = str(self.frame[name].iloc[found[0]])
        more = f" ({found.size} such values in this column)" if found.size > 1 else ""
        hint = ""
        if _DECIMAL_COMMA.fullmatch(value):
            point = value.strip().replace(".", "").replace(" ", "").replace(",", ".")
            hint = "; " + _COMMA.format(point=point)
        raise TableError(
            f"{self.place(int(found[0]))}: column {name!r} is {value!r}, expected a number"
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


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str], option: str) -> None:
    """Raise for a column that is not there, naming those that are."""
    for name in wanted:
        if name not in names:
            there = ", ".join(names)
            raise TableError(f"{path.name} has no column {name!r} ({option}); its columns: {there}")
        if names.count(name) > 1:
            raise TableError(f"{path.name} has {names.count(name)} columns named {name!r}")


def read_table(path: Path, columns: Sequence[str] | None = None) -> Table:
    """Read a table: the columns named, which must be there, or all whose names are their own."""
    require("pandas", "tables", purpose="reading tables")
    names = column_names(path)
    wanted = [name for name in names if names.count(name) == 1]
    if columns is not None:
        wanted = list(dict.fromkeys(columns))
    check_columns(path, names, wanted, "asked for")
    frame = _read_parquet(path, wanted) if is_parquet(path) else _read_csv(path, wanted)
    if not len(frame):
        raise TableError(f"{path.name} has a header ({', '.join(names)}) and no rows")
    return Table(path, frame, names)


def _read_parquet(path: Path, wanted: list[str]) -> Any:
    from pyarrow import parquet

    # pandas would make an index of some columns, as whoever wrote the file had it.
    return parquet.read_table(path, columns=wanted).to_pandas(ignore_metadata=True)


def _read_csv(path: Path, wanted: list[str]) -> Any:
    import pandas as pd

    head = _header(path)
    _check_widths(path, head)
    places = [head.names.index(name) for name in wanted]
    with opened(path) as file:
        file.readline()
        try:
            frame = pd.read_csv(
                file, sep=head.separator, header=None, names=range(len(head.names)),
                usecols=places, index_col=False, skipinitialspace=True, low_memory=False,
                skip_blank_lines=len(head.names) > 1, encoding="utf-8",
                float_precision="round_trip",
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame({place: [] for place in places})
        except (pd.errors.ParserError, UnicodeDecodeError) as error:
            raise TableError(f"{path.name} cannot be read: {error}") from error
    return frame.rename(columns=dict(enumerate(head.names)))[wanted]


class _Header(NamedTuple):
    names: list[str]
    separator: str


def _header(path: Path) -> _Header:
    """Names in the first line, and what separates them."""
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

    pandas would drop what is too much and fill up what is too little.
    """
    marks, mark = len(head.names) - 1, head.separator.encode()
    with opened(path) as file:
        file.readline()
        for number, line in enumerate(file, 2):
            if b'"' in line:
                break  # separators may be inside quotes
            if line.count(mark) != marks and line.strip():
                _refuse_width(path, head, number, line.count(mark) + 1)
        else:
            return
    for number, record in _records(path, head):
        if len(record) != len(head.names):
            _refuse_width(path, head, number, len(record))


def _refuse_width(path: Path, head: _Header, number: int, width: int) -> None:
    hint = ""
    if head.separator == "," and width > len(head.names):
        hint = "; if numbers are written like 5,82: " + _COMMA.format(point="5.82")
    names = f"{len(head.names)} column{'s' if len(head.names) > 1 else ''}"
    raise TableError(
        f"{path.name}, line {number} has {width} values where the header names {names}{hint}"
    )


def _records(path: Path, head: _Header) -> Iterator[tuple[int, list[str]]]:
    """Rows as Python's csv module reads them, with the number of the line they end in."""
    with opened(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        rows = csv.reader(text, delimiter=head.separator, skipinitialspace=True)
        next(rows)
        for record in rows:
            if record or len(head.names) == 1:
                yield rows.line_num, record or [""]


def _line_of(path: Path, row: int) -> int:
    """Number of the line a row of the table is in."""
    for count, (number, _) in enumerate(_records(path, _header(path))):
        if count == row:
            return number
    return row + 2
