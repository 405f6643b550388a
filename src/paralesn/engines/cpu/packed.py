"""Layers packed for their kernels, and how they hand blocks of states to each other."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from paralesn.engines.cpu.diagonal_layer import pack_diagonal
from paralesn.engines.cpu.place import Place
from paralesn.engines.cpu.recurrent_layer import pack_recurrent
from paralesn.runtime.buffers import empty

_CACHED_BYTES = 1 << 19  # what a block of states may take to stay in a core's cache


class Layer(Protocol):
    """A layer as the program sees it."""

    @property
    def units(self) -> int:
        """Number of units."""

    @property
    def column(self) -> int:
        """Where its states begin in the output."""

    @property
    def together(self) -> int:
        """Number of series that are best run side by side."""

    def run(
        self,
        source: Place,
        features: int,
        steps: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        target: Place,
        everything: bool,
        mixing: bool,
        block: int,
        workers: int,
    ) -> None:
        """Advance all series given by `steps` and write their states to `target`.

        `features` columns of `source` are read. `everything`: every step is written; otherwise only
        the last one, to the first row. `mixing`: states are mixed; otherwise raw.
        """


class Program(NamedTuple):
    """Packed layers and what is asked of them."""

    layers: tuple[Layer, ...]
    drawn: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    widest: int
    block: int  # steps whose states of the widest layer stay in the cache


def prepare(layers: tuple[Any, ...], concat: bool, mixing: bool, dtype: np.dtype) -> Program:
    """Pack drawn layers for their kernels."""
    packed: list[Layer] = []
    column = 0
    for layer in layers:
        pack = pack_diagonal if hasattr(layer, "eigenvalues") else pack_recurrent
        packed.append(pack(layer, column, dtype))
        column += layer.units * (1 if mixing else layer.parts) if concat else 0
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
    call = (source, features, steps, before, after)
    mixing, ways = program.mixing or not top, (program.block, workers)
    layer.run(*call, target, not (last_only and top), mixing, *ways)
    if program.concat and not direct:
        if program.mixing:
            alive = steps > 0
            ends = target.array[(target.rows + steps - 1)[alive], : layer.units]
            columns = slice(layer.column, layer.column + layer.units)
            out.array[out.rows[alive], columns] = ends
        else:  # raw states besides the mixed ones: a second pass
            layer.run(*call, wanted, not last_only, False, *ways)
    return target
