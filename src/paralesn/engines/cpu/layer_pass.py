"""What a layer is asked to do in one call, and what every packed layer can do."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from paralesn.engines.base import Batch


class Pass(NamedTuple):
    """Series to take through one layer.

    `batch` says where they begin in `source` and in `target`, and how many steps they go.
    """

    batch: Batch
    source: np.ndarray  # (rows, columns)
    column: int  # the layer reads the columns from here on
    features: int  # as many of them
    before: np.ndarray  # (B, N)
    after: np.ndarray  # (B, N)
    target: np.ndarray  # (rows, columns)
    target_column: int  # the layer's states go to the columns from here on
    every_step: bool  # otherwise only the last step is written, to the first row
    mixed: bool  # otherwise states are raw

    def stretches(self, most: int) -> Iterator["Pass"]:
        """The same pass cut along time into stretches of at most so many steps.

        Between two of them Python serves signals: a kernel is deaf to them.
        """
        count = -(-self.batch.longest // most)
        if count <= 1:
            yield self
            return
        starts, targets, steps = self.batch
        before, pair = self.before, (self.after, np.empty_like(self.after))
        for k in range(count):
            t0, after = k * most, pair[(count - 1 - k) % 2]
            rows = targets + t0 if self.every_step else targets
            batch = Batch(starts + t0, rows, np.clip(steps - t0, 0, most))
            yield self._replace(batch=batch, before=before, after=after)
            before = after


class PackedLayer(Protocol):
    """A layer laid out for its kernel."""

    @property
    def units(self) -> int:
        """Number of units."""

    @property
    def column(self) -> int:
        """Column of the output where its states begin."""

    @property
    def together(self) -> int:
        """Number of series that are best run side by side."""

    def run(self, work: Pass, block: int, workers: int) -> bool:
        """Advance all series of `work` and write their states.

        A kernel may go from one group of units to the next after `block` steps. True where states
        are so large that somebody has to look at what came of them.
        """

    def prepared(self, work: Pass) -> Callable[[], int]:
        """The same for a pass that is made again and again, on the calling thread."""


def call_each(calls: Sequence[Callable[[], int]]) -> int:
    """Make prepared passes one after the other; what they say together."""
    large = 0
    for call in calls:
        large += call()
    return large
