"""States of a reservoir over all series of a source, in blocks of bounded size."""

from collections.abc import Iterator

import numpy as np

from paralesn.layers.state import State
from paralesn.reservoirs.base import Reservoir
from paralesn.scaling import Scaling
from paralesn.series import SINGLE, Series
from paralesn.sources import Source

_ROWS = 8192  # time steps whose states exist at a time


class StateBlocks:
    """Iterate over blocks of states, a few series at a time, so that a block has about 8 192 rows.

    Yields the number of the first series, the first time step, and an array of states for each
    series. Afterwards `state` is that of all series at their ends.
    """

    def __init__(
        self,
        reservoir: Reservoir,
        scaling: Scaling | None,
        source: Source,
        start: State | None = None,
    ) -> None:
        self.reservoir = reservoir
        self.scaling = scaling
        self.source = source
        self.start = start
        self._ends: list[State] = []

    def __iter__(self) -> Iterator[tuple[int, int, list[np.ndarray]]]:
        count, is_single = len(self.source), self.source.kind == SINGLE
        size = count if is_single else max(1, _ROWS // min(self.source.longest, _ROWS))
        block = max(1, _ROWS // min(size, count))
        self._ends = []
        for first, group in zip(range(0, count, size), self.source.groups(size), strict=True):
            start = self.start
            if start is not None and not is_single:
                start = State(tuple(h[first : first + size] for h in start.layers), start.origin)
            stream = self.reservoir.stream(self._inputs(group, block), block, start)
            for number, states in enumerate(stream):
                yield first, number * block, [states] if is_single else list(states)
            assert isinstance(stream.state, State)
            self._ends.append(stream.state)

    def _inputs(self, group: Source, block: int) -> Iterator[Series]:
        """What the reservoir reads, block by block."""
        if self.scaling is None:
            return group.blocks(block, self.reservoir.real_dtype)
        return (self.scaling.apply_to(piece) for piece in group.blocks(block, check=False))

    @property
    def state(self) -> State:
        """State of all series, at the end of each."""
        if self.source.kind == SINGLE:
            return self._ends[0]
        layers = zip(*(end.layers for end in self._ends), strict=True)
        return State(tuple(np.concatenate(h) for h in layers), self.reservoir.fingerprint_)
