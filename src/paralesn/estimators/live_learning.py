"""What models on live data learn by the row, and the models that come of it."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.calendar import calendar_columns
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster, FittedLoop
from paralesn.estimators.forecaster.live_members import Position
from paralesn.estimators.online import own_learner
from paralesn.estimators.state_forecaster.fitted_forecaster import FittedStateForecaster
from paralesn.estimators.state_forecaster.windows import Windows, as_series
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats, OpenFloats
from paralesn.readouts.ridge import Ridge


@register
@dataclass(frozen=True, eq=False)
class LearntSteps:
    """What a `StateForecaster` on live data has learnt, and the steps it has yet to learn from.

    Attributes
    ----------
    readout : Ridge
    states : tuple of State
        After each of the newest steps, at most 1 + horizon of them.
    waiting : (series, steps, units)
        What the readout reads of these but the first, whose futures are not complete.
    values : (series, steps, width)
        The newest observations, scaled, at most 1 + horizon.
    position : int
        Number of the step that is learnt from next.
    low, high : (targets,)
        The smallest and largest values read, scaled.
    """

    readout: Ridge
    states: tuple[State, ...]
    waiting: Floats
    values: Floats
    position: Count
    low: OpenFloats
    high: OpenFloats

    def read(
        self, windows: Windows, newest: np.ndarray, z: np.ndarray, state: State, factor: float
    ) -> "LearntSteps":
        """After an observation (series, width) that the reservoir read as z (series, units)."""
        h = windows.horizon
        values = np.concatenate([self.values, newest[:, None]], axis=1)[:, -h - 1 :]
        readout, position, waiting = self.readout, self.position, self.waiting
        if waiting.shape[1] == h:
            since = position - windows.washout
            if since >= 0 and since % windows.every == 0:
                readout = copy(readout)
                if factor < 1:
                    readout.forget(factor)
                rows = waiting[:, 0].reshape(-1, waiting.shape[2] // windows.n_readings)
                readout.learn_from(rows.astype(float), windows.wanted(values, slice(1)))
            waiting, position = waiting[:, 1:], position + 1
        row = windows.flat(newest[:, None])[0]
        return replace(
            self,
            readout=readout,
            states=(*self.states, state)[-h - 1 :],
            waiting=np.concatenate([waiting, z[:, None]], axis=1),
            values=values,
            position=position,
            low=np.minimum(self.low, row),
            high=np.maximum(self.high, row),
        )

    def model(self, fitted: FittedStateForecaster) -> FittedStateForecaster:
        """A fitted forecaster that has learnt, at the end of what was read."""
        h = fitted.windows.horizon
        if len(self.states) <= h:
            raise ValueError(f"a learnt model needs more than {h} rows, got {len(self.states)}")
        pending = fitted.windows.flat(self.values)
        return replace(
            fitted, readout=self.readout, state=self.states[0], position=self.position,
            pending=pending,
        )  # fmt: skip


def steps_of(fitted: FittedStateForecaster, fresh: bool) -> LearntSteps:
    """A forecaster at the end of training, or at a beginning, with nothing learnt since."""
    windows, reservoir = fitted.windows, fitted.reservoir
    if not isinstance(fitted.readout, Ridge):
        own_learner(fitted.readout)
        raise TypeError(f"learning by the row needs Ridge, got {type(fitted.readout).__name__}")
    if windows.noise:
        raise ValueError(f"learning by the row needs a model without noise, got {windows.noise}")
    none = np.full(windows.targets, np.inf)
    count, units = windows.n_series, reservoir.n_features_out_
    if fresh:
        empty = np.zeros((count, 0, units)), np.zeros((count, 0, windows.width))
        return LearntSteps(fitted.readout, (), *empty, 0, none, -none)
    values = windows.series(fitted.pending)
    inputs = windows.changed(values[:, 1:], values[:, :1])
    states, waiting, state = [fitted.state], [], fitted.state
    for t in range(windows.horizon):
        z, state = reservoir.run(as_series(inputs[:, t : t + 1]), state)
        waiting.append(np.asarray(z))
        states.append(state)
    return LearntSteps(
        fitted.readout, tuple(states), np.concatenate(waiting, axis=1), values, fitted.position,
        none, -none,
    )  # fmt: skip


def loop_after(fitted: FittedLoop, learnt: LearntSteps) -> FittedLoop:
    """The closed loop after what was read."""
    loop, windows = copy(fitted.loop), fitted.loop.fitted_.windows
    loop.fitted_ = learnt.model(loop.fitted_)
    rows = learnt.position - fitted.loop.fitted_.position
    low, high = (windows.restored(part) for part in (learnt.low, learnt.high))
    return replace(
        fitted, loop=loop, ends=_ends_after(fitted.ends, rows), low=np.minimum(fitted.low, low),
        high=np.maximum(fitted.high, high),
    )  # fmt: skip


def _ends_after(ends: Ends, rows: int) -> Ends:
    """So many steps later."""
    counts = ends.counts + rows
    if not ends.kind or not rows:
        return replace(ends, counts=counts)
    times = np.array([np.asarray(ends.times_ahead(i, rows))[-1] for i in range(len(counts))])
    return replace(
        ends, counts=counts, last=times.astype("M8[ns]").astype(np.int64) if ends.is_date else times
    )


def forecaster_after(
    fitted: FittedForecaster, ensemble: FittedEnsemble, position: Position
) -> FittedForecaster:
    """The forecaster after what was read, which it remembers as far as forecasts need it.

    Rows before these, and inputs of all of them, were not kept: they are missing.
    """
    ends, before = position.ends, fitted.ends.counts
    added = (ends.counts - before).tolist()
    memory, pieces = fitted.memory, []
    for i, (rows, recent) in enumerate(zip(added, position.histories(), strict=True)):
        pieces.append(_steps_since(fitted, i, rows, recent))
    names = ("y", "explained", "known", "past", "times")

    def joined(name: str, of_each: Sequence[np.ndarray]) -> np.ndarray:
        old = memory.split(getattr(memory, name), before)
        return np.concatenate([a for pair in zip(old, of_each, strict=True) for a in pair])

    kept = names if memory.times.size else names[:-1]
    grown = {name: joined(name, [p[name] for p in pieces]) for name in kept}
    return replace(
        fitted, ensemble=ensemble, ends=ends, memory=replace(memory, **grown),
        floor=np.minimum(fitted.floor, ensemble.spread.floor)
        if not fitted.effects.coefficients.shape[1] else fitted.floor,
    )  # fmt: skip


def _steps_since(
    fitted: FittedForecaster, i: int, rows: int, recent: np.ndarray
) -> dict[str, np.ndarray]:
    """What is remembered of the last rows of series i."""
    times = fitted.times_ahead(i, rows) if fitted.ends.kind else None
    known = np.zeros((rows, fitted.memory.known.shape[1]))
    if fitted.calendar and times is not None:
        known = calendar_columns(times, fitted.calendar)
    explained = fitted.effects.of(i, known) if known.shape[1] else np.zeros(rows)
    y = np.full(rows, np.nan)
    last = recent[-rows:] if rows else recent[:0]
    y[rows - last.size :] = last
    plain: Any = np.zeros(0)
    if times is not None:
        plain = times.astype("M8[ns]").astype(np.int64) if fitted.ends.is_date else times
    past = np.zeros((rows, fitted.memory.past.shape[1]))
    return {"y": y + explained, "explained": explained, "known": known, "past": past,
            "times": plain}  # fmt: skip
