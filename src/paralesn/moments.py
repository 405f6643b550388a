"""Means and variances of columns that can be measured in pieces and put together.

Pieces are merged by the formulas of Chan, Golub and LeVeque, so that no piece is a reference for
the others: with :math:`\\delta` the difference of two means,

.. math:: M = M_a + M_b + \\delta^2 \\frac{n_a n_b}{n_a + n_b}, \\qquad
          \\bar x = \\bar x_a + \\delta \\frac{n_b}{n_a + n_b}.

Squares are counted in units of the range of a column, a power of two: they neither overflow nor
vanish, and a constant has exactly no variance.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats, OpenFloats


@register
@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Mean, variance and range of the known values of every column.

    Attributes
    ----------
    count : array (columns,)
        Known values of each column, or the sum of their weights; NaN is left out.
    mean : array (columns,)
        Zero where nothing is known.
    squares : array (columns,)
        Sums of squared differences to the mean, divided by the square of `unit`.
    low, high : arrays (columns,)
        Least and largest value; infinite where nothing is known.
    rows : int
        Rows seen, known or not.
    """

    count: Floats
    mean: Floats
    squares: Floats
    low: OpenFloats
    high: OpenFloats
    rows: Count

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or not self.fits(self.mean.size):
            raise ValueError("the moments of columns do not fit together")

    @classmethod
    def of_nothing(cls, columns: int) -> Self:
        """Moments before any row was seen."""
        zeros, reach = np.zeros(columns), np.full(columns, np.inf)
        return cls(zeros, zeros, zeros, reach, -reach, 0)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation (ddof 0) of each column, 0 where nothing varies or is known."""
        return np.sqrt(self.squares / np.where(self.count > 0, self.count, 1.0)) * unit_of(
            self.low, self.high
        )

    @property
    def variance(self) -> np.ndarray:
        """Square of the spread."""
        return self.spread**2

    def merged(self, other: Self) -> Self:
        """Moments of the rows of both; neither is changed."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        unit, count = unit_of(low, high), self.count + other.count
        share = other.count / np.where(count > 0, count, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            both = (self.count > 0) & (other.count > 0)
            delta = np.where(both, other.mean - self.mean, 0.0)
            mean = np.where(self.count > 0, self.mean + delta * share, other.mean)
            squares = (delta / unit) ** 2 * self.count * share
            for part in (self, other):  # of a constant there are none, whatever its unit
                ratio = np.where(part.squares > 0, unit_of(part.low, part.high) / unit, 0.0)
                squares = squares + part.squares * ratio**2
        return type(self)(count, mean, squares, low, high, self.rows + other.rows)

    def fits(self, columns: int) -> bool:
        """Whether the arrays are of so many columns."""
        arrays = (self.count, self.mean, self.squares, self.low, self.high)
        return all(array.shape == (columns,) for array in arrays)


def measured(rows: np.ndarray, weight: np.ndarray | None = None) -> ColumnMoments:
    """Moments of rows (n, columns), of which NaN are left out.

    With weights (n,), none negative, `count` is their sum, and rows of weight zero are left out.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, np.nan]])
    >>> whole, parts = measured(x), measured(x[:1]).merged(measured(x[1:]))
    >>> whole.mean, parts.mean, parts.count, parts.spread.round(6)
    (array([3., 5.]), array([3., 5.]), array([3., 2.]), array([2.160247, 0.      ]))
    """
    known = ~np.isnan(rows)
    if weight is not None:
        known &= (weight > 0)[:, None]
    w = np.where(known, 1.0 if weight is None else weight[:, None], 0.0)
    count = w.sum(axis=0)
    low = np.where(known, rows, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, rows, -np.inf).max(axis=0, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        origin = np.where(low == high, low, low / 2 + high / 2)
        origin = np.where(count > 0, origin, 0.0)
        shifted = np.where(known, rows - origin, 0.0) / unit_of(low, high)
        mean = (w * shifted).sum(axis=0) / np.where(count > 0, count, 1.0)
        squares = (w * (shifted - mean) ** 2).sum(axis=0)
        mean = origin + mean * unit_of(low, high)
    return ColumnMoments(count, mean, squares, low, high, len(rows))


def unit_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Powers of two (columns,) above the ranges of columns; 1 where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.subtract(high, low)
    _, exponents = np.frexp(np.where(np.isfinite(reach) & (reach > 0), reach, 0.5))
    return np.ldexp(1.0, np.minimum(exponents, 1023))
