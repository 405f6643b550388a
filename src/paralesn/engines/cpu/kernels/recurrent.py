"""The fused kernel of recurrent layers: h = branch h + gain f(recurrent h + W_in x + b).

Several series are advanced together, so that a matrix is read once for all. Series are sorted
by length: those still running are the first ones. Sums are added up in an order that depends on
nothing but the layer, so neither the other series nor the threads change a bit.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.barrier import meet
from paralesn.engines.cpu.kernels.magnitude import beyond
from paralesn.engines.cpu.kernels.operators import ADD, IDENTITY, RING, Operator, add_ring
from paralesn.engines.cpu.kernels.product import add_products
from paralesn.engines.cpu.kernels.room import clear, empty_rows
from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.runtime.compiler import called, inlined, kernel


class Parameters(NamedTuple):
    """What a layer's kernel needs.

    `together_kernel` takes the fields one by one: handing over a tuple costs two microseconds,
    which a single step would feel.
    """

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


class Reading(NamedTuple):
    """Where a single series reads its input."""

    source: np.ndarray  # (rows, columns)
    row: int
    column: int
    features: int
    steps: int


class Writing(NamedTuple):
    """Where a single series writes its states."""

    out: np.ndarray  # (rows, columns)
    row: int
    column: int
    every_step: bool  # otherwise only the last one, to the first row


class Shared(NamedTuple):
    """Arrays that threads share while each advances panels of its own."""

    both: np.ndarray  # (2, 1, P * lanes): states before and after a step, in turn
    drive: np.ndarray  # (1, P * lanes)
    carried: np.ndarray  # (1, P * lanes)
    counter: np.ndarray  # (1,): where the threads meet after every step


@called
def _copy(source, target):
    """target = source, for one row; a slice assignment would take a second to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@called
def _drive_dense(layer, x, drive, units, first, stop):
    """drive = W_in x + b."""
    panels = layer.inputs
    a, e = first * panels.shape[2], stop * panels.shape[2]
    bias, weights = layer.bias[a:e], layer.single[a:e]
    for r in range(x.shape[0]):
        row = drive[r, a:e]
        if x.shape[1] == 1:
            x0 = x[r, 0]
            for i in range(e - a):
                row[i] = bias[i] + weights[i] * x0
        else:
            _copy(bias, row)
    if x.shape[1] > 1:
        add_products(x, panels, drive, first, stop)


@called
def _drive_ring(layer, x, drive, units, first, stop):
    """drive = W_in x + b where every unit reads one feature; never cut into panels."""
    for r in range(x.shape[0]):
        _copy(layer.bias, drive[r])
        add_ring(x[r], layer.single, drive[r], units)


@inlined
def _activate(drive, h, new, keep, gain, linear):
    """new = keep h + gain f(drive)."""
    if linear:
        for i in range(drive.shape[0]):
            new[i] = keep * h[i] + gain * drive[i]
    else:
        for i in range(drive.shape[0]):
            new[i] = keep * h[i] + gain * tanh(drive[i])


@cache
def _advancing(recurrent_kind: int, inputs_kind: int, branch_kind: int) -> Any:
    """Make the function that advances a layer of these kinds by a step."""
    add_recurrent, add_branch = ADD[recurrent_kind], ADD[branch_kind]
    drive_units = _drive_ring if inputs_kind == RING else _drive_dense
    is_leaky = branch_kind == IDENTITY

    @called
    def advance(layer, units, x, h, new, drive, carried, scratch, first, stop):
        """One step of several series: new states of the units of panels first .. stop.

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
        drive_units(layer, x, drive, units, first, stop)
        add_recurrent(recurrent, h, drive, units, scratch, first, stop)
        if is_leaky:
            for r in range(x.shape[0]):
                _activate(drive[r, a:e], h[r, a:e], new[r, a:e], branch.scale, gain, linear)
        else:
            for r in range(x.shape[0]):
                for i in range(a, e):
                    carried[r, i] = 0.0
            add_branch(branch, h, carried, units, scratch, first, stop)
            for r in range(x.shape[0]):
                whole = layer.bias.dtype.type(1)
                _activate(drive[r, a:e], carried[r, a:e], new[r, a:e], whole, gain, linear)

    return advance


@cache
def cut_kernel(recurrent_kind: int, inputs_kind: int, branch_kind: int) -> Any:
    """Make the kernel that runs one series on several threads, for a layer of these kinds."""
    advance = _advancing(recurrent_kind, inputs_kind, branch_kind)

    @kernel
    def run_cut(layer, reading, writing, shared, units, rank, count):
        """Run one series on several threads at the same time, each with panels of its own.

        layer, reading, writing, shared   `Parameters`, `Reading`, `Writing` and `Shared`
        rank, count                       which of how many threads this is
        """
        source, start, column, features, steps = reading
        out, row, out_column, every_step = writing
        both, drive, carried, counter = shared
        panels, lanes = layer.inputs.shape[0], layer.inputs.shape[2]
        first, stop = panels * rank // count, panels * (rank + 1) // count
        a, e = first * lanes, min(stop * lanes, units)
        x = empty_rows(layer.bias, 1, features)
        for t in range(steps):
            h, new = both[t % 2], both[(t + 1) % 2]
            _copy(source[start + t, column : column + features], x[0])
            advance(layer, units, x, h, new, drive, carried, layer.bias, first, stop)
            if every_step or t == steps - 1:
                to = row + t if every_step else row
                _copy(new[0, a:e], out[to, out_column + a :])
            meet(counter, (t + 1) * count)

    return run_cut


@cache
def together_kernel(recurrent_kind: int, inputs_kind: int, branch_kind: int) -> Any:
    """Make the kernel that runs several series side by side, for a layer of these kinds."""
    advance = _advancing(recurrent_kind, inputs_kind, branch_kind)

    @kernel
    def run_together(
        kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch, branch_columns,
        branch_signs, bias, source, starts, column, features, steps_of, order, state, state_after,
        out, targets, out_column, every_step,
    ):  # fmt: skip
        """Run series side by side, longest first. The first arguments are `Parameters`.

        source (rows, columns)   input; the layer's features are columns column .. column + features
        starts, targets, steps_of (B,)   first rows in source and out, and number of steps
        order                    the series to run, by falling length
        state, state_after (B, N)
        out (rows, columns)      states from out_column on
        every_step               write every step; else only the last one, to the first row

        It returns how many numbers of the states, first or last ones, are too large not to look at
        what came of them.
        """
        layer = Parameters(
            kinds, numbers, recurrent, recurrent_columns, signs, inputs, single, branch,
            branch_columns, branch_signs, bias,
        )  # fmt: skip
        units, count, panels = state.shape[1], order.shape[0], inputs.shape[0]
        h, new = empty_rows(bias, count, bias.shape[0]), empty_rows(bias, count, bias.shape[0])
        drive = empty_rows(bias, count, bias.shape[0])
        carried = empty_rows(bias, count, bias.shape[0])
        clear(h)
        clear(new)
        clear(carried)
        x = empty_rows(bias, count, features)
        scratch = empty_rows(bias, 1, max(signs.shape[1], branch_signs.shape[1]))[0]
        large = 0
        for r in range(count):
            large += beyond(state[order[r]])
            _copy(state[order[r]], h[r])
            if steps_of[order[r]] == 0:
                _copy(state[order[r]], state_after[order[r]])
        active = count
        for t in range(steps_of[order[0]]):
            while steps_of[order[active - 1]] <= t:
                active -= 1
            for r in range(active):
                _copy(source[starts[order[r]] + t, column : column + features], x[r])
            advance(
                layer, units, x[:active], h[:active], new[:active], drive[:active],
                carried[:active], scratch, 0, panels,
            )  # fmt: skip
            h, new = new, h
            for r in range(active):
                b = order[r]
                ends = t == steps_of[b] - 1
                if every_step or ends:
                    to = targets[b] + t if every_step else targets[b]
                    _copy(h[r, :units], out[to, out_column:])
                if ends:
                    _copy(h[r, :units], state_after[b])
                    large += beyond(state_after[b])
        return large

    return run_together
