"""The reservoir member: one readout, shared by all series, that reads a reservoir of changes."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.components import check_readout, check_reservoir
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.series import RAGGED, Series

HELD_OUT = 0.25  # share of each series, at its end, that the member is judged on
_VALUES = 1 << 22  # states that exist at a time
_ROWS = 100_000  # learnt from, about
_BLOCK = 8192  # rows that are learnt from at a time, at least


class Reading(NamedTuple):
    """What the member reads of one series.

    Attributes
    ----------
    values : (n,)
        Values, or logarithms of them, none missing.
    others : (n, inputs)
        Inputs that are known only up to now.
    static : (static,)
        What is known of the series as a whole.
    """

    values: np.ndarray
    others: np.ndarray
    static: np.ndarray

    def part(self, first: int) -> "Reading":
        """From step `first` on."""
        return self._replace(values=self.values[first:], others=self.others[first:])


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

    reservoir: Reservoir
    readout: Any
    horizon: int
    log: bool
    scale: np.ndarray
    state: State
    newest: np.ndarray
    latest: np.ndarray
    static: np.ndarray

    def forecast(self, steps: int) -> np.ndarray:
        """Forecasts (S, steps) after the last step; beyond the horizon from forecasts themselves."""
        if not len(self.newest):
            return np.zeros((0, steps))
        state, newest, pieces = self.state, self.newest, []
        z = self.latest
        for _ in range(-(-steps // self.horizon)):
            ahead = self.predicted(z, self.static, newest, self.scale)
            pieces.append(ahead)
            if len(pieces) * self.horizon >= steps:
                break
            changes = np.diff(ahead, axis=1, prepend=newest[:, None]) / self.scale[:, None]
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
        ahead = np.asarray(self.readout.predict(columns)).reshape(len(z), self.horizon)
        return ahead * np.reshape(scale, (-1, 1)) + np.reshape(newest, (-1, 1))

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
        return replace(self, scale=_scales(readings), static=static, state=blank, newest=newest,
                       latest=latest)  # fmt: skip

    def check(self) -> None:
        """Check what a file said."""
        check_reservoir(self.reservoir)
        check_readout(self.readout, self.reservoir.n_features_out_ + self.static.shape[1])
        count = len(self.scale)
        right = (
            self.state.origin == self.reservoir.fingerprint_
            and self.newest.shape == (count,) and np.isfinite(self.newest).all()
            and np.isfinite(self.scale).all() and self.scale.min(initial=1) > 0
            and len(self.static) == len(self.latest) == count and isinstance(self.horizon, int) and self.horizon >= 1
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a reservoir with a shared readout do not fit together")


class StateBlocks:
    """States of all series, in blocks of bounded size: series number, first step, states (n, units).

    Short series are run together, a long one piece by piece. Afterwards `state` is that of all
    series at their ends.
    """

    def __init__(
        self,
        reservoir: Reservoir,
        readings: Sequence[Reading],
        scale: np.ndarray,
        before: np.ndarray | None = None,
        start: State | None = None,
    ) -> None:
        self.reservoir, self.readings, self.scale = reservoir, readings, scale
        self.before, self.start = before, start
        self.state = State((), reservoir.fingerprint_)

    def __iter__(self) -> Iterator[tuple[int, int, np.ndarray]]:
        size = max(1, _VALUES // max(self.reservoir.n_features_out_, 1))
        ends: list[State] = []
        first = 0
        while first < len(self.readings):
            last, steps = first, 0
            while last < len(self.readings) and (last == first or steps <= size):
                steps += len(self.readings[last].values)
                last += 1
            yield from self._run(range(first, last), size, ends)
            first = last
        if not ends:
            return
        layers = zip(*(end.layers for end in ends), strict=True)
        self.state = State(tuple(np.concatenate(h) for h in layers), self.reservoir.fingerprint_)

    def _run(
        self, members: range, size: int, ends: list[State]
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        inputs = [self._inputs(i) for i in members]
        lengths = np.array([len(x) for x in inputs])
        state = None
        if self.start is not None:
            part = tuple(h[members.start : members.stop] for h in self.start.layers)
            state = State(part, self.start.origin)
        pieces = range(0, int(lengths.max()), size) if len(inputs) == 1 else (0,)
        for t in pieces:
            rows = [x[t : t + size] for x in inputs] if len(inputs) == 1 else inputs
            data = Series(np.concatenate(rows), np.array([len(x) for x in rows]), RAGGED)
            states, state = self.reservoir.run(data, state)
            for i, z in zip(members, states, strict=True):
                if len(z):
                    yield i, t, z
        if state is None:  # nothing to read, from nothing
            raise ValueError("a series must have at least one value")
        ends.append(state)

    def _inputs(self, i: int) -> np.ndarray:
        reading = self.readings[i]
        first = reading.values[:1] if self.before is None else self.before[i : i + 1]
        changes = np.diff(reading.values, prepend=first) / self.scale[i]
        return np.ascontiguousarray(np.column_stack([changes, reading.others]))


def _scales(readings: Sequence[Reading]) -> np.ndarray:
    """Mean absolute change of every series; 1 where it never changes."""
    scale = np.array([np.abs(np.diff(r.values)).mean() if len(r.values) > 1 else 0.0
                      for r in readings])  # fmt: skip
    return np.where(scale > 0, scale, 1.0)


class Judged(NamedTuple):
    """A fitted member, and its forecasts (O, horizon) into the held-out part of every series.

    None for a series that is too short to be judged on.
    """

    member: SharedReadout
    forecasts: list[np.ndarray | None]


def held_out_from(n: int, horizon: int) -> int:
    """The first held-out step of a series of n steps."""
    return n - max(int(HELD_OUT * n), min(horizon, n // 3))


def fit_shared_readout(
    readings: Sequence[Reading],
    horizon: int,
    log: bool,
    reservoir: Reservoir,
    readout: Any,
    origins: Sequence[np.ndarray],
) -> Judged | None:
    """Learn from the beginnings of all series, judge by their ends, then learn from these, too.

    `origins` are steps in the held-out part that forecasts are wanted from. None where there is too
    little to learn from.
    """
    count, h = len(readings), horizon
    cuts = [held_out_from(len(r.values), h) for r in readings]
    rows = sum(max(0, cut - h) for cut in cuts)
    least = 24 if count == 1 else 100
    if rows < least:
        return None
    every = max(1, rows // _ROWS)
    scale = _scales(readings)
    static = np.stack([r.static for r in readings])
    reservoir.fit(Series(np.zeros((1, 1 + readings[0].others.shape[1])), np.array([1]), "single"))
    newest = np.array([r.values[-1] for r in readings])
    blank = State((), reservoir.fingerprint_)
    latest = np.zeros((count, reservoir.n_features_out_))
    draft = SharedReadout(reservoir, readout, h, log, scale, blank, newest, latest, static)

    def lessons(
        begins: Sequence[int], stops: Sequence[int]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """States and targets of the steps between `begins` and `stops` of every series."""
        for i, first, z in StateBlocks(reservoir, readings, scale):
            y = readings[i].values
            begin, stop = max(begins[i], first), min(stops[i], len(y) - h, first + len(z))
            begin += (begins[i] - begin) % every
            steps = np.arange(begin, stop, every)
            if steps.size:
                wanted = (y[steps[:, None] + np.arange(1, h + 1)] - y[steps, None]) / scale[i]
                yield np.hstack([z[steps - first], np.tile(static[i], (steps.size, 1))]), wanted

    washout = [min(20, len(r.values) // 8) for r in readings]
    _learn(readout, lessons(washout, [cut - h for cut in cuts]))
    judge = deepcopy(readout)
    if isinstance(readout, Ridge):
        for states, wanted in _joined(lessons([cut - 1 for cut in cuts], [1 << 62] * count)):
            judge.validate(states, wanted)
    judged, _ = replace(draft, readout=judge).follow(readings, origins, go_on=False)
    _learn(readout, lessons([cut - h for cut in cuts], [1 << 62] * count))
    if isinstance(readout, Ridge) and judge.fitted_.validation is not None:
        readout.choose_as(judge)
    member = draft.follow(readings, [np.zeros(0, np.int64)] * count, go_on=False)[1]
    fit_for = [cut - h >= 8 or count > 1 for cut in cuts]
    return Judged(member, [f if fits else None for f, fits in zip(judged, fit_for, strict=True)])


def _joined(
    lessons: Iterator[tuple[np.ndarray, np.ndarray]],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same in blocks of many rows: what a readout does once a block costs more than a few."""
    block: list[tuple[np.ndarray, np.ndarray]] = []
    rows = 0
    for lesson in lessons:
        block.append(lesson)
        rows += len(lesson[0])
        if rows >= _BLOCK:
            yield _stacked(block)
            block, rows = [], 0
    if block:
        yield _stacked(block)


def _stacked(block: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    states, wanted = zip(*block, strict=True)
    return np.concatenate(states), np.concatenate(wanted)


def _learn(readout: Any, lessons: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
    """Learn block by block where the readout can, else from everything at once."""
    if isinstance(readout, Ridge):
        for states, wanted in _joined(lessons):
            readout.partial_fit(states, wanted)
        return
    before = getattr(readout, "lessons_", [])
    every = [*before, *lessons]
    readout.lessons_ = every
    readout.fit(np.concatenate([s for s, _ in every]), np.concatenate([w for _, w in every]))
