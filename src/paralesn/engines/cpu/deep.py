"""Several layers, block by block: what one hands to the next never exists for a whole series.

Many series: each thread takes some of them through all layers, in blocks that stay in its cache.
Few series: layers work at the same time, each on a block of its own, the upper ones behind the
lower ones. Either way a layer sees the same numbers, so the number of threads does not change a
bit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paralesn.engines.base import Batch, States
from paralesn.engines.cpu.program import Block, Program, advance_layer, buffers
from paralesn.runtime import threads

_IN_FLIGHT = 3  # blocks a layer may be ahead of the next one
_WORTH_MEETING = 1 << 18  # unit-steps of a series, below which threads that meet lose time


class Job(NamedTuple):
    """Series to take through all layers, in blocks of `block` steps."""

    x: np.ndarray
    batch: Batch
    state: States
    after: States
    spare: States  # states of blocks that do not end in `after`
    out: np.ndarray
    last_only: bool
    block: int
    overwrite: bool = False  # every block goes to the same rows of `out`

    def n_blocks(self) -> int:
        """Number of blocks of the longest series."""
        return -(-self.batch.longest // self.block)

    def cut(self, k: int) -> Block:
        """The block with number k."""
        starts, targets, steps = self.batch
        t0 = k * self.block
        stays = self.last_only or self.overwrite
        batch = Batch(
            starts + t0, targets if stays else targets + t0, np.clip(steps - t0, 0, self.block)
        )
        return Block(batch, self.x, 0, self.out, self.last_only)

    def states(self, depth: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """A layer's state before block k, and where the one after it goes.

        Never the same array: slices read what their neighbours were before the block.
        """
        pair = self.after[depth], self.spare[depth]
        to_go = self.n_blocks() - 1 - k
        return (pair[(to_go + 1) % 2] if k else self.state[depth]), pair[to_go % 2]


def run(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    after: States,
    out: np.ndarray,
    last_only: bool,
    workers: int,
) -> bool:
    """Take all series through all layers; whether states are so large that one has to look."""
    count, longest = batch.size, batch.longest
    ended = batch.steps == 0  # where all series of a task have ended, no block hands states on
    for before, end in zip(state, after, strict=True):
        end[ended] = before[ended]
    depth = len(program.layers)
    is_much = longest * sum([layer.units for layer in program.layers]) >= _WORTH_MEETING
    if workers > 1 and count < workers and is_much:
        # Larger blocks than fit a cache make the threads meet less often; enough of them keep
        # the threads busy.
        block = min(max(longest // (4 * depth), 64), 4 * program.block)
        spare = tuple([np.empty_like(h) for h in state])
        job = Job(x, batch, state, after, spare, out, last_only, block)
        return _overlap(program, job, workers)

    size, block = portions(program, count, longest, workers)
    large = []

    def work(first: int) -> None:
        series = slice(first, first + size)
        start, result = tuple(h[series] for h in state), tuple(h[series] for h in after)
        spare = tuple([np.empty_like(h) for h in start])
        job = Job(x, batch.part(series), start, result, spare, out, last_only, block)
        large.append(max([large for _, large in advance_blocks(program, job)], default=False))

    threads.for_each(work, range(0, count, size), workers)
    return any(large)


def portions(program: Program, count: int, longest: int, workers: int) -> tuple[int, int]:
    """Series in a task, and steps in a block of theirs: states that stay in a core's cache.

    Short series are taken together until they fill it, and so are those of layers that are faster
    on several series at a time.
    """
    block = max(1, min(program.block, longest))
    together = max(layer.together for layer in program.layers)
    size = max(1, min(max(program.block // block, together), -(-count // workers)))
    return size, max(1, min(block, max(program.block // size, 16)))


def advance_blocks(program: Program, job: Job, workers: int = 1) -> Iterator[tuple[int, bool]]:
    """Take one block after the other through all layers.

    Yields the number of each, and whether states are so large that somebody has to look.
    """
    spare = buffers(program, job.batch.size, job.block, 2)
    for k in range(job.n_blocks()):
        block, large = job.cut(k), False
        for depth in range(len(program.layers)):
            reads = (block, *job.states(depth, k), spare[depth % 2])
            block, is_large = advance_layer(program, depth, *reads, workers)
            large = large or is_large
        yield k, large


def _overlap(program: Program, job: Job, workers: int) -> bool:
    """Let layers work on different blocks at the same time."""
    depths = len(program.layers)
    spare = [buffers(program, job.batch.size, job.block, _IN_FLIGHT) for _ in range(depths)]
    handed: dict[tuple[int, int], Block] = {}
    large: list[bool] = []

    def work(depth: int, k: int) -> None:
        slot = k % _IN_FLIGHT
        block = handed[depth - 1, slot] if depth else job.cut(k)
        before, after = job.states(depth, k)
        handed[depth, slot], is_large = advance_layer(
            program, depth, block, before, after, spare[depth][slot], max(1, workers // depths)
        )
        large.append(is_large)

    threads.wavefront(work, depths, job.n_blocks(), _IN_FLIGHT, workers)
    return any(large)
