"""Everything a forecaster learnt, as one frozen value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.grid import Grid
from paralesn.estimators.forecaster.inputs import Encoder
from paralesn.estimators.forecaster.panel import Layout, LongNames
from paralesn.estimators.forecaster.regression import Effects
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.persistence import register
from paralesn.tables.clock import Clock


@register
@dataclass(frozen=True, eq=False)
class Ends:
    """Where series end: their number of steps, the time of the last one, and the clock.

    `last` is nanoseconds since 1970 where times are dates. `kind` is "" without times.
    """

    counts: np.ndarray
    last: np.ndarray
    is_date: bool
    kind: str
    step: float
    at_end: bool

    @classmethod
    def of(cls, grids: Sequence[Grid]) -> "Ends":
        """The ends of series on their grids."""
        counts = np.array([grid.count for grid in grids], np.int64)
        clock = next((grid.clock for grid in grids if grid.clock is not None), None)
        if clock is None or any(grid.times is None for grid in grids):
            return cls(counts, np.zeros(len(counts), np.int64), False, "", 0.0, False)
        last = np.array([grid.last for grid in grids])
        is_date = last.dtype.kind == "M"
        if is_date:
            last = last.astype("M8[ns]").astype(np.int64)
        return cls(counts, last, is_date, clock.kind, float(clock.step), bool(clock.at_end))

    @property
    def clock(self) -> Clock | None:
        """How far apart steps are."""
        return Clock(self.kind, self.step, self.at_end) if self.kind else None

    def grids(self) -> list[Grid]:
        """A grid for every series that knows its end only."""
        if not self.kind:
            return [Grid(int(count)) for count in self.counts]
        last = self.last.astype("M8[ns]") if self.is_date else self.last.astype(float)
        clock = self.clock
        return [Grid(int(count), clock, last[i : i + 1]) for i, count in
                enumerate(self.counts)]  # fmt: skip

    def times_ahead(self, i: int, count: int) -> np.ndarray | None:
        """Times of the next steps of series i."""
        clock = self.clock
        if clock is None:
            return None
        last = self.last[i].astype("M8[ns]") if self.is_date else float(self.last[i])
        return clock.after(last, count)


@register
@dataclass(frozen=True, eq=False)
class Memory:
    """What was observed, of all series end to end.

    Attributes
    ----------
    y : (steps,)
        Values, NaN where one was missing.
    explained : (steps,)
        What known inputs explain of it; zero without such inputs.
    known : (steps, inputs); past : (steps, inputs)
        Inputs, as numbers.
    """

    y: np.ndarray
    explained: np.ndarray
    known: np.ndarray
    past: np.ndarray

    def split(self, array: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
        """One of the arrays, series by series."""
        return np.split(array, np.cumsum(counts)[:-1])


@register
@dataclass(frozen=True, eq=False)
class FittedForecaster:
    """The state of a fitted forecaster of any number of series.

    Attributes
    ----------
    layout : Layout
        The form in which series came.
    columns : tuple of str
        Names of the columns of a long frame: series, time, target.
    frequency : str or None
        That rows are averaged to.
    ends : Ends
    memory : Memory
    ensemble : FittedEnsemble
    seasons : tuple of tuples of int
        Considered for each series.
    known, past, fixed : Encoder
        Of inputs known in advance, known up to now, and of series as a whole.
    calendar : tuple of str
        Parts of the calendar that are read.
    effects : Effects
        Of known inputs and calendar.
    past_scaling, fixed_scaling : (2, inputs)
        Means and scales.
    floor : (S,)
        0 for series that never were negative, else minus infinity.
    notes : tuple of str
    """

    layout: Layout
    columns: tuple[str, ...]
    frequency: str | None
    ends: Ends
    memory: Memory
    ensemble: FittedEnsemble
    seasons: tuple[tuple[int, ...], ...]
    known: Encoder
    past: Encoder
    fixed: Encoder
    calendar: tuple[str, ...]
    effects: Effects
    past_scaling: np.ndarray
    fixed_scaling: np.ndarray
    floor: np.ndarray
    notes: tuple[str, ...]

    @property
    def long_names(self) -> LongNames:
        """Names of the columns of a long frame."""
        return LongNames(*self.columns)

    @property
    def count(self) -> int:
        """Number of series."""
        return len(self.ends.counts)

    def observed(self) -> list[np.ndarray]:
        """Values of every series."""
        return self.memory.split(self.memory.y, self.ends.counts)

    def remainders(self) -> list[np.ndarray]:
        """What members read of every series: values without what known inputs explain."""
        return self.memory.split(self.memory.y - self.memory.explained, self.ends.counts)

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        self.ensemble.check()
        total, count = int(self.ends.counts.sum()), self.count
        memory, inputs = self.memory, self.effects.coefficients.shape
        right = (
            len(self.ensemble.banks) == count == len(self.seasons) == len(self.layout.names)
            and memory.y.shape == memory.explained.shape == (total,)
            and len(memory.known) == len(memory.past) == total
            and not np.isinf(memory.y).any()
            and inputs == (count, memory.known.shape[1]) and np.isfinite(self.effects.coefficients).all()
            and (np.array([bank.count for bank in self.ensemble.banks]) == self.ends.counts).all()
            and self.floor.shape == (count,) and len(self.columns) == 3
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a forecaster do not fit together")


@register
@dataclass(frozen=True, eq=False)
class FittedLoop:
    """The state of a forecaster whose strategy is the closed loop.

    Attributes
    ----------
    layout, columns, frequency, ends, notes
        As in `FittedForecaster`.
    loop : StateForecaster
    low, high : (targets,)
        The smallest and largest values seen.
    """

    layout: Layout
    columns: tuple[str, ...]
    frequency: str | None
    ends: Ends
    loop: StateForecaster
    low: np.ndarray
    high: np.ndarray
    notes: tuple[str, ...]

    @property
    def long_names(self) -> LongNames:
        """Names of the columns of a long frame."""
        return LongNames(*self.columns)

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        targets = self.loop.n_features_in_
        if not (self.low.shape == self.high.shape == (targets,) == (len(self.layout.names),)):
            raise ValueError("the parts of a forecaster do not fit together")
