"""Ridge solutions for every alpha from one triangular factor, by a small decomposition of it."""

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.linalg.blas import dsyrk

from paralesn.readouts.triangular import NOTHING
from paralesn.runtime.blas import single_threaded_blas

_EPS = np.finfo(float).eps
_SMALL = 256  # a matrix that threads would only wait for each other over
_ENOUGH = 1e-7  # relative accuracy of coefficients that the Gram matrix must warrant to be used


class Solution(NamedTuple):
    """All alphas at once, for standardised states; (alphas, features, targets) and so on."""

    coefs: np.ndarray
    intercepts: np.ndarray
    gcv: np.ndarray


def check_alphas(alphas: Any) -> None:
    """Raise unless `alphas` are penalties."""
    if isinstance(alphas, (str, Real)) or not np.size(alphas) or np.ndim(alphas) != 1:
        raise ValueError(f"alphas must be a sequence of at least one number, got {alphas!r}")
    for alpha in np.asarray(alphas).ravel().tolist():
        if not isinstance(alpha, (int, float)) or not 0 <= alpha < np.inf:
            raise ValueError(f"alphas must be finite and not negative, got {alpha!r}")


def solve(
    factor: np.ndarray, constant: np.ndarray, alphas: np.ndarray, seen: int, rows: float
) -> tuple[Solution, np.ndarray, np.ndarray]:
    """Solutions for all alphas from the factor of [1, z, y], and the states' mean and scale.

    `seen` rows were digested, of which `rows` count, old ones for less where they are forgotten.
    """
    p = constant.size
    weight = factor[0, 0] ** 2  # number of rows, or sum of their weights
    mean = factor[0, 1 : p + 1] / factor[0, 0]
    y_mean = factor[0, p + 1 :] / factor[0, 0]
    centred, cross = factor[1 : p + 1, 1 : p + 1], factor[1 : p + 1, p + 1 :]
    rest = (factor[p + 1 :, p + 1 :] ** 2).sum(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    scale = norm / np.sqrt(weight)
    # Besides states that never changed: what rounding makes of a mean is no variance either.
    varies = ~constant & (norm > 8 * _EPS * np.sqrt(weight * p) * np.abs(mean))
    varies &= norm > NOTHING
    scale = np.where(varies, scale, 0.0)
    inverse = np.divide(1.0, scale, out=np.zeros(p), where=varies)

    standard = centred * inverse
    u, s, rotate = _decompose(standard, alphas, weight)
    d = u.T @ cross
    live = s > _EPS * max(seen, p) * s.max(initial=0.0)
    variance = ((cross**2).sum(axis=0) + rest) / weight
    variance = np.where(variance > 0, variance, 1.0)
    count = max(weight, rows)  # weights that sum to less than the rows are relative
    coefs, intercepts, gcv = [], [], []
    for alpha in alphas:
        keep = live if alpha == 0 else s > 0
        safe = np.where(keep, s, 1.0)
        shrink = np.where(keep, safe**2 / (safe**2 + alpha), 0.0)
        coef = inverse[:, None] * rotate((shrink / safe)[:, None] * d)
        residual = (((1.0 - shrink)[:, None] * d) ** 2).sum(axis=0) + rest
        freedom = count - 1.0 - shrink.sum()
        error = np.inf * variance
        if freedom > 1e-9 * count:
            error = count**2 * (residual / weight) / freedom**2
        coefs.append(coef)
        intercepts.append(y_mean - mean @ coef)
        gcv.append(error / variance)
    return Solution(np.array(coefs), np.array(intercepts), np.array(gcv)), mean, scale


def _decompose(
    rows: np.ndarray, alphas: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Left singular vectors, singular values, and multiplication by the right singular vectors.

    From the eigenvectors of the Gram matrix, several times faster, where the smallest alpha drowns
    its rounding error: that is eps times the trace at most, a standardised state adding `weight`.
    """
    small = min(rows.shape) <= _SMALL
    with single_threaded_blas() if small else nullcontext():
        return _decomposed(rows, alphas, weight)


def _decomposed(
    rows: np.ndarray, alphas: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    enough = _ENOUGH * alphas.min() >= _EPS * weight * rows.shape[1]
    if enough and rows.shape[0] > 1:
        squares, u = eigh(dsyrk(1.0, rows.T, trans=1), lower=False, driver="evd")
        s = np.sqrt(np.maximum(squares, 0.0))
        inverse = 1.0 / np.where(s > 0, s, 1.0)
        return u, s, lambda d: rows.T @ (u @ (inverse[:, None] * d))
    u, s, vt = svd(rows, full_matrices=False, check_finite=False)
    return u, s, lambda d: vt.T @ d
