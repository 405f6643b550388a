"""Columns written as CSV: UTF-8, commas, one header line, numbers that read back exactly.

A spreadsheet runs text that begins like a formula. Names of columns, labels and other text that
would be one are written behind an apostrophe (see `escaped`), which readers of this package take
off again. Numbers are written as they are.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from paralesn.files import replacing
from paralesn.tables.formulas import escaped

Columns = Mapping[str, Sequence[Any]]


def write_columns(file: IO[str], columns: Columns) -> None:
    """Write columns of equal length, by name, to an open text file."""
    write_rows(file, [list(columns), *zip(*columns.values(), strict=True)])


def write_rows(file: IO[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of cells to an open text file, the names of columns first."""
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    for row in rows:
        cells = [escaped(cell) if isinstance(cell, str) else cell for cell in row]
        # Python does not quote a carriage return by itself, which readers take for a line end.
        writer = quoted if any(isinstance(cell, str) and "\r" in cell for cell in cells) else plain
        writer.writerow(cells)


def save_columns(path: Path, columns: Columns) -> None:
    """Write columns to a file, completely or not at all."""
    with replacing(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        write_columns(file, columns)
