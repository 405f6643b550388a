r"""Symmetric matrices made block tridiagonal, so that shifts of the diagonal cost next to nothing.

Reflections from both sides leave of a matrix S its blocks beside the diagonal,

.. math:: S = Q B Q^T, \qquad (S + \alpha)^{-1} = Q (B + \alpha)^{-1} Q^T,

at the price of four Cholesky factors and not, as eigenvectors, of thirty. Then every alpha takes a
Cholesky factor of B, whose cost grows with the size of S and not with its cube, and so does the
trace of the inverse.

All but the reflections of a panel are products of tiles, shared out to threads; tiles are the same
for any number of them, and so are the bits.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dgeqrf

from paralesn.readouts.tiled_cholesky import tiles
from paralesn.runtime.blas import share_out, single_threaded_blas
from paralesn.runtime.released_blas import multiply

_BAND = 64  # columns reflected at a time: the size of the blocks that are left
_TILE = 512  # rows and columns that a thread takes at a time


class BlockTridiagonal:
    """S = Q B Q' for a symmetric matrix S (n, n) in C order, whose lower triangle is read.

    The matrix is used up: reflections take its place.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        n = len(matrix)
        self.size = n
        self.diagonal: list[np.ndarray] = []  # blocks of B
        self.below: list[np.ndarray] = []  # those under them
        self._reflections: list[tuple[int, np.ndarray, np.ndarray]] = []
        with single_threaded_blas():
            for first in range(0, n, _BAND):
                stop = min(first + _BAND, n)
                self.diagonal.append(_symmetric(matrix[first:stop, first:stop]))
                if stop == n:
                    break
                self._reflect(matrix, first, stop)

    def _reflect(self, matrix: np.ndarray, first: int, stop: int) -> None:
        """Empty the columns from `first` to `stop` but for a block below the diagonal's."""
        panel = matrix[stop:, first:stop]
        width = min(panel.shape)
        packed, tau, _, _ = dgeqrf(panel)
        upper = np.triu(packed[:width])
        self.below.append(upper)
        V = np.tril(packed[:, :width], -1)
        np.fill_diagonal(V, 1.0)
        T = _triangle_of(V, tau)
        V = np.ascontiguousarray(V)
        panel[:, :width] = V
        self._reflections.append((stop, panel[:, :width], T))
        _transform(matrix[stop:, stop:], V, T)

    def rotated(self, columns: np.ndarray) -> np.ndarray:
        """Q' columns (n, m)."""
        out = np.array(columns, float)
        with single_threaded_blas():
            for first, V, T in self._reflections:
                out[first:] -= V @ (T.T @ (V.T @ out[first:]))
        return out

    def rotated_back(self, columns: np.ndarray) -> np.ndarray:
        """Q columns (n, m)."""
        out = np.array(columns, float)
        with single_threaded_blas():
            for first, V, T in reversed(self._reflections):
                out[first:] -= V @ (T @ (V.T @ out[first:]))
        return out

    def shifted(self, alpha: float) -> "ShiftedFactor":
        """The factor of B + alpha; LinAlgError where that is not positive definite."""
        return ShiftedFactor.of(self.diagonal, self.below, alpha)


class ShiftedFactor:
    """Cholesky factor of a block tridiagonal matrix: lower blocks, and those below them."""

    def __init__(self, corners: list[np.ndarray], below: list[np.ndarray]) -> None:
        self.corners, self.below = corners, below
        self.edges = np.cumsum([0, *map(len, corners)]).tolist()

    @classmethod
    def of(cls, diagonal: Sequence[np.ndarray], below: Sequence[np.ndarray], alpha: float) -> Self:
        """The factor of the matrix with these blocks, alpha added to its diagonal."""
        corners: list[np.ndarray] = []
        lower: list[np.ndarray] = []
        with single_threaded_blas():
            for k, block in enumerate(diagonal):
                here = block + alpha * np.eye(len(block))
                if k:
                    here -= lower[-1] @ lower[-1].T
                corners.append(cholesky(here, lower=True, check_finite=False))
                if k < len(below):
                    lower.append(_solve(corners[-1], below[k].T).T)
        return cls(corners, lower)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution (n, m) for right sides (n, m)."""
        out = np.array(right, float)
        cuts = [slice(a, b) for a, b in zip(self.edges, self.edges[1:], strict=False)]
        with single_threaded_blas():
            for k, cut in enumerate(cuts):
                if k:
                    out[cut] -= self.below[k - 1] @ out[cuts[k - 1]]
                out[cut] = _solve(self.corners[k], out[cut])
            for k in reversed(range(len(cuts))):
                if k < len(self.below):
                    out[cuts[k]] -= self.below[k].T @ out[cuts[k + 1]]
                out[cuts[k]] = _solve(self.corners[k], out[cuts[k]], trans=1)
        return out

    def inverse_trace(self) -> float:
        """Trace of the inverse, from its blocks on the diagonal, the last one first."""
        total, after = 0.0, None
        with single_threaded_blas():
            for k in reversed(range(len(self.corners))):
                corner = self.corners[k]
                inner = np.eye(len(corner))
                if after is not None:
                    inner += self.below[k].T @ (after @ self.below[k])
                half = _solve(corner, inner, trans=1)
                after = _solve(corner, half.T, trans=1)
                total += float(np.trace(after))
        return total


def _solve(lower: np.ndarray, right: np.ndarray, trans: int = 0) -> np.ndarray:
    return np.asarray(solve_triangular(lower, right, trans, lower=True, check_finite=False))


def _symmetric(block: np.ndarray) -> np.ndarray:
    lower = np.tril(block, -1)
    return np.asarray(lower + lower.T + np.diag(np.diagonal(block)))


def _triangle_of(V: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The triangle T of reflections, whose product is 1 - V T V' (LAPACK's larft)."""
    products, width = V.T @ V, V.shape[1]
    T = np.zeros((width, width))
    for i in range(width):
        T[:i, i] = -tau[i] * (T[:i, :i] @ products[:i, i])
        T[i, i] = tau[i]
    return T


def _transform(matrix: np.ndarray, V: np.ndarray, T: np.ndarray) -> None:
    """Make H' A H of the lower triangle of A (n, n), for H = 1 - V T V', in place."""
    n, width = V.shape
    edges, VT = tiles(n, _TILE), V @ T
    X = np.empty((n, width))

    def times(k: int) -> None:
        """A row of tiles times V T, those above the diagonal from their mirror images."""
        out, here = X[edges[k]], matrix[edges[k], edges[k]]
        multiply(out, _symmetric(here), VT[edges[k]], 1.0, 0.0)
        if k:
            before = slice(0, edges[k].start)
            multiply(out, matrix[edges[k], before], VT[before], 1.0, 1.0)
        if edges[k].stop < n:
            after = slice(edges[k].stop, n)
            multiply(out, matrix[after, edges[k]].T, VT[after], 1.0, 1.0)

    share_out(times, range(len(edges)), n * n * width)
    W = X - V @ (0.5 * (T.T @ (V.T @ X)))
    left, right = np.hstack([V, W]), np.hstack([W, V])

    def update(pair: tuple[slice, slice]) -> None:
        i, j = pair
        multiply(matrix[pair], left[i], right[j].T, -1.0, 1.0)

    pairs = [(i, j) for k, i in enumerate(edges) for j in edges[: k + 1]]
    share_out(update, pairs, n * n * width)
