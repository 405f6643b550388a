"""Predictions of a ridge regression for rows it has seen, each as if it had been left out.

The residual of a row that was left out is its residual divided by 1 - its leverage - its share of
the weights. The leverage comes from the factor of all rows; means and scales of the states stay
those of all rows.
"""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from paralesn.readouts import leave_one_out
from paralesn.readouts.ridge_path import decompose, gram_is_enough
from paralesn.readouts.ridge_problem import Problem, standardised
from paralesn.readouts.ridge_statistics import RidgeStatistics


def left_out_residuals(
    seen: RidgeStatistics,
    alphas: np.ndarray,
    X: np.ndarray,
    residuals: np.ndarray,
    weight: np.ndarray | None,
) -> np.ndarray:
    """Residuals (n, targets) of rows left out, from those of the fit.

    alphas (targets,)   the penalty of each target
    X (n, features)     rows that were seen, with weights (n,)
    """
    w = np.ones(len(X)) if weight is None else weight
    result = np.empty(residuals.shape)
    for targets, factor in zip(seen.groups, seen.factors, strict=True):
        if factor is None:
            raise ValueError(f"y must hold a number with weight for target {targets[0]}, got none")
        problem = standardised(factor, seen.constant)
        Z = (X - problem.mean) * problem.inverse
        columns = np.array(targets)
        for alpha in np.unique(alphas[columns]):
            leverages, share = w * _leverages(problem, Z, float(alpha)), w / problem.weight
            chosen = columns[alphas[columns] == alpha]
            result[:, chosen] = leave_one_out.residuals(residuals[:, chosen], leverages, share)
    return result


def _leverages(problem: Problem, Z: np.ndarray, alpha: float) -> np.ndarray:
    """z' (S' S + a)^-1 z of standardised rows Z, which lie in the row space of the factor S."""
    S = problem.standard
    if alpha > 0 and gram_is_enough(S, alpha, problem.weight):
        try:
            return _by_cholesky(S, Z, alpha)
        except LinAlgError:
            pass
    _, s, rotate = decompose(S, np.array([alpha]), problem.weight)
    live = s > np.finfo(float).eps * max(S.shape) * s.max(initial=0.0)
    inverse = np.divide(1.0, s**2 + alpha, out=np.zeros_like(s), where=live)
    return np.asarray((Z @ rotate(np.eye(len(s)))) ** 2 @ inverse)


def _by_cholesky(S: np.ndarray, Z: np.ndarray, alpha: float) -> np.ndarray:
    """The same from the smaller of two Gram matrices, several times faster."""
    wide = len(S) < S.shape[1]
    gram = S @ S.T if wide else S.T @ S
    np.fill_diagonal(gram, gram.diagonal() + alpha)
    right = S @ Z.T if wide else Z.T
    solved = solve_triangular(cholesky(gram, lower=True), right, lower=True)
    squares = np.einsum("ij,ij->j", solved, solved)
    return (np.einsum("ij,ij->i", Z, Z) - squares) / alpha if wide else squares
