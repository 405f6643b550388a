"""Banks of many series, laid end to end so that a file holds a few arrays and not thousands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paralesn.estimators.forecaster.bank import FittedBank
from paralesn.layers.smoothers import SmootherLayer, smoother_grid
from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Floats


@register
@dataclass(frozen=True, eq=False)
class PackedBanks:
    """The parts of S `FittedBank`, end to end; `sizes` (S, 3) are their numbers of members."""

    layer: SmootherLayer
    weights: Floats
    state: Floats
    periods: Counts
    naive_weights: Floats
    flat_weights: Floats
    sizes: Counts
    counts: Counts

    @classmethod
    def pack(cls, banks: Sequence[FittedBank]) -> "PackedBanks":
        """Lay banks end to end."""
        if len(banks) == 1:
            layer = banks[0].layer
        elif banks:
            names = list(SmootherLayer.__dataclass_fields__)
            columns = [np.concatenate([getattr(b.layer, n) for b in banks]) for n in names]
            layer = SmootherLayer(*columns)
        else:
            layer = smoother_grid(1, False).part(np.zeros(0, int))
        state = np.zeros((layer.rows, layer.size))
        first = 0
        for bank in banks:
            rows, size = bank.state.shape
            state[:rows, first : first + size] = bank.state
            first += size
        names = ["weights", "periods", "naive_weights", "flat_weights"]
        weights, *joined = (
            np.concatenate([getattr(b, name) for b in banks]) if banks else np.zeros(0)
            for name in names
        )
        sizes = [(b.layer.size, b.periods.size, b.flat_weights.size) for b in banks]
        counts = np.array([b.count for b in banks], np.int64)
        periods, naive_weights, flat_weights = joined
        return cls(
            layer, weights, state, periods, naive_weights, flat_weights,
            np.array(sizes, np.int64).reshape(-1, 3), counts,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence["PackedBanks"]) -> "PackedBanks":
        """The banks of all parts, end to end."""
        if len(parts) == 1:
            return parts[0]
        names = list(SmootherLayer.__dataclass_fields__)
        columns = [np.concatenate([getattr(p.layer, n) for p in parts]) for n in names]
        layer = SmootherLayer(*columns)
        state = np.zeros((layer.rows, layer.size))
        first = 0
        for part in parts:
            rows, size = part.state.shape
            state[:rows, first : first + size] = part.state
            first += size
        weights, periods, naive, flat, sizes, counts = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in (
                "weights", "periods", "naive_weights", "flat_weights", "sizes", "counts"
            )
        )  # fmt: skip
        return cls(layer, weights, state, periods, naive, flat, sizes, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[FittedBank]:
        ends = np.cumsum(self.sizes, axis=0)
        for i, count in enumerate(self.counts.tolist()):
            (a, p, f), (b, q, g) = (ends[i] - self.sizes[i]).tolist(), ends[i].tolist()
            whole = b - a == self.layer.size  # of a single series: nothing to copy and to check
            layer = self.layer if whole else self.layer.part(np.arange(a, b))
            yield FittedBank(
                layer, self.weights[a:b], self.state[: layer.rows, a:b], self.periods[p:q],
                self.naive_weights[p:q], self.flat_weights[f:g], count,
            )  # fmt: skip

    def check(self) -> None:
        """Check what a file said."""
        shape = (self.layer.rows, self.layer.size)
        total = self.sizes.sum(axis=0).tolist() if self.sizes.ndim == 2 else []
        sizes = [self.weights.size, self.periods.size, self.flat_weights.size]
        right = (
            self.state.shape == shape and total == sizes and self.sizes.shape == (len(self), 3)
            and self.layer.size == sizes[0] and self.naive_weights.size == sizes[1]
            and self.counts.min(initial=0) >= 0 and self.sizes.min(initial=0) >= 0
        )  # fmt: skip
        if not right:
            raise ValueError("the banks of smoothers do not fit together")
        for bank in self:
            bank.check()
