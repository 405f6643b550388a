"""The fused kernel of recurrent layers: h = branch h + gain f(recurrent h + W_in x + b).

Some series are advanced together, so that a matrix is read once for all of them. Series are sorted
by length: those still running are the first ones. Sums are added up in an order that depends on
nothing but the layer, so neither company nor threads change a bit.
"""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.compiler import called, inlined, kernel
from paralesn.engines.hadamard import walsh_hadamard
from paralesn.engines.product import LINE, add_products, pack_panels
from paralesn.engines.tanh import tanh

KINDS = ("dense", "sparse", "cycle", "identity", "hadamard", "ring")
_DENSE, _SPARSE, _CYCLE, _IDENTITY, _HADAMARD, _RING = range(6)


class Operator(NamedTuple):
    """A linear operator; what its kind does not need is empty."""

    kind: int
    scale: Any
    panels: np.ndarray  # (P, K, lanes): weights, K inputs of each unit
    columns: np.ndarray  # (P, K, lanes): which units they are, where sparse
    signs: np.ndarray  # (3, n)


class Parameters(NamedTuple):
    """What a layer's kernel needs."""

    recurrent: Operator
    inputs: Operator
    branch: Operator
    bias: np.ndarray  # (P * lanes,)
    gain: Any
    linear: bool


def pack_operator(operator: Any, dtype: np.dtype) -> Operator:
    """Pack a drawn operator."""
    lanes = LINE // dtype.itemsize
    panels, columns = np.empty((0, 0, lanes), dtype), np.empty((0, 0, lanes), np.int64)
    signs, scale = np.empty((3, 0), dtype), 1.0
    if operator.kind == "dense":
        panels = pack_panels(operator.matrix, dtype)
    elif operator.kind == "sparse":
        panels = pack_panels(operator.values, dtype)
        columns = pack_panels(operator.columns, np.dtype(np.int64))
        if lanes != columns.shape[2]:  # as many columns as weights in a line
            columns = pack_columns(operator.columns, lanes)
    elif operator.kind == "cycle":
        scale = operator.weight
    else:
        scale = operator.scale
    if operator.kind == "hadamard":
        signs = operator.signs.astype(dtype)
        scale = operator.scale / signs.shape[1] ** 1.5
    kind = KINDS.index(operator.kind)
    return Operator(kind, dtype.type(scale), panels, columns, signs)


def pack_columns(columns: np.ndarray, lanes: int) -> np.ndarray:
    """Columns (N, K) of sparse weights in panels (P, K, lanes)."""
    units, inputs = columns.shape
    padded = np.zeros((-(-units // lanes) * lanes, inputs), np.int64)
    padded[:units] = columns
    return np.ascontiguousarray(padded.reshape(-1, lanes, inputs).transpose(0, 2, 1))


def pack_inputs(w_in: np.ndarray, dtype: np.dtype) -> Operator:
    """Pack input weights, dense (N, F) or a ring (N,)."""
    lanes = LINE // dtype.itemsize
    panels = pack_panels(w_in if w_in.ndim == 2 else w_in[:, None], dtype)
    kind = _DENSE if w_in.ndim == 2 else _RING
    columns = np.empty((0, 0, lanes), np.int64)
    return Operator(kind, dtype.type(1.0), panels, columns, np.empty((3, 0), dtype))


@called
def _add_sparse(h, panels, columns, out, first, stop):
    """out += W h with the same number of entries in every row."""
    lanes = panels.shape[2]
    for p in range(first, stop):
        total = out[p * lanes : (p + 1) * lanes]
        weights, places = panels[p], columns[p]
        for k in range(weights.shape[0]):
            for j in range(lanes):
                total[j] += weights[k, j] * h[places[k, j]]


@called
def _add_ring(x, weights, out, units, width):
    """Unit i reads x[(i - 1) mod width] with a weight of its own."""
    lanes = weights.shape[2]
    for i in range(units):
        out[i] += weights[i // lanes, 0, i % lanes] * x[(i - 1) % width]


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
    scratch[:units] = h[:units] * signs[2, :units]
    scratch[units:size] = 0.0
    walsh_hadamard(scratch)
    for d in (1, 0):
        for i in range(size):
            scratch[i] *= signs[d, i]
        walsh_hadamard(scratch)
    for i in range(units):
        out[i] += operator.scale * scratch[i]


@called
def _add(operator, h, out, units, width, scratch, first, stop):
    """out += operator h, for the units of panels first .. stop where it is dense or sparse."""
    if operator.kind == _DENSE:
        add_products(h, operator.panels, out, first, stop)
        return
    for r in range(h.shape[0]):
        if operator.kind == _SPARSE:
            _add_sparse(h[r], operator.panels, operator.columns, out[r], first, stop)
        elif operator.kind == _RING:
            _add_ring(h[r], operator.panels, out[r], units, width)
        elif operator.kind == _CYCLE:
            _add_cycle(h[r], operator.scale, out[r], units)
        elif operator.kind == _HADAMARD:
            _add_hadamard(h[r], operator, out[r], units, scratch)
        elif operator.scale != 0.0:
            for i in range(units):
                out[r, i] += operator.scale * h[r, i]


@inlined
def _activate(drive, new, gain, linear):
    """new += gain f(drive)."""
    if linear:
        for i in range(drive.shape[0]):
            new[i] += gain * drive[i]
    else:
        for i in range(drive.shape[0]):
            new[i] += gain * tanh(drive[i])


@called
def _advance(layer, units, x, h, new, drive, scratch, first, stop):
    """One step of some series: new states of the units of panels first .. stop.

    x (rows, F), h, new and drive (rows, P * lanes), zero beyond the units.
    """
    lanes = layer.inputs.panels.shape[2]
    a, e = first * lanes, stop * lanes
    for r in range(x.shape[0]):
        drive[r, a:e] = layer.bias[a:e]
        new[r, a:e] = 0.0
    width = x.shape[1]
    _add(layer.inputs, x, drive, units, width, scratch, first, stop)
    _add(layer.recurrent, h, drive, units, width, scratch, first, stop)
    _add(layer.branch, h, new, units, width, scratch, first, stop)
    for r in range(x.shape[0]):
        _activate(drive[r, a:e], new[r, a:e], layer.gain, layer.linear)


@kernel
def advance_part(layer, units, x, h, new, drive, first, stop):
    """One step of some series, for the units of some panels: see `_advance`."""
    _advance(layer, units, x, h, new, drive, drive[0], first, stop)


@kernel
def run_together(
    layer, source, source_rows, column, features, steps_of, order, state, state_after, out,
    out_rows, out_column, everything,
):  # fmt: skip
    """Run some series side by side, longest first.

    source (rows, columns)   input; the layer's features are columns column .. column + features
    source_rows, out_rows, steps_of (B,)   where each series begins, and how long it is
    order                    the series to run, by falling length
    state, state_after (B, N)
    out (rows, columns)      states from out_column on
    everything               write every step; else only the last one, to the first row
    """
    units, count = state.shape[1], order.shape[0]
    dtype = layer.bias.dtype
    h = np.zeros((count, layer.bias.shape[0]), dtype)
    new, drive = np.zeros_like(h), np.empty_like(h)
    x = np.empty((count, features), dtype)
    scratch = np.empty(layer.recurrent.signs.shape[1], dtype)
    panels = layer.inputs.panels.shape[0]
    for r in range(count):
        h[r, :units] = state[order[r]]
        if steps_of[order[r]] == 0:
            state_after[order[r]] = state[order[r]]
    active = count
    for t in range(steps_of[order[0]]):
        while steps_of[order[active - 1]] <= t:
            active -= 1
        for r in range(active):
            x[r] = source[source_rows[order[r]] + t, column : column + features]
        _advance(
            layer, units, x[:active], h[:active], new[:active], drive[:active], scratch, 0, panels
        )
        h, new = new, h
        for r in range(active):
            b = order[r]
            ends = t == steps_of[b] - 1
            if everything or ends:
                to = out_rows[b] + t if everything else out_rows[b]
                out[to, out_column : out_column + units] = h[r, :units]
            if ends:
                state_after[b] = h[r, :units]
