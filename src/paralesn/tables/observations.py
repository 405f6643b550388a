"""A series out of a table: targets and exogenous columns in the order of time, without holes.

Nothing is filled, dropped or reordered in silence: what was done is in `notes`, and what needs a
decision is an error that names the option of the command line which takes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.tables.clock import Clock, clock_of, find_time, read_times, written
from paralesn.tables.reader import Table, TableError, check_columns, column_names, read_table

MISSING = ("error", "interpolate")
GAPS = ("keep", "fill")
DUPLICATES = ("error", "first", "last", "mean")


@dataclass(frozen=True)
class Choices:
    """What to do about holes: empty values, times that are skipped, times that come twice."""

    missing: str = "error"
    gaps: str = "keep"
    duplicates: str = "error"
    time_format: str | None = None


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows in the order of time.

    Attributes
    ----------
    values : (rows, columns), the targets, then the exogenous columns
    future : int
        Rows at the end without targets: what is known of the time to come.
    times : (rows,) dates or numbers, None without a time column
    """

    path: Path
    targets: tuple[str, ...]
    exog: tuple[str, ...]
    values: np.ndarray
    future: int = 0
    time: str | None = None
    times: np.ndarray | None = None
    clock: Clock | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows that are observed."""
        return len(self.values) - self.future

    @property
    def y(self) -> np.ndarray:
        """Observed targets (rows, targets)."""
        return self.values[: self.rows, : len(self.targets)]

    @property
    def X(self) -> np.ndarray:
        """Exogenous columns (rows + future, exog)."""
        return self.values[:, len(self.targets) :]

    def ahead(self, steps: int) -> np.ndarray:
        """Times of the steps after the last observed row; their numbers without a time column."""
        if self.times is None or self.clock is None:
            return np.arange(1.0, steps + 1)
        given = self.times[self.rows :][:steps]
        last = self.times[-1] if len(given) else self.times[self.rows - 1]
        return np.concatenate([given, self.clock.after(last, steps - len(given))])


def read_series(
    path: Path,
    targets: Sequence[str] = (),
    exog: Sequence[str] = (),
    time: str | None = None,
    choices: Choices | None = None,
) -> Observed:
    """Read a series from a table.

    Without `targets`, the one column of numbers there is. Without `time`, the first column of ISO
    dates that is nothing else; where there is none, rows are in the order of the file.
    """
    choices, names = choices or Choices(), column_names(path)
    for wanted, option in ((targets, "--target"), (exog, "--exog"), ([time], "--time")):
        check_columns(path, names, [name for name in wanted if name is not None], option)
    twice = [name for name in {*targets, *exog} if [*targets, *exog, time].count(name) > 1]
    if twice:
        raise TableError(f"column {twice[0]!r} is given twice among --target, --exog and --time")
    columns = [*targets, *exog] if targets else None
    table = read_table(path, None if time is None or columns is None else [*columns, time])
    notes = []
    if time is None:
        free = table._replace(frame=table.frame.drop(columns=[*targets, *exog]))
        time = find_time(free)
        if time is not None:
            notes.append(f"{time!r} is taken for the time of rows")
    if not targets:
        targets = [_only_numbers(table, {time, *exog})]
        notes.append(f"{targets[0]!r} is what is forecast")
    chosen = [*targets, *exog]
    values = np.column_stack([table.numbers(name) for name in chosen])
    order, found = np.arange(len(values)), None
    if time is not None:
        times = read_times(table, time, choices.time_format)
        times, values, order = _sorted(table, times, values, choices, notes)
        found = Observed(
            path, tuple(targets), tuple(exog), values, 0, time, times, clock_of(times), notes
        )
    else:
        found = Observed(path, tuple(targets), tuple(exog), values, notes=notes)
    return _filled(_gapless(_split_future(found), choices), table, order, choices)


def _only_numbers(table: Table, other: set[str | None]) -> str:
    """The one column of numbers."""
    import pandas as pd

    names = [str(name) for name in table.frame.columns if name not in other]
    numbers = [name for name in names if pd.api.types.is_numeric_dtype(table.frame[name])]
    if len(numbers) != 1:
        raise TableError(
            f"--target must say which column to forecast, one of: {', '.join(numbers or names)}"
        )
    return numbers[0]


def _sorted(
    table: Table, times: np.ndarray, values: np.ndarray, choices: Choices, notes: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, values and their rows in the table, by time and with each time once."""
    order = np.argsort(times, kind="stable")
    late = int((np.maximum.accumulate(times) > times).sum())
    if late:
        notes.append(f"{_count(late, 'row')} came after a later one: sorted")
    times, values = times[order], values[order]
    again = np.flatnonzero(times[1:] == times[:-1]) + 1
    if not again.size:
        return times, values, order
    same = np.array([_equal(values[row], values[row - 1]) for row in again])
    first = again[0] if same.all() else again[~same][0]
    where = f"the first {written(times[first : first + 1])[0]}, {table.place(int(order[first]))}"
    if not same.all() and choices.duplicates == "error":
        raise TableError(
            f"times that come again with other values: {int((~same).sum())}, {where}; "
            "--duplicates first, last or mean says which to take"
        )
    kind = "first" if same.all() else choices.duplicates
    starts = np.flatnonzero(np.r_[True, times[1:] != times[:-1]])
    if kind == "mean":
        counts = np.diff(np.r_[starts, len(times)])
        values = np.add.reduceat(values, starts) / counts[:, None]
        kept = starts
    else:
        kept = starts if kind == "first" else np.r_[starts[1:], len(times)] - 1
        values = values[kept]
    taken = "identical rows dropped" if same.all() else f"the {kind} taken"
    notes.append(
        f"{_count(again.size, 'row')} with a time that was there already: {taken}, {where}"
    )
    return times[kept], values, order[kept]


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def _split_future(found: Observed) -> Observed:
    """Take the rows at the end that have no target for the time to come."""
    seen = np.flatnonzero(~np.isnan(found.values[:, : len(found.targets)]).all(axis=1))
    if not seen.size:
        raise TableError(f"{found.path.name}: {', '.join(found.targets)} has no value at all")
    future = len(found.values) - 1 - int(seen[-1])
    if not future:
        return found
    found.notes.append(
        f"{_count(future, 'row')} at the end without {', '.join(found.targets)}: the time to come"
    )
    if not found.exog and found.times is None:  # nothing is known of it
        return replace(found, values=found.values[:-future])
    return replace(found, future=future)


def _gapless(found: Observed, choices: Choices) -> Observed:
    """Report times that are skipped, and put rows in where that is wanted."""
    if found.times is None or found.clock is None:
        return found
    steps, times = found.clock.steps(found.times), found.times
    if found.clock.kind == "irregular":
        found.notes.append("times are irregular: rows are taken as equal steps")
    off = np.flatnonzero(steps != 1)
    if not off.size:
        return found
    first = " to ".join(written(times[off[0] : off[0] + 2]))
    skipped = steps[off]
    if np.isnan(skipped).any():
        note = f"{_count(off.size, 'time')} not {found.clock} after the one before, first {first}"
        if choices.gaps == "fill":
            raise TableError(f"--gaps fill needs times on a grid: {note}")
        found.notes.append(f"{note}: rows are taken as equal steps")
        return found
    count = int((skipped - 1).sum())
    note = (
        f"{_count(off.size, 'gap')}, {_count(count, 'row')} missing ({found.clock}), first {first}"
    )
    if choices.gaps == "keep":
        found.notes.append(f"{note}: rows are taken as equal steps; --gaps fill puts rows in")
        return found
    if count > 10 * len(times):
        raise TableError(f"--gaps fill would put in more than ten times the rows there are: {note}")
    places = np.r_[0, steps.astype(int).cumsum()]
    grid = np.arange(places[-1] + 1)
    full_times = np.empty(grid.size, times.dtype)
    for place, step, time in zip(places, [*steps.astype(int), 1], times, strict=True):
        full_times[place] = time
        if step > 1:
            full_times[place + 1 : place + step] = found.clock.after(time, step - 1)
    columns = [_between(grid, places, column) for column in found.values.T]
    found.notes.append(f"{note}: put in and interpolated")
    future = int((grid > places[found.rows - 1]).sum())
    return replace(found, values=np.column_stack(columns), times=full_times, future=future)


def _between(grid: np.ndarray, places: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Values on the grid: new ones on the line between their neighbours, empty ones as they are."""
    full = np.interp(grid, places, column)  # NaN where a neighbour is
    full[places] = column
    return full


def _filled(found: Observed, table: Table, order: np.ndarray, choices: Choices) -> Observed:
    """Deal with empty values."""
    values, reports = found.values.copy(), []
    for place, name in enumerate([*found.targets, *found.exog]):
        end = found.rows if place < len(found.targets) else len(values)
        column = values[:end, place]
        empty = np.flatnonzero(np.isnan(column))
        if not empty.size:
            continue
        where = _where(found, table, order, int(empty[0]))
        reports.append(f"{_count(empty.size, 'value')} of {name!r} missing, the first in {where}")
        if choices.missing == "error":
            continue
        there = np.flatnonzero(~np.isnan(column))
        if not there.size or empty[0] < there[0] or empty[-1] > there[-1]:
            raise TableError(
                f"{reports[-1]}: values before the first or after the last one there is cannot be "
                "interpolated; cut these rows off"
            )
        column[empty] = np.interp(empty, there, column[there])
        longest = int(np.diff(there).max()) - 1
        found.notes.append(f"{reports[-1]}: interpolated, at most {longest} in a row")
    if reports and choices.missing == "error":
        raise TableError("; ".join(reports) + "; --missing interpolate fills them linearly")
    return replace(found, values=values)


def _where(found: Observed, table: Table, order: np.ndarray, row: int) -> str:
    """Where a row came from: its line, or its time where rows were put in."""
    if len(found.values) <= len(order):
        return table.place(int(order[row])).split(", ")[-1]
    times: Any = found.times
    return written(times[row : row + 1])[0]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
