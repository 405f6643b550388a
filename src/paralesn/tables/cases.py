"""Read series to classify: UCR's ``.tsv``, aeon's ``.ts``, or a long table.

A long table (CSV or Parquet) has a row for every time step of every case: which case, when, one
value for each channel and, where it is known, the label of the case.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paralesn.files import DamagedFileError, opened, plain_name
from paralesn.tables.cleaning import check_choice
from paralesn.tables.formats import Cases, SeriesArrays, parse_ts, parse_tsv, stacked
from paralesn.tables.reader import Table, TableError, check_columns, column_names, read_table
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
    """

    series: SeriesArrays
    names: list[str]
    labels: list[str] | None


def read_cases(
    path: Path, columns: CaseColumns | None = None, missing: str = "error"
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
    """
    check_choice("missing", missing)
    name = plain_name(path)
    if name.endswith((".tsv", ".ts")):
        cases = _read_archive(path, parse_tsv if name.endswith(".tsv") else parse_ts)
    else:
        cases = _read_long(path, columns or CaseColumns())
    return _fill_missing(cases, path, missing)


def _read_archive(path: Path, parse: Callable[[bytes, str], Cases]) -> LabelledCases:
    """Cases of a file in a format of the archives."""
    with opened(path) as file:
        content = file.read()
    try:
        series, labels = parse(content, path.name)
    except (DamagedFileError, ValueError) as error:
        raise TableError(str(error)) from error
    return LabelledCases(series, [str(number) for number in range(1, len(labels) + 1)], labels)


def _read_long(path: Path, columns: CaseColumns) -> LabelledCases:
    """Cases of a long table, in the order in which they first appear."""
    names = column_names(path)
    check_columns(path, names, [columns.case], "case")
    check_columns(path, names, [columns.time], "time")
    check_columns(path, names, columns.values, "values")
    label = [columns.label] if columns.label in names else []
    table = read_table(path, [columns.case, columns.time, *columns.values, *label])
    values = np.column_stack([table.numbers(name) for name in columns.values])
    times = read_times(table, columns.time).values
    cases, first_rows, codes = _codes(table, columns.case)
    order = np.lexsort((times, codes))
    times, sorted_codes = times[order], codes[order]
    is_repeated = (sorted_codes[1:] == sorted_codes[:-1]) & (times[1:] == times[:-1])
    if is_repeated.any():
        row = int(order[1:][is_repeated][0])
        raise TableError(f"{table.location(row)}: case {cases[codes[row]]!r} has this time already")
    starts = np.flatnonzero(np.diff(sorted_codes)) + 1
    series = stacked(np.split(values[order], starts))
    labels = _labels(table, columns.label, codes, first_rows) if label else None
    return LabelledCases(series, cases, labels)


def _codes(table: Table, name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the cases as they first appear, the first row of each, and the case of each row."""
    import pandas as pd

    codes, names = pd.factorize(table.frame[name])
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise TableError(f"{table.location(row)}: the case ({name!r}) is missing")
    _, first_rows = np.unique(codes, return_index=True)
    return [str(case) for case in names], first_rows, np.asarray(codes)


def _labels(table: Table, name: str, codes: np.ndarray, first_rows: np.ndarray) -> list[str] | None:
    """The label of each case, which must be the same in all its rows; None without any label."""
    import pandas as pd

    label_codes, labels = pd.factorize(table.frame[name])
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
    for b in incomplete:
        for channel in series[b].T:
            present = np.flatnonzero(np.isfinite(channel))
            if not present.size:
                raise TableError(f"{path.name}: case {cases.names[b]} has a channel without values")
            channel[:] = np.interp(np.arange(channel.size), present, channel[present])
    return cases._replace(series=stacked(series))


def as_classes(labels: list[str], classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; labels that are no class stay text."""
    known = {str(label): label for label in classes.tolist()}
    as_whole = {}
    for label in set(labels):
        try:
            as_whole[label] = str(int(float(label)))
        except (ValueError, OverflowError):
            as_whole[label] = label
    converted = [known.get(label, known.get(as_whole[label], label)) for label in labels]
    return np.array(converted, dtype=object)
