"""What a filter bank has learnt, and how its features are standardised."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from paralesn.engines.cpu.filter_layout import CHUNK, KINDS, ROWS, RUN
from paralesn.features.levels import SHARE, STATISTICS, LevelScale
from paralesn.persistence import register

_FLOOR = 0.3  # of the median spread of a kind of feature: what hardly varies stays small


@register
@dataclass(frozen=True, eq=False)
class FittedFilterBank:
    """Filters as drawn and calibrated, and the features' mean and scale.

    `channel_scale` (channels,) is what series are divided by, or None where each is normalised;
    `levels` is None where levels are not described.
    """

    filters: np.ndarray
    combinations: np.ndarray
    thresholds: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    channel_scale: np.ndarray | None
    levels: LevelScale | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        chunks, levels, width = self.thresholds.shape
        channels, columns = self.combinations.shape[2], chunks * CHUNK * (levels + KINDS)
        further = 0 if self.levels is None else channels * STATISTICS
        arrays = (self.filters, self.combinations, self.thresholds, self.mean, self.scale)
        right = (
            width == CHUNK
            and self.filters.shape == (chunks, ROWS, CHUNK)
            and self.combinations.shape == (chunks, CHUNK // RUN, channels)
            and self.mean.shape == self.scale.shape == (columns + further,)
            and all(a.dtype == np.float32 and np.isfinite(a).all() for a in arrays)
            and (self.scale > 0).all()
            and (self.levels is None or self.levels.fits(further))
            and (self.channel_scale is None or self.channel_scale.shape == (channels,))
        )
        if not right:
            raise ValueError("the arrays of a FilterBank do not fit together")

    def measured(self, blocks: Iterator[np.ndarray]) -> "FittedFilterBank":
        """With mean and scale of every feature, from differences to the first block's mean."""
        count, origin = 0, np.zeros(0)
        total = squares = np.zeros(self.mean.size)
        for block in blocks:
            origin = origin if count else block.mean(axis=0, dtype=float)
            shifted = block - origin
            count, total = count + len(block), total + shifted.sum(axis=0)
            squares = squares + np.einsum("ij,ij->j", shifted, shifted)
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        return self.scaled_by(mean + origin, spread)

    def scaled_by(self, mean: np.ndarray, spread: np.ndarray) -> "FittedFilterBank":
        """With the scale that follows from the features' means and standard deviations."""
        varies = spread > 1e-6 * (np.abs(mean) + 1e-12)
        scale = np.ones_like(spread)
        chunks, thresholds, _ = self.thresholds.shape
        units = chunks * CHUNK
        ends = np.array([0, thresholds, *range(thresholds + 1, thresholds + 4)]) * units
        for begin, end in pairwise(ends):
            spreads = spread[begin:end][varies[begin:end]]
            usual = float(np.median(spreads)) if spreads.size else 1.0
            scale[begin:end] = np.hypot(spread[begin:end], _FLOOR * usual)
        if self.levels is not None:  # few columns, which have a share in the variance of all
            few = slice(ends[-1], None)
            weight = np.sqrt(SHARE * ends[-1] / spread[few].size)
            scale[few] = np.where(varies[few], spread[few], 1.0) / weight
        return replace(self, mean=mean.astype(np.float32), scale=scale.astype(np.float32))
