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

BLAS runs on one thread, since it rounds differently on another number of them. Tall blocks are cut
into pieces, as many for every number of cores, which threads of ours share.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr
from scipy.linalg.blas import dgemm, dtrmm
from scipy.linalg.lapack import dtpqrt

from paralesn.runtime import released_blas
from paralesn.runtime.blas import share_out, single_threaded_blas

_EPS = np.finfo(float).eps
_BAND = 32  # columns that LAPACK reflects at a time where two triangles are merged
_ALONE = 1 << 16  # multiplications of a product that BLAS keeps to one thread
_PIECE = 2048  # rows of a product that a thread takes at a time
_WORST = 1e3  # ratio of squared diagonals up to which a Cholesky factor loses nothing that matters
_KEPT = 32  # roundings for each column that the length of a column may be off by
NOTHING = 1e-140  # a norm that counts as none
_LIFTED = 1e-150  # stands for the diagonal of a column of zeros: its square does not overflow


def absorb(
    factor: np.ndarray | None,
    rows: Callable[[Any], np.ndarray],
    count: int,
    wide: int,
    is_few: bool = False,
) -> np.ndarray:
    """Factor (r, q) of the rows of `factor` and of a block (n, q) together.

    A factor has as many rows as were seen, at most q. Up to `wide` of them are kept as they are
    but for one reflection, which empties the first column below its top. `rows` makes some of the
    `count` rows of the block, a slice or an array of their numbers, which are worked on in place.
    With `is_few`, rotations add rows to a triangle one by one.
    """
    every, before = slice(None), 0 if factor is None else factor.shape[0]
    if count + before <= wide:
        return stack(factor, rows(every), wide)
    if is_few and factor is not None and before > wide:
        return _rotated(factor, rows(every))
    columns = rows(slice(0, 1)).shape[1]
    if count < 2 * columns:
        return _lapack(factor, rows(every))
    if factor is not None and before == columns:
        grown = _precondition(_guarded(factor), factor, rows, count)
        if grown is not None:
            return grown  # else it holds directions the factor does not know: ask a sample as well
    base = _guarded(_lapack(factor, rows(_sample(count, columns))))
    grown = _precondition(base, factor, rows, count)
    return grown if grown is not None else _lapack(factor, rows(every))


def _sample(count: int, columns: int) -> np.ndarray:
    """Numbers of rows that know all directions: two for each column, a quarter of them the first.

    What fades away after the beginning of a series is seen there and nowhere else.
    """
    first = columns // 2
    rest = range(first, count, max(1, count // (2 * columns - first)))
    return np.concatenate([np.arange(first), np.array(rest)])


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
    """Factor of two factors' rows together; neither is changed.

    Two triangles take a fifth of the arithmetic of any other rows: reflections that never leave
    them (LAPACK's triangular-pentagonal QR).
    """
    if first is not None and _is_triangle(first) and _is_triangle(second):
        with single_threaded_blas():
            upper, *_ = dtpqrt(len(first), min(_BAND, len(first)), first, second)
        return np.ascontiguousarray(np.triu(upper))
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


def _is_triangle(factor: np.ndarray) -> bool:
    return factor.shape[0] == factor.shape[1] and not np.tril(factor, -1).any()


def product(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``rows @ weights`` for rows (n, p) and weights (p, m), the same bits on any machine's cores.

    A few rows are one call, which BLAS does not share out.
    """
    if not rows.size or not weights.size:
        return np.zeros((rows.shape[0], weights.shape[1]))
    rows = np.ascontiguousarray(rows, float)
    if rows.size * weights.shape[1] <= _ALONE:
        return dgemm(1.0, np.asfortranarray(weights.T), rows.T).T
    out, weights = np.empty((rows.shape[0], weights.shape[1])), np.ascontiguousarray(weights, float)
    pieces = [slice(first, first + _PIECE) for first in range(0, len(rows), _PIECE)]

    def multiply(cut: slice) -> None:
        released_blas.multiply(out[cut], rows[cut], weights, 1.0, 0.0)

    with single_threaded_blas():
        share_out(multiply, pieces, rows.size * weights.shape[1])
    return out


def _lapack(factor: np.ndarray | None, block: np.ndarray) -> np.ndarray:
    """Factor by Householder reflections."""
    tall = block if factor is None else np.vstack([factor, block])
    with single_threaded_blas():
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
    base: np.ndarray,
    factor: np.ndarray | None,
    rows: Callable[[Any], np.ndarray],
    count: int,
) -> np.ndarray | None:
    """The new factor by way of `base`, or None if that base was of no use."""
    block = _Pieces(rows, count, factor)
    step = base
    with single_threaded_blas():
        for _ in range(3):
            gram = block.solved_gram(step)
            # Unit diagonals make the Cholesky factor tell the condition, whatever the columns'
            # scales.
            norms = np.diagonal(gram)
            norms = np.sqrt(np.where(norms > 0, norms, 1.0))  # a column of zeros stays nothing
            if not np.isfinite(norms).all():
                return None
            gram /= norms[:, None]
            gram /= norms
            np.fill_diagonal(gram, 1.0 + len(base) * _EPS)
            try:
                step = cholesky(gram, lower=False, overwrite_a=True, check_finite=False)
            except LinAlgError:
                return None
            diagonal = np.diagonal(step).copy()
            step *= norms
            base = dtrmm(1.0, step, base)
            if (diagonal.max() / diagonal.min()) ** 2 <= _WORST:
                # A base that did not know some direction may have drowned others in it: every
                # column must have kept its length.
                base = np.ascontiguousarray(np.triu(base))
                off = np.abs(_squares(base) - block.squares)
                kept = off <= _KEPT * len(base) * _EPS * block.squares + NOTHING
                return base if kept.all() else None
            step = np.asfortranarray(step)
    return None


class _Pieces:
    """A block of rows, and those of a factor, in pieces that threads work on.

    As many for every number of threads; fewer where columns are many, as each has a Gram matrix of
    its own. They are made when they are first needed, by whoever works on them.
    """

    def __init__(
        self, rows: Callable[[Any], np.ndarray], count: int, factor: np.ndarray | None
    ) -> None:
        self._rows, self._factor, self.count = rows, factor, count
        self._cuts: list[slice] = []
        self._pieces: list[Any] = []
        self.squares = np.zeros(0)  # lengths of the columns, squared, once pieces were made

    def solved_gram(self, step: np.ndarray) -> np.ndarray:
        """Solve for all pieces in place, and add up their Gram matrices, in order."""
        columns, is_first = step.shape[1], not self._pieces
        if is_first:
            number = 8 if columns <= 512 else 4 if columns <= 1024 else 2
            edges = np.linspace(0, self.count, number + 1).astype(int).tolist()
            self._cuts = [slice(a, b) for a, b in pairwise(edges) if a < b]
            self._pieces = [None] * (len(self._cuts) + (self._factor is not None))
        grams: list[Any] = [None] * len(self._pieces)
        squares: list[Any] = [None] * len(self._pieces)

        def solve(number: int) -> None:
            if is_first:
                self._pieces[number] = self._made(number)
                squares[number] = _squares(self._pieces[number])
            released_blas.solve_right(self._pieces[number], step)
            grams[number] = released_blas.upper_gram(self._pieces[number])

        share_out(solve, range(len(self._pieces)), self.count * columns**2)
        if is_first:
            self.squares = np.sum(squares, axis=0)
        total: np.ndarray = grams[0]
        for gram in grams[1:]:
            total += gram
        return total

    def _made(self, number: int) -> np.ndarray:
        if number < len(self._cuts):
            return self._rows(self._cuts[number])
        return np.array(self._factor, order="C")


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
