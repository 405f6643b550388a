"""Errors of every alpha on data that was not learnt from."""

from dataclasses import dataclass

import numpy as np

from paralesn.persistence import register
from paralesn.readouts.ridge_path import RidgePath


@register
@dataclass(frozen=True, eq=False)
class ValidationErrors:
    """Squared errors of every alpha, and what the variance of the targets takes.

    Attributes
    ----------
    errors : array (alphas, targets)
        Sums of squared errors.
    sums : array (3, targets)
        How many targets there were, and sums of their differences to `origin` and of the squares
        of these, which give the variance without cancellation.
    origin : array (targets,)
        The first of each target.
    """

    errors: np.ndarray
    sums: np.ndarray
    origin: np.ndarray

    def scores(self) -> np.ndarray:
        """Mean squared errors (alphas, targets), divided by the targets' variances."""
        count, total, squares = self.sums
        count = np.maximum(count, 1)
        variance = np.maximum(squares / count - (total / count) ** 2, 0.0)
        return self.errors / count / np.where(variance > 0, variance, 1.0)

    def fits(self, alphas: int, targets: int) -> bool:
        """Whether the arrays fit together, for so many alphas and targets."""
        return (
            self.errors.shape == (alphas, targets)
            and self.sums.shape == (3, targets)
            and self.origin.shape == (targets,)
        )


def validation_errors(
    path: RidgePath, X: np.ndarray, y: np.ndarray, before: ValidationErrors | None
) -> ValidationErrors:
    """Errors on states X with targets y (n, targets), NaN left out, added to those before."""
    known = ~np.isnan(y)
    if before is None:
        columns = zip(y.T, known.T, strict=True)
        origin = np.array([column[k][0] if k.any() else 0.0 for column, k in columns])
    else:
        origin = before.origin
    squares = [(np.where(known, p - y, 0.0) ** 2).sum(axis=0) for p in path.predictions(X)]
    errors = np.array(squares)
    shifted = np.where(known, y - origin, 0.0)
    sums = np.stack([known.sum(axis=0), shifted.sum(axis=0), (shifted**2).sum(axis=0)])
    if before is not None:
        errors += before.errors
        sums += before.sums
    return ValidationErrors(errors, sums, origin)
