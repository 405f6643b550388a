"""What a filter bank has learnt, and how its features are standardised."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn.engines.cpu.filter_layout import CHUNK, ROWS, RUN
from paralesn.features.filter_columns import FilterColumns
from paralesn.features.levels import SHARE, STATISTICS, LevelScale
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats


@register
@dataclass(frozen=True, eq=False)
class FittedFilterBank:
    """Filters as drawn and calibrated, and the features' mean and scale.

    `n_series` is how many there were to learn from. `channel_scale` (channels,) is what series are
    divided by, or None where each is normalised; `levels` is None where levels are not described.
    """

    filters: Floats
    combinations: Floats
    thresholds: Floats
    mean: Floats
    scale: Floats
    n_series: Count
    channel_scale: Floats | None
    levels: LevelScale | None = None

    @property
    def layout(self) -> FilterColumns:
        """Columns of the features, without those of levels."""
        return FilterColumns(*self.thresholds.shape[:2])

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        chunks, _, width = self.thresholds.shape
        channels, columns = self.combinations.shape[2], self.layout.size
        further = 0 if self.levels is None else channels * STATISTICS
        arrays = (self.filters, self.combinations, self.thresholds, self.mean, self.scale)
        right = (
            width == CHUNK
            and self.n_series > 0
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
        end = self.layout.size
        scale = np.ones_like(spread)
        scale[:end] = self.layout.scale(mean[:end], spread[:end], self.n_series)
        if self.levels is not None:  # few columns, which have a share in the variance of all
            mean_level, few = mean[end:], spread[end:]
            varies = few > 1e-6 * (np.abs(mean_level) + 1e-12)
            scale[end:] = np.where(varies, few, 1.0) / np.sqrt(SHARE * end / few.size)
        return replace(self, mean=mean.astype(np.float32), scale=scale.astype(np.float32))
