"""Series through layers of tensors: side by side where lengths allow, block by block over time.

Series of equal length form one batch. Others go together, padded at the end, as long as padding
stays a small part; the state of each is taken where it ends. Without gradients to keep track of, a
batch is run in portions and blocks whose states fit a bounded memory; with them in one piece, since
going back needs all states anyway.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paralesn.engines.base import Batch
from paralesn.engines.torch.packed_layers import Layer
from paralesn.runtime.pytorch import torch

_ENTRIES = {"cpu": 1 << 19}  # states of a layer in a block: about a second-level cache
_ENTRIES_ELSEWHERE = 1 << 25
_LEAST_STEPS = 256  # of a block, before a batch is rather cut into portions
_FULLEST = 0.8  # of the longest series' steps, what others must have to be padded to it

State = tuple[torch.Tensor, ...]  # per layer (B, N)


class Group(NamedTuple):
    """Series run side by side, padded at the end where lengths differ."""

    x: torch.Tensor  # (B, T, F)
    lengths: torch.Tensor | None  # (B,) where they differ
    members: np.ndarray  # (B,): which series they are


def groups(x: torch.Tensor, batch: Batch, pad: bool = True) -> Iterator[Group]:
    """Put the series of a batch, which lie in `x` (rows, F), together to groups."""
    starts, lengths = batch.starts, batch.steps
    count, steps = lengths.size, int(lengths[0])
    if (lengths == steps).all() and (starts == starts[0] + np.arange(count) * steps).all():
        rows = x[starts[0] : starts[0] + count * steps]
        yield Group(rows.unflatten(0, (count, steps)), None, np.arange(count))
        return
    order = np.argsort(-lengths, kind="stable")
    while order.size:
        longest = int(lengths[order[0]])
        fits = lengths[order] >= (_FULLEST if pad else 1.0) * longest
        members, order = order[fits], order[~fits]
        pieces = [x[starts[b] : starts[b] + lengths[b]] for b in members]
        together = torch.nn.utils.rnn.pad_sequence(pieces, batch_first=True)
        differ = (lengths[members] != longest).any()
        ends = torch.from_numpy(lengths[members]).to(x.device) if differ else None
        yield Group(together, ends, members)


def wants_gradients(*tensors: torch.Tensor) -> bool:
    """Whether autograd has to record what is done with the tensors."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def portions(layers: Sequence[Layer], x: torch.Tensor, whole: bool) -> tuple[int, int]:
    """Series in a portion, and steps in a block of it; `whole` asks for one of each."""
    count, steps = x.shape[:2]
    if whole:
        return count, steps
    entries = _ENTRIES.get(x.device.type, _ENTRIES_ELSEWHERE)
    entries = max(1, entries // max(max(layer.units, layer.n_columns(True)) for layer in layers))
    size = max(1, min(count, entries // max(1, min(steps, _LEAST_STEPS))))
    return size, max(1, min(steps, entries // size))


def columns(layers: Sequence[Layer], concat: bool, mixing: bool) -> list[slice | None]:
    """Columns of each layer's states in the output, None where they are not wanted."""
    by_layer: list[slice | None] = []
    first = 0
    for depth, layer in enumerate(layers, 1):
        if not concat and depth < len(layers):
            by_layer.append(None)
            continue
        width = layer.n_columns(mixing)
        by_layer.append(slice(first, first + width))
        first += width
    return by_layer


def raw(h: torch.Tensor) -> torch.Tensor:
    """Real and imaginary parts side by side."""
    return torch.cat([h.real, h.imag], -1) if h.is_complex() else h


def advance(
    layers: Sequence[Layer],
    x: torch.Tensor,
    state: State,
    concat: bool,
    mixing: bool,
    out: torch.Tensor | None = None,
) -> tuple[torch.Tensor, State]:
    """Take a block through all layers: the wanted states (B, T, columns), and all their states h.

    Without `out` the result is made of new tensors, and differentiable.
    """
    wanted, states = [], []
    for layer, before, span in zip(layers, state, columns(layers, concat, mixing), strict=True):
        h = layer.states(x, before)
        states.append(h)
        direct = None if out is None or span is None else out[..., span]
        if mixing or layer is not layers[-1]:
            x = layer.mixed(h, direct if mixing else None)
        if span is not None:
            wanted.append(x if mixing else raw(h))
            if direct is not None and not mixing:
                direct.copy_(wanted[-1])
    if out is not None:
        return out, tuple(states)
    return wanted[0] if len(wanted) == 1 else torch.cat(wanted, -1), tuple(states)


def ends(states: State, before: State, lengths: torch.Tensor | None, t0: int) -> State:
    """The states to continue from after a block (B, T, N) that began at step t0."""
    steps = states[0].shape[1] if states else 0
    if not steps:
        return before[: len(states)]
    if lengths is None:  # copies: a view would keep the whole block
        return tuple(h[:, -1].clone() for h in states)
    final = (lengths - t0).clamp(1, steps) - 1
    rows, alive = torch.arange(final.numel(), device=final.device), (lengths > t0).unsqueeze(1)
    return tuple(
        torch.where(alive, h[rows, final], old) for h, old in zip(states, before, strict=True)
    )


def last(
    layers: Sequence[Layer],
    group: Group,
    state: State,
    concat: bool,
    mixing: bool,
    whole: bool = False,
) -> tuple[torch.Tensor, State]:
    """States of the last step only, (B, columns), and the states to continue from."""
    size, block = portions(layers, group.x, whole)
    portion_ends = []
    for first in range(0, group.x.shape[0], size):
        cut = slice(first, first + size)
        lengths = None if group.lengths is None else group.lengths[cut]
        h = tuple(of_layer[cut] for of_layer in state)
        for t0 in range(0, group.x.shape[1], block):
            h = _follow(layers, group.x[cut, t0 : t0 + block], h, lengths, t0)
        portion_ends.append(h)
    after = portion_ends[0]
    if len(portion_ends) > 1:
        after = tuple(torch.cat(h) for h in zip(*portion_ends, strict=True))
    wanted = [
        layer.mixed(h) if mixing else raw(h)
        for layer, h, span in zip(layers, after, columns(layers, concat, mixing), strict=True)
        if span is not None
    ]
    return (wanted[0] if len(wanted) == 1 else torch.cat(wanted, -1)), after


def _follow(
    layers: Sequence[Layer], x: torch.Tensor, state: State, lengths: torch.Tensor | None, t0: int
) -> State:
    """The states to continue from after a block, without the top layer's other states."""
    *lower, top = layers
    states = []
    for layer, before in zip(lower, state, strict=False):
        states.append(layer.states(x, before))
        x = layer.mixed(states[-1])
    if lengths is not None:
        return ends((*states, top.states(x, state[-1])), state, lengths, t0)
    return (*ends(tuple(states), state, None, t0), top.last(x, state[-1]))


def run(
    layers: Sequence[Layer],
    group: Group,
    state: State,
    concat: bool,
    mixing: bool,
    out: torch.Tensor,
) -> State:
    """Write the states of all steps to `out` (B, T, columns), in bounded memory besides."""
    size, block = portions(layers, group.x, whole=False)
    after = tuple(torch.empty_like(h) for h in state)
    for first in range(0, group.x.shape[0], size):
        cut = slice(first, first + size)
        lengths = None if group.lengths is None else group.lengths[cut]
        h = tuple(of_layer[cut] for of_layer in state)
        for t0 in range(0, group.x.shape[1], block):
            span = slice(t0, t0 + block)
            _, states = advance(layers, group.x[cut, span], h, concat, mixing, out[cut, span])
            h = ends(states, h, lengths, t0)
        for target, of_layer in zip(after, h, strict=True):
            target[cut] = of_layer
    return after
