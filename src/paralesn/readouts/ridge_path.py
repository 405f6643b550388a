"""Ridge solutions for every alpha from triangular factors, by a small decomposition of each."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, svd
from scipy.linalg.blas import dsyrk

from paralesn.persistence import register
from paralesn.persistence.fields import Floats, OpenFloats
from paralesn.readouts import ridge_blocks
from paralesn.readouts.inputs import small_enough
from paralesn.readouts.ridge_problem import Problem, Solved, standardised
from paralesn.readouts.ridge_statistics import RidgeStatistics
from paralesn.readouts.triangular import product
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.memory import require_room

_EPS = np.finfo(float).eps
_SMALL = 256  # a matrix that threads would only wait for each other over


@register
@dataclass(frozen=True, eq=False)
class RidgePath:
    """The solution for each of several alphas, for states as they come.

    Attributes
    ----------
    alphas : array (alphas,)
    coefs : array (alphas, features, targets)
    intercepts : array (alphas, targets)
    gcv : array (alphas, targets)
        Generalised cross-validation error, divided by the target's variance.
    mean, scale : arrays (features,)
        Of the states.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    gcv: OpenFloats
    mean: Floats
    scale: Floats

    def predictions(self, X: np.ndarray) -> list[np.ndarray]:
        """Predictions (n, targets) for states X, one array for every alpha."""
        solutions = zip(self.coefs, self.intercepts, strict=True)
        return [product(X, w) + b for w, b in solutions]

    def fits(self, alphas: int, features: int, targets: int) -> bool:
        """Whether the arrays are of these sizes."""
        return (
            self.alphas.shape == (alphas,)
            and self.coefs.shape == (alphas, features, targets)
            and self.intercepts.shape == self.gcv.shape == (alphas, targets)
            and self.mean.shape == self.scale.shape == (features,)
        )


def ridge_path(seen: RidgeStatistics, alphas: Sequence[float], gamma: float = 1.0) -> RidgePath:
    """Solutions for all alphas from what was seen; a degree of freedom costs `gamma` of them."""
    penalties = np.asarray(alphas, float)
    shape = len(penalties), seen.n_features, seen.n_targets
    require_room("alphas", f"{shape[0]} of them", 8 * shape[0] * shape[1] * shape[2])
    coefs, intercepts, gcv = np.zeros(shape), np.zeros(shape[::2]), np.zeros(shape[::2])
    mean = scale = np.zeros(seen.n_features)
    for targets, factor in zip(seen.groups, seen.factors, strict=True):
        if factor is None:
            raise ValueError(f"y must hold a number with weight for target {targets[0]}, got none")
        group = _group_path(factor, seen, penalties, gamma)
        columns = list(targets)
        coefs[..., columns] = group.coefs
        intercepts[..., columns] = group.intercepts
        gcv[..., columns] = group.gcv
        mean, scale = group.mean, group.scale
    return RidgePath(penalties, coefs, intercepts, gcv, mean, scale)


def _group_path(
    factor: np.ndarray, seen: RidgeStatistics, alphas: np.ndarray, gamma: float
) -> RidgePath:
    """Solutions for the targets of one factor."""
    with np.errstate(over="ignore", invalid="ignore"):  # reported here
        problem = standardised(factor, seen.constant)
        weight, cross, rest = problem.weight, problem.cross, problem.rest
        small_enough(cross**2, rest, problem.scale, problem.mean, problem.y_mean, problem.standard)
    solve = ridge_blocks.solver(problem, float(alphas.min()), seen.rounding)
    if solve is None:
        solve = _by_singular_values(problem, alphas, max(seen.n_samples, seen.n_features))
    variance = ((cross**2).sum(axis=0) + rest) / weight
    variance = np.where(variance > 0, variance, 1.0)
    count = max(weight, seen.effective_samples)  # weights that sum to less are relative
    coefs, intercepts, gcv = [], [], []
    for alpha in alphas.tolist():
        solved = solve(alpha)
        coef = problem.inverse[:, None] * solved.coef
        freedom = count - 1.0 - gamma * solved.freedom
        error = np.inf * variance
        if freedom > 1e-9 * count:
            error = count**2 * ((solved.residual + rest) / weight) / freedom**2
        coefs.append(coef)
        intercepts.append(problem.y_mean - problem.mean @ coef)
        gcv.append(error / variance)
    stacked = np.array(coefs), np.array(intercepts), np.array(gcv)
    return RidgePath(alphas, *stacked, problem.mean, problem.scale)


def _by_singular_values(
    problem: Problem, alphas: np.ndarray, size: int
) -> Callable[[float], Solved]:
    """What solves for an alpha, of those given, from singular vectors."""
    cross = problem.cross
    u, s, rotate = decompose(problem.standard, alphas, problem.weight)
    d = u.T @ cross
    is_squared = len(problem.standard) > 1 and gram_is_enough(
        problem.standard, alphas.min(), problem.weight
    )
    live = s > _EPS * size * s.max(initial=0.0)

    def solve(alpha: float) -> Solved:
        used = live if alpha == 0 else s > 0
        safe = np.where(used, s, 1.0)
        shrink = np.where(used, safe**2 / (safe**2 + alpha), 0.0)
        coef = rotate((shrink / safe)[:, None] * d)
        if is_squared:
            coef = _corrected(problem.standard, cross, u, s, alpha)
        residual = (((1.0 - shrink)[:, None] * d) ** 2).sum(axis=0)
        return Solved(coef, residual, float(shrink.sum()))

    return solve


def _corrected(
    rows: np.ndarray, cross: np.ndarray, u: np.ndarray, s: np.ndarray, alpha: float
) -> np.ndarray:
    """Coefficients Z' t from the eigenvectors u of Z Z' by the equation (Z Z' + a) t = cross.

    Rounding of Z Z' is mended by one correction, whose residual does not need that product.
    """
    inverse = 1.0 / (s**2 + alpha)[:, None]
    dual = u @ (inverse * (u.T @ cross))
    off = cross - rows @ (rows.T @ dual) - alpha * dual
    return np.asarray(rows.T @ (dual + u @ (inverse * (u.T @ off))))


def decompose(
    rows: np.ndarray, alphas: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Left singular vectors, singular values, and multiplication by the right singular vectors.

    From the eigenvectors of the Gram matrix, several times faster, where the smallest alpha drowns
    its rounding error: that is eps times the trace at most, a standardised state adding `weight`.
    """
    enough = gram_is_enough(rows, alphas.min(), weight)
    with single_threaded_blas() if min(rows.shape) <= _SMALL else nullcontext():
        if enough and rows.shape[0] > 1:
            squares, u = eigh(dsyrk(1.0, rows.T, trans=1), lower=False, driver="evd")
            s = np.sqrt(np.maximum(squares, 0.0))
            inverse = 1.0 / np.where(s > 0, s, 1.0)
            return u, s, lambda d: rows.T @ (u @ (inverse[:, None] * d))
        u, s, vt = svd(rows, full_matrices=False, check_finite=False)
        return u, s, lambda d: vt.T @ d


def gram_is_enough(rows: np.ndarray, alpha: float, weight: float) -> bool:
    """Whether a penalty drowns the rounding error of the Gram matrix of standardised rows."""
    return bool(ridge_blocks.ENOUGH * alpha >= _EPS * weight * rows.shape[1])
