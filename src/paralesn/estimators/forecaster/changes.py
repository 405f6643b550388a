"""Changes of series, read by a reservoir block by block."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from paralesn.layers.state import State
from paralesn.reservoirs.base import Reservoir
from paralesn.series import RAGGED, Series

_VALUES = 1 << 22  # states that exist at a time
_LARGEST = 1e100  # change that is read, in units of the usual one


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


class StateBlocks:
    """States of all series, in blocks of bounded size: series number, first step, states.

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
        changes = in_units(np.diff(reading.values, prepend=first), self.scale[i])
        return np.ascontiguousarray(np.column_stack([changes, reading.others]))


def scales(readings: Sequence[Reading]) -> np.ndarray:
    """Mean absolute change of every series; 1 where it never changes."""
    scale = np.array([np.abs(np.diff(r.values)).mean() if len(r.values) > 1 else 0.0
                      for r in readings])  # fmt: skip
    return np.where(scale > 0, scale, 1.0)


def in_units(changes: np.ndarray, scale: Any) -> np.ndarray:
    """Changes in units of the usual one, none so large that a state could overflow."""
    with np.errstate(over="ignore"):
        return np.clip(changes / scale, -_LARGEST, _LARGEST)
