"""Standardisation: inputs of zero mean and unit variance, measured on the training series."""

from dataclasses import dataclass

import numpy as np

from paralesn import sources
from paralesn.moments import ColumnMoments
from paralesn.persistence import register
from paralesn.persistence.fields import Floats
from paralesn.series import Series
from paralesn.sources import Source


@register
@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of every feature; a feature without spread is only shifted."""

    mean: Floats
    scale: Floats

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Rows (…, features) in units of standard deviations."""
        return (rows - self.mean) / self.scale

    def undo(self, scaled: np.ndarray) -> np.ndarray:
        """The rows that `apply` made `scaled` of."""
        return scaled * self.scale + self.mean

    def apply_to(self, series: Series) -> Series:
        """Series in units of standard deviations; refused where that is not finite."""
        with np.errstate(over="ignore"):
            scaled = series._replace(rows=self.apply(series.rows))
        return scaled.astype(scaled.rows.dtype)

    def check(self, n_features: int) -> None:
        """Check what a file said: finite numbers for so many features."""
        right = self.mean.shape == self.scale.shape == (n_features,)
        if not right or not (np.isfinite([self.mean, self.scale]).all() and self.scale.min() > 0):
            raise ValueError("the scaling does not fit the number of features")


def measure(source: Source) -> Scaling:
    """Mean and spread of every feature over all time steps of all series, in one pass."""
    return scaling_of(sources.moments_of(source))


def scaling_of(moments: ColumnMoments) -> Scaling:
    """The scaling that brings inputs of these moments to zero mean and unit variance."""
    with np.errstate(over="ignore"):
        reach = moments.high - moments.low
    if not np.isfinite(reach).all():
        feature = int(np.flatnonzero(~np.isfinite(reach))[0])
        raise ValueError(f"X must have a finite spread, got more than floats hold in {feature=}")
    return Scaling(moments.mean, np.where(moments.spread > 0, moments.spread, 1.0))


def measure_in_common(rows: np.ndarray) -> Scaling:
    """The mean and spread that all features of rows (n, features) have together, for each of them.

    A feature without spread counts as what it is: only where all are one constant is there none.
    """
    together = measure(sources.source(rows.reshape(-1, 1)))
    return Scaling(*(np.repeat(part, rows.shape[1]) for part in (together.mean, together.scale)))
