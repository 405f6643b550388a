"""Patches of a field: which of its values each of several equal reservoirs reads and predicts."""

from dataclasses import dataclass

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import Count


@register
@dataclass(frozen=True)
class Patches:
    """A periodic field of values in space, cut into patches that overlap.

    Patch g owns the `size` values from ``g * size`` on. It reads them, then the `overlap` values to
    their left and the `overlap` values to their right, around the end of the field.

    Attributes
    ----------
    features : int
        Values of the field, a multiple of `size`.
    size, overlap : int
    """

    features: Count
    size: Count
    overlap: Count

    def __post_init__(self) -> None:
        features = checks.integer("features", self.features, 1)
        size = checks.integer("size", self.size, 1)
        overlap = checks.integer("overlap", self.overlap, 0)
        if features % size:
            raise ValueError(
                f"the number of features must be a multiple of size ({size}), got {features}"
            )
        if size + 2 * overlap > features:
            raise ValueError(
                f"size + 2 * overlap must be at most the number of features ({features}), got "
                f"{size} + 2 * {overlap}"
            )

    @property
    def count(self) -> int:
        """Number of patches."""
        return self.features // self.size

    @property
    def width(self) -> int:
        """Values that each patch reads."""
        return self.size + 2 * self.overlap

    def columns(self) -> np.ndarray:
        """Positions (count, width) in the field of what each patch reads."""
        own = np.arange(self.size)
        left, right = np.arange(-self.overlap, 0), np.arange(self.size, self.size + self.overlap)
        first = np.arange(0, self.features, self.size)[:, None]
        return (first + np.concatenate([own, left, right])) % self.features

    def own(self, values: np.ndarray) -> np.ndarray:
        """Values (…, features) as (…, count, size): each patch's own."""
        return values.reshape(*values.shape[:-1], self.count, self.size)

    def joined(self, values: np.ndarray) -> np.ndarray:
        """Values (…, count, size) of patches as the field (…, features)."""
        return values.reshape(*values.shape[:-2], self.features)
