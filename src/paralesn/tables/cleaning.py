"""Decisions about untidy tables: repeated times, skipped times, missing values."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paralesn.tables.clock import Clock, format_times
from paralesn.tables.errors import TableError
from paralesn.tables.grouping import suggest_by
from paralesn.tables.notes import Note, counted
from paralesn.tables.reader import Table

if TYPE_CHECKING:
    from paralesn.tables.observations import Observations

CHOICES = {
    "missing": ("keep", "error", "interpolate"),
    "gaps": ("keep", "fill", "auto"),
    "duplicates": ("error", "first", "last", "mean"),
}


@dataclass(frozen=True)
class Cleaning:
    """What to do about an untidy table.

    Attributes
    ----------
    missing : "keep", "error" or "interpolate"
        Values that are missing: keep them as NaN, refuse them, or fill them linearly. Values that
        are to be known in advance, after the last target, are never kept missing.
    gaps : "keep", "fill" or "auto"
        Times that are skipped: take rows as equal steps, or insert rows, which are missing values
        where `missing` is "keep", and else on the line between their neighbours. "auto" inserts
        rows where times are on a grid, with at most ten for every row there is.
    duplicates : "error", "first", "last" or "mean"
        Times that are repeated with other values. Identical rows are always dropped.
    time_format : str, optional
        How dates are written, in the notation of strptime or by a name: "day first", "quarters",
        "epoch seconds", ... (`paralesn.tables.time_column.NOTATIONS`). Default: what fits.
    """

    missing: str = "keep"
    gaps: str = "keep"
    duplicates: str = "error"
    time_format: str | None = None

    def __post_init__(self) -> None:
        for parameter in CHOICES:
            check_choice(parameter, getattr(self, parameter))


def check_choice(parameter: str, value: str) -> None:
    """Raise for a decision that there is not."""
    if value not in CHOICES[parameter]:
        *others, last = CHOICES[parameter]
        expected = f"{', '.join(others)} or {last}"
        raise TableError(f"`{parameter}` is {value!r}, expected {expected}", parameter=parameter)


class Rows(NamedTuple):
    """Times and values of rows, and the rows of the table that they came from."""

    times: np.ndarray
    values: np.ndarray
    order: np.ndarray


def sort_by_time(
    table: Table, rows: Rows, cleaning: Cleaning, notes: list[str], used: set[str | None]
) -> Rows:
    """Put rows in the order of time, with each time once; `used` are columns with a role."""
    times = rows.times
    order = np.argsort(times, kind="stable")
    late = int((np.maximum.accumulate(times) > times).sum())
    if late and (times[1:] <= times[:-1]).all():
        notes.append(Note("newest first", "rows run newest first: put in order"))
    elif late:
        notes.append(Note("sorted", f"{counted(late, 'row')} came after a later one: sorted"))
    rows = Rows(times[order], rows.values[order], rows.order[order])
    repeated = np.flatnonzero(rows.times[1:] == rows.times[:-1]) + 1
    if not repeated.size:
        return rows
    rule = _rule_for_repeated(table, rows, repeated, cleaning, notes, used)
    return _distinct(rows, rule)


def _rule_for_repeated(
    table: Table, rows: Rows, repeated: np.ndarray, cleaning: Cleaning, notes: list[str],
    used: set[str | None],
) -> str:  # fmt: skip
    """Which of the rows with equal times to take; `repeated` are those after the first."""
    times, values, order = rows
    one, other = values[repeated], values[repeated - 1]
    is_same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    first = repeated[0] if is_same.all() else repeated[~is_same][0]
    when = format_times(times[first : first + 1])[0]
    where = f"the first {when}, {table.location(int(order[first]))}"
    hint = suggest_by(table, times, order, used)
    if not is_same.all() and cleaning.duplicates == "error":
        raise TableError(
            f"times that come again with other values: {int((~is_same).sum())}, {where}; "
            f"`duplicates` first, last or mean says which to take{hint}",
            parameter="duplicates",
        )
    rule = "first" if is_same.all() else cleaning.duplicates
    action = "identical rows dropped" if is_same.all() else f"the {rule} taken"
    again = f"{counted(repeated.size, 'row')} with a time that was there already"
    notes.append(Note("duplicates", f"{again}: {action}, {where}{hint}"))
    return rule


def _distinct(rows: Rows, rule: str) -> Rows:
    """Merge rows of equal times: their first, last or mean values."""
    times, values, order = rows
    starts = np.flatnonzero(np.r_[True, times[1:] != times[:-1]])
    if rule == "mean":
        counts = np.add.reduceat(~np.isnan(values), starts, dtype=float)
        sums = np.add.reduceat(np.nan_to_num(values), starts)
        means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        return Rows(times[starts], means, order[starts])
    selected = starts if rule == "first" else np.r_[starts[1:], len(times)] - 1
    return Rows(times[selected], values[selected], order[selected])


def split_future(observations: "Observations") -> "Observations":
    """Take the rows at the end that have no target as known in advance."""
    targets = ", ".join(observations.targets)
    is_empty = np.isnan(observations.values[:, : len(observations.targets)]).all(axis=1)
    observed = np.flatnonzero(~is_empty)
    if not observed.size:
        raise TableError(f"{observations.path.name}: {targets} has no value at all")
    future = len(observations.values) - 1 - int(observed[-1])
    if not future:
        return observations
    observations.notes.append(
        Note("future", f"{counted(future, 'row')} at the end without {targets}: the time to come")
    )
    if not observations.exog and observations.times is None:  # such rows say nothing
        return replace(observations, values=observations.values[:-future])
    return replace(observations, future=future)


def fill_gaps(observations: "Observations", cleaning: Cleaning) -> "Observations":
    """Report times that are skipped, and insert rows where that is wanted."""
    times, clock, notes = observations.times, observations.clock, observations.notes
    if times is None or clock is None:
        return observations
    if clock.kind == "irregular":
        notes.append(Note("gaps", "times are irregular: rows are taken as equal steps"))
    steps = clock.steps(times)
    gaps = np.flatnonzero(steps != 1)
    if not gaps.size:
        return observations
    first = " to ".join(format_times(times[gaps[0] : gaps[0] + 2]))
    if np.isnan(steps[gaps]).any():
        note = f"{counted(gaps.size, 'time')} not {clock} after the one before, first {first}"
        if cleaning.gaps == "fill":
            raise TableError(f"`gaps='fill'` needs times on a grid: {note}", parameter="gaps")
        notes.append(Note("gaps", f"{note}: rows are taken as equal steps"))
        return observations
    count = int((steps[gaps] - 1).sum())
    note = f"{counted(gaps.size, 'gap')}, {counted(count, 'row')} missing ({clock}), first {first}"
    equal, is_long = "rows are taken as equal steps", count > 10 * len(times)
    if cleaning.gaps == "keep" or (cleaning.gaps == "auto" and is_long):
        hint = "" if is_long else "; `gaps='fill'` puts rows in"
        notes.append(Note("gaps", f"{note}: {equal}{hint}"))
        return observations
    if is_long:
        raise TableError(
            f"`gaps='fill'` would put in more than ten times the rows there are: {note}",
            parameter="gaps",
        )
    is_kept = cleaning.missing == "keep"
    action = "put in, their values missing" if is_kept else "put in and interpolated"
    notes.append(Note("gaps", f"{note}: {action}"))
    return _insert_rows(observations, times, clock, steps.astype(int), interpolate=not is_kept)


def _insert_rows(
    observations: "Observations",
    times: np.ndarray,
    clock: Clock,
    steps: np.ndarray,
    *,
    interpolate: bool,
) -> "Observations":
    """Insert rows between those that are `steps` apart: NaN, or between their neighbours."""
    positions = np.r_[0, steps.cumsum()]
    grid = np.arange(positions[-1] + 1)
    all_times = np.empty(grid.size, times.dtype)
    for position, step, time in zip(positions, [*steps, 1], times, strict=True):
        all_times[position] = time
        if step > 1:
            all_times[position + 1 : position + step] = clock.after(time, step - 1)
    columns = []
    for column in observations.values.T:
        values = np.full(grid.size, np.nan)
        if interpolate:
            values = np.interp(grid, positions, column)  # NaN where a neighbour is
        values[positions] = column
        columns.append(values)
    future = int((grid > positions[observations.rows - 1]).sum())
    return replace(observations, values=np.column_stack(columns), times=all_times, future=future)


def fill_missing(
    observations: "Observations", table: Table, order: np.ndarray, cleaning: Cleaning
) -> "Observations":
    """Keep, refuse or interpolate missing values; `order` are the rows they came from."""
    values, reports = observations.values.copy(), []
    inserted = max(0, len(values) - len(order))  # which was said already
    for index, name in enumerate([*observations.targets, *observations.exog]):
        end = observations.rows if index < len(observations.targets) else len(values)
        column = values[:end, index]
        empty = np.flatnonzero(np.isnan(column))
        is_ahead = empty >= observations.rows
        if not empty.size:
            continue
        shown = empty[is_ahead] if is_ahead.any() and cleaning.missing == "keep" else empty
        where = _origin(observations, table, order, int(shown[0]))
        report = f"{counted(shown.size, 'value')} of {name!r} missing, the first in {where}"
        if cleaning.missing == "interpolate":
            longest = _interpolate(column, empty, report)
            report = f"{report}: interpolated, at most {longest} in a row"
        elif cleaning.missing == "error":
            reports.append(report)
            continue
        elif is_ahead.any():
            reports.append(f"{report}, after the last target, where it must be known")
            continue
        elif shown.size == inserted:
            continue
        else:
            report = f"{report}: kept as missing"
        observations.notes.append(Note(f"missing {name}", report))
    if reports:
        raise TableError(
            "; ".join(reports) + "; `missing='interpolate'` fills them linearly",
            parameter="missing",
        )
    return replace(observations, values=values)


def _interpolate(column: np.ndarray, empty: np.ndarray, report: str) -> int:
    """Fill empty values of a column in place; the length of the longest run of them."""
    present = np.flatnonzero(~np.isnan(column))
    if not present.size or empty[0] < present[0] or empty[-1] > present[-1]:
        raise TableError(
            f"{report}: values before the first or after the last one there is cannot be "
            "interpolated; cut these rows off"
        )
    column[empty] = np.interp(empty, present, column[present])
    return int(np.diff(present).max()) - 1


def _origin(observations: "Observations", table: Table, order: np.ndarray, row: int) -> str:
    """The line a row came from, or its time where rows were inserted."""
    if observations.times is None or len(observations.values) <= len(order):
        return table.location(int(order[row])).split(", ")[-1]
    return format_times(observations.times[row : row + 1])[0]
