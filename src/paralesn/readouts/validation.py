"""Errors of every alpha on data that was not learnt from."""

from dataclasses import dataclass

import numpy as np

from paralesn.moments import ColumnMoments, measured
from paralesn.persistence import register
from paralesn.persistence.fields import OpenFloats
from paralesn.readouts.ridge_path import RidgePath


@register
@dataclass(frozen=True, eq=False)
class ValidationErrors:
    """Squared errors of every alpha, and what the variance of the targets takes.

    Attributes
    ----------
    errors : array (alphas, targets)
        Sums of squared errors.
    moments : ColumnMoments
        Of the targets: how many there were, and their variances.
    """

    errors: OpenFloats
    moments: ColumnMoments

    def scores(self) -> np.ndarray:
        """Mean squared errors (alphas, targets), divided by the targets' variances."""
        variance = self.moments.variance
        count = np.maximum(self.moments.count, 1)
        return self.errors / count / np.where(variance > 0, variance, 1.0)

    def merged(self, other: "ValidationErrors") -> "ValidationErrors":
        """Errors on the data of both."""
        return ValidationErrors(self.errors + other.errors, self.moments.merged(other.moments))

    def fits(self, alphas: int, targets: int) -> bool:
        """Whether the arrays fit together, for so many alphas and targets."""
        return self.errors.shape == (alphas, targets) and self.moments.fits(targets)


def validation_errors(
    path: RidgePath, X: np.ndarray, y: np.ndarray, before: ValidationErrors | None
) -> ValidationErrors:
    """Errors on states X with targets y (n, targets), NaN left out, added to those before."""
    known = ~np.isnan(y)
    squares = [(np.where(known, p - y, 0.0) ** 2).sum(axis=0) for p in path.predictions(X)]
    errors = ValidationErrors(np.array(squares), measured(y))
    return errors if before is None else before.merged(errors)
