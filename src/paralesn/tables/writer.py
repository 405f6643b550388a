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
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        writer.writerow([escaped(cell) if isinstance(cell, str) else cell for cell in row])


def save_columns(path: Path, columns: Columns) -> None:
    """Write columns to a file, completely or not at all."""
    with replacing(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        write_columns(file, columns)
