"""The reservoir member: one readout, shared by all series, that reads a reservoir of changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from paralesn.estimators.components import check_readout, check_reservoir
from paralesn.estimators.forecaster.changes import Reading, StateBlocks, in_units, scales
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats
from paralesn.readouts.ridge import Ridge
from paralesn.series import Series

_LARGEST = 1e300  # forecast, by an unstable one
HELD_OUT = 0.25  # share of each series, at its end, that the member is judged on
_BLOCK = 8192  # rows that are learnt from together

Lesson = tuple[np.ndarray, np.ndarray]  # states (n, columns) and targets (n, horizon)


@register
@dataclass(frozen=True, eq=False)
class SharedReadout:
    r"""A reservoir that reads the changes of every series, in units of their mean absolute change,
    and one readout for all of them.

    From the state at step t it predicts :math:`y_{t+k} - y_t` for k = 1, …, horizon, in the same
    units: neither the level nor the scale of a series matters.

    Attributes
    ----------
    reservoir, readout : the fitted ones
    horizon : int
    log : bool
        Whether logarithms are read.
    scale : (S,)
        Mean absolute change of each series.
    state : State
        Of the reservoir after the last step, for all series.
    newest : (S,)
        The last value or logarithm.
    latest : (S, units)
        What the readout reads of the last step.
    static : (S, static)
    """

    reservoir: Any  # None, as the readout, in the part of a block, which travels without
    readout: Any
    horizon: Count
    log: bool
    scale: Floats
    state: State
    newest: Floats
    latest: Floats
    static: Floats

    def forecast(self, steps: int) -> np.ndarray:
        """Forecasts (S, steps) after the last step; beyond the horizon from forecasts."""
        if not len(self.newest):
            return np.zeros((0, steps))
        state, newest, pieces = self.state, self.newest, []
        z = self.latest
        for _ in range(-(-steps // self.horizon)):
            ahead = self.predicted(z, self.static, newest, self.scale)
            pieces.append(ahead)
            if len(pieces) * self.horizon >= steps:
                break
            changes = np.diff(ahead, axis=1, prepend=newest[:, None])
            changes = in_units(changes, self.scale[:, None])
            inputs = np.zeros((*changes.shape, self.reservoir.n_features_in_))
            inputs[..., 0] = changes
            lengths = np.full(len(changes), self.horizon)
            rows = Series(inputs.reshape(-1, inputs.shape[-1]), lengths, "batch")
            z, state = self.reservoir.last(rows, state, return_state=True)
            newest = ahead[:, -1]
        values = np.concatenate(pieces, axis=1)[:, :steps]
        return np.exp(np.minimum(values, 700.0)) if self.log else values

    def predicted(
        self, z: np.ndarray, static: np.ndarray, newest: np.ndarray, scale: np.ndarray
    ) -> np.ndarray:
        """Forecasts (n, horizon) from states (n, units) and the newest values (n,)."""
        columns = np.hstack([z, np.broadcast_to(static, (len(z), static.shape[-1]))])
        read = self.readout.read_out if isinstance(self.readout, Ridge) else self.readout.predict
        ahead = np.asarray(read(columns)).reshape(len(z), self.horizon)
        with np.errstate(over="ignore"):
            ahead = ahead * np.reshape(scale, (-1, 1)) + np.reshape(newest, (-1, 1))
        return np.clip(ahead, -_LARGEST, _LARGEST)

    def follow(
        self, readings: Sequence[Reading], origins: Sequence[np.ndarray], go_on: bool
    ) -> tuple[list[np.ndarray], "SharedReadout"]:
        """Forecasts (O, horizon) from some steps of every series, and the member after them.

        With `go_on` series follow those seen so far, otherwise they begin.
        """
        before, start = (self.newest, self.state) if go_on else (None, None)
        forecasts = [np.empty((o.size, self.horizon)) for o in origins]
        latest = self.latest.copy()
        blocks = StateBlocks(self.reservoir, readings, self.scale, before, start)
        for i, first, z in blocks:
            latest[i] = z[-1]
            at = np.flatnonzero((origins[i] >= first) & (origins[i] < first + len(z)))
            if at.size:
                steps = origins[i][at]
                given = (self.static[i], readings[i].values[steps], self.scale[i])
                forecasts[i][at] = self.predicted(z[steps - first], *given)
        newest = self.newest.copy()
        for i, reading in enumerate(readings):
            newest[i] = reading.values[-1] if reading.values.size else newest[i]
        if self.log:
            forecasts = [np.exp(np.minimum(f, 700.0)) for f in forecasts]
        return forecasts, replace(self, state=blocks.state, newest=newest, latest=latest)

    def for_series(self, readings: Sequence[Reading]) -> "SharedReadout":
        """The same readout for other series, of which nothing is read yet."""
        count = len(readings)
        static = np.stack([r.static for r in readings]) if count else self.static[:0]
        blank = State((), self.reservoir.fingerprint_)
        newest = np.array([r.values[-1] for r in readings])
        latest = np.zeros((count, self.reservoir.n_features_out_))
        return replace(self, scale=scales(readings), static=static, state=blank, newest=newest,
                       latest=latest)  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence["SharedReadout"], reservoir: Any, readout: Any) -> Self:
        """The member of the series of all parts, with its reservoir and its readout."""
        layers = zip(*(part.state.layers for part in parts if len(part.scale)), strict=True)
        state = State(tuple(np.concatenate(h) for h in layers), reservoir.fingerprint_)
        scale, newest, latest, static = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("scale", "newest", "latest", "static")
        )
        first = parts[0]
        return cls(
            reservoir, readout, first.horizon, first.log, scale, state, newest, latest, static
        )

    def check(self) -> None:
        """Check what a file said."""
        check_reservoir(self.reservoir)
        check_readout(self.readout, self.reservoir.n_features_out_ + self.static.shape[1])
        count = len(self.scale)
        right = (
            self.state.origin == self.reservoir.fingerprint_
            and self.newest.shape == (count,) and np.isfinite(self.newest).all()
            and np.isfinite(self.scale).all() and self.scale.min(initial=1) > 0
            and self.latest.shape == (count, self.reservoir.n_features_out_)
            and len(self.static) == count and all(len(h) == count for h in self.state.layers)
            and all(np.isfinite(part).all() for part in
                    (self.latest, self.static, *self.state.layers))
            and isinstance(self.horizon, int) and self.horizon >= 1
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a reservoir with a shared readout do not fit together")


class Judged(NamedTuple):
    """A fitted member, and its forecasts (O, horizon) into the held-out part of every series.

    None for a series that is too short to be judged on.
    """

    member: SharedReadout
    forecasts: list[np.ndarray | None]


def held_out_from(n: int, horizon: int) -> int:
    """The first held-out step of a series of n steps."""
    return n - max(int(HELD_OUT * n), min(horizon, n // 3))


class Gathering:
    """Lessons of short series put together: a few large blocks are learnt faster."""

    def __init__(self, learn: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        self.learn = learn
        self.waiting: list[Lesson] = []
        self.rows = 0

    def add(self, lesson: Lesson) -> None:
        """A lesson more, learnt when there are enough rows."""
        self.waiting.append(lesson)
        self.rows += len(lesson[0])
        if self.rows >= _BLOCK:
            self.close()

    def close(self) -> None:
        """Learn whatever is waiting."""
        if self.waiting:
            self.learn(*together(self.waiting))
        self.waiting, self.rows = [], 0


def together(lessons: Sequence[Lesson]) -> Lesson:
    """States and targets of lessons, end to end."""
    if len(lessons) == 1:
        return lessons[0]
    states, wanted = zip(*lessons, strict=True)
    return np.concatenate(states), np.concatenate(wanted)
