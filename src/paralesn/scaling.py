"""Standardisation: inputs of zero mean and unit variance, measured on the training series."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paralesn import sources
from paralesn.persistence import register
from paralesn.series import RAGGED, Series
from paralesn.sources import Source

_STEPS = 1 << 16  # time steps looked at together


@register
@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of every feature; a feature without spread is only shifted."""

    mean: np.ndarray
    scale: np.ndarray

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
    """Mean and spread of every feature over all time steps of all series.

    From differences to the first row, in units of the largest of them: a constant has exactly no
    spread, and squares neither overflow nor vanish.
    """
    first = source.first_row().rows[0]
    with np.errstate(over="ignore"):
        reach = np.max([np.abs(rows - first).max(axis=0) for rows in _pieces(source)], axis=0)
    if not np.isfinite(reach).all():
        feature = int(np.flatnonzero(~np.isfinite(reach))[0])
        raise ValueError(f"X must have a finite spread, got more than floats hold in {feature=}")
    unit = np.where(reach > 0, reach, 1.0)
    count, total, squares = 0, np.zeros(1), np.zeros(1)
    for rows in _pieces(source, check=False):
        shifted = (rows - first) / unit
        count, total = count + len(rows), total + shifted.sum(axis=0)
        squares = squares + (shifted**2).sum(axis=0)
    mean = total / count
    spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0)) * unit
    scale = np.where((reach > 0) & (spread > 0), spread, 1.0)
    return Scaling(first + mean * unit, scale)


def measure_in_common(rows: np.ndarray) -> Scaling:
    """The mean and spread that all features of rows (n, features) have together, for each of them.

    A feature without spread counts as what it is: only where all are one constant is there none.
    """
    together = measure(sources.source(rows.reshape(-1, 1)))
    return Scaling(*(np.repeat(part, rows.shape[1]) for part in (together.mean, together.scale)))


def _pieces(source: Source, check: bool = True) -> Iterator[np.ndarray]:
    """Rows (n, features), piece by piece: of one series after the other where lengths differ."""
    for block in source.blocks(_STEPS, check=check):
        pieces = block.split(block.rows) if block.kind == RAGGED else [block.rows]
        yield from (rows for rows in pieces if len(rows))
