"""A layer of delays packed for its kernel, and how threads share it out."""

from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.magnitude import any_beyond
from paralesn.engines.cpu.kernels.monomials import Runs, run_rows
from paralesn.engines.cpu.layer_pass import Pass
from paralesn.engines.overflow import largest_input
from paralesn.layers.delays import DelayLayer
from paralesn.runtime import threads

_LEAST_WORK = 1 << 17  # products worth a task of their own
_MOST_WORK = 1 << 26  # products in one call of the kernel: some tenths of a second


class PackedDelays(NamedTuple):
    """A layer of delays as its kernel takes it; see `paralesn.engines.cpu.layer_pass`."""

    lags: np.ndarray
    runs: Runs
    units: int  # columns that it writes
    column: int
    largest: float  # value whose products are all finite
    together: int = 1

    def run(self, work: Pass, block: int, workers: int) -> bool:
        """Advance all series of `work` and write their products."""
        starts, targets, steps = work.batch
        if steps.size > 1 and not steps.all():
            ended = steps == 0
            work.after[ended] = work.before[ended]
        ends = np.cumsum(steps)
        total = int(ends[-1])
        arguments = (
            work.source, starts, work.column, work.features, steps, ends, self.lags, *self.runs,
            work.before, work.after, work.target, targets, work.target_column, work.every_step,
        )  # fmt: skip
        pieces = -(-total * self.units // _MOST_WORK)
        if workers > 1:
            pieces = max(pieces, min(4 * workers, total * self.units // _LEAST_WORK))
        cuts = [(total * i // pieces, total * (i + 1) // pieces) for i in range(pieces)]
        threads.for_each(lambda cut: run_rows(*arguments, *cut), cuts, workers)
        # The windows hold what a step reads, but for the inputs of a run in between.
        return any_beyond(work.before, self.largest) or any_beyond(work.after, self.largest)

    def prepared(self, work: Pass) -> Callable[[], int]:
        """The same for a pass that is made again and again, on the calling thread."""
        return partial(self.run, work, 1, 1)


def pack_delays(layer: DelayLayer, column: int, dtype: np.dtype) -> PackedDelays:
    """Pack a layer whose products begin at `column` of the output."""
    longest = max(0, int(layer.orders[-1]) - 1)
    heads: list[tuple[int, ...]] = []
    first: list[int] = []
    for order in layer.orders.tolist():
        if order == 0:
            heads.append((-1,) * longest)
            first.append(layer.n_variables)
            continue
        for head in combinations_with_replacement(range(layer.n_variables), order - 1):
            heads.append(head + (-1,) * (longest - len(head)))
            first.append(head[-1] if head else 0)
    runs = Runs(np.array(heads, np.int64).reshape(len(first), longest), np.array(first))
    return PackedDelays(
        layer.lags.copy(), runs, layer.n_columns(True), column, largest_input([layer], dtype)
    )
