"""States of PyTorch pooled over time, block by block; see `paralesn.engines.cpu.pooling`."""

import itertools
from collections.abc import Sequence
from typing import Any

from paralesn.engines.torch.advance import Group, State, advance, ends, portions
from paralesn.engines.torch.packed_layers import Layer
from paralesn.runtime.pytorch import torch


class Segment:
    """Statistics so far of a segment's states, (B, columns)."""

    def __init__(self, z: torch.Tensor) -> None:
        self.first, self.count = z[:, 0], 0
        self.sum = self.squares = torch.zeros_like(self.first, dtype=torch.float64)
        self.max = self.min = self.last = self.first
        self.positive = torch.zeros_like(self.first, dtype=torch.int64)

    def digest(self, z: torch.Tensor, pools: Sequence[str]) -> None:
        """Add further states (B, T, columns)."""
        self.count += z.shape[1]
        self.last = z[:, -1]
        if "mean" in pools or "std" in pools:
            # Differences to the first state: exact for states that do not change.
            shifted = z.double() - self.first.double().unsqueeze(1)
            self.sum = self.sum + shifted.sum(1)
            self.squares = self.squares + shifted.square().sum(1)
        if "max" in pools:
            self.max = torch.maximum(self.max, z.amax(1))
        if "min" in pools:
            self.min = torch.minimum(self.min, z.amin(1))
        if "ppv" in pools:
            self.positive = self.positive + (z > 0).sum(1)

    def statistic(self, name: str) -> torch.Tensor:
        """One number for each state."""
        mean: Any = self.sum / self.count
        if name == "mean":
            return (self.first.double() + mean).to(self.first.dtype)
        if name == "std":
            variance = (self.squares / self.count - mean.square()).clamp_min(0.0)
            return variance.sqrt().to(self.first.dtype)
        if name == "ppv":
            return (self.positive.double() / self.count).to(self.first.dtype)
        return {"last": self.last, "max": self.max, "min": self.min}[name]


def pool(
    layers: Sequence[Layer],
    group: Group,
    state: State,
    concat: bool,
    mixing: bool,
    pools: Sequence[str],
    segments: int,
    whole: bool,
) -> torch.Tensor:
    """Features (B, segments * pools * columns) of series of equal length."""
    size, block = portions(layers, group.x, whole)
    steps = group.x.shape[1]
    cuts = [steps * s // segments for s in range(segments + 1)]
    rows = []
    for first in range(0, group.x.shape[0], size):
        cut = slice(first, first + size)
        h = tuple(of_layer[cut] for of_layer in state)
        segment: dict[int, Segment] = {}
        for t0 in range(0, steps, block):
            z, states = advance(layers, group.x[cut, t0 : t0 + block], h, concat, mixing)
            h = ends(states, h, None, t0)
            for s, (begin, end) in enumerate(itertools.pairwise(cuts)):
                here = z[:, max(begin - t0, 0) : max(end - t0, 0)]
                if here.shape[1]:
                    segment.setdefault(s, Segment(here)).digest(here, pools)
        pooled = [segment[s].statistic(name) for s in range(segments) for name in pools]
        rows.append(torch.cat(pooled, -1))
    return rows[0] if len(rows) == 1 else torch.cat(rows)
