r"""The factor of rows [1, z, y] by their Gram matrix, where a bound says that this loses nothing.

With C the Gram matrix of states without their means, in units of their lengths (p states, total
weight W), what is solved is :math:`(C + \alpha / W) w = c`. Rounding makes C + E of C, and E is at
most ``eps`` times the trace of C, which is p: products are rounded by ``eps``, and sums in the
pieces that BLAS and we make of them by less than that, as errors of either sign add up. To first
order the solution then deviates by

.. math:: \frac{\|E\|}{\lambda_{\min}(C) + \alpha / W} \le
    \frac{\mathrm{eps} \, p}{\lambda_{\min}(C) + \alpha / W}

times its own length (or the length that the targets allow it, where it is shorter). The smallest
eigenvalue is estimated from the Cholesky factor, alpha is the smallest that is asked for. What was
lost is kept with the factor, and counts when further rows are added.

States in single precision were rounded by 6e-8 themselves, which moves the solution by more than
that, as the condition number multiplies it: so much may be lost of theirs, 1e-10 of others.
A residual must not drown in rounding either, as alphas are chosen by it.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, qr
from scipy.linalg.lapack import dpocon

from paralesn.readouts import tiled_cholesky
from paralesn.readouts.ridge_rows import Rows
from paralesn.readouts.triangular import NOTHING
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.released_blas import solve_right

_EPS = np.finfo(float).eps
MANY = 512  # columns from which on it is tried: below, the other way takes milliseconds
_PROBED = 128  # states that tell beforehand whether all are too nearly collinear
_ROWS = 2048  # converted to double precision at a time
_TILE = 384  # columns that a thread takes at a time, or half of it


class Allowed(NamedTuple):
    """Relative deviations of the solution, and of squared residuals, that may be."""

    error: float
    residual: float


_LOST = {"f": Allowed(2.0**-24, 1e-6), "d": Allowed(1e-10, 1e-8)}  # by the states' precision


class Accepted(NamedTuple):
    """A factor (1 + p + m, 1 + p + m), and what it lost, in the units of penalties."""

    factor: np.ndarray
    rounding: float


def gram_factor(
    factor: np.ndarray | None, rows: Rows, penalty: float, lost: float
) -> Accepted | None:
    """Factor of the rows of `factor` and of further ones, for penalties from `penalty` on.

    `lost` is what went before. None where a Gram matrix is not good enough.
    """
    p, (weight, around) = rows.X.shape[1], rows.means()
    mean, extra = around, np.zeros((0, around.size))
    if factor is not None:
        if not factor[0, 0]:
            return None
        # The rows seen before, less their means, and how far their means are from those here.
        before, other = factor[0, 0] ** 2, factor[0, 1:] / factor[0, 0]
        weight, share = before + weight, weight / (before + weight)
        extra = np.vstack([factor[1:, 1:], np.sqrt(before * share) * (around - other)])
        mean = other + share * (around - other)
    if not weight > 0:
        return None
    may, share, loses = _LOST[rows.X.dtype.char], penalty / weight, _EPS * p + lost / weight
    if loses > may.error * (share + _largest_smallest(rows, extra, around)):
        return None
    gram = np.zeros((around.size,) * 2)
    tile = _TILE if len(gram) > 4 * _TILE else _TILE // 2
    for first in range(0, len(rows.X), _ROWS):
        piece = rows.centred(around, slice(first, first + _ROWS))
        tiled_cholesky.add_column_gram(gram, piece, tile)
    if len(extra):
        tiled_cholesky.add_column_gram(gram, extra, tile)
    lengths = _to_unit_lengths(gram, 8 * _EPS * np.sqrt(weight * p) * np.abs(mean))
    try:
        tiled_cholesky.factor(gram[:p, :p])
    except LinAlgError:
        return None
    lower, cross = gram[:p, :p], gram[p:, :p]
    smallest, _ = dpocon(lower.T, 1.0)  # one over the norm of the inverse
    error = loses / (smallest + share)
    with single_threaded_blas():
        solve_right(cross, lower.T)
        rest = gram[p:, p:] - cross @ cross.T
    drowned = (np.diagonal(rest) * may.residual < error) & (lengths[p:] > 0)
    if not error <= may.error or drowned.any():
        return None
    upper = np.zeros((1 + len(gram),) * 2)
    upper[0, 0], upper[0, 1:] = np.sqrt(weight), np.sqrt(weight) * mean
    np.multiply(lower.T, lengths[:p], out=upper[1 : p + 1, 1 : p + 1])
    np.multiply(cross.T, lengths[p:], out=upper[1 : p + 1, p + 1 :])
    upper[p + 1 :, p + 1 :] = _root(rest) * lengths[p:]
    return Accepted(upper, loses * weight)


def _largest_smallest(rows: Rows, extra: np.ndarray, around: np.ndarray) -> float:
    """What the smallest eigenvalue is at most: that of some states is no less than that of all."""
    p = rows.X.shape[1]
    some = slice(None, None, -(-p // _PROBED))
    with single_threaded_blas():
        before = extra[:, :p][:, some]
        gram = before.T @ before
        for first in range(0, len(rows.X), _ROWS):
            piece = rows.centred(around, slice(first, first + _ROWS), some)
            gram += piece.T @ piece
        _to_unit_lengths(gram, np.zeros(len(gram)))
        (smallest,) = eigh(gram, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)
    return max(float(smallest), 0.0)


def _to_unit_lengths(gram: np.ndarray, nothing: np.ndarray) -> np.ndarray:
    """Divide a Gram matrix by the lengths of its columns, which are returned.

    What is no longer than `nothing`, or has none, is set apart from all others, with length zero.
    """
    lengths = np.sqrt(np.diagonal(gram))
    lengths[~(lengths > np.maximum(nothing, NOTHING))] = 0.0
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    gram *= inverse
    gram *= inverse[:, None]
    # As much is added as rounding may have taken.
    np.fill_diagonal(gram, 1.0 + len(gram) * _EPS)
    return lengths


def _root(rest: np.ndarray) -> np.ndarray:
    """A triangle whose Gram matrix is that of the residuals, which may be collinear."""
    lengths = np.sqrt(np.maximum(np.diagonal(rest), NOTHING))
    scaled = rest / lengths / lengths[:, None]
    np.fill_diagonal(scaled, 1.0)
    with single_threaded_blas():
        try:
            return np.asarray(cholesky(scaled, check_finite=False) * lengths)
        except LinAlgError:
            squares, vectors = eigh(scaled, check_finite=False)
            roots = np.sqrt(np.maximum(squares, 0.0))[:, None] * vectors.T
            (upper,) = qr(roots * lengths, mode="r", check_finite=False)
            return np.asarray(upper)
