"""States pooled over time: each block of states is digested while it sits in the cache.

A single diagonal layer is pooled slice by slice: a slice runs through a series, or through as much
of it as stays in the cache, and its states are digested before the next slice has its turn, all of
it in one kernel. Other programs go block by block through their layers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu import deep
from paralesn.engines.cpu.diagonal_layer import PackedDiagonal
from paralesn.engines.cpu.kernels.diagonal import slice_width
from paralesn.engines.cpu.kernels.statistics import STATISTICS, digester, finish, gather
from paralesn.engines.cpu.packed import Program
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty
from paralesn.runtime.compiler import kernel

_STEPS = 1024  # of a slice whose states stay in a core's cache
_TASKS = 8  # for each thread, where there are as many series


class _Wanted(NamedTuple):
    """Statistics to compute, in the order asked for."""

    segments: int
    kinds: np.ndarray  # of each statistic, whether
    order: np.ndarray

    def columns(self, out: np.ndarray) -> int:
        """Columns of the states that are pooled."""
        return out.shape[1] // (self.segments * self.order.size)


def pool(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the pooled states of series b to row ``series[1, b]`` of `out`.

    `out` is (rows, segments * pools * columns of the states), in this order.
    """
    workers, count = threads.count(n_jobs), series.shape[1]
    wanted = _Wanted(
        segments,
        kinds=np.array([name in pools for name in STATISTICS]),
        order=np.array([STATISTICS.index(name) for name in pools]),
    )
    only = program.layers[0]
    by_slices = isinstance(only, PackedDiagonal) and program.mixing and len(program.layers) == 1
    if by_slices and count >= workers:
        size = max(1, count // (_TASKS * workers))
        work = _slice_by_slice(only, x, series, state[0], out, wanted, size)
    else:
        size, block = deep.portions(program, count, int(series[2].max()), workers)
        inside = workers if count == 1 else 1  # a single series: threads share its units
        work = _block_by_block(program, x, series, state, out, wanted, (size, block, inside))
    threads.for_each(work, range(0, count, size), workers if count > 1 else 1)


def _slice_by_slice(
    layer: Any,
    x: np.ndarray,
    series: np.ndarray,
    state: np.ndarray,
    out: np.ndarray,
    wanted: _Wanted,
    size: int,
) -> Callable[[int], None]:
    """How to pool `size` series from a given one on through a diagonal layer."""
    slices, dtype = layer.packed.shape[0], layer.packed.dtype
    run = _pool_slices(layer.kernel, dtype == np.float32)
    width = slice_width(layer.units)
    steps = min(_STEPS, int(series[2].max()))

    def work(first: int) -> None:
        cut = slice(first, first + size)
        some = np.ascontiguousarray(series[:, cut])
        before = state[cut]
        known = gather(slices, wanted.segments, width, dtype)
        run(
            x, some, before, np.empty_like(before[:1]), np.empty_like(before[:1]), out,
            wanted.kinds, wanted.order, empty((steps, width), dtype), *known,
            layer.packed, layer.taps, layer.mix_bias, layer.left,
        )  # fmt: skip

    return work


@cache
def _pool_slices(run_layer: Any, single: bool) -> Any:
    """Make the kernel that pools series one after the other, each slice by slice.

    Arguments: what `pool` gets, with two rows for states between blocks; a block of a slice's
    states; `Gathered` for each slice; the packed layer.
    """
    digest = digester(single)

    @kernel
    def pool_slices(
        x, series, state, even, odd, out, kinds, order, states, marks, partial, sums, positive,
        packed, taps, mix_bias, left,
    ):  # fmt: skip
        block, width = states.shape
        units, features = state.shape[1], x.shape[1]
        rows = np.zeros(1, np.intp)
        here = np.zeros(1, np.intp)
        some = np.zeros(1, np.intp)
        for b in range(series.shape[1]):
            steps = series[2, b]
            even[0] = state[b]
            for k in range((steps + block - 1) // block):
                t0 = k * block
                rows[0], some[0] = series[0, b] + t0, min(block, steps - t0)
                before, after = (even, odd) if k % 2 == 0 else (odd, even)
                for s in range(packed.shape[0]):
                    run_layer(
                        x, rows, 0, features, some, before, after, states, here, -s * width,
                        packed, taps, mix_bias, left, True, block, 0, 1, s, s + 1,
                    )  # fmt: skip
                    found = states[: some[0]]
                    digest(found, steps, t0, kinds, marks[s], partial[s], sums[s], positive[s])
            for s in range(packed.shape[0]):
                row = out[series[1, b]]
                finish(marks[s], sums[s], positive[s], steps, order, row, s * width, units)

    return pool_slices


def _block_by_block(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    wanted: _Wanted,
    ways: tuple[int, int, int],
) -> Callable[[int], None]:
    """How to pool series from a given one on; `ways` are how many, steps of a block, threads."""
    size, block, inside = ways
    digest, finish_all = _of_several(program.dtype == np.float32)
    columns = wanted.columns(out)

    def work(first: int) -> None:
        cut = slice(first, first + size)
        some = np.ascontiguousarray(series[:, cut])
        here, steps = some.shape[1], some[2]
        rows = np.arange(here) * block
        before = tuple(h[cut] for h in state)
        states = empty((here * block, columns), program.dtype)
        known = gather(here, wanted.segments, columns, program.dtype)
        job = deep.Job(
            x=x,
            series=np.stack([some[0], rows, steps]),
            state=before,
            after=tuple([np.empty_like(h) for h in before]),
            spare=tuple([np.empty_like(h) for h in before]),
            out=states,
            last_only=False,
            block=block,
            in_place=True,
        )
        for k in deep.blocks(program, job, inside):
            digest(states, rows, steps, k * block, block, wanted.kinds, *known)
        finish_all(*known, steps, wanted.order, out, some[1], columns)

    return work


@cache
def _of_several(single: bool) -> tuple[Any, Any]:
    """Make the kernels that digest a block of some series, and that finish them."""
    digest = digester(single)

    @kernel
    def digest_all(states, rows, steps_of, t0, block, kinds, marks, partial, sums, positive):
        """Steps t0 .. t0 + block of every series, which `states` holds from `rows` on."""
        for b in range(steps_of.size):
            found = states[rows[b] : rows[b] + min(block, max(0, steps_of[b] - t0))]
            digest(found, steps_of[b], t0, kinds, marks[b], partial[b], sums[b], positive[b])

    @kernel
    def finish_all(marks, partial, sums, positive, steps_of, order, out, out_rows, columns):
        for b in range(steps_of.size):
            row = out[out_rows[b]]
            finish(marks[b], sums[b], positive[b], steps_of[b], order, row, 0, columns)

    return digest_all, finish_all
