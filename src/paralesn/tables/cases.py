"""Series to classify out of files that people bring: UCR ``.tsv``, aeon's ``.ts``, long tables.

A long table (CSV or Parquet) has a row for every time step of every case: which case, when, one
value for each channel and, where it is known, the label of the case.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paralesn.files import DamagedFileError, opened, plain_name
from paralesn.tables.clock import read_times
from paralesn.tables.formats import Series, parse_ts, parse_tsv
from paralesn.tables.reader import Table, TableError, check_columns, column_names, read_table


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a long table."""

    case: str = "case"
    time: str = "time"
    values: tuple[str, ...] = ("value",)
    label: str = "label"


class Labelled(NamedTuple):
    """Series (cases, time, channels) or a list of them, names of cases, labels where known."""

    series: Series
    names: list[str]
    labels: list[str] | None


def read_cases(path: Path, columns: Columns | None = None, missing: str = "error") -> Labelled:
    """Read series to classify; the ending of the name tells UCR's and aeon's files from tables."""
    plain = plain_name(path)
    if not plain.endswith((".tsv", ".ts")):
        found = _long(path, columns or Columns())
    else:
        parse = parse_tsv if plain.endswith(".tsv") else parse_ts
        with opened(path) as file:
            content = file.read()
        try:
            series, labels = parse(content, path.name)
        except (DamagedFileError, ValueError) as error:
            raise TableError(str(error)) from error
        found = Labelled(series, [str(n) for n in range(1, len(labels) + 1)], labels)
    return _whole(found, path, missing)


def _long(path: Path, columns: Columns) -> Labelled:
    """Cases of a long table, in the order they come in."""
    names = column_names(path)
    for wanted, option in (
        ([columns.case], "--case"), ([columns.time], "--time"), (columns.values, "--value"),
    ):  # fmt: skip
        check_columns(path, names, wanted, option)
    labels = [columns.label] if columns.label in names else []
    table = read_table(path, [columns.case, columns.time, *columns.values, *labels])
    values = np.column_stack([table.numbers(name) for name in columns.values])
    times = read_times(table, columns.time)
    cases, first, code = _codes(table, columns.case)
    order = np.lexsort((times, code))
    times, sorted_code = times[order], code[order]
    again = (sorted_code[1:] == sorted_code[:-1]) & (times[1:] == times[:-1])
    if again.any():
        row = int(order[1:][again][0])
        raise TableError(f"{table.place(row)}: case {cases[code[row]]!r} has this time already")
    ends = np.flatnonzero(np.diff(sorted_code)) + 1
    parts = np.split(values[order], ends)
    series = np.stack(parts) if len({len(one) for one in parts}) == 1 else parts
    known = _labels(table, columns.label, code, first) if labels else None
    return Labelled(series, cases, known)


def _codes(table: Table, name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the cases in the order they come in, the first row of each, and the case of rows."""
    import pandas as pd

    code, found = pd.factorize(table.frame[name])
    if (code < 0).any():
        row = int(np.flatnonzero(code < 0)[0])
        raise TableError(f"{table.place(row)}: the case ({name!r}) is missing")
    _, first = np.unique(code, return_index=True)
    return [str(one) for one in found], first, np.asarray(code)


def _labels(table: Table, name: str, code: np.ndarray, first: np.ndarray) -> list[str] | None:
    """The label of each case, which must be one; None where none is there at all."""
    import pandas as pd

    number, found = pd.factorize(table.frame[name])
    if (number < 0).all():
        return None
    other = np.flatnonzero((number != number[first][code]) | (number < 0))
    if other.size:
        row = int(other[0])
        got = "missing" if number[row] < 0 else f"{str(found[number[row]])!r}"
        expected = "one label for all rows of a case"
        raise TableError(f"{table.place(row)}: the label ({name!r}) is {got}, expected {expected}")
    return [str(found[n]) for n in number[first]]


def _whole(found: Labelled, path: Path, missing: str) -> Labelled:
    """Deal with missing values inside series."""
    bad = [b for b, one in enumerate(found.series) if not np.isfinite(one).all()]
    if not bad:
        return found
    report = (
        f"{path.name}: {len(bad)} of {len(found.series)} cases have missing or infinite values, "
        f"the first being case {found.names[bad[0]]}"
    )
    if missing == "error":
        raise TableError(f"{report}; --missing interpolate fills them linearly")
    series = [np.array(one) for one in found.series]
    for b in bad:
        for channel in series[b].T:
            there = np.flatnonzero(np.isfinite(channel))
            if not there.size:
                raise TableError(f"{path.name}: case {found.names[b]} has a channel without values")
            channel[:] = np.interp(np.arange(channel.size), there, channel[there])
    same = len({len(one) for one in series}) == 1
    return found._replace(series=np.stack(series) if same else series)


def as_classes(labels: list[str], classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; those it does not know stay text."""
    known = {str(one): one for one in classes.tolist()}
    whole = {}
    for label in set(labels):
        try:
            whole[label] = str(int(float(label)))
        except (ValueError, OverflowError):
            whole[label] = label
    found = [known.get(label, known.get(whole[label], label)) for label in labels]
    return np.array(found, dtype=object)
