"""Several layers, block by block: what one hands to the next never exists for a whole series.

Many series: each thread takes some of them through all layers, in blocks that stay in its cache.
Few series: layers work at the same time, each on a block of its own, the upper ones behind the
lower ones. Either way a layer sees the same numbers, so threads do not change a bit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paralesn.engines.cpu.packed import Program, advance_layer, buffers
from paralesn.engines.cpu.place import Place
from paralesn.runtime import threads

_IN_FLIGHT = 3  # blocks a layer may be ahead of the next one


class Job(NamedTuple):
    """Some series to take through all layers."""

    x: np.ndarray
    series: np.ndarray  # (3, B): first rows in x, first rows in out, steps
    state: tuple[np.ndarray, ...]
    after: tuple[np.ndarray, ...]
    spare: tuple[np.ndarray, ...]  # states of blocks that do not end in `after`
    out: np.ndarray
    last_only: bool
    block: int
    in_place: bool = False  # every block goes to the same rows of `out`

    def blocks(self) -> int:
        """Number of blocks of the longest series."""
        return -(-int(self.series[2].max()) // self.block)

    def cut(self, k: int) -> tuple[Place, np.ndarray, Place]:
        """Input, steps and output of the block with number k."""
        t0 = k * self.block
        stays = self.last_only or self.in_place
        rows = self.series[1] if stays else self.series[1] + t0
        steps = np.clip(self.series[2] - t0, 0, self.block)
        return Place(self.x, self.series[0] + t0, 0), steps, Place(self.out, rows, 0)

    def states(self, depth: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """A layer's state before block k, and where the one after it goes.

        Never the same array: slices read what their neighbours were before the block.
        """
        pair = self.after[depth], self.spare[depth]
        to_go = self.blocks() - 1 - k
        return (pair[(to_go + 1) % 2] if k else self.state[depth]), pair[to_go % 2]


def run(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    after: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool,
    workers: int,
) -> None:
    """Take all series through all layers."""
    count, longest = series.shape[1], int(series[2].max())
    if workers > 1 and count < workers:
        depth = len(program.layers)
        # Larger blocks than fit a cache make the threads meet less often; enough of them keep
        # the threads busy.
        block = min(max(longest // (4 * depth), 64), 4 * program.block)
        spare = tuple([np.empty_like(h) for h in state])
        _overlap(program, Job(x, series, state, after, spare, out, last_only, block), workers)
        return

    size, block = portions(program, count, longest, workers)

    def work(first: int) -> None:
        cut = slice(first, first + size)
        before, result = tuple(h[cut] for h in state), tuple(h[cut] for h in after)
        spare = tuple([np.empty_like(h) for h in before])
        some = np.ascontiguousarray(series[:, cut])
        job = Job(x, some, before, result, spare, out, last_only, block)
        for _ in blocks(program, job):
            pass

    threads.for_each(work, range(0, count, size), workers)


def portions(program: Program, count: int, longest: int, workers: int) -> tuple[int, int]:
    """Series in a task, and steps in a block of theirs: states that stay in a core's cache.

    Short series are taken together until they fill it, and so are those whose layers like company.
    """
    block = max(1, min(program.block, longest))
    company = max(layer.together for layer in program.layers)
    size = max(1, min(max(program.block // block, company), -(-count // workers)))
    return size, max(1, min(block, max(program.block // size, 16)))


def blocks(program: Program, job: Job, workers: int = 1) -> Iterator[int]:
    """Take one block after the other through all layers, yielding the number of each."""
    spare = buffers(program, job.series.shape[1], job.block, 2)
    for k in range(job.blocks()):
        source, steps, out = job.cut(k)
        for depth in range(len(program.layers)):
            source = advance_layer(
                program, depth, source, steps, *job.states(depth, k), out, job.last_only,
                spare[depth % 2], workers,
            )  # fmt: skip
        yield k


def _overlap(program: Program, job: Job, workers: int) -> None:
    """Let layers work on different blocks at the same time."""
    depths = len(program.layers)
    count = job.series.shape[1]
    spare = [buffers(program, count, job.block, _IN_FLIGHT) for _ in range(depths)]
    handed: dict[tuple[int, int], Place] = {}

    def work(depth: int, k: int) -> None:
        source, steps, out = job.cut(k)
        if depth:
            source = handed[depth - 1, k % _IN_FLIGHT]
        handed[depth, k % _IN_FLIGHT] = advance_layer(
            program, depth, source, steps, *job.states(depth, k), out, job.last_only,
            spare[depth][k % _IN_FLIGHT], max(1, workers // depths),
        )  # fmt: skip

    threads.wavefront(work, depths, job.blocks(), _IN_FLIGHT, workers)
