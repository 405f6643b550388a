"""Ridge solutions and their leave-one-out errors in closed form, with more features than rows.

For centred rows Z, targets Y and a penalty a, the residual of a row that was left out is its
residual divided by 1 - its leverage - 1/n, the last term for the intercept. With the eigenvectors
of the smaller of Z Z' and Z' Z that costs next to nothing for every penalty; larger matrices are
factored for one penalty after the other, going downhill from the middle. Rows that carry weights
come multiplied by the roots of these: the intercept's share of a row is then its share of the
weights, and its residual is multiplied by the root, too.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh

from paralesn.readouts import tiled_cholesky
from paralesn.readouts.normal_equations import from_dual
from paralesn.readouts.tiled_cholesky import row_gram

_FREE = 1e-9  # a row's freedom below which it determines its own prediction


class BestPenalty(NamedTuple):
    """Errors (alphas,) of the penalties, and of the best one the rest.

    coef      (features, targets) for centred rows
    left_out  (n, targets) residuals of the rows when they are left out
    """

    errors: np.ndarray
    coef: np.ndarray
    left_out: np.ndarray


def by_eigenvectors(
    Z: np.ndarray, Y: np.ndarray, alphas: np.ndarray, share: np.ndarray
) -> BestPenalty:
    """Errors of all penalties, and the solution of the best.

    share (n,)   of the intercept in each row: 1/n, or the row's weight over the sum of weights
    """
    if len(Z) <= Z.shape[1]:
        squares, U = eigh(row_gram(Z), driver="evd")
    else:
        squares, V = eigh(row_gram(Z.T), driver="evd")
        positive = squares > np.finfo(float).eps * len(Z) * max(squares[-1], 0.0)
        squares, V = squares[positive], V[:, positive]
        U = (np.asarray(Z, float) @ V) / np.sqrt(squares)
    squares = np.maximum(squares, 0.0)
    rotated, leverages = U.T @ Y, U * U
    errors, left_out = np.empty(len(alphas)), Y
    for k, alpha in enumerate(alphas):
        shrink = squares / (squares + alpha)
        of_penalty = residuals(Y - U @ (shrink[:, None] * rotated), leverages @ shrink, share)
        errors[k] = (of_penalty**2).mean()
        if errors[: k + 1].argmin() == k:
            left_out = of_penalty
    best = alphas[errors.argmin()]
    return BestPenalty(errors, from_dual(Z, U @ (rotated / (squares + best)[:, None])), left_out)


def downhill(Z: np.ndarray, Y: np.ndarray, alphas: np.ndarray, share: np.ndarray) -> BestPenalty:
    """The same from Cholesky factors; errors of penalties that were not tried are NaN.

    In single precision where Z has it and the penalty drowns its rounding error.
    """
    single = Z.dtype == np.float32
    K = row_gram(Z, np.float32 if single else float)
    rounding = 1e-7 * np.sqrt(len(Z)) * K.diagonal().max()
    errors, solved = np.full(len(alphas), np.nan), {}

    def error(k: int) -> float:
        if np.isnan(errors[k]):
            rough = single and alphas[k] > 100 * rounding
            _, left_out = solved[k] = _dual_and_left_out(K, Y, alphas[k], share, rough)
            errors[k] = (left_out**2).mean()
        return float(errors[k])

    order = np.argsort(alphas)
    current = len(order) // 2
    while True:
        near = [i for i in (current - 1, current, current + 1) if 0 <= i < len(order)]
        best = min(near, key=lambda i: error(int(order[i])))
        if best == current:
            dual, left_out = solved[int(order[current])]
            return BestPenalty(errors, from_dual(Z, dual), left_out)
        current = best


def residuals(fitted: np.ndarray, leverages: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Residuals (n, targets) of rows left out, from those of the fit and the leverages (n,)."""
    return np.asarray(fitted / np.maximum(1.0 - leverages - share, _FREE)[:, None])


def _dual_and_left_out(
    K: np.ndarray, Y: np.ndarray, alpha: float, share: np.ndarray, rough: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Dual coefficients of a penalty and residuals of rows left out, from a factor of K + a."""
    matrix = np.array(K, np.float32 if rough else float)
    np.fill_diagonal(matrix, matrix.diagonal() + alpha)
    try:
        lower = tiled_cholesky.factor(matrix)
    except LinAlgError:
        return np.zeros(Y.shape), np.full(Y.shape, np.inf)
    dual = np.asarray(tiled_cholesky.solve(lower, Y), float)
    # dual = residual / a, and the inverse's diagonal is (1 - leverage) / a.
    diagonal = tiled_cholesky.inverse_diagonal(lower)
    free = np.maximum(diagonal - share / alpha, _FREE / alpha)
    return dual, dual / free[:, None]
