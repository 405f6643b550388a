"""Linear operators of recurrent layers: out += operator h, for one kind of operator each.

A kernel is made for its own kinds of operators, so that no other is compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.hadamard import walsh_hadamard
from paralesn.engines.cpu.kernels.product import add_products
from paralesn.runtime.compiler import called

DENSE, SPARSE, CYCLE, IDENTITY, HADAMARD, RING = range(6)  # kinds of operators and of inputs
_NARROW = 8  # lanes of a sparse panel that have a register each


class Operator(NamedTuple):
    """A linear operator; what its kind does not need is empty."""

    kind: int
    scale: Any
    panels: np.ndarray  # (P, K, lanes): weights, K inputs of each unit
    columns: np.ndarray  # (P, K, lanes): which units they are, where sparse
    signs: np.ndarray  # (3, n)


@called
def _add_sparse(h, panels, columns, out, first, stop):
    """out += W h with the same number of entries in every row, eight rows at a time."""
    lanes, inputs = panels.shape[2], panels.shape[1]
    for p in range(first, stop):
        for j in range(0, lanes, _NARROW):
            total = out[p * lanes + j : p * lanes + j + _NARROW]
            t0, t1, t2, t3 = total[0], total[1], total[2], total[3]
            t4, t5, t6, t7 = total[4], total[5], total[6], total[7]
            for k in range(inputs):
                w, c = panels[p, k, j : j + _NARROW], columns[p, k, j : j + _NARROW]
                t0 += w[0] * h[np.uint32(c[0])]
                t1 += w[1] * h[np.uint32(c[1])]
                t2 += w[2] * h[np.uint32(c[2])]
                t3 += w[3] * h[np.uint32(c[3])]
                t4 += w[4] * h[np.uint32(c[4])]
                t5 += w[5] * h[np.uint32(c[5])]
                t6 += w[6] * h[np.uint32(c[6])]
                t7 += w[7] * h[np.uint32(c[7])]
            total[0], total[1], total[2], total[3] = t0, t1, t2, t3
            total[4], total[5], total[6], total[7] = t4, t5, t6, t7


@called
def add_ring(x, weights, out, units):
    """Unit i reads x[(i - 1) mod width] with a weight of its own."""
    width = x.shape[0]
    for begin in range(0, units, width):
        out[begin] += weights[begin] * x[width - 1]
        stretch = min(width, units - begin) - 1
        read, weight = x[:stretch], weights[begin + 1 : begin + 1 + stretch]
        to = out[begin + 1 : begin + 1 + stretch]
        for i in range(stretch):
            to[i] += weight[i] * read[i]


@called
def _add_cycle(h, scale, out, units):
    """Unit i reads unit i - 1, the first one the last."""
    out[0] += scale * h[units - 1]
    before, after = h[: units - 1], out[1:units]
    for i in range(units - 1):
        after[i] += scale * before[i]


@called
def _add_hadamard(h, operator, out, units, scratch):
    """out += scale (H D_1) (H D_2) (H D_3) h, h padded with zeros."""
    signs, size = operator.signs, operator.signs.shape[1]
    for i in range(units):
        scratch[i] = h[i] * signs[2, i]
    for i in range(units, size):
        scratch[i] = 0.0
    padded = scratch[:size]
    walsh_hadamard(padded)
    for d in (1, 0):
        for i in range(size):
            padded[i] *= signs[d, i]
        walsh_hadamard(padded)
    for i in range(units):
        out[i] += operator.scale * scratch[i]


@called
def _add_dense(operator, h, out, units, scratch, first, stop):
    add_products(h, operator.panels, out, first, stop)


@called
def _add_sparse_rows(operator, h, out, units, scratch, first, stop):
    for r in range(h.shape[0]):
        _add_sparse(h[r], operator.panels, operator.columns, out[r], first, stop)


@called
def _add_cycle_rows(operator, h, out, units, scratch, first, stop):
    for r in range(h.shape[0]):
        _add_cycle(h[r], operator.scale, out[r], units)


@called
def _add_identity(operator, h, out, units, scratch, first, stop):
    for r in range(h.shape[0]):
        for i in range(units):
            out[r, i] += operator.scale * h[r, i]


@called
def _add_hadamard_rows(operator, h, out, units, scratch, first, stop):
    for r in range(h.shape[0]):
        _add_hadamard(h[r], operator, out[r], units, scratch)


# out += operator h, for the units of panels first .. stop where it is dense or sparse.
ADD = {
    DENSE: _add_dense,
    SPARSE: _add_sparse_rows,
    CYCLE: _add_cycle_rows,
    IDENTITY: _add_identity,
    HADAMARD: _add_hadamard_rows,
}
