"""Columns of a filter bank's features, in families that are scaled and weighed together.

Weights were chosen by accuracy on held-out thirds of the training parts of 31 archive datasets.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paralesn.engines.cpu.filter_layout import (
    BENDS,
    CHANGES,
    CHUNK,
    KINDS,
    PARTS,
    VALUES,
    chunk_orders,
    chunks_in_parts,
)

_FLOOR = 0.3  # of the median spread of a family: what hardly varies stays small
_HEARD = {CHANGES: 1.0, VALUES: 0.3, BENDS: 0.3}
_SHARES, _WINS = 0.64, 0.18  # of thresholds, and of each of the two extremes among rivals
# Where in a series something happens is worth little while examples are few.
_PARTS, _MANY = 0.12, 100


class Family(NamedTuple):
    """Columns of one kind, by their numbers, and their share in the variance of all."""

    columns: np.ndarray
    weight: float


class FilterColumns(NamedTuple):
    """Columns of so many chunks of filters with so many thresholds each."""

    chunks: int
    thresholds: int

    @property
    def size(self) -> int:
        """Number of columns."""
        apart = chunks_in_parts(self.chunks) * PARTS * self.thresholds
        return (self.chunks * (self.thresholds + KINDS) + apart) * CHUNK

    def families(self, series: int) -> Iterator[Family]:
        """Families of columns, for so many training series; weights do not add up to one."""
        units, levels = self.chunks * CHUNK, self.thresholds
        whole = np.arange(units * (levels + KINDS)).reshape(levels + KINDS, units)
        heard = np.repeat(chunk_orders(self.chunks), CHUNK)
        total = 0.0
        for order, weight in _HEARD.items():
            mine = whole[:, heard == order]
            if mine.size:
                total += weight
                yield Family(mine[:levels].ravel(), weight * _SHARES)
                yield Family(mine[levels], weight * _WINS)
                yield Family(mine[levels + 1], weight * _WINS)
        for part in np.arange(whole.size, self.size).reshape(PARTS, -1):
            if part.size:
                yield Family(part, total * _PARTS / PARTS * series / (series + _MANY))

    def scale(self, mean: np.ndarray, spread: np.ndarray, series: int) -> np.ndarray:
        """What columns are divided by, so that the mean of their variances is about one."""
        scale = np.ones_like(spread)
        families = list(self.families(series))
        total = sum(weight for _, weight in families)
        for columns, weight in families:
            spreads = spread[columns]
            varies = spreads > 1e-6 * (np.abs(mean[columns]) + 1e-12)
            usual = float(np.median(spreads[varies])) if varies.any() else 1.0
            size = np.sqrt(weight / total * self.size / columns.size)
            scale[columns] = np.hypot(spreads, _FLOOR * usual) / size
        return scale
