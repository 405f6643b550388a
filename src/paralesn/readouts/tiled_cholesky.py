"""Gram matrices and Cholesky factors in tiles, shared out to threads.

LAPACK on one thread would leave the other cores idle, and on several it rounds by their number. The
tiles are the same for every number of threads, and so are the bits. Matrices are symmetric and in C
order; of their upper halves only what lies in a tile of the diagonal is written, and none is read.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from paralesn.runtime.blas import share_out, single_threaded_blas
from paralesn.runtime.released_blas import multiply, solve_left, solve_right

_TILE = 384  # rows and columns
_COLUMNS = 2048  # converted to double precision at a time


def tiles(n: int, size: int = _TILE) -> list[slice]:
    """Equal parts of n rows or columns, but for the last."""
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def row_gram(Z: np.ndarray, dtype: Any = float) -> np.ndarray:
    """Lower triangle of Z Z' (n, n), without a copy of all of Z (n, features) in double precision.

    The upper one is zero but for tiles.
    """
    n, p = Z.shape
    total: np.ndarray = np.zeros((n, n), dtype)
    edges = [*range(0, p, _COLUMNS), p]

    def add(pair: tuple[slice, slice]) -> None:
        for first, last in pairwise(edges):
            a, b = (np.asarray(Z[rows, first:last], dtype) for rows in pair)
            multiply(total[pair], a, b.T, 1.0, 1.0)

    _on_tiles(add, n, p)
    return total


def add_column_gram(total: np.ndarray, rows: np.ndarray, size: int = _TILE) -> None:
    """Add rows' rows to the lower triangle of `total` (p, p), for rows (n, p), in place.

    In tiles of a `size`: smaller ones keep more threads busy where columns are few.
    """
    n, p = rows.shape

    def add(pair: tuple[slice, slice]) -> None:
        i, j = pair
        multiply(total[pair], rows[:, i].T, rows[:, j], 1.0, 1.0)

    _on_tiles(add, p, n, size)


def _on_tiles(function: object, n: int, depth: int, size: int = _TILE) -> None:
    edges = tiles(n, size)
    pairs = [(i, j) for k, i in enumerate(edges) for j in edges[: k + 1]]
    with single_threaded_blas():
        share_out(function, pairs, n * n * depth // 2)  # type: ignore[arg-type]


def factor(matrix: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of a matrix (n, n), in its place; the rest of it is zero.

    Raises LinAlgError where the matrix is not positive definite.
    """
    n = len(matrix)
    edges = tiles(n)
    with single_threaded_blas():
        for k, here in enumerate(edges):
            below = edges[k + 1 :]
            corner = cholesky(matrix[here, here], lower=True, check_finite=False)
            matrix[here, here] = corner
            matrix[here, here.stop :] = 0.0
            size = here.stop - here.start

            def reduce_row(i: slice, here: slice = here, corner: np.ndarray = corner) -> None:
                solve_right(matrix[i, here], corner.T)

            def update(pair: tuple[slice, slice], here: slice = here) -> None:
                i, j = pair
                multiply(matrix[i, j], matrix[i, here], matrix[j, here].T, -1.0, 1.0)

            if below:
                rest = n - here.stop
                share_out(reduce_row, below, rest * size * size)
                pairs = [(i, j) for m, i in enumerate(below) for j in below[: m + 1]]
                share_out(update, pairs, rest * rest * size // 2)
    return matrix


def solve(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve L L' x = right (n, m) from the factor."""
    with single_threaded_blas():
        return np.asarray(cho_solve((lower, True), right.astype(lower.dtype), check_finite=False))


def inverse_diagonal(lower: np.ndarray) -> np.ndarray:
    """Diagonal (n,) of the inverse of L L', in double precision."""
    n = len(lower)
    diagonal = np.empty(n)

    def measure(here: slice) -> None:
        columns = np.zeros((n - here.start, here.stop - here.start), lower.dtype)
        np.fill_diagonal(columns, 1.0)
        solve_left(lower[here.start :, here.start :], columns)
        diagonal[here] = np.einsum("ij,ij->j", columns, columns, dtype=float)

    with single_threaded_blas():
        share_out(measure, tiles(n), n * n * n // 3)
    return diagonal


def squares(lower: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """c' (L L')^-1 c of every column c of (n, m)."""
    half = np.array(columns, lower.dtype, order="C")
    pieces = [slice(a, a + _TILE) for a in range(0, half.shape[1], _TILE)]
    out = np.empty(half.shape[1])

    def measure(cut: slice) -> None:
        part = np.ascontiguousarray(half[:, cut])
        solve_left(lower, part)
        out[cut] = np.einsum("ij,ij->j", part, part)

    with single_threaded_blas():
        share_out(measure, pieces, half.shape[1] * len(lower) ** 2)
    return out


__all__ = [
    "LinAlgError", "add_column_gram", "factor", "inverse_diagonal", "row_gram", "solve", "squares",
    "tiles",
]  # fmt: skip
