"""The fused kernel of recurrent layers: h = branch h + gain f(recurrent h + W_in x + b).

Some series are advanced together, so that a matrix is read once for all of them. Series are sorted
by length: those still running are the first ones. Sums are added up in an order that depends on
nothing but the layer, so neither company nor threads change a bit.
"""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.barrier import meet
from paralesn.engines.cpu.kernels.hadamard import walsh_hadamard
from paralesn.engines.cpu.kernels.product import LINE, add_products, pack_panels
from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.runtime.compiler import called, inlined, kernel

KINDS = ("dense", "sparse", "cycle", "identity", "hadamard", "ring")
_DENSE, _SPARSE, _CYCLE, _IDENTITY, _HADAMARD, _RING = range(6)
_NARROW = 8  # lanes of a sparse panel that have a register each


class Operator(NamedTuple):
    """A linear operator; what its kind does not need is empty."""

    kind: int
    scale: Any
    panels: np.ndarray  # (P, K, lanes): weights, K inputs of each unit
    columns: np.ndarray  # (P, K, lanes): which units they are, where sparse
    signs: np.ndarray  # (3, n)


class Parameters(NamedTuple):
    """What a layer's kernel needs, flat: Python hands nested tuples over slowly."""

    kinds: np.ndarray  # (4,): of recurrent, inputs and branch; whether linear
    numbers: np.ndarray  # (3,): scales of recurrent and branch, gain
    recurrent: np.ndarray  # panels
    recurrent_columns: np.ndarray
    signs: np.ndarray
    inputs: np.ndarray  # panels
    single: np.ndarray  # (P * lanes,): the same as a vector, where each unit has one weight
    branch: np.ndarray  # panels
    branch_columns: np.ndarray
    branch_signs: np.ndarray
    bias: np.ndarray  # (P * lanes,)


def pack_parameters(layer: Any, dtype: np.dtype) -> Parameters:
    """Pack a drawn layer."""
    lanes = LINE // dtype.itemsize
    recurrent, branch = (_pack_operator(one, dtype) for one in (layer.recurrent, layer.branch))
    dense = layer.w_in.ndim == 2
    inputs = pack_panels(layer.w_in if dense else layer.w_in[:, None], dtype)
    bias = np.zeros(-(-layer.units // lanes) * lanes, dtype)
    bias[: layer.units] = layer.bias
    kinds = [recurrent.kind, _DENSE if dense else _RING, branch.kind, layer.linear]
    return Parameters(
        np.array(kinds, np.int64),
        np.array([recurrent.scale, branch.scale, layer.gain], dtype),
        recurrent.panels,
        recurrent.columns,
        recurrent.signs,
        inputs,
        inputs.ravel() if inputs.shape[1] == 1 else inputs[:0].ravel(),
        branch.panels,
        branch.columns,
        branch.signs,
        bias,
    )


def _pack_operator(operator: Any, dtype: np.dtype) -> Operator:
    lanes = LINE // dtype.itemsize
    panels, columns = np.empty((0, 0, lanes), dtype), np.empty((0, 0, lanes), np.int32)
    signs, scale = np.empty((3, 0), dtype), 1.0
    if operator.kind == "dense":
        panels = pack_panels(operator.matrix, dtype)
    elif operator.kind == "sparse":
        panels = pack_panels(operator.values, dtype)
        units, inputs = operator.columns.shape
        padded = np.zeros((panels.shape[0] * lanes, inputs), np.int32)
        padded[:units] = operator.columns
        columns = np.ascontiguousarray(padded.reshape(-1, lanes, inputs).transpose(0, 2, 1))
    elif operator.kind == "cycle":
        scale = operator.weight
    else:
        scale = operator.scale
    if operator.kind == "hadamard":
        signs = operator.signs.astype(dtype)
        scale = operator.scale / signs.shape[1] ** 1.5
    return Operator(KINDS.index(operator.kind), scale, panels, columns, signs)


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
def _add_ring(x, weights, out, units):
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
def _add(operator, h, out, units, scratch, first, stop):
    """out += operator h, for the units of panels first .. stop where it is dense or sparse."""
    if operator.kind == _DENSE:
        add_products(h, operator.panels, out, first, stop)
        return
    for r in range(h.shape[0]):
        if operator.kind == _SPARSE:
            _add_sparse(h[r], operator.panels, operator.columns, out[r], first, stop)
        elif operator.kind == _CYCLE:
            _add_cycle(h[r], operator.scale, out[r], units)
        elif operator.kind == _HADAMARD:
            _add_hadamard(h[r], operator, out[r], units, scratch)
        elif operator.kind == _IDENTITY:
            for i in range(units):
                out[r, i] += operator.scale * h[r, i]


@called
def _copy(source, target):
    """target = source, for one row; a slice assignment would take a second to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@called
def _drive(layer, x, drive, units, first, stop):
    """drive = W_in x + b."""
    kind, panels = layer.kinds[1], layer.inputs
    a, e = first * panels.shape[2], stop * panels.shape[2]
    bias, weights = layer.bias[a:e], layer.single[a:e]
    for r in range(x.shape[0]):
        row = drive[r, a:e]
        if kind == _DENSE and x.shape[1] == 1:
            x0 = x[r, 0]
            for i in range(e - a):
                row[i] = bias[i] + weights[i] * x0
        else:
            _copy(bias, row)
            if kind == _RING:
                _add_ring(x[r], layer.single, drive[r], units)
    if kind == _DENSE and x.shape[1] > 1:
        add_products(x, panels, drive, first, stop)


@inlined
def _activate(drive, h, new, keep, gain, linear):
    """new = keep h + gain f(drive)."""
    if linear:
        for i in range(drive.shape[0]):
            new[i] = keep * h[i] + gain * drive[i]
    else:
        for i in range(drive.shape[0]):
            new[i] = keep * h[i] + gain * tanh(drive[i])


@called
def _advance(layer, units, x, h, new, drive, carried, scratch, first, stop):
    """One step of some series: new states of the units of panels first .. stop.

    x (rows, F); h, new, drive, carried (rows, P * lanes), zero beyond the units.
    """
    recurrent = Operator(
        layer.kinds[0], layer.numbers[0], layer.recurrent, layer.recurrent_columns, layer.signs
    )
    branch = Operator(
        layer.kinds[2], layer.numbers[1], layer.branch, layer.branch_columns, layer.branch_signs
    )
    gain, linear = layer.numbers[2], layer.kinds[3] != 0
    lanes = layer.inputs.shape[2]
    a, e = first * lanes, stop * lanes
    _drive(layer, x, drive, units, first, stop)
    _add(recurrent, h, drive, units, scratch, first, stop)
    if branch.kind == _IDENTITY:
        for r in range(x.shape[0]):
            _activate(drive[r, a:e], h[r, a:e], new[r, a:e], branch.scale, gain, linear)
    else:
        for r in range(x.shape[0]):
            for i in range(a, e):
                carried[r, i] = 0.0
        _add(branch, h, carried, units, scratch, first, stop)
        for r in range(x.shape[0]):
            one = layer.bias.dtype.type(1)
            _activate(drive[r, a:e], carried[r, a:e], new[r, a:e], one, gain, linear)


@kernel
def run_cut(
    kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch, branch_columns,
    branch_signs, bias, source, start, column, features, steps, both, drive, carried, out, to,
    out_column, everything, units, counter, rank, count,
):  # fmt: skip
    """Run one series on several threads at the same time, each with panels of its own.

    The first arguments are `Parameters`; source, column, features, out, out_column and everything
    are as in `run_together`. Besides:

    start, to, steps          first row in the source and in the output, and how many
    both (2, 1, P * lanes)    states before and after a step, which change places with every step
    drive, carried (1, P * lanes)
    counter (1,)              where the threads meet after every step
    rank, count               which of how many threads this is
    """
    layer = Parameters(
        kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch, branch_columns,
        branch_signs, bias,
    )  # fmt: skip
    panels, lanes = inputs.shape[0], inputs.shape[2]
    first, stop = panels * rank // count, panels * (rank + 1) // count
    a, e = first * lanes, min(stop * lanes, units)
    x = np.empty((1, features), bias.dtype)
    for t in range(steps):
        h, new = both[t % 2], both[(t + 1) % 2]
        _copy(source[start + t, column : column + features], x[0])
        _advance(layer, units, x, h, new, drive, carried, bias, first, stop)
        if everything or t == steps - 1:
            row = to + t if everything else to
            _copy(new[0, a:e], out[row, out_column + a :])
        meet(counter, (t + 1) * count)


@kernel
def run_together(
    kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch, branch_columns,
    branch_signs, bias, source, source_rows, column, features, steps_of, order, state, state_after,
    out, out_rows, out_column, everything,
):  # fmt: skip
    """Run some series side by side, longest first. The first arguments are `Parameters`.

    source (rows, columns)   input; the layer's features are columns column .. column + features
    source_rows, out_rows, steps_of (B,)   where each series begins, and how long it is
    order                    the series to run, by falling length
    state, state_after (B, N)
    out (rows, columns)      states from out_column on
    everything               write every step; else only the last one, to the first row
    """
    layer = Parameters(
        kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch, branch_columns,
        branch_signs, bias,
    )  # fmt: skip
    units, count, panels = state.shape[1], order.shape[0], inputs.shape[0]
    h = np.zeros((count, bias.shape[0]), bias.dtype)
    new, drive, carried = np.zeros(h.shape, h.dtype), np.empty(h.shape, h.dtype), h.copy()
    x = np.empty((count, features), bias.dtype)
    scratch = np.empty(max(signs.shape[1], branch_signs.shape[1]), bias.dtype)
    for r in range(count):
        _copy(state[order[r]], h[r])
        if steps_of[order[r]] == 0:
            _copy(state[order[r]], state_after[order[r]])
    active = count
    for t in range(steps_of[order[0]]):
        while steps_of[order[active - 1]] <= t:
            active -= 1
        for r in range(active):
            _copy(source[source_rows[order[r]] + t, column : column + features], x[r])
        _advance(
            layer, units, x[:active], h[:active], new[:active], drive[:active], carried[:active],
            scratch, 0, panels,
        )  # fmt: skip
        h, new = new, h
        for r in range(active):
            b = order[r]
            ends = t == steps_of[b] - 1
            if everything or ends:
                to = out_rows[b] + t if everything else out_rows[b]
                _copy(h[r, :units], out[to, out_column:])
            if ends:
                _copy(h[r, :units], state_after[b])
