"""The engine of PyTorch: any of its devices, arrays or tensors in and out, differentiable.

See `paralesn.engines.reference` for what a program and its arguments mean. Functions of the common
contract take NumPy arrays; those named after tensors take and return tensors, on their device.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.reference import feed_back
from paralesn.engines.torch import advance
from paralesn.engines.torch import pool as torch_pool
from paralesn.engines.torch.advance import Batch, State
from paralesn.engines.torch.packed_layers import Diagonal, Recurrent, pack
from paralesn.runtime.buffers import empty
from paralesn.runtime.pytorch import find_device, torch

__all__ = [
    "Program", "empty", "last", "last_of_tensors", "loop", "pool", "pool_tensors", "prepare", "run",
    "run_tensors", "step",
]  # fmt: skip


class Program(NamedTuple):
    """Drawn layers, what is asked of them, and their tensors on each device that was in use."""

    drawn: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype
    device: torch.device  # of arrays
    packed: dict[torch.device, tuple[Diagonal | Recurrent, ...]]

    def layers(self, device: torch.device) -> tuple[Diagonal | Recurrent, ...]:
        """The layers on a device."""
        if device not in self.packed:
            widths = [self.drawn[0].w_in.shape[1], *(layer.units for layer in self.drawn)]
            pairs = zip(self.drawn, widths, strict=False)
            self.packed[device] = tuple(
                pack(layer, below, self.dtype, device) for layer, below in pairs
            )
        return self.packed[device]


def prepare(
    layers: tuple[Any, ...], concat: bool, mixing: bool, dtype: np.dtype, device: Any = None
) -> Program:
    """Make a program whose arrays are run on `device`."""
    return Program(layers, concat, mixing, dtype, find_device(device), {})


# -- tensors ---------------------------------------------------------------------------------------


def run_tensors(
    program: Program, x: torch.Tensor, series: np.ndarray, state: State
) -> tuple[list[torch.Tensor], State]:
    """States of all steps: one tensor (B, T, columns) for series of equal length side by side.

    Otherwise one (T, columns) for each series. `series` (2, B) holds first rows in `x`, and steps.
    """
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    count = series.shape[1]
    found: list[Any] = [None] * count
    afters, order = [], []
    for batch in advance.batches(x, series):
        before = _members(state, batch, count)
        if whole:
            asked = (program.concat, program.mixing)
            z, states = advance.advance(layers, batch.x, before, *asked)
            after = advance.ends(states, before, batch.lengths, 0)
        else:
            shape = (*batch.x.shape[:2], _columns(program))
            z = torch.empty(shape, dtype=x.dtype, device=x.device)
            after = advance.run(layers, batch, before, program.concat, program.mixing, z)
        afters.append(after)
        order.append(batch.members)
        if len(batch.members) == count and batch.lengths is None:
            return [z], after
        for b, states_of in zip(batch.members, z, strict=True):
            found[b] = states_of[: series[1, b]]
    return found, _restored(afters, order)


def last_of_tensors(
    program: Program, x: torch.Tensor, series: np.ndarray, state: State
) -> tuple[torch.Tensor, State]:
    """States of the last step of each series, (B, columns), and the states to go on from."""
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    found, order = [], []
    for batch in advance.batches(x, series):
        before = _members(state, batch, series.shape[1])
        asked = (program.concat, program.mixing, whole)
        z, after = advance.last(layers, batch, before, *asked)
        found.append((z, *after))
        order.append(batch.members)
    rows, *states = _restored(found, order)
    return rows, tuple(states)


def pool_tensors(
    program: Program,
    x: torch.Tensor,
    series: np.ndarray,
    state: State,
    pools: Sequence[str],
    segments: int,
) -> torch.Tensor:
    """Pooled states, (B, segments * pools * columns)."""
    layers, whole = program.layers(x.device), advance.wants_gradients(x, *state)
    asked = (program.concat, program.mixing, pools, segments, whole)
    found, order = [], []
    for batch in advance.batches(x, series, pad=False):
        before = _members(state, batch, series.shape[1])
        found.append((torch_pool.pool(layers, batch, before, *asked),))
        order.append(batch.members)
    return _restored(found, order)[0]


def _columns(program: Program) -> int:
    seen = program.drawn if program.concat else program.drawn[-1:]
    return sum(layer.units * (1 if program.mixing else layer.parts) for layer in seen)


def _members(state: State, batch: Batch, count: int) -> State:
    """States of the series in a batch; all of them are not copied."""
    if batch.lengths is None and len(batch.members) == count and _in_order(batch.members):
        return state
    members = torch.from_numpy(batch.members).to(state[0].device)
    return tuple(h.index_select(0, members) for h in state)


def _in_order(members: np.ndarray) -> bool:
    return bool((members == np.arange(members.size)).all())


def _restored(found: Sequence[State], order: Sequence[np.ndarray]) -> State:
    """Rows of several batches in the order of the series."""
    if len(found) == 1 and _in_order(order[0]):
        return found[0]
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(found[0][0].device)
    return tuple(torch.cat(parts).index_select(0, back) for parts in zip(*found, strict=True))


# -- arrays ----------------------------------------------------------------------------------------


def _there(program: Program, *arrays: np.ndarray) -> list[torch.Tensor]:
    """Arrays as tensors on the program's device: the same memory if that is the CPU."""
    with warnings.catch_warnings():  # about read-only arrays, which nobody writes to here
        warnings.simplefilter("ignore", UserWarning)
        return [torch.from_numpy(np.ascontiguousarray(a)).to(program.device) for a in arrays]


def _here(state: State) -> tuple[np.ndarray, ...]:
    return tuple(h.cpu().numpy() for h in state)


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
    with torch.no_grad():
        (rows,), before = _there(program, x), tuple(_there(program, *state))
        starts = series[::2]
        if last_only:
            z, after = last_of_tensors(program, rows, starts, before)
            out[series[1]] = z.cpu().numpy()
            return _here(after)
        layers, found, order = program.layers(program.device), [], []
        for batch in advance.batches(rows, starts):
            some = _members(before, batch, series.shape[1])
            asked, (count, steps) = (program.concat, program.mixing), batch.x.shape[:2]
            to = series[1, batch.members]
            direct = batch.lengths is None and (to == to[0] + np.arange(count) * steps).all()
            if direct and program.device.type == "cpu":  # straight into the output
                target = torch.from_numpy(out[to[0] : to[0] + count * steps])
                target = target.unflatten(0, (count, steps))
                found.append(advance.run(layers, batch, some, *asked, target))
            else:
                shape = (count, steps, out.shape[1])
                target = torch.empty(shape, dtype=rows.dtype, device=rows.device)
                found.append(advance.run(layers, batch, some, *asked, target))
                for b, states in zip(batch.members, target.cpu().numpy(), strict=True):
                    length = series[2, b]
                    out[series[1, b] : series[1, b] + length] = states[:length]
            order.append(batch.members)
        return _here(_restored(found, order))


def last(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of series b to row b of `out`."""
    run(program, x, series, state, out, last_only=True)


def step(
    program: Program, x: np.ndarray, state: tuple[np.ndarray, ...], out: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Advance every series, a row of `x` and of `out`, by one step."""
    rows = np.arange(x.shape[0])
    return run(program, x, np.stack([rows, rows, np.ones_like(rows)]), state, out)


def pool(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the states of every series, pooled over time, to its row of `out`."""
    with torch.no_grad():
        (rows,), before = _there(program, x), tuple(_there(program, *state))
        found = pool_tensors(program, rows, series[::2], before, pools, segments)
        out[series[1]] = found.cpu().numpy()


def loop(
    program: Program,
    inputs: np.ndarray,
    state: tuple[np.ndarray, ...],
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input."""
    return feed_back(step, program, inputs, state, weights, intercept, difference)
