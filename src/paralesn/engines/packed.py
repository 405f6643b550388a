"""Layers packed for their kernels, and how one of them is run over a block of steps."""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines import threads
from paralesn.engines.diagonal import TAPS, layer_kernel, pack, slice_width
from paralesn.engines.memory import empty

_CACHED_BYTES = 1 << 19  # what a block of states may take to stay in a core's cache
_LEAST_WORK = 1 << 17  # unit-steps worth a task of their own: a fraction of a millisecond


class Layer(NamedTuple):
    """A layer as its kernel wants it."""

    kernel: Any
    packed: np.ndarray
    taps: np.ndarray
    no_taps: np.ndarray
    mix_bias: Any
    left: int
    units: int
    column: int  # where its states begin in the output


class Program(NamedTuple):
    """Packed layers and what is asked of them."""

    layers: tuple[Layer, ...]
    drawn: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    widest: int
    block: int  # steps whose states of the widest layer stay in the cache


class Place(NamedTuple):
    """Where series lie in an array: their first rows, and the first column to use."""

    array: np.ndarray  # (rows, columns)
    rows: np.ndarray  # (B,)
    column: int


def prepare(layers: tuple[Any, ...], concat: bool, mixing: bool, dtype: np.dtype) -> Program:
    """Pack drawn layers for the kernels."""
    is_complex = np.iscomplexobj(layers[0].eigenvalues)
    parts = 2 if is_complex and not mixing else 1
    packed: list[Layer] = []
    column = 0
    for layer in layers:
        size, units = layer.mix_kernel.size, layer.eigenvalues.size
        taps = np.zeros((2, -(-size // TAPS) * TAPS), dtype)
        taps[:, :size] = layer.mix_kernel.real, layer.mix_kernel.imag
        packed.append(
            Layer(
                kernel=layer_kernel(is_complex, layer.w_in.ndim == 1, slice_width(units)),
                packed=pack(layer.eigenvalues, layer.w_in, layer.bias, layer.tau, size, dtype),
                taps=taps,
                no_taps=taps[:, :0].copy(),
                mix_bias=dtype.type(layer.mix_bias.real),
                left=(size - 1) // 2,
                units=units,
                column=column,
            )
        )
        column += parts * units if concat else 0
    widest = max(layer.units for layer in packed)
    block = min(max(_CACHED_BYTES // (widest * dtype.itemsize), 16), 4096)
    return Program(tuple(packed), layers, concat, mixing, dtype, widest, block)


def buffers(program: Program, count: int, block: int, how_many: int) -> tuple[Place, ...]:
    """Buffers for what a layer hands upwards: `block` rows for each series."""
    rows = np.arange(count) * block
    shape = (count * block, program.widest)
    return tuple(Place(empty(shape, program.dtype), rows, 0) for _ in range(how_many))


def advance_layer(
    program: Program,
    depth: int,
    source: Place,
    steps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    out: Place,
    last_only: bool,
    buffer: Place,
    workers: int,
) -> Place:
    """Advance series by `steps` through the layer at `depth`; return where the next one reads.

    What is asked for goes to `out`. Mixed states feed the next layer: they go to `buffer`, or
    straight to the output where they belong there too.
    """
    layer, top = program.layers[depth], depth == len(program.layers) - 1
    features = program.layers[depth - 1].units if depth else source.array.shape[1]
    wanted = Place(out.array, out.rows, layer.column)
    direct = top or (program.concat and program.mixing and not last_only)
    target = wanted if direct else buffer
    call = (program, layer, source, features, steps, before, after)
    run_layer(*call, target, not (last_only and top), program.mixing or not top, workers)
    if program.concat and not direct:
        if program.mixing:
            alive = steps > 0
            ends = target.array[(target.rows + steps - 1)[alive], : layer.units]
            columns = slice(layer.column, layer.column + layer.units)
            out.array[out.rows[alive], columns] = ends
        else:  # raw states besides the mixed ones: a second pass
            run_layer(*call, wanted, not last_only, False, workers)
    return target


def run_layer(
    program: Program,
    layer: Layer,
    source: Place,
    features: int,
    steps: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    target: Place,
    everything: bool,
    mixing: bool,
    workers: int,
) -> None:
    """Call one layer's kernel for all series given, on `workers` threads."""
    arguments = (
        source.array, source.rows, source.column, features, steps, before, after, target.array,
        target.rows, target.column, layer.packed, layer.taps if mixing else layer.no_taps,
        layer.mix_bias, layer.left, everything, program.block,
    )  # fmt: skip
    if workers == 1:
        layer.kernel(*arguments, 0, steps.size, 0, layer.packed.shape[0])
    else:
        parts = _share_out(layer, steps, workers)
        threads.for_each(lambda part: layer.kernel(*arguments, *part), parts, workers)


def _share_out(layer: Layer, steps: np.ndarray, workers: int) -> list[tuple[int, int, int, int]]:
    """Cut the series into some tasks a worker, and the slices too where series are too few.

    Slices are cut no finer than that: neighbours belong to one task, which then writes whole
    stretches of each row. A task is a range of series and a range of slices.
    """
    count, slices = steps.size, layer.packed.shape[0]
    worth = max(1, int(steps.sum()) * layer.units // _LEAST_WORK)
    by_series = min(count, worth, 4 * workers)
    by_slice = min(slices, worth, -(-workers // by_series))
    return [
        (*_piece(count, by_series, i), *_piece(slices, by_slice, j))
        for i in range(by_series)
        for j in range(by_slice)
    ]


def _piece(total: int, pieces: int, i: int) -> tuple[int, int]:
    return total * i // pieces, total * (i + 1) // pieces
