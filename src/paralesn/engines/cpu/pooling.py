"""States pooled over time: each block of states is digested while it sits in the cache.

A single diagonal layer is pooled slice by slice: a slice runs through a series, or through as much
of it as stays in the cache, and its states are digested before the next slice has its turn, all of
it in one kernel. Other programs go block by block through their layers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.base import Batch, States
from paralesn.engines.cpu import deep
from paralesn.engines.cpu.diagonal_layer import MOST_WORK, PackedDiagonal
from paralesn.engines.cpu.kernels.diagonal import slice_width
from paralesn.engines.cpu.kernels.statistics import STATISTICS, digester, finish, gather
from paralesn.engines.cpu.program import Program
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty
from paralesn.runtime.compiler import kernel

_STEPS = 1024  # of a slice whose states stay in a core's cache
_TASKS = 8  # for each thread, where there are as many series


class _Wanted(NamedTuple):
    """Statistics to compute."""

    kinds: np.ndarray  # (6,): whether each of them is wanted
    order: np.ndarray  # their numbers in the order asked for


class _Slices(NamedTuple):
    """A packed diagonal layer, as the kernel of all slices takes it."""

    packed: np.ndarray
    taps: np.ndarray
    mix_bias: Any
    left: int


def pool(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> bool:
    """Write the pooled states of every series to its row of `out`.

    True where states are so large that somebody has to look at what came of them.
    """
    workers, count = threads.count(n_jobs), batch.size
    wanted = _Wanted(
        kinds=np.array([name in pools for name in STATISTICS]),
        order=np.array([STATISTICS[name] for name in pools]),
    )
    only = program.layers[0]
    is_single = len(program.layers) == 1
    if isinstance(only, PackedDiagonal) and is_single and program.mixing and count >= workers:
        size = max(1, count // (_TASKS * workers))
        size = max(1, min(size, MOST_WORK // (batch.longest * only.units * only.weight)))
        work = _slice_by_slice(only, x, batch, state[0], out, wanted, segments, size)
    else:
        size, block = deep.portions(program, count, batch.longest, workers)
        inside = workers if count == 1 else 1  # a single series: threads share its units
        work = _block_by_block(
            program, x, batch, state, out, wanted, segments, (size, block, inside)
        )
    large: list[bool] = []
    items = range(0, count, size)
    threads.for_each(lambda first: large.append(work(first)), items, workers if count > 1 else 1)
    return any(large)


def _slice_by_slice(
    layer: Any,
    x: np.ndarray,
    batch: Batch,
    state: np.ndarray,
    out: np.ndarray,
    wanted: _Wanted,
    segments: int,
    size: int,
) -> Callable[[int], bool]:
    """How to pool `size` series from a given one on through a diagonal layer."""
    slices, dtype = layer.packed.shape[0], layer.packed.dtype
    run = _pool_slices(layer.kernel, dtype == np.float32)
    width = slice_width(layer.units)
    steps = min(_STEPS, batch.longest)

    most = max(1, MOST_WORK // (steps * layer.units * layer.weight))  # blocks in one call

    def work(first: int) -> bool:
        series = slice(first, first + size)
        before, part = state[series], batch.part(series)
        between = np.empty_like(before[:1]), np.empty_like(before[:1])
        gathered = gather(slices, segments, width, dtype)
        packed = _Slices(layer.packed, layer.taps, layer.mix_bias, layer.left)
        states = empty((steps, width), dtype)
        count = -(-part.longest // steps)
        at_once = count if part.size > 1 else most  # several are so short that they fit one call
        large = [
            run(
                x, *part, before, between, out, wanted, states, gathered, packed, k,
                min(k + at_once, count),
            )
            for k in range(0, count, at_once)
        ]  # fmt: skip
        return any(large)

    return work


@cache
def _pool_slices(run_layer: Any, single: bool) -> Any:
    """Make the kernel that pools series one after the other, each slice by slice.

    Arguments of the kernel (`B` series, `N` units)::

        x (rows, F), starts, targets, steps_of (B,)   inputs, and the fields of a `Batch`
        state (B, N)             states to start from
        between                  two arrays (1, N) for states between blocks
        out                      (rows, segments * pools * N)
        wanted                   `_Wanted`
        states (steps, width)    room for a block of a slice's states
        gathered                 `Gathered` of each slice
        layer                    `_Slices`
        first .. stop            the blocks to run, which go on from those before them

    It returns how many numbers of the states are too large not to look at what came of them.
    """
    digest = digester(single)

    @kernel
    def pool_slices(
        x, starts, targets, steps_of, state, between, out, wanted, states, gathered, layer, first,
        stop,
    ):  # fmt: skip
        even, odd = between
        marks, partial, sums, positive = gathered
        packed, taps, mix_bias, left = layer
        block, width = states.shape
        units, features = state.shape[1], x.shape[1]
        row = np.zeros(1, np.intp)
        target = np.zeros(1, np.intp)
        length = np.zeros(1, np.intp)
        large = 0
        for b in range(steps_of.size):
            steps = steps_of[b]
            blocks = (steps + block - 1) // block
            if first == 0:
                even[0] = state[b]
            for k in range(first, min(stop, blocks)):
                t0 = k * block
                row[0], length[0] = starts[b] + t0, min(block, steps - t0)
                before, after = (even, odd) if k % 2 == 0 else (odd, even)
                for s in range(packed.shape[0]):
                    large += run_layer(
                        x, row, 0, features, length, before, after, states, target, -s * width,
                        packed, taps, mix_bias, left, True, block, 0, 1, s, s + 1, 0, 1,
                    )  # fmt: skip
                    digest(
                        states[: length[0]], steps, t0, wanted.kinds, marks[s], partial[s],
                        sums[s], positive[s],
                    )  # fmt: skip
            if stop < blocks:
                continue
            for s in range(packed.shape[0]):
                finish(
                    marks[s], sums[s], positive[s], steps, wanted.order, out[targets[b]],
                    s * width, units,
                )  # fmt: skip
        return large

    return pool_slices


def _block_by_block(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    wanted: _Wanted,
    segments: int,
    portion: tuple[int, int, int],
) -> Callable[[int], bool]:
    """How to pool series from a given one on; `portion`: how many, steps of a block, threads."""
    size, block, inside = portion
    digest_all, finish_all = _of_several(program.dtype == np.float32)
    columns = out.shape[1] // (segments * wanted.order.size)

    def work(first: int) -> bool:
        series = slice(first, first + size)
        part = batch.part(series)
        rows = np.arange(part.size) * block
        before = tuple(h[series] for h in state)
        states = empty((part.size * block, columns), program.dtype)
        gathered = gather(part.size, segments, columns, program.dtype)
        job = deep.Job(
            x=x,
            batch=part._replace(targets=rows),
            state=before,
            after=tuple([np.empty_like(h) for h in before]),
            spare=tuple([np.empty_like(h) for h in before]),
            out=states,
            last_only=False,
            block=block,
            overwrite=True,
        )
        large = False
        for k, is_large in deep.advance_blocks(program, job, inside):
            large = large or is_large
            digest_all(states, rows, part.steps, k * block, block, wanted.kinds, gathered)
        finish_all(gathered, part.steps, wanted.order, out, part.targets, columns)
        return large

    return work


@cache
def _of_several(single: bool) -> tuple[Any, Any]:
    """Make the kernels that digest a block of states of several series, and that finish them."""
    digest = digester(single)

    @kernel
    def digest_all(states, rows, steps_of, t0, block, kinds, gathered):
        """Steps t0 .. t0 + block of every series, which `states` holds from `rows` on."""
        marks, partial, sums, positive = gathered
        for b in range(steps_of.size):
            in_block = states[rows[b] : rows[b] + min(block, max(0, steps_of[b] - t0))]
            digest(in_block, steps_of[b], t0, kinds, marks[b], partial[b], sums[b], positive[b])

    @kernel
    def finish_all(gathered, steps_of, order, out, targets, columns):
        marks, _, sums, positive = gathered
        for b in range(steps_of.size):
            row = out[targets[b]]
            finish(marks[b], sums[b], positive[b], steps_of[b], order, row, 0, columns)

    return digest_all, finish_all
