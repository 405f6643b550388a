"""Which readouts series share: of values, of logarithms; decided by facts about all series."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from paralesn.estimators.forecaster import intermittent
from paralesn.estimators.forecaster.changes import Reading, scales
from paralesn.estimators.forecaster.ensemble import Learning, readable
from paralesn.estimators.forecaster.shared_readout import SharedReadout, held_out_from
from paralesn.estimators.passes import Held
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Flags
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.series import Series

MOST_ROWS = 100_000  # learnt from, about
_LEAST, _LEAST_ALONE = 100, 24  # rows to learn from, of several series and of one


@register
@dataclass(frozen=True, eq=False)
class SeriesFacts(Held):
    """What decides which readouts series share, and what reservoir these read.

    Attributes
    ----------
    lengths : (S,) int
    usable, positive : (S,) bool
        Whether there are values enough that are not mostly zero; whether all are above zero.
    seasons : tuple of tuples of int
    """

    lengths: Counts
    usable: Flags
    positive: Flags
    seasons: tuple[tuple[Count, ...], ...]

    def __post_init__(self) -> None:
        shape = (len(self.seasons),)
        if not self.lengths.shape == self.usable.shape == self.positive.shape == shape:
            raise ValueError("what is known of series does not fit together")

    @classmethod
    def of(cls, series: Sequence[Learning]) -> Self:
        """Facts about series."""
        values = [s.y for s in series]
        usable = [np.isfinite(y).sum() > 2 and not intermittent.is_intermittent(y) for y in values]
        positive = [bool(np.nanmin(y) > 0) for y in values]
        lengths = np.array([y.size for y in values], np.int64)
        seasons = tuple(s.seasons for s in series)
        return cls(lengths, np.array(usable, bool), np.array(positive, bool), seasons)

    def merged(self, other: Self) -> Self:
        """Facts about the series of both."""
        lengths, usable, positive = (
            np.concatenate([getattr(part, name) for part in (self, other)])
            for name in ("lengths", "usable", "positive")
        )
        return type(self)(lengths, usable, positive, self.seasons + other.seasons)

    def chosen(self, log: bool, horizon: int, least: int) -> np.ndarray:
        """The series that a readout of values, or of logarithms, learns from.

        Each has at least so many rows to learn from before its last quarter.
        """
        long = [held_out_from(int(n), horizon) - horizon >= least for n in self.lengths]
        return np.flatnonzero(self.usable & np.array(long, bool) & (self.positive | (not log)))


@dataclass(frozen=True, eq=False)
class SharedTask:
    """A readout that is to be learnt from all series: of their values, or of their logarithms.

    Attributes
    ----------
    log : bool
    horizon : int
    reservoir : Reservoir
        Drawn.
    readout : regressor
        Not fitted.
    every : int
        Of every series each so-manieth step is learnt from.
    count : int
        Series that it is learnt from, in all blocks.
    static : int
        Columns of what is known of each series as a whole.
    """

    log: bool
    horizon: int
    reservoir: Reservoir
    readout: Any
    every: int
    count: int
    static: int

    @property
    def merges(self) -> bool:
        """Whether the readout learns block by block; otherwise all rows are gathered first."""
        return isinstance(self.readout, Ridge)

    def member(self, readings: Sequence[Reading], readout: Any) -> SharedReadout:
        """The member of some series, of which nothing is read yet."""
        count = len(readings)
        static = np.stack([r.static for r in readings]) if count else np.zeros((0, self.static))
        return SharedReadout(
            self.reservoir, readout, self.horizon, self.log, scales(readings),
            State((), self.reservoir.fingerprint_), np.array([r.values[-1] for r in readings]),
            np.zeros((count, self.reservoir.n_features_out_)), static,
        )  # fmt: skip


def shared_tasks(
    facts: SeriesFacts, horizon: int, least: int, inputs: int, static: int,
    reservoir_for: Callable[[tuple[int, ...], int, int], Any] | None, readout: Any,
) -> tuple[SharedTask, ...]:  # fmt: skip
    """The readouts that all series share: of values, of logarithms, both or neither.

    Parameters
    ----------
    least : int
        Rows that a series must have to be learnt from.
    inputs, static : int
        Columns that are known only up to now, and of each series as a whole.
    reservoir_for : function of seasons, length and inputs, makes a reservoir to fit
        None: the bank alone.
    readout : regressor that was not fitted yet
    """
    tasks = []
    for log in (False, True) if reservoir_for is not None else ():
        chosen = facts.chosen(log, horizon, least)
        lengths = facts.lengths[chosen].tolist()
        if not lengths or not _is_enough(lengths, horizon):
            continue
        assert reservoir_for is not None
        seasons = tuple(sorted({m for i in chosen for m in facts.seasons[i]}))[:4]
        reservoir = reservoir_for(seasons, int(np.median(lengths)), 1 + inputs)
        reservoir.fit(Series(np.zeros((1, 1 + inputs)), np.array([1]), "single"))
        every = _subsampling(lengths, horizon)
        tasks.append(
            SharedTask(log, horizon, reservoir, deepcopy(readout), every, len(lengths), static)
        )
    return tuple(tasks)


def readings_for(
    log: bool, series: Sequence[Learning], chosen: Sequence[int] | np.ndarray
) -> list[Reading]:
    """What a readout of values, or of logarithms, reads of some of the series."""
    return [Reading(readable(series[i].y, None, log), series[i].others, series[i].static)
            for i in chosen]  # fmt: skip


def _is_enough(lengths: Sequence[int], horizon: int) -> bool:
    """Whether a readout can be learnt from series of these lengths."""
    return _rows(lengths, horizon) >= (_LEAST_ALONE if len(lengths) == 1 else _LEAST)


def _subsampling(lengths: Sequence[int], horizon: int) -> int:
    """Each so-manieth step to learn from, so that there are not more rows than are needed."""
    return max(1, _rows(lengths, horizon) // MOST_ROWS)


def _rows(lengths: Sequence[int], horizon: int) -> int:
    """Steps before the last quarters of series whose horizon ends there."""
    return sum(max(0, held_out_from(n, horizon) - horizon) for n in lengths)
