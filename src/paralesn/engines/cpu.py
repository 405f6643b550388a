"""The fast engine: fused Numba kernels, shared out over threads by series and by slices of units.

One layer runs straight into the output. Several layers run block by block through all of them, so
that what one layer hands to the next is a block that still sits in the cache and never a whole
series. See `paralesn.engines.reference` for what a program and its arguments mean.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines import response, threads
from paralesn.engines.diagonal import TAPS, layer_kernel, pack, slice_width

_CACHED_BYTES = 1 << 19  # what a block of states may take to stay in a core's cache
_LEAST_WORK = 1 << 17  # unit-steps worth a task of their own: a fraction of a millisecond


class _Layer(NamedTuple):
    """A layer as its kernel wants it."""

    kernel: Any
    packed: np.ndarray
    taps: np.ndarray
    no_taps: np.ndarray
    mix_bias: Any
    left: int
    units: int


class Program(NamedTuple):
    """Drawn layers, packed, and what is asked of them."""

    layers: tuple[_Layer, ...]
    drawn: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    parts: int  # of a state: real and imaginary, or real alone
    widest: int
    block: int  # steps whose states of the widest layer stay in the cache


class _Place(NamedTuple):
    """Where series lie in an array: their first rows, and the first column to use."""

    array: np.ndarray  # (rows, columns)
    rows: np.ndarray  # (B,)
    column: int


class _Part(NamedTuple):
    """Series and slices of units that one call of a kernel works on."""

    first: int
    stop: int
    first_slice: int
    stop_slice: int


def prepare(layers: tuple[Any, ...], concat: bool, mixing: bool, dtype: np.dtype) -> Program:
    """Pack drawn layers for the kernels."""
    is_complex = np.iscomplexobj(layers[0].eigenvalues)
    packed = []
    for layer in layers:
        size = layer.mix_kernel.size
        taps = np.zeros((2, -(-size // TAPS) * TAPS), dtype)
        taps[:, :size] = layer.mix_kernel.real, layer.mix_kernel.imag
        packed.append(
            _Layer(
                kernel=layer_kernel(
                    is_complex, layer.w_in.ndim == 1, slice_width(layer.eigenvalues.size)
                ),
                packed=pack(layer.eigenvalues, layer.w_in, layer.bias, layer.tau, size, dtype),
                taps=taps,
                no_taps=taps[:, :0].copy(),
                mix_bias=dtype.type(layer.mix_bias.real),
                left=(size - 1) // 2,
                units=layer.eigenvalues.size,
            )
        )
    parts = 2 if is_complex else 1
    widest = max(layer.units for layer in packed)
    block = min(max(_CACHED_BYTES // (widest * dtype.itemsize), 16), 4096)
    return Program(tuple(packed), layers, concat, mixing, dtype, parts, widest, block)


def run(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, ...]:
    """Run every series, write its states to `out`, return the states to go on from."""
    after = tuple(np.empty_like(h) for h in state)
    workers = threads.count(n_jobs)
    if len(program.layers) == 1:
        source, wanted = _Place(x, series[0], 0), _Place(out, series[1], 0)
        _through_layers(program, source, series[2], state, after, wanted, last_only, (), workers)
    else:
        _run_deep(program, x, series, state, after, out, last_only, workers)
    return after


def last(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of series b to row b of `out`, without the states to go on from.

    One layer is linear up to its mixing, so the last states of many series are a matrix product.
    """
    if len(program.layers) == 1 and series.shape[1] >= response.LEAST_SERIES:
        workers = threads.count(n_jobs)
        response.last(program.drawn[0], x, series, state[0], out, program.mixing, workers)
    else:
        run(program, x, series, state, out, last_only=True, n_jobs=n_jobs)


def step(
    program: Program, x: np.ndarray, state: tuple[np.ndarray, ...], out: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Advance every series, a row of `x` and of `out`, by one step on the calling thread."""
    after = tuple([np.empty_like(h) for h in state])
    rows, ones = _one_step(x.shape[0])
    source, wanted = _Place(x, rows, 0), _Place(out, rows, 0)
    if len(program.layers) == 1:
        layer, width, mixing = program.layers[0], x.shape[1], program.mixing
        _run_layer(program, layer, source, width, ones, state[0], after[0], wanted, True, mixing, 1)
    else:
        buffers = _buffers(program, x.shape[0], 1)
        _through_layers(program, source, ones, state, after, wanted, False, buffers, 1)
    return after


@lru_cache(maxsize=8)
def _one_step(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count), np.ones(count, np.int64)


def _buffers(program: Program, count: int, block: int) -> tuple[_Place, ...]:
    """Two buffers for what layers hand upwards, used in turn: `block` rows for each series."""
    rows = np.arange(count) * block
    shape = (count * block, program.widest)
    return tuple(_Place(empty(shape, program.dtype), rows, 0) for _ in range(2))


def empty(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Uninitialised array that begins at a cache line, so that slices of units do not share one."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    offset = -memory.__array_interface__["data"][0] % 64
    return memory[offset : offset + size].view(dtype).reshape(shape)


def _through_layers(
    program: Program,
    source: _Place,
    steps: np.ndarray,
    before: tuple[np.ndarray, ...],
    after: tuple[np.ndarray, ...],
    wanted: _Place,
    last_only: bool,
    buffers: tuple[_Place, ...],
    workers: int,
) -> None:
    """Advance series by `steps` through every layer; what is asked for goes to `wanted`."""
    top = len(program.layers) - 1
    width = source.array.shape[1]
    for depth, layer in enumerate(program.layers):
        # Mixed states feed the next layer; they go straight to where they are wanted, too.
        direct = depth == top or (program.concat and program.mixing and not last_only)
        target = wanted if direct else buffers[depth % 2]
        states = before[depth], after[depth]
        everything = not last_only or depth < top
        mixing = program.mixing or depth < top
        _run_layer(
            program, layer, source, width, steps, *states, target, everything, mixing, workers
        )
        if program.concat:
            if not direct and program.mixing:
                alive = steps > 0
                ends = target.array[(target.rows + steps - 1)[alive], : layer.units]
                columns = slice(wanted.column, wanted.column + layer.units)
                wanted.array[wanted.rows[alive], columns] = ends
            elif not direct:  # raw states besides the mixed ones: a second pass
                _run_layer(
                    program, layer, source, width, steps, *states, wanted, not last_only, False,
                    workers,
                )  # fmt: skip
            parts = 1 if program.mixing else program.parts
            wanted = wanted._replace(column=wanted.column + parts * layer.units)
        source, width = target, layer.units


def _run_layer(
    program: Program,
    layer: _Layer,
    source: _Place,
    width: int,
    steps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    target: _Place,
    everything: bool,
    mixing: bool,
    workers: int,
) -> None:
    """Run one layer over all series given, on `workers` threads."""
    arguments = (
        source.array, source.rows, source.column, width, steps, before, after, target.array,
        target.rows, target.column, layer.packed, layer.taps if mixing else layer.no_taps,
        layer.mix_bias, layer.left, everything, program.block,
    )  # fmt: skip
    if workers == 1:
        layer.kernel(*arguments, 0, steps.size, 0, layer.packed.shape[0])
    else:
        parts_of_work = _share_out(layer, steps, workers)
        threads.for_each(lambda part: layer.kernel(*arguments, *part), parts_of_work, workers)


def _share_out(layer: _Layer, steps: np.ndarray, workers: int) -> list[_Part]:
    """Cut the series into some tasks a worker, and the slices too where series are too few.

    Slices are cut no finer than that: neighbours belong to one task, which then writes whole
    stretches of each row.
    """
    count, slices = steps.size, layer.packed.shape[0]
    worth = max(1, int(steps.sum()) * layer.units // _LEAST_WORK)
    by_series = min(count, worth, 4 * workers)
    by_slice = min(slices, worth, -(-workers // by_series))
    return [
        _Part(*_piece(count, by_series, i), *_piece(slices, by_slice, j))
        for i in range(by_series)
        for j in range(by_slice)
    ]


def _piece(total: int, pieces: int, i: int) -> tuple[int, int]:
    return total * i // pieces, total * (i + 1) // pieces


def _run_deep(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    after: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool,
    workers: int,
) -> None:
    """Take groups of series through all layers; with few series, share each layer's slices out."""
    count, longest = series.shape[1], int(series[2].max())
    block = program.block
    if count >= workers:
        # As many short series at a time as fill a block.
        size = max(1, min(block // max(1, min(block, longest)), -(-count // workers)))
        groups = [(first, min(first + size, count)) for first in range(0, count, size)]
        outer, inner = workers, 1
    else:
        groups = [(0, count)]
        outer, inner = 1, workers
        block *= 8  # threads meet after every layer of every block: let that be seldom

    def work(group: tuple[int, int]) -> None:
        cut = slice(*group)
        _run_group(
            program, x, np.ascontiguousarray(series[:, cut]), tuple(h[cut] for h in state),
            tuple(h[cut] for h in after), out, last_only, min(block, max(longest, 1)), inner,
        )  # fmt: skip

    threads.for_each(work, groups, outer)


def _run_group(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    after: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool,
    block: int,
    workers: int,
) -> None:
    """Advance a few series through all layers, one block of steps after the other."""
    count = series.shape[1]
    buffers = _buffers(program, count, block)
    before, spare = state, tuple(np.empty_like(h) for h in state)
    for t0 in range(0, max(int(series[2].max()), 1), block):
        result = spare if before is after else after
        steps = np.clip(series[2] - t0, 0, block)
        source = _Place(x, series[0] + t0, 0)
        wanted = _Place(out, series[1] if last_only else series[1] + t0, 0)
        _through_layers(program, source, steps, before, result, wanted, last_only, buffers, workers)
        before = result
    if before is not after:
        for mine, latest in zip(after, before, strict=True):
            mine[:] = latest
