"""The fast engine: fused Numba kernels, shared out over threads by series and by slices of units.

One layer runs straight into the output. Several layers run block by block through all of them, so
that what one layer hands to the next is a block that still sits in the cache and never a whole
series. See `paralesn.engines.reference` for what a program and its arguments mean.
"""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines import response, threads
from paralesn.engines.diagonal import SLICE, TAPS, layer_kernel, pack

_CACHED_BYTES = 1 << 18  # what a block of states may take to stay in a core's cache
_LEAST_WORK = 1 << 18  # unit-steps worth a task of their own: about half a millisecond


class _Layer(NamedTuple):
    """A layer as its kernel wants it."""

    kernel: Any
    packed: np.ndarray
    taps: np.ndarray
    mix_bias: Any
    left: int
    units: int
    features: int  # 0: as many as the layer below has units


class Program(NamedTuple):
    """Drawn layers, packed, and what is asked of them."""

    layers: tuple[_Layer, ...]
    drawn: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    is_complex: bool


class _Place(NamedTuple):
    """Where series lie in an array: their first rows, and the columns to use."""

    array: np.ndarray  # (rows, columns)
    rows: np.ndarray  # (B,)
    column: int
    width: int


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
        is_ring = layer.w_in.ndim == 1
        packed.append(
            _Layer(
                kernel=layer_kernel(is_complex, is_ring),
                packed=pack(layer.eigenvalues, layer.w_in, layer.bias, layer.tau, size, dtype),
                taps=taps,
                mix_bias=dtype.type(layer.mix_bias.real),
                left=(size - 1) // 2,
                units=layer.eigenvalues.size,
                features=0 if is_ring else layer.w_in.shape[1],
            )
        )
    return Program(tuple(packed), layers, concat, mixing, dtype, is_complex)


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
        _run_layer(
            program, 0, _Place(x, series[0], 0, x.shape[1]), series[2], state[0], after[0],
            _Place(out, series[1], 0, out.shape[1]), not last_only, program.mixing, workers,
        )  # fmt: skip
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
    """Write the last states of every series to `out`, without the states to go on from.

    One layer is linear up to its mixing, so the last states of many series are a matrix product.
    """
    if len(program.layers) == 1 and series.shape[1] >= response.LEAST_SERIES:
        workers = threads.count(n_jobs)
        response.last(program.drawn[0], x, series, state[0], out, program.mixing, workers)
    else:
        run(program, x, series, state, out, last_only=True, n_jobs=n_jobs)


_NO_TAPS = {name: np.zeros((2, 0), name) for name in ("float32", "float64")}


def _run_layer(
    program: Program,
    depth: int,
    source: _Place,
    steps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    target: _Place,
    everything: bool,
    mixing: bool,
    workers: int,
) -> None:
    """Run one layer over all series given, on `workers` threads."""
    layer = program.layers[depth]
    parts = (*before.shape, 2 if program.is_complex else 1)
    before = before.view(program.dtype).reshape(parts)
    after = after.view(program.dtype).reshape(parts)
    taps = layer.taps if mixing else _NO_TAPS[program.dtype.name]
    block = _block_steps(program)

    def work(part: _Part) -> None:
        layer.kernel(
            source.array, source.rows, source.column, source.width, steps, before, after,
            target.array, target.rows, target.column, layer.packed, taps, layer.mix_bias,
            layer.left, everything, block, *part,
        )  # fmt: skip

    threads.for_each(work, _share_out(layer, steps, workers), workers)


def _block_steps(program: Program) -> int:
    """Steps whose states of the widest layer stay in the cache."""
    widest = max(layer.units for layer in program.layers)
    return min(max(_CACHED_BYTES // (widest * program.dtype.itemsize), 16), 4096)


def _share_out(layer: _Layer, steps: np.ndarray, workers: int) -> list[_Part]:
    """Cut series, and slices where the series are too few, into about four tasks a worker."""
    count, slices = steps.shape[0], layer.packed.shape[0]
    if workers == 1:
        return [_Part(0, count, 0, slices)]
    tasks = max(1, min(4 * workers, int(steps.sum()) * layer.units // _LEAST_WORK))
    by_series = min(count, tasks)
    by_slice = min(slices, -(-tasks // by_series))
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
    block = _block_steps(program)
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
    count, top = series.shape[1], len(program.layers) - 1
    widest = max(layer.units for layer in program.layers)
    buffers = [np.empty((count * block, widest), program.dtype) for _ in range(2)]
    buffer_rows = np.arange(count) * block
    raw_parts = 2 if program.is_complex and not program.mixing else 1
    before, spare = state, tuple(np.empty_like(h) for h in state)
    for t0 in range(0, max(int(series[2].max()), 1), block):
        result = spare if before is after else after
        steps = np.clip(series[2] - t0, 0, block)
        source = _Place(x, series[0] + t0, 0, x.shape[1])
        out_rows = series[1] if last_only else series[1] + t0
        column = 0
        for depth, layer in enumerate(program.layers):
            wanted = _Place(out, out_rows, column, layer.units)
            # Mixed states feed the next layer; they go straight to where they are wanted too.
            direct = depth == top or (program.concat and program.mixing and not last_only)
            target = (
                wanted if direct else _Place(buffers[depth % 2], buffer_rows, 0, layer.units)
            )

            def go(target: _Place, everything: bool, mixing: bool) -> None:
                _run_layer(
                    program, depth, source, steps, before[depth], result[depth], target,
                    everything, mixing, workers,
                )  # fmt: skip

            go(target, not (last_only and depth == top), program.mixing or depth < top)
            if program.concat:
                if not program.mixing and not direct:  # raw states besides: a second pass
                    go(wanted, not last_only, mixing=False)
                elif not direct:
                    alive = steps > 0
                    ends = target.rows[alive] + steps[alive] - 1
                    columns = slice(column, column + layer.units)
                    out[out_rows[alive], columns] = target.array[ends, : layer.units]
                column += raw_parts * layer.units
            source = target
        before = result
    if before is not after:
        for mine, latest in zip(after, before, strict=True):
            mine[:] = latest
