"""Read series to classify: UCR's ``.tsv``, aeon's ``.ts``, or a long table.

A long table (CSV, Excel or Parquet) has a row for every time step of every case: which case, when,
one value for each channel and, where it is known, the label of the case.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paralesn.compressed import opened
from paralesn.files import DamagedFileError, plain_name
from paralesn.tables.cleaning import check_choice
from paralesn.tables.errors import TableError
from paralesn.tables.formats import Cases, Content, SeriesArrays, parse_ts, parse_tsv, stacked
from paralesn.tables.labels import whole_number
from paralesn.tables.notes import counted, listed
from paralesn.tables.reader import Table, check_columns, read_table
from paralesn.tables.reading import Reading
from paralesn.tables.table_file import TableFile
from paralesn.tables.time_column import read_times


@dataclass(frozen=True)
class CaseColumns:
    """Names of the columns of a long table."""

    case: str = "case"
    time: str = "time"
    values: tuple[str, ...] = ("value",)
    label: str = "label"


class LabelledCases(NamedTuple):
    """Series to classify.

    Attributes
    ----------
    series : array (cases, time, channels), or a list of (time, channels) where lengths differ
    names : list of str
        What the cases are called: their names in a long table, else their numbers from 1.
    labels : list of str or None
    is_target : bool
        Whether the file declares labels to be numbers, not classes.
    columns : CaseColumns or None
        Names of the columns of a long table, and
    reading : Reading or None
        how it was written; None for other files.
    notes : tuple of str
        What was done to the file.
    """

    series: SeriesArrays
    names: list[str]
    labels: list[str] | None
    is_target: bool = False
    columns: CaseColumns | None = None
    reading: Reading | None = None
    notes: tuple[str, ...] = ()


def read_cases(
    path: Path,
    columns: CaseColumns | None = None,
    missing: str = "error",
    reading: Reading | None = None,
) -> LabelledCases:
    """Read series to classify; the suffix tells UCR's and aeon's files from long tables.

    Parameters
    ----------
    path : Path
    columns : CaseColumns, optional
        Names of the columns of a long table.
    missing : "error" or "interpolate"
        What to do about missing values inside series. "keep", which is for forecasts, refuses them
        as well.
    reading : Reading, optional
        How a long table is written. Default: as its content suggests.
    """
    check_choice("missing", missing)
    name = plain_name(path)
    if name.endswith((".tsv", ".ts")):
        cases = _read_archive(path, parse_tsv if name.endswith(".tsv") else parse_ts)
    else:
        cases = _read_long(path, columns or CaseColumns(), reading or Reading())
    return _fill_missing(cases, path, missing)


def _read_archive(path: Path, parse: Callable[[Content, str], Cases]) -> LabelledCases:
    """Cases of a file in a format of the archives."""
    try:
        with opened(path) as file:
            series, labels, is_target = parse(file, path.name)
    except (DamagedFileError, ValueError) as error:
        raise TableError(str(error)) from error
    names = [str(number) for number in range(1, len(labels) + 1)]
    return LabelledCases(series, names, labels, is_target)


def _read_long(path: Path, columns: CaseColumns, reading: Reading) -> LabelledCases:
    """Cases of a long table, in the order in which they first appear."""
    file = _opened_table(path, columns, reading)
    label = [columns.label] if columns.label in file.names else []
    used = [columns.case, columns.time, *columns.values, *label]
    table = read_table(file, used, text=[columns.case, *label])
    values = np.column_stack([table.numbers(name) for name in columns.values])
    times = read_times(table, columns.time, reading.time_format)
    cases, first_rows, codes = _codes(table, columns.case)
    order = np.lexsort((times.values, codes))
    when, sorted_codes = times.values[order], codes[order]
    is_repeated = (sorted_codes[1:] == sorted_codes[:-1]) & (when[1:] == when[:-1])
    if is_repeated.any():
        row = int(order[1:][is_repeated][0])
        raise TableError(f"{table.location(row)}: case {cases[codes[row]]!r} has this time already")
    starts = np.flatnonzero(np.diff(sorted_codes)) + 1
    series = stacked(np.split(values[order], starts))
    labels = _labels(table, columns.label, codes, first_rows) if label else None
    unused = [repr(name) for name in file.names if name not in used]
    notes = [*file.notes, *times.notes, *table.number_notes()]
    if unused:
        notes.append(f"{'column' if len(unused) == 1 else 'columns'} not used: {listed(unused)}")
    if not label:
        notes.append(f"no column {columns.label!r} (`label`): labels are not known")
    as_read = replace(
        file.as_read(), time=columns.time, time_format=times.format, targets=columns.values,
        by=(columns.case,), decimal=reading.decimal or file.decimal, thousands=reading.thousands,
    )  # fmt: skip
    return LabelledCases(series, cases, labels, False, columns, as_read, tuple(notes))


def _opened_table(path: Path, columns: CaseColumns, reading: Reading) -> TableFile:
    """The file, checked to have the columns, each in one role."""
    roles = {
        "case": [columns.case], "time": [columns.time], "values": list(columns.values),
        "label": [columns.label],
    }  # fmt: skip
    every = [name for names in roles.values() for name in names]
    twice = [name for name in every if every.count(name) > 1]
    if twice:
        marked = ", ".join(f"`{role}`" for role in roles)
        raise TableError(f"column {twice[0]!r} is given twice among {marked}", parameter="values")
    wanted = replace(
        reading, exog=(), targets=columns.values, by=(columns.case,), time=columns.time
    )
    file = TableFile(path, wanted)
    for role in ("case", "time", "values"):
        check_columns(path, file.names, roles[role], role)
    if columns.label in file.names:
        check_columns(path, file.names, [columns.label], "label")
    return file


def _codes(table: Table, name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the cases as they first appear, the first row of each, and the case of each row."""
    import pandas as pd

    codes, names = pd.factorize(table.names_in(name))
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise TableError(f"{table.location(row)}: the case ({name!r}) is missing")
    _, first_rows = np.unique(codes, return_index=True)
    return [str(case) for case in names], first_rows, np.asarray(codes)


def _labels(table: Table, name: str, codes: np.ndarray, first_rows: np.ndarray) -> list[str] | None:
    """The label of each case, which must be the same in all its rows; None without any label."""
    import pandas as pd

    label_codes, labels = pd.factorize(table.names_in(name))
    if (label_codes < 0).all():
        return None
    differs = (label_codes != label_codes[first_rows][codes]) | (label_codes < 0)
    if differs.any():
        row = int(np.flatnonzero(differs)[0])
        got = "missing" if label_codes[row] < 0 else f"{str(labels[label_codes[row]])!r}"
        expected = "one label for all rows of a case"
        raise TableError(
            f"{table.location(row)}: the label ({name!r}) is {got}, expected {expected}"
        )
    return [str(labels[code]) for code in label_codes[first_rows]]


def _fill_missing(cases: LabelledCases, path: Path, missing: str) -> LabelledCases:
    """Refuse or interpolate missing values inside series."""
    incomplete = [b for b, values in enumerate(cases.series) if not np.isfinite(values).all()]
    if not incomplete:
        return cases
    if missing != "interpolate":
        raise TableError(
            f"{path.name}: {len(incomplete)} of {len(cases.series)} cases have missing or infinite "
            f"values, the first being case {cases.names[incomplete[0]]}; "
            "`missing='interpolate'` fills them linearly",
            parameter="missing",
        )
    series = [np.array(values) for values in cases.series]
    count = sum(int((~np.isfinite(series[b])).sum()) for b in incomplete)
    for b in incomplete:
        for channel in series[b].T:
            present = np.flatnonzero(np.isfinite(channel))
            if not present.size:
                raise TableError(f"{path.name}: case {cases.names[b]} has a channel without values")
            channel[:] = np.interp(np.arange(channel.size), present, channel[present])
    note = f"{counted(count, 'value')} of {counted(len(incomplete), 'case')} missing: interpolated"
    return cases._replace(series=stacked(series), notes=(*cases.notes, note))


def as_classes(labels: list[str], classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; labels that are no class stay text.

    A label is the class that has its text, or else the only one that is the same whole number.
    """
    known = {str(label): label for label in classes.tolist()}
    whole = [whole_number(text) for text in known]
    numbers = {
        number: label for number, label in zip(whole, known.values(), strict=True)
        if number is not None and whole.count(number) == 1
    }  # fmt: skip
    converted = []
    for label in labels:
        number = whole_number(label)
        same = label if number is None else numbers.get(number, label)
        converted.append(known.get(label, same))
    return np.array(converted, dtype=object)
