"""Ridge solutions and their leave-one-out errors in closed form, with more features than rows.

For centred rows Z, targets Y and a penalty a, the residual of a row that was left out is its
residual divided by 1 - its leverage - 1/n, the last term for the intercept. With the eigenvectors
of the smaller of Z Z' and Z' Z that costs next to nothing for every penalty; larger matrices are
factored for one penalty after the other, going downhill from the middle. Rows that carry weights
come multiplied by the roots of these: the intercept's share of a row is then its share of the
weights.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lapack
from scipy.linalg.blas import dsymm, dsyrk, ssymm, ssyrk

_FEATURES = 2048  # columns converted to double precision at a time
_FREE = 1e-9  # a row's freedom below which it determines its own prediction


def gram(Z: np.ndarray) -> np.ndarray:
    """Lower triangle of Z Z' in double precision, without a copy of all of Z in it."""
    total = np.zeros((len(Z), len(Z)), order="F")
    for first in range(0, Z.shape[1], _FEATURES):
        part = np.asarray(Z[:, first : first + _FEATURES], float)
        total = dsyrk(1.0, part.T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
    return total


def times(Z: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Z' dual, in double precision: coefficients (features, targets) of dual ones."""
    parts = [
        np.asarray(Z[:, first : first + _FEATURES], float).T @ dual
        for first in range(0, Z.shape[1], _FEATURES)
    ]
    return np.concatenate(parts)


def by_eigenvectors(
    Z: np.ndarray, Y: np.ndarray, alphas: np.ndarray, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of all penalties, and the coefficients (features, targets) of the best.

    share (n,)   of the intercept in each row: 1/n, or the row's weight over the sum of weights
    """
    if len(Z) <= Z.shape[1]:
        squares, U = eigh(gram(Z), driver="evd")
    else:
        squares, V = eigh(gram(Z.T), driver="evd")
        keep = squares > np.finfo(float).eps * len(Z) * max(squares[-1], 0.0)
        squares, V = squares[keep], V[:, keep]
        U = (np.asarray(Z, float) @ V) / np.sqrt(squares)
    squares = np.maximum(squares, 0.0)
    rotated, leverages = U.T @ Y, U * U
    errors = np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        shrink = squares / (squares + alpha)
        free = np.maximum(1.0 - leverages @ shrink - share, _FREE)
        residuals = (Y - U @ (shrink[:, None] * rotated)) / free[:, None]
        errors[k] = (residuals**2).mean()
    best = alphas[errors.argmin()]
    return errors, times(Z, U @ (rotated / (squares + best)[:, None]))


def downhill(
    Z: np.ndarray, Y: np.ndarray, alphas: np.ndarray, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same from Cholesky factors; errors of penalties that were not tried are NaN.

    In single precision where the rows are and the penalty drowns its rounding.
    """
    single = Z.dtype == np.float32
    K = ssyrk(1.0, Z.T, trans=1, lower=1) if single else gram(Z)
    rounding = 1e-7 * np.sqrt(len(Z)) * K.diagonal().max()
    errors, duals = np.full(len(alphas), np.nan), {}

    def error(k: int) -> float:
        if np.isnan(errors[k]):
            rough = single and alphas[k] > 100 * rounding
            errors[k], duals[k] = _left_out(K, Y, alphas[k], share, rough)
        return float(errors[k])

    order = np.argsort(alphas)
    place = len(order) // 2
    while True:
        near = [i for i in (place - 1, place, place + 1) if 0 <= i < len(order)]
        best = min(near, key=lambda i: error(int(order[i])))
        if best == place:
            return errors, times(Z, duals[int(order[place])])
        place = best


def _left_out(
    K: np.ndarray, Y: np.ndarray, alpha: float, share: np.ndarray, rough: bool
) -> tuple[float, np.ndarray]:
    """Leave-one-out error of a penalty, and its dual coefficients, from the inverse of K + a."""
    matrix = np.array(K, np.float32 if rough else float, order="F")
    np.fill_diagonal(matrix, matrix.diagonal() + alpha)
    names = ("spotrf", "spotri") if rough else ("dpotrf", "dpotri")
    factor, invert = (getattr(lapack, name) for name in names)
    lower, bad = factor(matrix, lower=1, overwrite_a=1)
    if bad:
        return np.inf, np.zeros(Y.shape)
    inverse, _ = invert(lower, lower=1, overwrite_c=1)
    product = (ssymm if rough else dsymm)(1.0, inverse, np.asfortranarray(Y), lower=1)
    dual = np.asarray(product, float)
    # dual = residual / a, and the inverse's diagonal is (1 - leverage) / a.
    free = np.maximum(inverse.diagonal().astype(float) - share / alpha, _FREE / alpha)
    return float(((dual / free[:, None]) ** 2).mean()), dual


def of_rows(Z: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Coefficients for one penalty from as many equations as there are rows."""
    K = gram(Z)
    np.fill_diagonal(K, K.diagonal() + alpha)
    return times(Z, _solved(K, Y, alpha))


def of_sums(G: np.ndarray, ZY: np.ndarray, alpha: float) -> np.ndarray:
    """Coefficients for one penalty from Z' Z, which is overwritten, and Z' Y."""
    np.fill_diagonal(G, G.diagonal() + alpha)
    return _solved(G, ZY, alpha)


def _solved(matrix: np.ndarray, right: np.ndarray, alpha: float) -> np.ndarray:
    try:
        return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), right)
    except LinAlgError:
        raise ValueError(f"alphas must be large enough for the data, got {alpha!r}") from None


def walk(rows: Sequence[np.ndarray] | Iterator[np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows, each with the places of its rows."""
    first = 0
    for block in rows:
        yield slice(first, first + len(block)), block
        first += len(block)
