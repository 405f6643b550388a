"""Ridge regression with more features than rows: the penalty chosen by leaving each row out."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from paralesn.persistence import register
from paralesn.readouts import dual_statistics, inputs, leave_one_out
from paralesn.readouts.dual_statistics import (
    DualAccumulator,
    DualStatistics,
    KeptRows,
    ProductSums,
)
from paralesn.readouts.fitted_dual_ridge import FittedDualRidge, LeftOut
from paralesn.readouts.normal_equations import solve_rows, solve_sums
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.memory import held_bytes

_KEPT = 1024  # rows of a sample whose predictions are kept
_ALPHAS = tuple(10.0 ** (k / 2) for k in range(-10, 4))


class LinearFit(NamedTuple):
    """Coefficients (features, targets) for centred rows, the means, and errors (alphas,)."""

    coef: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray
    scores: np.ndarray
    left_out: LeftOut


def fit_rows(rows: KeptRows, alphas: np.ndarray, overwrite: bool = False) -> LinearFit:
    """Fit to rows that are all in memory, and with `overwrite` used up."""
    used = np.flatnonzero(rows.weight)
    if len(used) < len(rows):
        rows = rows.taken(used)
    X, Y, w = rows.X, rows.Y, rows.weight
    weight = None if (w == 1.0).all() else w
    with np.errstate(over="ignore", invalid="ignore"):  # reported here
        x_mean = X.mean(axis=0, dtype=float)
        if weight is not None:
            x_mean = np.einsum("i,ij->j", weight / weight.sum(), X)
        y_mean = np.average(Y, axis=0, weights=weight)
        Z, targets = _centred(X, weight, x_mean, overwrite), _centred(Y, weight, y_mean)
        for values in (Z, targets):  # no sum of their squares is more than that
            largest = np.float64(max(values.max(), -values.min()))
            inputs.small_enough(largest**2 * values.size)
    share = w / w.sum()
    kept = np.arange(len(Z))
    if min(Z.shape) <= dual_statistics.SMALL:
        scores, coef, residuals = leave_one_out.by_eigenvectors(Z, targets, alphas, share)
    elif len(Z) <= dual_statistics.SAMPLE:
        scores, coef, residuals = leave_one_out.downhill(Z, targets, alphas, share)
    else:
        sample, kept = _sampled_rows(len(Z), dual_statistics.SAMPLE), _sampled_rows(len(Z), _KEPT)
        scores, *_ = leave_one_out.downhill(Z[sample], targets[sample], alphas, share[sample])
        coef, leverages = solve_rows(Z, targets, alphas[np.nanargmin(scores)], kept)
        fitted = targets[kept] - np.asarray(Z[kept], float) @ coef
        residuals = leave_one_out.residuals(fitted, leverages, share[kept])
    if weight is not None:
        residuals = residuals / np.sqrt(weight[kept])[:, None]
    left_out = LeftOut(rows.numbers[kept], Y[kept] - residuals)
    return LinearFit(coef, x_mean, y_mean, scores, left_out)


def fit_sums(sums: ProductSums, sample: KeptRows, alphas: np.ndarray) -> LinearFit:
    """Fit to more rows than features, of which products are left, and a sample of rows."""
    w = sample.weight
    Z, targets = _centred(sample.X, w, sums.x_mean), _centred(sample.Y, w, sums.y_mean)
    scores, *_ = leave_one_out.downhill(Z, targets, alphas, w / sums.weight)
    alpha = alphas[np.nanargmin(scores)]
    used = np.flatnonzero(w)
    kept = used[_sampled_rows(len(used), _KEPT)]
    coef, leverages = solve_sums(sums.gram, sums.cross, alpha, np.asarray(Z[kept], float))
    fitted = targets[kept] - np.asarray(Z[kept], float) @ coef
    residuals = leave_one_out.residuals(fitted, leverages, w[kept] / sums.weight)
    predictions = sample.Y[kept] - residuals / np.sqrt(w[kept])[:, None]
    left_out = LeftOut(sample.numbers[kept], predictions)
    return LinearFit(coef, sums.x_mean, sums.y_mean, scores, left_out)


def _sampled_rows(count: int, most: int) -> np.ndarray:
    """Numbers of at most so many rows, ascending: a random few where there are more."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _centred(
    values: np.ndarray, weight: np.ndarray | None, mean: np.ndarray, overwrite: bool = False
) -> np.ndarray:
    """Rows without the mean, times the roots of the weights, in their own precision."""
    centred: np.ndarray
    centred = np.subtract(values, mean.astype(values.dtype), out=values if overwrite else None)
    if weight is not None:
        centred *= np.sqrt(weight)[:, None].astype(values.dtype)
    return centred


@register
class DualRidge(
    inputs.FittedFeatures, inputs.CheckedScore, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    r"""Linear readout with an l2 penalty for thousands of features and not as many rows.

    Minimises :math:`\sum_i w_i (y_i - z_i \cdot c - b)^2 + \alpha p |c|^2` over p features, which
    are centred but not scaled. The penalty is the one with the least mean squared error of rows
    left out one at a time, in closed form. Where both rows and features are many, it is chosen on a
    random 4 096 of the rows, from about four Cholesky factors.

    n rows take n^2 numbers besides a centred copy of the features where n <= p, and p^2 beyond.
    `fit_blocks` takes rows in blocks and never holds them all; `fit_statistics` takes what several
    machines kept of theirs, merged.

    Parameters
    ----------
    alphas : sequence of float
        Penalties per feature to choose from, all positive.

    Attributes
    ----------
    coef_ : array (features,) or (targets, features)
    intercept_ : float or array (targets,)
    alpha_ : float
        The chosen penalty per feature.
    scores_ : array (alphas,)
        Mean squared errors of rows left out; NaN for penalties that were not tried.
    left_out_ : LeftOut
        Predictions for training rows, each by the model fitted to all the others.
    n_features_in_ : int
    fitted_ : FittedDualRidge
        All of the above comes from it.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(60, 2))
    >>> Z = hidden @ rng.normal(size=(2, 500)) + 0.1 * rng.normal(size=(60, 500))
    >>> model = pe.DualRidge().fit(Z[:40], hidden[:40, 0])
    >>> model.score(Z[40:], hidden[40:, 0]) > 0.99
    True
    """

    fitted_: FittedDualRidge

    def __init__(self, alphas: Sequence[float] = _ALPHAS) -> None:
        self.alphas = alphas

    @single_threaded_blas()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, features) and targets y (n,) or (n, targets).

        Parameters
        ----------
        sample_weight : array (n,), optional
            Weights of the squared errors; rows of weight zero are left out.
        """
        self.check_parameters()
        X, names = inputs.first_states(self, X)
        y = inputs.numeric_targets(y, len(X))
        grown = DualAccumulator()
        grown.add(X, y.reshape(len(y), -1), self._weights(sample_weight, y), 0)
        self.fitted_ = self._solved(grown.statistics, y.ndim == 1, names)
        return self

    @single_threaded_blas()
    def fit_blocks(
        self, blocks: Callable[[], Iterable[np.ndarray]], y: Any, sample_weight: Any = None
    ) -> Self:
        """Fit to rows that `blocks` makes, some at a time and in order, in one pass.

        For many rows: memory for p^2 numbers, 4 096 rows and a block. Fewer rows than features are
        gathered.
        """
        self.check_parameters()
        y = inputs.numeric_targets(y)
        Y, weight, first, grown = y.reshape(len(y), -1), None, 0, DualAccumulator()
        if sample_weight is not None:
            weight = self._weights(sample_weight, y)
        for block in blocks():
            X = inputs.states(block)
            cut = slice(first, first + len(X))
            if cut.stop > len(y):
                raise ValueError(f"y must have as many rows as X, got {len(y)}")
            grown.add(X, Y[cut], None if weight is None else weight[cut], first)
            first = cut.stop
        if first != len(y):
            raise ValueError(f"y must have as many rows as X ({first}), got {len(y)}")
        self.fitted_ = self._solved(grown.statistics, y.ndim == 1, None)
        return self

    @single_threaded_blas()
    def fit_statistics(
        self, statistics: DualStatistics, flat: bool = False, overwrite: bool = False
    ) -> Self:
        """Fit to rows of which only the statistics are here, such as merged ones of several parts.

        With `flat`, targets were (n,), and predictions are. With `overwrite`, the rows that the
        statistics keep are used up, which saves a copy of them.
        """
        self.check_parameters()
        self.fitted_ = self._solved(statistics, flat, None, overwrite)
        return self

    @single_threaded_blas()
    def predict(self, X: Any) -> np.ndarray:
        """Predictions for X (n, features): (n,) or (n, targets), in double precision."""
        check_is_fitted(self, "fitted_")
        X = inputs.further_states(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            return inputs.predictions(X @ self.coef_.T + self.intercept_)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients, (features,) or (targets, features)."""
        return self.fitted_.coef

    @property
    def intercept_(self) -> Any:
        """Intercepts, a number or (targets,)."""
        return self.fitted_.intercept

    @property
    def alpha_(self) -> float:
        """The chosen penalty per feature."""
        return self.fitted_.alpha

    @property
    def scores_(self) -> np.ndarray:
        """Mean squared errors of rows left out, (alphas,)."""
        return self.fitted_.scores

    @property
    def left_out_(self) -> LeftOut:
        """Predictions for training rows, each by the model fitted to all the others."""
        return self.fitted_.left_out

    def __sizeof__(self) -> int:
        """Bytes of everything learnt, too: schedulers of tasks ask for it."""
        return object.__sizeof__(self) + held_bytes(self.__dict__)

    def check_parameters(self) -> None:
        """Raise unless all penalties are positive."""
        inputs.check_alphas(self.alphas, positive=True)

    def _weights(self, sample_weight: Any, y: np.ndarray) -> np.ndarray | None:
        return None if sample_weight is None else inputs.row_weights(sample_weight, y)

    def _solved(
        self,
        seen: DualStatistics,
        flat: bool,
        names: np.ndarray | None,
        overwrite: bool = False,
    ) -> FittedDualRidge:
        """The solution from what was seen, with penalties of the sum over all features."""
        alphas = np.asarray(self.alphas, float) * seen.n_features
        if seen.sums is None:
            solved = fit_rows(seen.rows, alphas, overwrite)
        else:
            solved = fit_sums(seen.sums, seen.rows, alphas)
        return self._state(solved, flat, names)

    def _state(self, solved: LinearFit, flat: bool, names: np.ndarray | None) -> FittedDualRidge:
        intercept = solved.y_mean - solved.x_mean @ solved.coef
        return FittedDualRidge(
            coef=solved.coef[:, 0].copy() if flat else np.ascontiguousarray(solved.coef.T),
            intercept=float(intercept[0]) if flat else intercept,
            alpha=float(self.alphas[int(np.nanargmin(solved.scores))]),
            scores=solved.scores,
            feature_names=names,
            left_out=solved.left_out,
        )
