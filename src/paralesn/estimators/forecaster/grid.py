"""The steps of a series in time: gaps are missing values, and rows are averaged on request."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.frames import Index, period_rows, periods_from
from paralesn.tables.clock import Clock, clock_of, format_times
from paralesn.tables.date_parts import to_nanoseconds

_UNITS = {
    "s": 10**9, "sec": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "H": 3600 * 10**9,
    "D": 86_400 * 10**9, "W": 7 * 86_400 * 10**9,
}  # fmt: skip
_MONTHS = {"M": 1, "MS": 1, "ME": 1, "Q": 3, "QS": 3, "QE": 3, "Y": 12, "YS": 12, "YE": 12}
_MOST = 10  # times the rows there are, that gaps may add


class Grid(NamedTuple):
    """Where the rows of a series are among its steps.

    Attributes
    ----------
    count : int
        Steps.
    clock : Clock or None
        How far apart they are; None without times.
    times : (count,) or None
    rows : (rows,) or None
        The step of every row as it came; None where rows are the steps.
    came : (rows,) or None
        Times of these rows where they are averaged.
    """

    count: int  # type: ignore[assignment]
    clock: Clock | None = None
    times: np.ndarray | None = None
    rows: np.ndarray | None = None
    came: np.ndarray | None = None

    @property
    def row_times(self) -> np.ndarray | None:
        """Times of the rows as they came."""
        if self.came is not None or self.rows is None or self.times is None:
            return self.times if self.came is None else self.came
        return self.times[self.rows]

    @property
    def last(self) -> Any:
        """The time of the last step."""
        return None if self.times is None else self.times[-1]

    def placed(self, values: np.ndarray) -> np.ndarray:
        """Values (rows, …) at the steps (count, …): NaN where there is none, means of several."""
        if self.rows is None:
            return values
        values = np.asarray(values, float)
        table = values.reshape(len(values), -1)
        seen = np.isfinite(table)
        sums, counts = (
            np.zeros((self.count, table.shape[1])),
            np.zeros((self.count, table.shape[1])),
        )
        np.add.at(sums, self.rows, np.where(seen, table, 0.0))
        np.add.at(counts, self.rows, seen)
        with np.errstate(invalid="ignore"):
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return means.reshape(self.count, *values.shape[1:])


def on_grid(
    times: np.ndarray | None, count: int, who: str, frequency: str | None, index: Index,
    notes: list[str], usual: Clock | None = None,
) -> Grid:  # fmt: skip
    """The steps of a series whose rows have these times.

    Parameters
    ----------
    who : str
        What the series is called in messages.
    frequency : str, optional
        Average rows over steps of this length.
    index : Index
        What times are like. Where pandas knows the frequency of dates, rows are its steps.
    usual : Clock, optional
        Of other series, or of earlier rows: taken where it fits, as few rows say little.
    """
    if times is None:
        if frequency is not None:
            raise ValueError(f"frequency needs times: {who} has none")
        return Grid(count)
    if frequency is not None:
        return _averaged(times, frequency)
    if index.kind == "periods" and count > 1:
        return _of_periods(times, who, index.frequency, notes)
    clock = usual if usual is not None and _fits(usual, times) else clock_of(times)
    if index.frequency == "B":  # fewer than ten rows look like days
        return Grid(count, Clock("workdays", 1.0), times)
    if count < 2:
        return Grid(count, clock, times)
    steps = clock.steps(times)
    if index.frequency is not None:
        return Grid(count, clock if (steps == 1).all() else _irregular(times), times)
    if clock.kind == "irregular" or np.isnan(steps).any():
        at = int(np.isnan(steps).argmax()) if np.isnan(steps).any() else 0
        first = " to ".join(format_times(times[at : at + 2]))
        notes.append(f"times of {who} are irregular (first {first}): rows are taken as equal "
                     "steps; frequency averages them over steps of equal length")  # fmt: skip
        return Grid(count, _irregular(times), times)
    if (steps == 1).all():
        return Grid(count, clock, times)
    rows = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
    if _has_too_many_gaps(rows, clock, who, notes):
        return Grid(count, _irregular(times), times)
    _note_gaps(times, rows, clock, who, notes)
    whole = np.concatenate([times[:1], clock.after(times[0], int(rows[-1]))])
    whole[rows] = times
    return Grid(int(rows[-1]) + 1, clock, whole, rows)


def _of_periods(times: np.ndarray, who: str, frequency: str | None, notes: list[str]) -> Grid:
    """Rows among all periods from the first to the last: pandas counts them, whatever they are."""
    steps, clock = period_rows(times, frequency), clock_of(times)
    rows = steps.astype(np.int64)
    is_regular = (np.diff(steps) == 1).all() or (rows != steps).any()
    if is_regular or _has_too_many_gaps(rows, clock, who, notes):
        return Grid(times.size, clock, times)
    whole = periods_from(times[0], int(rows[-1]) + 1, frequency)
    clock = clock_of(whole)  # with many gaps, the times themselves do not tell
    _note_gaps(times, rows, clock, who, notes)
    return Grid(whole.size, clock, whole, rows)


def _has_too_many_gaps(rows: np.ndarray, clock: Clock, who: str, notes: list[str]) -> bool:
    inserted = int(rows[-1]) + 1 - rows.size
    if inserted <= _MOST * rows.size:
        return False
    notes.append(f"times of {who} have gaps of {inserted} steps ({clock}): rows are taken as "
                 "equal steps")  # fmt: skip
    return True


def _note_gaps(
    times: np.ndarray, rows: np.ndarray, clock: Clock, who: str, notes: list[str]
) -> None:
    inserted, first = int(rows[-1]) + 1 - rows.size, int((np.diff(rows) != 1).argmax())
    between = " and ".join(format_times(times[first : first + 2]))
    notes.append(f"{inserted} steps of {who} are missing ({clock}), first between {between}: taken "
                 "as missing values")  # fmt: skip


def usual_clock(grids: Iterable[Grid]) -> Clock | None:
    """The clock of most steps, a regular one if there is any; None without times."""
    steps: Counter[Clock] = Counter()
    for grid in grids:
        if grid.clock is not None:
            steps[grid.clock] += grid.count
    return max(steps, key=lambda c: (c.kind != "irregular", steps[c]), default=None)


def _fits(clock: Clock, times: np.ndarray) -> bool:
    """Whether times are whole steps of a clock apart."""
    if clock.kind == "irregular" or (clock.kind == "numbers") == (times.dtype.kind == "M"):
        return False
    return bool((clock.steps(times) >= 1).all())


def _irregular(times: np.ndarray) -> Clock:
    """A clock whose steps are the median of those of the times."""
    numbers = times.astype(np.int64) if times.dtype.kind == "M" else times
    return Clock("irregular", float(np.median(np.diff(numbers))))


def check_order(times: np.ndarray, who: str) -> None:
    """Raise for times that go back or come twice."""
    late = np.flatnonzero(times[1:] <= times[:-1])
    if late.size:
        pair = format_times(times[late[0] : late[0] + 2])
        problem = "twice" if pair[0] == pair[1] else f"after {pair[0]}"
        raise ValueError(f"times of {who} must be in order and different, got {pair[1]} {problem}")


def _averaged(times: np.ndarray, frequency: Any) -> Grid:
    """Rows on steps of a given length: '15min', 'h', 'D', 'W', 'MS', 'QS', 'YS', '2D'."""
    found = re.fullmatch(r"(\d*)([A-Za-z]+)", frequency) if isinstance(frequency, str) else None
    count = int(found[1] or 1) if found else 0
    if not found or count < 1 or found[2] not in (*_UNITS, *_MONTHS):
        expected = "a length of time such as '15min', 'h', 'D', 'W', 'MS', 'QS' or 'YS'"
        raise checks.fail("frequency", frequency, expected)
    if times.dtype.kind != "M":
        raise ValueError(f"frequency={frequency!r} needs dates, got times that are numbers")
    if found[2] in _MONTHS:
        step = count * _MONTHS[found[2]]
        rows = times.astype("M8[M]").astype(np.int64) // step
        first = to_nanoseconds((rows[:1] * step).astype("M8[M]"), "y, of whole steps,")[0]
        clock = Clock("months", float(step))
    else:
        length = count * _UNITS[found[2]]
        # Weeks begin on Mondays; the first day of 1970 was a Thursday.
        offset = 4 * _UNITS["D"] if found[2] == "W" else 0
        rows = (times.astype(np.int64) - offset) // length
        first = np.int64(rows[0] * length + offset).astype("M8[ns]")
        clock = Clock("dates", float(length))
    rows = rows - rows[0]
    total = int(rows[-1]) + 1
    whole = np.concatenate([[first], clock.after(first, total - 1)]).astype("M8[ns]")
    return Grid(total, clock, whole, rows, times)
