"""Columns written as CSV: UTF-8, commas, one header line, numbers that read back exactly."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from paralesn.files import replacing

Columns = Mapping[str, Sequence[Any]]


def write_columns(file: IO[str], columns: Columns) -> None:
    """Write columns of equal length, by name, to an open text file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def save_columns(path: Path, columns: Columns) -> None:
    """Write columns to a file, completely or not at all."""
    with replacing(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        write_columns(file, columns)
