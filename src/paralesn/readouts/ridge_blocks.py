"""Ridge solutions of many states, for every alpha from one block tridiagonal matrix.

That is made of the Gram matrix of a triangular factor, so it is for states, or penalties, that
drown its rounding error; what is left of that is mended by a correction, whose residual comes from
the factor itself. Others take singular values (`ridge_path`), ten times as long.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dtrsv

from paralesn.readouts.block_tridiagonal import BlockTridiagonal
from paralesn.readouts.gram_factor import MANY
from paralesn.readouts.ridge_problem import Problem, Solved
from paralesn.readouts.tiled_cholesky import tiles
from paralesn.readouts.triangular import product
from paralesn.runtime.blas import share_out, single_threaded_blas
from paralesn.runtime.released_blas import multiply

_EPS = np.finfo(float).eps
ENOUGH = 1e-7  # relative accuracy of coefficients that the Gram matrix must warrant to be used
_ITERATIONS = 8  # that find the smallest eigenvalue well enough
_DOUBTFUL = 1e-6  # that its rounding must warrant where rows were learnt by it, lest we warn


def solver(problem: Problem, least: float, rounding: float) -> Callable[[float], Solved] | None:
    """What solves for any alpha from `least` on; None where singular values are needed.

    `rounding` is what the factor itself has lost, see `RidgeStatistics`.
    """
    rows, n = problem.standard, len(problem.standard)
    if n < MANY or rows.shape != (n, n) or np.tril(rows, -1).any():
        return None
    smallest = smallest_eigenvalue(problem)
    if rounding > _DOUBTFUL * (smallest + least):
        warnings.warn(
            f"alphas from {rounding / _DOUBTFUL - smallest:.2g} on are good to 1e-6, got "
            f"{least:.2g}: rows were learnt for larger ones, or in many parts; fit to all of them",
            stacklevel=2,
        )
    if _EPS * problem.weight * n > ENOUGH * (smallest + least):
        return None
    return _by_blocks(problem)


def smallest_eigenvalue(problem: Problem) -> float:
    """What the smallest eigenvalue of the standardised states' Gram matrix is at least, about.

    That of states with a variance: a quarter of what inverse iteration finds, which is too much.
    """
    triangle = problem.standard + np.diag(np.where(problem.inverse > 0, 0.0, problem.weight**0.5))
    if not np.diagonal(triangle).all():
        return 0.0
    lower = triangle.T  # as LAPACK reads it, which counts columns first
    vector = np.random.default_rng(0).normal(size=len(lower))
    size = 0.0
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_ITERATIONS):
            vector = dtrsv(lower, dtrsv(lower, vector, lower=1), lower=1, trans=1)
            size = float(np.sqrt(vector @ vector))
            if not np.isfinite(size):
                return 0.0
            vector /= size
    return 0.25 / size


def _by_blocks(problem: Problem) -> Callable[[float], Solved]:
    rows, cross, n = problem.standard, problem.cross, len(problem.standard)
    varies = problem.inverse > 0
    gram = _triangle_gram(rows)
    # States without variance stand apart, as if they had one.
    places = np.arange(n)
    gram[places[~varies], places[~varies]] = problem.weight
    blocks = BlockTridiagonal(gram)
    turned = np.ascontiguousarray(rows.T)
    right = blocks.rotated(product(turned, cross))

    def solve(alpha: float) -> Solved:
        shifted = blocks.shifted(alpha)
        coef = blocks.rotated_back(shifted.solve(right))
        off = product(turned, cross - product(rows, coef)) - alpha * coef
        coef += blocks.rotated_back(shifted.solve(blocks.rotated(off)))
        residual = ((cross - product(rows, coef)) ** 2).sum(axis=0)
        apart = np.count_nonzero(~varies) / (problem.weight + alpha)
        freedom = np.count_nonzero(varies) - alpha * (shifted.inverse_trace() - apart)
        return Solved(coef, residual, float(freedom))

    return solve


def _triangle_gram(upper: np.ndarray) -> np.ndarray:
    """Lower triangle of R'R for a triangle R (n, n), in tiles, as deep as R is."""
    n = len(upper)
    gram, edges = np.zeros((n, n)), tiles(n)

    def add(pair: tuple[slice, slice]) -> None:
        i, j = pair
        multiply(gram[pair], upper[: j.stop, i].T, upper[: j.stop, j], 1.0, 0.0)

    pairs = [(i, j) for k, i in enumerate(edges) for j in edges[: k + 1]]
    with single_threaded_blas():
        share_out(add, pairs, n * n * n // 3)
    return gram
