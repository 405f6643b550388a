"""Layers packed for their kernels, and how they hand blocks of states to each other."""

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.base import Batch, Layer
from paralesn.engines.cpu.delay_layer import pack_delays
from paralesn.engines.cpu.diagonal_layer import pack_diagonal
from paralesn.engines.cpu.layer_pass import PackedLayer, Pass
from paralesn.engines.cpu.recurrent_layer import pack_recurrent
from paralesn.engines.overflow import largest_input
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.runtime.buffers import empty

_SPARE = 4  # prepared steps that are kept: as many threads take steps without preparing them anew
_CACHED_BYTES = 1 << 19  # what a block of states may take to stay in a core's cache


class Program(NamedTuple):
    """Packed layers, and which of their states are wanted."""

    layers: tuple[PackedLayer, ...]
    drawn: tuple[Layer, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    widest: int
    block: int  # steps whose states of the widest layer stay in the cache
    largest: float  # input that makes no state too large, from states that are not large
    spare: deque[Any]  # prepared steps that nobody takes at the moment


def prepare(
    layers: tuple[Layer, ...], concat: bool, mixing: bool, dtype: np.dtype, device: Any = None
) -> Program:
    """Pack layers for their kernels."""
    packed: list[PackedLayer] = []
    column = 0
    for layer in layers:
        if isinstance(layer, DiagonalLayer):
            packed.append(pack_diagonal(layer, column, dtype))
        elif isinstance(layer, DelayLayer):
            packed.append(pack_delays(layer, column, dtype))
        else:
            packed.append(pack_recurrent(layer, column, dtype))
        column += layer.n_columns(mixing) if concat else 0
    widest = max(layer.units for layer in packed)
    block = min(max(_CACHED_BYTES // (widest * dtype.itemsize), 16), 4096)
    spare: deque[Any] = deque(maxlen=_SPARE)
    largest = largest_input(layers, dtype)
    return Program(tuple(packed), layers, concat, mixing, dtype, widest, block, largest, spare)


class Buffer(NamedTuple):
    """Room for a block of states that a layer hands upwards."""

    states: np.ndarray  # (B * steps, widest layer)
    rows: np.ndarray  # (B,): first row of each series


def buffers(program: Program, count: int, steps: int, how_many: int) -> tuple[Buffer, ...]:
    """Make buffers for `steps` steps of `count` series."""
    rows = np.arange(count) * steps
    shape = (count * steps, program.widest)
    return tuple(Buffer(empty(shape, program.dtype), rows) for _ in range(how_many))


class Block(NamedTuple):
    """A block of steps of some series on its way up through the layers.

    `batch` says where it begins in `source`, which the next layer reads from `column` on, and in
    `out`, to which the wanted states go.
    """

    batch: Batch
    source: np.ndarray
    column: int
    out: np.ndarray
    last_only: bool

    def read_from(self, source: np.ndarray, rows: np.ndarray, column: int) -> "Block":
        """The same block for the layer above, which reads what was written to `source`."""
        batch = Batch(rows, self.batch.targets, self.batch.steps)
        return Block(batch, source, column, self.out, self.last_only)


def layer_passes(
    program: Program,
    depth: int,
    block: Block,
    before: np.ndarray,
    after: np.ndarray,
    buffer: Buffer,
) -> tuple[list[Pass], Block]:
    """What the layer at `depth` does with a block, and the block as the next layer reads it.

    Mixed states feed the next layer: they go to `buffer`, or straight to the output where they
    belong there too. (With `last_only` only the top layer writes to the output.)
    """
    layer, is_top = program.layers[depth], depth == len(program.layers) - 1
    batch, every_step = block.batch, not block.last_only
    features = program.layers[depth - 1].units if depth else block.source.shape[1]
    reads = (block.source, block.column, features, before, after)
    if is_top or (program.concat and program.mixing and every_step):
        work = Pass(batch, *reads, block.out, layer.column, every_step, program.mixing)
        above = block if is_top else block.read_from(block.out, batch.targets, layer.column)
        return [work], above
    handed = Batch(batch.starts, buffer.rows, batch.steps)
    passes = [Pass(handed, *reads, buffer.states, 0, True, True)]
    if program.concat and not program.mixing:  # raw states besides the mixed ones: a second pass
        passes.append(Pass(batch, *reads, block.out, layer.column, every_step, False))
    return passes, block.read_from(buffer.states, buffer.rows, 0)


def advance_layer(
    program: Program,
    depth: int,
    block: Block,
    before: np.ndarray,
    after: np.ndarray,
    buffer: Buffer,
    workers: int,
) -> tuple[Block, bool]:
    """Take a block through the layer at `depth`; return it as the next layer, if any, reads it.

    Besides, whether states are so large that somebody has to look at what came of them.
    """
    layer, is_top = program.layers[depth], depth == len(program.layers) - 1
    passes, above = layer_passes(program, depth, block, before, after, buffer)
    large = max([layer.run(work, program.block, workers) for work in passes])
    if block.last_only and not is_top and program.concat and program.mixing:
        batch, alive = block.batch, block.batch.steps > 0
        ends = buffer.states[(buffer.rows + batch.steps - 1)[alive], : layer.units]
        columns = slice(layer.column, layer.column + layer.units)
        block.out[batch.targets[alive], columns] = ends
    return above, large
