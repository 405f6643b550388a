"""Penalties judged by data that was not learnt."""

import numpy as np

from paralesn.readouts.solve import Solution
from paralesn.readouts.triangular import product

Judged = dict[str, np.ndarray]


def predictions(solved: Solution, X: np.ndarray) -> list[np.ndarray]:
    """Predictions (n, targets) for states X, one array for every alpha."""
    solutions = zip(solved.coefs, solved.intercepts, strict=True)
    return [product(X, w) + b for w, b in solutions]


def judge(solved: Solution, X: np.ndarray, y: np.ndarray, before: Judged | None) -> Judged:
    """Add squared errors (alphas, targets) on new data, NaN left out, to those found before.

    "sums" (3, targets) counts the targets and sums their differences to "origin" and the squares of
    these, which give the variance without cancellation.
    """
    known = ~np.isnan(y)
    origin = np.array([c[k][0] if k.any() else 0.0 for c, k in zip(y.T, known.T, strict=True)])
    origin = origin if before is None else before["origin"]
    errors = [(np.where(known, p - y, 0.0) ** 2).sum(axis=0) for p in predictions(solved, X)]
    shifted = np.where(known, y - origin, 0.0)
    sums = np.stack([known.sum(axis=0), shifted.sum(axis=0), (shifted**2).sum(axis=0)])
    found = {"errors": np.array(errors), "sums": sums, "origin": origin}
    if before is not None:
        found["errors"] += before["errors"]
        found["sums"] += before["sums"]
    return found


def scores(judged: Judged) -> np.ndarray:
    """Mean squared errors (alphas, targets), divided by the targets' variances."""
    count, total, squares = judged["sums"]
    count = np.maximum(count, 1)
    variance = np.maximum(squares / count - (total / count) ** 2, 0.0)
    return judged["errors"] / count / np.where(variance > 0, variance, 1.0)


def fits(judged: Judged | None, alphas: int, targets: int) -> bool:
    """Whether what a file said was judged fits."""
    if judged is None:
        return True
    shapes = {name: array.shape for name, array in judged.items()}
    return shapes == {"errors": (alphas, targets), "sums": (3, targets), "origin": (targets,)}
