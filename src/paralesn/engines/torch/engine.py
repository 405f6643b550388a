"""The engine of PyTorch: any of its devices, arrays or tensors in and out, differentiable.

What the functions of the protocol take and return is documented in `paralesn.engines.base.Engine`.
Those named after tensors take and return tensors, on their device.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines import base
from paralesn.engines.base import Batch
from paralesn.engines.feed_back import feed_back
from paralesn.engines.overflow import (
    is_large,
    largest_input,
    look_at_states,
    refuse_not_finite,
    refuse_pooled,
)
from paralesn.engines.torch import advance
from paralesn.engines.torch import pool as torch_pool
from paralesn.engines.torch.advance import Group, State
from paralesn.engines.torch.packed_layers import Layer, pack
from paralesn.runtime.buffers import empty
from paralesn.runtime.pytorch import find_device, torch

__all__ = [
    "Program", "empty", "last", "last_of_tensors", "loop", "pool", "pool_tensors", "prepare", "run",
    "run_tensors", "step",
]  # fmt: skip


class Program(NamedTuple):
    """Layers, which of their states are wanted, and their tensors on every device used so far."""

    drawn: tuple[base.Layer, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    device: torch.device  # of arrays
    packed: dict[torch.device, tuple[Layer, ...]]
    largest: float  # input that makes no state too large, from states that are not large

    def layers(self, device: torch.device) -> tuple[Layer, ...]:
        """The layers on a device."""
        if device not in self.packed:
            widths = [self.drawn[0].n_inputs, *(layer.units for layer in self.drawn)]
            pairs = zip(self.drawn, widths, strict=False)
            self.packed[device] = tuple(
                pack(layer, below, self.dtype, device) for layer, below in pairs
            )
        return self.packed[device]


def prepare(
    layers: tuple[base.Layer, ...], concat: bool, mixing: bool, dtype: np.dtype, device: Any = None
) -> Program:
    """Make a program whose arrays are run on `device`."""
    largest = largest_input(layers, dtype)
    return Program(layers, concat, mixing, dtype, find_device(device), {}, largest)


# -- tensors ---------------------------------------------------------------------------------------


def run_tensors(
    program: Program, x: torch.Tensor, batch: Batch, state: State
) -> tuple[list[torch.Tensor], State]:
    """States of all steps: one tensor (B, T, columns) for series of equal length side by side.

    Otherwise one (T, columns) for each series. `x` is (rows, F); nothing is written, so that the
    targets of `batch` do not matter.
    """
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    count = batch.size
    by_series: list[Any] = [None] * count
    afters, order = [], []
    for group in advance.groups(x, batch):
        before = _members(state, group, count)
        if whole:
            wanted = (program.concat, program.mixing)
            z, states = advance.advance(layers, group.x, before, *wanted)
            after = advance.ends(states, before, group.lengths, 0)
        else:
            columns = base.n_columns(program.drawn, program.concat, program.mixing)
            z = torch.empty((*group.x.shape[:2], columns), dtype=x.dtype, device=x.device)
            after = advance.run(layers, group, before, program.concat, program.mixing, z)
        afters.append(after)
        order.append(group.members)
        if len(group.members) == count and group.lengths is None:
            return [z], after
        for b, states_of in zip(group.members, z, strict=True):
            by_series[b] = states_of[: batch.steps[b]]
    return by_series, _restored(afters, order)


def last_of_tensors(
    program: Program, x: torch.Tensor, batch: Batch, state: State
) -> tuple[torch.Tensor, State]:
    """States of the last step of each series, (B, columns), and the states to continue from."""
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    ends, order = [], []
    for group in advance.groups(x, batch):
        before = _members(state, group, batch.size)
        wanted = (program.concat, program.mixing, whole)
        z, after = advance.last(layers, group, before, *wanted)
        ends.append((z, *after))
        order.append(group.members)
    rows, *states = _restored(ends, order)
    return rows, tuple(states)


def pool_tensors(
    program: Program,
    x: torch.Tensor,
    batch: Batch,
    state: State,
    pools: Sequence[str],
    segments: int,
) -> torch.Tensor:
    """Pooled states, (B, segments * pools * columns)."""
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    wanted = (program.concat, program.mixing, pools, segments, whole)
    pooled, order = [], []
    for group in advance.groups(x, batch, pad=False):
        before = _members(state, group, batch.size)
        pooled.append((torch_pool.pool(layers, group, before, *wanted),))
        order.append(group.members)
    return _restored(pooled, order)[0]


def _members(state: State, group: Group, count: int) -> State:
    """States of the series in a group, copied only where they are not all series in order."""
    if group.lengths is None and len(group.members) == count and _in_order(group.members):
        return state
    members = torch.from_numpy(group.members).to(state[0].device)
    return tuple(h.index_select(0, members) for h in state)


def _in_order(members: np.ndarray) -> bool:
    return bool((members == np.arange(members.size)).all())


def _restored(by_group: Sequence[State], order: Sequence[np.ndarray]) -> State:
    """Rows of several groups in the order of the series."""
    if len(by_group) == 1 and _in_order(order[0]):
        return by_group[0]
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(by_group[0][0].device)
    return tuple(torch.cat(rows).index_select(0, back) for rows in zip(*by_group, strict=True))


# -- arrays ----------------------------------------------------------------------------------------


def _tensors(program: Program, *arrays: np.ndarray) -> list[torch.Tensor]:
    """Arrays as tensors on the program's device: the same memory if that is the CPU."""
    with warnings.catch_warnings():  # about read-only arrays, which are not written to here
        warnings.simplefilter("ignore", UserWarning)
        return [torch.from_numpy(np.ascontiguousarray(a)).to(program.device) for a in arrays]


def _arrays(state: State) -> base.States:
    return tuple(h.cpu().numpy() for h in state)


def run(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: base.States,
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> base.States:
    """Run every series, write its states to `out`, return the states to continue from."""
    after = _run(program, x, batch, state, out, last_only)
    look = is_large(program.largest, x, state)
    refuse_not_finite(x, batch, state, after, out if look else None, last_only)
    return after


def _run(
    program: Program, x: np.ndarray, batch: Batch, state: base.States, out: np.ndarray,
    last_only: bool,
) -> base.States:  # fmt: skip
    """The same, whatever comes of it."""
    with torch.no_grad():
        (rows,), before = _tensors(program, x), tuple(_tensors(program, *state))
        if last_only:
            z, after = last_of_tensors(program, rows, batch, before)
            out[batch.targets] = z.cpu().numpy()
            return _arrays(after)
        afters, order = [], []
        for group in advance.groups(rows, batch):
            start = _members(before, group, batch.size)
            afters.append(_run_group(program, group, batch, start, out))
            order.append(group.members)
        return _arrays(_restored(afters, order))


def _run_group(
    program: Program, group: Group, batch: Batch, state: State, out: np.ndarray
) -> State:
    """Write the states of a group to `out`, without a copy where they lie there side by side."""
    layers, wanted = program.layers(program.device), (program.concat, program.mixing)
    count, steps = group.x.shape[:2]
    targets = batch.targets[group.members]
    direct = group.lengths is None and (targets == targets[0] + np.arange(count) * steps).all()
    if direct and program.device.type == "cpu":
        target = torch.from_numpy(out[targets[0] : targets[0] + count * steps])
        return advance.run(layers, group, state, *wanted, target.unflatten(0, (count, steps)))
    shape = (count, steps, out.shape[1])
    target = torch.empty(shape, dtype=group.x.dtype, device=group.x.device)
    after = advance.run(layers, group, state, *wanted, target)
    for b, states in zip(group.members, target.cpu().numpy(), strict=True):
        length = batch.steps[b]
        out[batch.targets[b] : batch.targets[b] + length] = states[:length]
    return after


def last(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: base.States,
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of every series to its row of `out`."""
    run(program, x, batch, state, out, last_only=True)


def step(
    program: Program, x: np.ndarray, state: base.States, out: np.ndarray, check: bool = True
) -> base.States:
    """Advance every series, a row of `x` and of `out`, by one step."""
    batch = Batch.single_steps(x.shape[0])
    after = _run(program, x, batch, state, out, False)
    if check:
        refuse_not_finite(x, batch, state, after, out)
    return after


def pool(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: base.States,
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the states of every series, pooled over time, to its row of `out`."""
    with torch.no_grad():
        (rows,), before = _tensors(program, x), tuple(_tensors(program, *state))
        pooled = pool_tensors(program, rows, batch, before, pools, segments)
        out[batch.targets] = pooled.cpu().numpy()
    if is_large(program.largest, x, state) or not np.isfinite(out).all():
        columns = out.shape[1] // (segments * len(pools))
        look_at_states(run, program, x, batch, state, columns)
    refuse_pooled(x, batch, state, out)


def loop(
    program: Program,
    inputs: np.ndarray,
    state: base.States,
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
    which: np.ndarray | None = None,
    after: base.States | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input."""
    call = (program, inputs, state, weights, intercept, difference, which, after)
    return feed_back(step, *call)
