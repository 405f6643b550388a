"""Series through layers of tensors: side by side where lengths allow, block by block over time.

Series of equal length form one batch. Others go together, padded at the end, as long as padding
stays a small part; the state of each is taken where it ends. Without gradients to keep track of, a
batch is run in portions and blocks whose states fit a bounded memory; with them in one piece, since
going back needs all states anyway.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paralesn.engines.torch.packed_layers import Layer
from paralesn.runtime.pytorch import torch

_ENTRIES = {"cpu": 1 << 19}  # states of a layer in a block: about a second-level cache
_ENTRIES_ELSEWHERE = 1 << 25
_LEAST_STEPS = 256  # of a block, before a batch is rather cut into portions
_FULLEST = 0.8  # of the longest series' steps, what others must have to be padded to it

State = tuple[torch.Tensor, ...]  # per layer (B, N)


class Batch(NamedTuple):
    """Series run side by side."""

    x: torch.Tensor  # (B, T, F)
    lengths: torch.Tensor | None  # (B,) where they differ
    members: np.ndarray  # (B,): which series they are


def batches(x: torch.Tensor, series: np.ndarray, pad: bool = True) -> Iterator[Batch]:
    """Put series together: `x` (rows, F), `series` (2 or more, B) first rows and, last, steps."""
    starts, lengths = series[0], series[-1]
    count, steps = lengths.size, int(lengths[0])
    if (lengths == steps).all() and (starts == starts[0] + np.arange(count) * steps).all():
        rows = x[starts[0] : starts[0] + count * steps]
        yield Batch(rows.unflatten(0, (count, steps)), None, np.arange(count))
        return
    order = np.argsort(-lengths, kind="stable")
    while order.size:
        longest = int(lengths[order[0]])
        fits = lengths[order] >= (_FULLEST if pad else 1.0) * longest
        members, order = order[fits], order[~fits]
        parts = [x[starts[b] : starts[b] + lengths[b]] for b in members]
        together = torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)
        differ = (lengths[members] != longest).any()
        ends = torch.from_numpy(lengths[members]).to(x.device) if differ else None
        yield Batch(together, ends, members)


def wants_gradients(*tensors: torch.Tensor) -> bool:
    """Whether autograd has to follow what is done with them."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def portions(layers: Sequence[Layer], x: torch.Tensor, whole: bool) -> tuple[int, int]:
    """Series in a portion, and steps in a block of it; `whole` asks for one of each."""
    count, steps = x.shape[:2]
    if whole:
        return count, steps
    entries = _ENTRIES.get(x.device.type, _ENTRIES_ELSEWHERE)
    entries = max(1, entries // max(layer.units for layer in layers))
    size = max(1, min(count, entries // max(1, min(steps, _LEAST_STEPS))))
    return size, max(1, min(steps, entries // size))


def columns(layers: Sequence[Layer], concat: bool, mixing: bool) -> list[slice | None]:
    """Where the states of each layer stand in the output."""
    places: list[slice | None] = []
    first = 0
    for depth, layer in enumerate(layers, 1):
        if not concat and depth < len(layers):
            places.append(None)
            continue
        width = layer.units * (1 if mixing else layer.parts)
        places.append(slice(first, first + width))
        first += width
    return places


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
    """Take a block through all layers: what is asked for (B, T, columns), and all their states h.

    Without `out` the result is made of new tensors, and differentiable.
    """
    collected, states = [], []
    for layer, before, place in zip(layers, state, columns(layers, concat, mixing), strict=True):
        h = layer.states(x, before)
        states.append(h)
        direct = None if out is None or place is None else out[..., place]
        if mixing or layer is not layers[-1]:
            x = layer.seen(h, direct if mixing else None)
        if place is not None:
            collected.append(x if mixing else raw(h))
            if direct is not None and not mixing:
                direct.copy_(collected[-1])
    if out is not None:
        return out, tuple(states)
    return collected[0] if len(collected) == 1 else torch.cat(collected, -1), tuple(states)


def ends(states: State, before: State, lengths: torch.Tensor | None, t0: int) -> State:
    """The states to go on from after a block (B, T, N) that began at step t0."""
    steps = states[0].shape[1] if states else 0
    if not steps:
        return before[: len(states)]
    if lengths is None:  # copies: a view would keep the whole block
        return tuple(h[:, -1].clone() for h in states)
    place = (lengths - t0).clamp(1, steps) - 1
    rows, alive = torch.arange(place.numel(), device=place.device), (lengths > t0).unsqueeze(1)
    return tuple(
        torch.where(alive, h[rows, place], old) for h, old in zip(states, before, strict=True)
    )


def last(
    layers: Sequence[Layer],
    batch: Batch,
    state: State,
    concat: bool,
    mixing: bool,
    whole: bool = False,
) -> tuple[torch.Tensor, State]:
    """States of the last step only, (B, columns), and the states to go on from."""
    size, block = portions(layers, batch.x, whole)
    found = []
    for first in range(0, batch.x.shape[0], size):
        cut = slice(first, first + size)
        lengths = None if batch.lengths is None else batch.lengths[cut]
        h = tuple(part[cut] for part in state)
        for t0 in range(0, batch.x.shape[1], block):
            h = _follow(layers, batch.x[cut, t0 : t0 + block], h, lengths, t0)
        found.append(h)
    after = found[0] if len(found) == 1 else tuple(torch.cat(h) for h in zip(*found, strict=True))
    seen = [
        layer.seen(h) if mixing else raw(h)
        for layer, h, place in zip(layers, after, columns(layers, concat, mixing), strict=True)
        if place is not None
    ]
    return (seen[0] if len(seen) == 1 else torch.cat(seen, -1)), after


def _follow(
    layers: Sequence[Layer], x: torch.Tensor, state: State, lengths: torch.Tensor | None, t0: int
) -> State:
    """The states to go on from after a block, of which the top layer's others are not needed."""
    *lower, top = layers
    states = []
    for layer, before in zip(lower, state, strict=False):
        states.append(layer.states(x, before))
        x = layer.seen(states[-1])
    if lengths is not None:
        return ends((*states, top.states(x, state[-1])), state, lengths, t0)
    return (*ends(tuple(states), state, None, t0), top.last(x, state[-1]))


def run(
    layers: Sequence[Layer],
    batch: Batch,
    state: State,
    concat: bool,
    mixing: bool,
    out: torch.Tensor,
) -> State:
    """Write the states of all steps to `out` (B, T, columns), in bounded memory besides."""
    size, block = portions(layers, batch.x, whole=False)
    after = tuple(torch.empty_like(h) for h in state)
    for first in range(0, batch.x.shape[0], size):
        cut = slice(first, first + size)
        lengths = None if batch.lengths is None else batch.lengths[cut]
        h = tuple(part[cut] for part in state)
        for t0 in range(0, batch.x.shape[1], block):
            span = slice(t0, t0 + block)
            _, states = advance(layers, batch.x[cut, span], h, concat, mixing, out[cut, span])
            h = ends(states, h, lengths, t0)
        for target, part in zip(after, h, strict=True):
            target[cut] = part
    return after
