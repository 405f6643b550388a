"""Products of rows of states and a matrix, the same bits for any number of rows.

A matrix W (N, K) is kept in *panels*: a panel holds the weights of some neighbouring units, one
cache line for each of the K inputs, so that the units of a panel are one vector. A tile of some
rows and panels keeps its sums in registers while it goes through the inputs one by one. Every sum
is thus added up in the same order whatever the tile, and neither batches nor threads change a bit
(BLAS makes no such promise).
"""

from collections.abc import Iterable
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from paralesn.runtime.buffers import empty
from paralesn.runtime.compiler import called

LINE = 64  # bytes of a cache line: one input's weights in a panel
_DEPTH = 1024  # inputs gone through at a time: a piece of a panel then stays in the cache
_ROWS, _PANELS = 6, 4  # of tiles: many rows of one panel, or one row of many panels


def pack_panels(matrix: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Panels (P, K, lanes) of a matrix (N, K), zero beyond its last row."""
    units, inputs = matrix.shape
    lanes = LINE // dtype.itemsize
    panels = -(-units // lanes)
    packed = empty((panels * inputs, lanes), dtype).reshape(panels, inputs, lanes)
    for p in range(panels):
        part = matrix[p * lanes : (p + 1) * lanes]
        packed[p, :, : len(part)] = part.T
        packed[p, :, len(part) :] = 0.0
    return packed


def _emit(
    builder: Any, element: Any, like: Any, rows: int, panels: int, places: Iterable[Any]
) -> None:
    """Write the instructions of a tile: sums stay in registers, one loop goes over the inputs."""
    h, h_step, panel, panel_step, out, out_step, count = places
    size = like.bitwidth // 8
    vector = ir.VectorType(element, LINE // size)
    whole = ir.IntType(64)
    name = f"llvm.fmuladd.v{vector.count}f{like.bitwidth}"
    multiply_add = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), name
    )

    def at(base, step, index, offset, kind):
        place = builder.add(base, builder.mul(step, ir.Constant(whole, index)))
        return builder.inttoptr(builder.add(place, offset), kind.as_pointer())

    def lines(index):
        return ir.Constant(whole, index * LINE)

    sums = [(r, p) for r in range(rows) for p in range(panels)]
    begin = [builder.load(at(out, out_step, r, lines(p), vector), align=size) for r, p in sums]
    before = builder.block
    head = builder.append_basic_block("tile.head")
    body = builder.append_basic_block("tile.body")
    done = builder.append_basic_block("tile.done")
    builder.branch(head)

    builder.position_at_end(head)
    i = builder.phi(whole)
    totals = [builder.phi(vector) for _ in sums]
    i.add_incoming(ir.Constant(whole, 0), before)
    for total, value in zip(totals, begin, strict=True):
        total.add_incoming(value, before)
    builder.cbranch(builder.icmp_signed("<", i, count), body, done)

    builder.position_at_end(body)
    here = builder.mul(i, ir.Constant(whole, LINE))
    weights = [
        builder.load(at(panel, panel_step, p, here, vector), align=size) for p in range(panels)
    ]
    offset = builder.mul(i, ir.Constant(whole, size))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    undefined = ir.Constant(vector, ir.Undefined)
    zero = ir.Constant(ir.IntType(32), 0)
    spread = []
    for r in range(rows):
        number = builder.load(at(h, h_step, r, offset, element), align=size)
        single = builder.insert_element(undefined, number, zero)
        spread.append(builder.shuffle_vector(single, undefined, mask))
    following = [
        builder.call(multiply_add, [spread[r], weights[p], total])
        for (r, p), total in zip(sums, totals, strict=True)
    ]
    i.add_incoming(builder.add(i, ir.Constant(whole, 1)), body)
    for total, value in zip(totals, following, strict=True):
        total.add_incoming(value, body)
    builder.branch(head)

    builder.position_at_end(done)
    for (r, p), total in zip(sums, totals, strict=True):
        builder.store(total, at(out, out_step, r, lines(p), vector), align=size)


def _tile(rows: int, panels: int) -> Any:
    """Make ``tile(like, h, h_step, panel, panel_step, out, out_step, count)``.

    Adds to ``out[r, p]`` (a vector) the sum over i < count of ``h[r, i] panel[p, i]``. Places are
    addresses and steps bytes: from one row of h and of out to the next, from one panel to the next.
    Panels lie side by side in out. `like` is a number of the type all of them have.
    """

    @intrinsic
    def tile(typing_context, like, h, h_step, panel, panel_step, out, out_step, count):
        def codegen(context, builder, signature, arguments):
            _emit(builder, context.get_value_type(like), like, rows, panels, arguments[1:])
            return context.get_dummy_value()

        places = (types.int64,) * 7
        return types.void(like, *places), codegen

    return tile


_many_rows, _many_panels, _single = _tile(_ROWS, 1), _tile(1, _PANELS), _tile(1, 1)


@called
def add_products(h, panels, out, first, stop):
    """out += h W^T for panels first .. stop.

    h (rows, >= K) and out (rows, >= P * lanes) have contiguous rows; panels are of `pack_panels`.
    """
    rows, inputs, like = h.shape[0], panels.shape[1], panels.dtype.type(0)
    h_step, out_step, panel_step = h.strides[0], out.strides[0], panels.strides[0]
    h_at, out_at, panels_at = h.ctypes.data, out.ctypes.data, panels.ctypes.data
    size = panels.itemsize
    for k in range(0, inputs, _DEPTH):
        count = min(_DEPTH, inputs - k)
        for p in range(first, stop, _PANELS):
            some = min(_PANELS, stop - p)
            panel = panels_at + p * panel_step + k * LINE
            r = 0
            while r + _ROWS <= rows:
                for q in range(some):
                    _many_rows(
                        like, h_at + r * h_step + k * size, h_step, panel + q * panel_step,
                        panel_step, out_at + r * out_step + (p + q) * LINE, out_step, count,
                    )  # fmt: skip
                r += _ROWS
            while r < rows:
                row, to = h_at + r * h_step + k * size, out_at + r * out_step
                if some == _PANELS:
                    _many_panels(
                        like, row, h_step, panel, panel_step, to + p * LINE, out_step, count
                    )
                else:
                    for q in range(some):
                        _single(
                            like, row, h_step, panel + q * panel_step, panel_step,
                            to + (p + q) * LINE, out_step, count,
                        )  # fmt: skip
                r += 1
