r"""Triangular factors of tall matrices, grown block by block.

The accuracy of QR at nearly the price of the Gram matrix.

A factor F of rows A satisfies :math:`F^T F = A^T A`, so it knows everything least squares wants to
know of A; factors of two halves stacked have the factor of the whole. Forming :math:`A^T A` itself
squares the condition number, and a LAPACK QR is several times slower. Here a block B is first made
well conditioned by a triangular P, the factor so far or that of a sample of B's rows,

.. math:: Q = B P^{-1}, \qquad G = Q^T Q + (F P^{-1})^T (F P^{-1}), \qquad F' = \mathrm{chol}(G) P,

which is two level-3 BLAS calls on the tall block. G is near the identity for a good P; where it is
not (new directions show up), F' serves as a better P and the step is repeated, and LAPACK has the
last word.
"""

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

# SciPy's BLAS only: NumPy's has threads of its own, and two pools in turn slow each other down.
from scipy.linalg import LinAlgError, cholesky, qr
from scipy.linalg.blas import dgemm, dsyrk, dtrmm, dtrsm

from paralesn.runtime.blas import single_threaded_blas

_EPS = np.finfo(float).eps
_SMALL = 1 << 16  # entries of a matrix that BLAS threads would only wait for each other over
_WORST = 1e6  # condition of G up to which its Cholesky factor loses nothing that matters
NOTHING = 1e-140  # a norm that counts as none
_LIFTED = 1e-150  # stands for the diagonal of a column of zeros: its square does not overflow


def absorb(
    factor: np.ndarray | None, rows: Callable[[], np.ndarray], wide: int, is_few: bool = False
) -> np.ndarray:
    """Factor (r, q) of the rows of `factor` and of a block (n, q) together.

    A factor has as many rows as were seen, at most q. Up to `wide` of them are kept as they are
    but for one reflection, which empties the first column below its top. `rows` makes the block,
    which is worked on in place and, where that fails, made again. With `is_few`,
    rotations add its rows to a triangle one by one.
    """
    block = rows()
    if block.shape[0] + (0 if factor is None else factor.shape[0]) <= wide:
        return stack(factor, block, wide)
    count, columns = block.shape
    if is_few and factor is not None and factor.shape[0] > wide:
        return _rotated(factor, block)
    sample = slice(None, None, max(1, count // (2 * columns)))
    if count < 2 * columns:
        return _lapack(factor, block)
    if factor is not None and factor.shape[0] == columns:
        grown = _precondition(_guarded(factor), factor, block)
        if grown is not None:
            return grown
        block = rows()  # it holds directions the factor does not know: ask a sample as well
    grown = _precondition(_guarded(_lapack(factor, block[sample])), factor, block)
    return grown if grown is not None else _lapack(factor, rows())


def beyond_mean(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What rows (n, q) add to a factor below its first row, which holds the means.

    Each without the mean of all rows before it, times what that difference counts.
    """
    top, rest = factor[0].copy(), rows.copy()
    for row in rest:
        length = np.hypot(top[0], row[0])
        c, s = (top[0] / length, row[0] / length) if length > 0 else (1.0, 0.0)
        row[:], top = c * row - s * top, c * top + s * row
    rest[:, 0] = 0.0
    return rest


def stack(first: np.ndarray | None, second: np.ndarray, wide: int) -> np.ndarray:
    """Factor of two factors' rows together."""
    rows = second.copy() if first is None else np.vstack([first, second])
    if rows.shape[0] > wide:
        return _lapack(None, rows)
    normal = rows[:, 0].copy()
    normal[0] += np.copysign(np.sqrt(normal @ normal), normal[0])
    length = normal @ normal
    if length > 0:
        rows -= np.outer(normal * (2.0 / length), normal @ rows)
        rows[1:, 0] = 0.0
    return rows


def product(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``rows @ weights`` for rows (n, p) and weights (p, m), by the BLAS used here for the rest."""
    if rows.dtype != float or not rows.size or not weights.size:
        return rows @ weights
    return dgemm(1.0, np.asfortranarray(weights.T), rows.T).T


def _lapack(factor: np.ndarray | None, block: np.ndarray) -> np.ndarray:
    """Factor by Householder reflections."""
    tall = block if factor is None else np.vstack([factor, block])
    with single_threaded_blas() if tall.size <= _SMALL else nullcontext():
        (upper,) = qr(tall, mode="r", check_finite=False)
    return np.ascontiguousarray(upper[: tall.shape[1]])


def _rotated(factor: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Factor of a triangle, or the upper part of one, and of a few rows."""
    from paralesn.engines.cpu.rotations import add_rows  # loads Numba

    room = np.zeros((factor.shape[1] - factor.shape[0], factor.shape[1]))
    return add_rows(np.vstack([factor, room]) if len(room) else factor, block)


def _guarded(upper: np.ndarray) -> np.ndarray:
    """A triangle that can be solved with: diagonals lost in rounding are lifted to its level."""
    norms = np.sqrt(_squares(upper))
    floor = np.maximum(_EPS * norms, _LIFTED)
    diagonal = np.diagonal(upper)
    guarded = np.array(upper, order="F")
    np.fill_diagonal(guarded, np.where(np.abs(diagonal) < floor, floor, diagonal))
    return guarded


def _precondition(
    base: np.ndarray, factor: np.ndarray | None, block: np.ndarray
) -> np.ndarray | None:
    """The new factor by way of `base`, or None if that base was of no use. Destroys `block`."""
    squares = _squares(block) + (0.0 if factor is None else _squares(factor))
    rows = block.T  # BLAS sees columns
    old = None if factor is None else factor.T.copy(order="F")
    step = base
    for _ in range(3):
        rows = dtrsm(1.0, step, rows, side=0, trans_a=1, overwrite_b=1)
        gram = dsyrk(1.0, rows)
        if old is not None:
            old = dtrsm(1.0, step, old, side=0, trans_a=1, overwrite_b=1)
            gram += dsyrk(1.0, old)
        # Unit diagonals make the Cholesky factor tell the condition, whatever the columns' scales.
        norms = np.diagonal(gram)
        norms = np.sqrt(np.where(norms > 0, norms, 1.0))  # a column of zeros stays nothing
        if not np.isfinite(norms).all():
            return None
        gram /= norms[:, None]
        gram /= norms
        np.fill_diagonal(gram, 1.0 + len(base) * _EPS)
        try:
            step = cholesky(gram, lower=False, check_finite=False)
        except LinAlgError:
            return None
        diagonal = np.diagonal(step).copy()
        step *= norms
        base = dtrmm(1.0, step, base)
        if (diagonal.max() / diagonal.min()) ** 2 <= _WORST:
            # A base that did not know some direction may have drowned others in it: every column
            # must have kept its length.
            base = np.triu(base)
            kept = np.abs(_squares(base) - squares) <= 1e-10 * squares + NOTHING
            return base if kept.all() else None
    return None


def _squares(rows: np.ndarray) -> np.ndarray:
    """Squared lengths of the columns."""
    return np.einsum("ij,ij->j", rows, rows)


def still_constant(X: np.ndarray, first_row: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Which of the constant columns are so in X too; looks closely only where a glance agrees."""
    glance = X[[0, X.shape[0] // 2, -1]] == first_row
    constant = constant & glance.all(axis=0)
    (same,) = np.nonzero(constant)
    constant[same] = (X[:, same] == first_row[same]).all(axis=0)
    return constant
