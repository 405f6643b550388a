r"""The ridge solution of one alpha, followed row by row without another decomposition.

With C the triangular factor of the centred states and d their variances, the coefficients solve

.. math:: (C^T C + \alpha \, \mathrm{diag}(d)) \, w = C^T c.

A new row changes C by rotations but also every variance, so that the matrix changes by more than a
row. A triangle R with :math:`R^T R = C^T C + \alpha \, \mathrm{diag}(d_0)`, where d0 are the
variances of some moment before, is kept by the same rotations. Preconditioned by it, a few
conjugate gradients solve the equation to rounding: the ratio of the largest to the smallest
eigenvalue is that of d / d0, and R is made anew where it leaves 5 %. Every step costs four products
with triangles, which are never squared.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.blas import dsyrk, dtrmm, dtrmv, dtrsm, dtrsv
from scipy.linalg.lapack import dtrcon

from paralesn.persistence import register
from paralesn.persistence.fields import Count, Flags, Floats
from paralesn.readouts import triangular
from paralesn.readouts.ridge_problem import Moments, moments
from paralesn.readouts.ridge_statistics import RidgeStatistics
from paralesn.runtime.blas import single_threaded_blas

_EPS = np.finfo(float).eps
_DRIFT = 0.05  # of variances, that the preconditioner is kept up to
_STEPS = 40  # of conjugate gradients; a dozen are many
_EXACT = 1e-14  # relative size of a residual that counts as none
_NEARLY = 1e-10  # that is good enough where rounding lets it fall no more
_LARGEST = 4096  # features: a triangle of them is 128 MB
_SQUARED = 1e4  # times its rounding error must alpha be, for the Gram matrix to be factored


class Linear(NamedTuple):
    """Coefficients (features, targets) and intercepts (targets,)."""

    coef: np.ndarray
    intercept: np.ndarray


@register
@dataclass(frozen=True, eq=False)
class Preconditioner:
    """The triangle of one alpha and the targets that have it.

    Attributes
    ----------
    group : int
        Number of the factor it belongs to.
    alpha : float
    columns : tuple of int
        Places of the targets within their group.
    upper : array (features, features)
        R above; empty for alpha = 0, where C itself is solved with.
    variances : array (features,)
        d0 above, fading with what is forgotten.
    varies : array (features,) of bool
        States with a variance; others have the coefficient zero.
    """

    group: Count
    alpha: float
    columns: tuple[Count, ...]
    upper: Floats
    variances: Floats
    varies: Flags

    def fits(self, features: int, groups: Sequence[Sequence[int]]) -> bool:
        """Whether the arrays fit together, and the groups of targets."""
        size = features if self.alpha > 0 else 0
        return (
            self.alpha >= 0
            and self.upper.shape == (size, size)
            and self.variances.shape == self.varies.shape == (features,)
            and bool((self.variances >= 0).all())
            and self.group < len(groups)
            and all(column < len(groups[self.group]) for column in self.columns)
        )


@register
@dataclass(frozen=True, eq=False)
class RecursiveSolution:
    """Solutions of the alphas that were chosen, current with the statistics they belong to.

    Attributes
    ----------
    preconditioners : tuple of Preconditioner
    coef : array (features, targets), or None until it is asked for
    intercept : array (targets,) or None
    """

    preconditioners: tuple[Preconditioner, ...]
    coef: Floats | None = None
    intercept: Floats | None = None

    def with_rows(
        self, before: RidgeStatistics, after: RidgeStatistics, blocks: Sequence[np.ndarray | None]
    ) -> Self | None:
        """Follow statistics by rows [1, z, y] of every group; None where that cannot be done."""
        from paralesn.engines.cpu.rotations import add_rows  # loads Numba

        followed = []
        for kept in self.preconditioners:
            block, old, new = (
                blocks[kept.group],
                before.factors[kept.group],
                after.factors[kept.group],
            )
            if block is None:
                followed.append(kept)
                continue
            assert old is not None
            assert new is not None
            now, p = moments(new, after.constant), after.n_features
            if kept.alpha > 0 and _is_near(kept, now):
                rows = triangular.beyond_mean(old, block)[:, 1 : p + 1] * kept.varies
                followed.append(replace(kept, upper=add_rows(kept.upper, rows)))
                continue
            fresh = _precondition(kept.group, kept.alpha, kept.columns, new, now)
            if fresh is None:
                return None
            followed.append(fresh)
        return type(self)(tuple(followed))

    def forgotten(self, factor: float) -> Self:
        """Follow statistics whose rows are multiplied by `factor`."""
        faded = tuple(
            replace(kept, upper=kept.upper * factor**0.5, variances=kept.variances * factor)
            for kept in self.preconditioners
        )
        return type(self)(faded)

    def solved(self, seen: RidgeStatistics) -> Self | None:
        """With coefficients of every target; None where they are not found to rounding."""
        if self.coef is not None:
            return self
        coef, intercept = np.zeros((seen.n_features, seen.n_targets)), np.zeros(seen.n_targets)
        for kept, problem, targets in self._problems(seen):
            with single_threaded_blas():
                found = problem.coefficients(kept)
            if found is None:
                return None
            coef[:, targets] = found
            mean, y_mean = problem.now.mean, problem.now.y_mean[list(kept.columns)]
            intercept[targets] = y_mean - mean @ found
        return replace(self, coef=coef, intercept=intercept)

    def predictions(self, seen: RidgeStatistics, X: np.ndarray) -> np.ndarray | None:
        """Predictions (n, targets) for states X, without coefficients: quick for a few rows.

        Solves for the states, not for the targets; None where that is not done to rounding.
        """
        values = np.zeros((X.shape[0], seen.n_targets))
        for kept, problem, targets in self._problems(seen):
            with single_threaded_blas():
                found = problem.predictions(kept, X)
            if found is None:
                return None
            values[:, targets] = found
        return values

    def _problems(
        self, seen: RidgeStatistics
    ) -> "list[tuple[Preconditioner, _Problem, list[int]]]":
        """What is solved for each preconditioner, and which targets it is of."""
        out = []
        for kept in self.preconditioners:
            factor, group = seen.factors[kept.group], seen.groups[kept.group]
            assert factor is not None
            problem = _Problem(factor, moments(factor, seen.constant))
            out.append((kept, problem, [group[k] for k in kept.columns]))
        return out

    def fits(self, features: int, targets: int, groups: Sequence[Sequence[int]]) -> bool:
        """Whether the arrays fit together, and the groups of targets."""
        return (
            all(kept.fits(features, groups) for kept in self.preconditioners)
            and (self.coef is None or self.coef.shape == (features, targets))
            and (self.intercept is None or self.intercept.shape == (targets,))
            and (self.coef is None) == (self.intercept is None)
        )


def follow(seen: RidgeStatistics, alphas: np.ndarray) -> RecursiveSolution | None:
    """Begin to follow the solution of each target's alpha (targets,); None where that cannot be."""
    if seen.n_features > _LARGEST:
        return None
    kept = []
    for number, (factor, group) in enumerate(zip(seen.factors, seen.groups, strict=True)):
        if factor is None:
            return None
        now, of_group = moments(factor, seen.constant), alphas[list(group)]
        for alpha in np.unique(of_group):
            columns = tuple(np.flatnonzero(of_group == alpha).tolist())
            made = _precondition(number, float(alpha), columns, factor, now)
            if made is None:
                return None
            kept.append(made)
    return RecursiveSolution(tuple(kept))


def _is_near(kept: Preconditioner, now: Moments) -> bool:
    """Whether variances are still about those of the preconditioner."""
    if (kept.varies != now.varies).any():
        return False
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (now.scale**2 / kept.variances)[now.varies]
    return bool((np.abs(ratio - 1.0) <= _DRIFT).all())


def _precondition(
    group: int, alpha: float, columns: tuple[int, ...], factor: np.ndarray, now: Moments
) -> Preconditioner | None:
    """The triangle of a factor and its penalty, by Householder where squares would lose it."""
    p, variances = now.mean.size, now.scale**2
    if not alpha:
        empty = np.zeros((0, 0))
        return Preconditioner(group, alpha, columns, empty, variances, now.varies)
    with np.errstate(over="ignore", under="ignore"):
        root = np.sqrt(alpha) * np.where(now.varies, now.scale, 1.0)
    centred = factor[1 : p + 1, 1 : p + 1] * now.varies
    if not (np.isfinite(root).all() and (root**2 > 0).all()):
        return None
    # In units of the penalty's roots: then the unit matrix is added, whatever the states' scales.
    scaled = centred / root
    with single_threaded_blas(), suppress(LinAlgError):
        if alpha >= _SQUARED * _EPS * now.weight * p:
            gram = dsyrk(1.0, scaled.T)
            np.fill_diagonal(gram, np.diagonal(gram) + 1.0)
            upper = np.triu(cholesky(gram, lower=False, check_finite=False))
        else:
            upper = triangular.stack(scaled, np.eye(p), 0)
        parts = np.ascontiguousarray(upper * root), variances, now.varies
        return Preconditioner(group, alpha, columns, *parts)
    return None


class _Problem:
    """Products with the centred states of a factor, and the equations made of them.

    A triangle is used as it is, in vectors with a place for the row of means before and for the
    targets behind; a factor of fewer rows than columns by its centred part.
    """

    def __init__(self, factor: np.ndarray, now: Moments) -> None:
        self.now, self.factor, self.p = now, factor, now.mean.size
        self.is_square = factor.shape[0] == factor.shape[1]
        self.inner = factor[1 : self.p + 1, 1 : self.p + 1]

    def explained(self, columns: Sequence[int]) -> np.ndarray:
        """What the states can explain of some targets, in the space of the factor's rows."""
        cross = self.factor[1 : self.p + 1, [self.p + 1 + k for k in columns]]
        return self._widened(cross) if self.is_square else cross

    def times(self, x: np.ndarray) -> np.ndarray:
        """Centred states times x (features, k)."""
        if not self.is_square:
            return np.asarray(self.inner @ x)
        result = _triangle_times(self.factor, self._widened(x), True)
        result[0] = 0.0
        return result

    def transposed(self, rows: np.ndarray) -> np.ndarray:
        """Their transpose times vectors of the rows' space; nothing for states without variance."""
        if self.is_square:
            product = _triangle_times(self.factor, rows, False)[1 : self.p + 1]
        else:
            product = self.inner.T @ rows
        return np.asarray(product * self.now.varies[:, None])

    def _widened(self, x: np.ndarray) -> np.ndarray:
        wide = np.zeros((self.factor.shape[0], x.shape[1]), order="F")
        wide[1 : self.p + 1] = x
        return wide

    def coefficients(self, kept: Preconditioner) -> np.ndarray | None:
        """Coefficients (features, targets) for states as they come."""
        cross = self.explained(kept.columns)
        if kept.alpha:
            found = self._conjugate_gradients(kept, np.zeros((self.p, cross.shape[1])), cross)
            return None if found is None else found[0]
        triangle = self._regular()
        if triangle is None:
            return None
        return _triangle_solve(triangle, np.array(self.factor[1 : self.p + 1, [
            self.p + 1 + k for k in kept.columns]], order="F"), False)  # fmt: skip

    def predictions(self, kept: Preconditioner, X: np.ndarray) -> np.ndarray | None:
        """Predictions (n, targets) for states X (n, features)."""
        away = np.array((X - self.now.mean).T * self.now.varies[:, None], float, order="F")
        y_mean = self.now.y_mean[list(kept.columns)]
        if kept.alpha:
            start = np.zeros((self.explained(()).shape[0], away.shape[1]), order="F")
            found = self._conjugate_gradients(kept, away, start)
            return None if found is None else y_mean - found[1].T @ self.explained(kept.columns)
        found_coef = self.coefficients(kept)
        return None if found_coef is None else y_mean + away.T @ found_coef

    def _regular(self) -> np.ndarray | None:
        """The triangle of the centred states, if nothing of it would count as zero."""
        if not (self.is_square and self.now.varies.all()):
            return None
        triangle = np.ascontiguousarray(self.inner)
        rcond, _ = dtrcon((triangle * self.now.inverse).T, uplo="L")
        # NumPy's rule for the rank, with a margin for the estimate and the norm it is of.
        return triangle if rcond > 10 * _EPS * max(self.now.weight, self.p) else None

    def _conjugate_gradients(
        self, kept: Preconditioner, right: np.ndarray, rest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Solve (C'C + a d) x = right + C' rest for (features, k): x, and rest - C x."""
        penalty = (kept.alpha * self.now.scale**2)[:, None]
        root = np.sqrt(penalty)
        x, rest = np.zeros(right.shape, order="F"), np.array(rest, order="F")
        s = _triangle_solve(kept.upper, right + self.transposed(rest), True)
        size = first = _squares(s)
        direction = _triangle_solve(kept.upper, s, False)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(_STEPS):
                image = self.times(direction)
                curvature = _squares(image) + _squares(root * direction)
                step = np.where(size > 0, size / curvature, 0.0)
                x += step * direction
                rest -= step * image
                s = _triangle_solve(kept.upper, right + self.transposed(rest) - penalty * x, True)
                before, size = size, _squares(s)
                if not np.isfinite(size).all():
                    return None
                scale = np.maximum(first, _squares(rest))
                if not ((size > _EXACT**2 * scale) & (4 * size < before)).any():
                    return (x, rest) if (size <= _NEARLY**2 * scale).all() else None
                share = np.where(before > 0, size / before, 0.0)
                direction = _triangle_solve(kept.upper, s, False) + share * direction
        return None


def _squares(x: np.ndarray) -> np.ndarray:
    """Sums of squares (k,) of the columns of x (n, k)."""
    return np.asarray(np.einsum("ij,ij->j", x, x))


def _triangle_times(upper: np.ndarray, x: np.ndarray, straight: bool) -> np.ndarray:
    """An upper triangle (q, q) or its transpose times x (q, k); x may be overwritten."""
    trans = 1 if straight else 0  # BLAS sees the transpose of arrays in C order
    if x.shape[1] == 1:
        return np.asarray(dtrmv(upper.T, x[:, 0], lower=1, trans=trans))[:, None]
    return np.asarray(dtrmm(1.0, upper.T, x, lower=1, trans_a=trans))


def _triangle_solve(upper: np.ndarray, b: np.ndarray, is_transposed: bool) -> np.ndarray:
    """Solve with an upper triangle (p, p) or its transpose for b (p, k)."""
    trans = 0 if is_transposed else 1
    if b.shape[1] == 1:
        return np.asarray(dtrsv(upper.T, b[:, 0], lower=1, trans=trans))[:, None]
    return np.asarray(dtrsm(1.0, upper.T, b, lower=1, trans_a=trans))
