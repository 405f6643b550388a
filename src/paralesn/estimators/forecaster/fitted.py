"""Everything a forecaster learnt, as one frozen value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.effects import Effects
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.exogenous import Encoder
from paralesn.estimators.forecaster.frames import continued
from paralesn.estimators.forecaster.grid import Grid, usual_clock
from paralesn.estimators.forecaster.panel import Layout, LongNames, Panel
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats, Numbers, OpenFloats
from paralesn.tables.clock import Clock


@register
@dataclass(frozen=True, eq=False)
class Ends:
    """Where series end: their number of steps, the time of the last one, and the clock.

    `last` is nanoseconds since 1970 where times are dates. `kind` is "" without times.
    """

    counts: Counts
    last: Numbers
    is_date: bool
    kind: str
    step: float
    at_end: bool

    def __post_init__(self) -> None:
        if self.kind:
            kinds = ("dates", "numbers", "months", "workdays", "irregular")
            checks.choice("kind of a clock", self.kind, kinds)
            checks.number("step of a clock", self.step, 0, open_left=True)
        if self.counts.ndim != 1 or self.counts.shape != self.last.shape:
            raise ValueError("the ends of series do not fit together")

    @classmethod
    def of(cls, grids: Sequence[Grid], clock: Clock | None = None) -> "Ends":
        """The ends of series on their grids; with a clock, that of more series than these."""
        counts = np.array([grid.count for grid in grids], np.int64)
        clock = usual_clock(grids) if clock is None else clock
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

    def grid(self, i: int) -> Grid:
        """The grid of a series, which knows its end only."""
        count = int(self.counts[i])
        if not self.kind:
            return Grid(count)
        last = self.last[i : i + 1]
        return Grid(count, self.clock, last.astype("M8[ns]" if self.is_date else float))

    def grids(self) -> list[Grid]:
        """The grid of every series."""
        return [self.grid(i) for i in range(len(self.counts))]

    def times_ahead(self, i: int, count: int) -> np.ndarray | None:
        """Times of the next steps of series i."""
        grid = self.grid(i)
        return None if grid.clock is None else grid.clock.after(grid.last, count)


def _plain(times: np.ndarray) -> np.ndarray:
    """Times as numbers: nanoseconds since 1970 where they are dates."""
    return times.astype("M8[ns]").astype(np.int64) if times.dtype.kind == "M" else times


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
    times : (steps,) or (0,)
        Nanoseconds since 1970 where times are dates; empty without times.
    """

    y: OpenFloats
    explained: Floats
    known: Floats
    past: Floats
    times: Numbers

    @classmethod
    def of(
        cls, panel: Panel, explained: Sequence[np.ndarray], known: Sequence[np.ndarray],
        past: Sequence[np.ndarray],
    ) -> "Memory":  # fmt: skip
        """What was observed of series."""
        times = [grid.times for grid in panel.grids]
        if any(when is None for when in times):
            joined = np.zeros(0)
        else:
            joined = np.concatenate([np.asarray(when) for when in times])
        return cls(
            np.concatenate(panel.values), np.concatenate(explained), np.concatenate(known),
            np.concatenate(past), _plain(joined),
        )  # fmt: skip

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
    seasons: tuple[tuple[Count, ...], ...]
    known: Encoder
    past: Encoder
    fixed: Encoder
    calendar: tuple[str, ...]
    effects: Effects
    past_scaling: Floats
    fixed_scaling: Floats
    floor: OpenFloats
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

    def times(self, i: int) -> np.ndarray | None:
        """Times of series i, or None without."""
        if not self.memory.times.size:
            return None
        last = int(self.ends.counts[: i + 1].sum())
        own = self.memory.times[last - int(self.ends.counts[i]) : last]
        return own.astype("M8[ns]") if self.ends.is_date else own

    def times_ahead(self, i: int, count: int) -> np.ndarray | None:
        """Times of the next steps of series i, by the frequency that pandas knows or the clock."""
        index = self.layout.index
        if index.frequency is None or index.kind != "dates" or not self.ends.kind:
            return self.ends.times_ahead(i, count)
        ahead = continued(index, self.ends.clock, self.ends.grid(i).last, count, 0)
        if index.zone is not None and not index.is_local:
            ahead = ahead.tz_convert("UTC")
        return np.asarray(ahead.tz_localize(None).to_numpy()).astype("M8[ns]")

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
            and memory.times.shape in ((total,), (0,))
            and len(memory.known) == len(memory.past) == total
            and not np.isinf(memory.y).any()
            and inputs == (count, memory.known.shape[1])
            and self.effects.mean.shape == inputs
            and self.ends.last.shape == (count,) and self.ends.counts.min(initial=1) >= 1
            and memory.past.ndim == 2 and self.past_scaling.shape == (2, memory.past.shape[1])
            and self.fixed_scaling.shape == (2, self.fixed.width)
            and all(np.isfinite(part).all() for part in (
                memory.explained, memory.known, memory.past, memory.times, self.ends.last,
                self.effects.mean, self.effects.coefficients, self.past_scaling, self.fixed_scaling,
            ))
            and (np.array([bank.count for bank in self.ensemble.banks]) == self.ends.counts).all()
            and self.floor.shape == (count,) and np.isin(self.floor, (0.0, -np.inf)).all()
            and len(self.columns) == 3
            and memory.past.shape[1] == self.past.width
            and memory.known.shape[1] >= self.known.width
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
    low: Floats
    high: Floats
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
