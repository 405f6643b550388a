"""Ridge regression with more features than rows: the penalty chosen by leaving each row out."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from paralesn.persistence import register_estimator
from paralesn.readouts import leave_one_out
from paralesn.readouts.rollback import unharmed
from paralesn.readouts.solve import check_alphas

_SMALL = 1500  # rows or features up to which eigenvectors are cheaper than several factors
_JUDGES = 4096  # rows that penalties are chosen by, at most
_ROWS = 1024  # digested at a time
_ALPHAS = tuple(10.0 ** (k / 2) for k in range(-10, 4))
_FLOATS = (np.float64, np.float32)


class DualRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Linear readout with an l2 penalty for thousands of features and not as many rows.

    Minimises :math:`\sum_i w_i (y_i - z_i \cdot c - b)^2 + \alpha p |c|^2` over p features, which
    are centred but not scaled. The penalty is the one with the least mean squared error of rows
    left out one at a time, in closed form. Where both rows and features are many, it is chosen on a
    random 4 096 of the rows, from about four Cholesky factors.

    n rows take n^2 numbers besides a centred copy of the features where n <= p, and p^2 beyond.
    `fit_blocks` takes rows in blocks and never holds them all.

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

    def __init__(self, alphas: Sequence[float] = _ALPHAS) -> None:
        self.alphas = alphas

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, features) and targets y (n,) or (n, targets).

        Parameters
        ----------
        sample_weight : array (n,), optional
            Weights of the squared errors; rows of weight zero are left out.
        """
        with unharmed(self):
            self._check_alphas()
            X = validate_data(self, X, dtype=_FLOATS)
            Y, weight = self._prepare(y, len(X), sample_weight)
            if len(X) > X.shape[1] > _SMALL:
                self._fit_sums(np.array_split(X, -(-len(X) // _ROWS)), Y, weight)
            else:
                self._fit_rows(X, Y, weight)
        return self

    def fit_blocks(
        self, blocks: Callable[[], Iterable[np.ndarray]], y: Any, sample_weight: Any = None
    ) -> Self:
        """Fit to rows that `blocks` makes, some at a time and in order, in one pass.

        For many rows: memory for p^2 numbers, 4 096 rows and a block. Fewer rows than features are
        gathered.
        """
        with unharmed(self):
            self._check_alphas()
            made = iter(blocks())
            first = check_array(next(made), dtype=_FLOATS)
            count = len(np.asarray(y))
            self.n_features_in_ = first.shape[1]
            Y, weight = self._prepare(y, count, sample_weight)

            def all_blocks() -> Iterable[np.ndarray]:
                yield first
                for block in made:
                    yield check_array(block, dtype=_FLOATS)

            if count > first.shape[1] > _SMALL:
                self._fit_sums(all_blocks(), Y, weight)
            else:
                X = np.concatenate(list(all_blocks()))
                if len(X) != count:
                    raise ValueError(f"y must have as many rows as X ({len(X)}), got {count}")
                self._fit_rows(X, Y, weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for X (n, features): (n,) or (n, targets), in double precision."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, reset=False, dtype=_FLOATS)
        return X @ self.coef_.T + self.intercept_

    # -- solving ---------------------------------------------------------------------------------

    def _fit_rows(self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> None:
        """Fit to rows that are all there."""
        if weight is not None:
            kept = weight > 0
            X, Y, weight = X[kept], Y[kept], weight[kept]
        x_mean = X.mean(axis=0, dtype=float)
        if weight is not None:
            x_mean = np.einsum("i,ij->j", weight / weight.sum(), X)
        y_mean = np.average(Y, axis=0, weights=weight)
        Z, Y, share = _centred(X, Y, weight, x_mean, y_mean)
        alphas = np.asarray(self.alphas, float) * X.shape[1]
        if min(Z.shape) <= _SMALL:
            self.scores_, coef = leave_one_out.by_eigenvectors(Z, Y, alphas, share)
        elif len(Z) <= _JUDGES:
            self.scores_, coef = leave_one_out.downhill(Z, Y, alphas, share)
        else:
            judges = _judges(len(Z))
            self.scores_ = self._judge(X[judges], Y[judges], share[judges], x_mean, weight, judges)
            coef = leave_one_out.of_rows(Z, Y, alphas[np.nanargmin(self.scores_)])
        self._keep(coef, x_mean, y_mean)

    def _judge(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        share: np.ndarray,
        x_mean: np.ndarray,
        weight: np.ndarray | None,
        judges: np.ndarray,
    ) -> np.ndarray:
        """Errors of the penalties on some rows; Y is centred and weighted already."""
        some = None if weight is None else weight[judges]
        Z, _, _ = _centred(X, Y, some, x_mean, np.zeros(Y.shape[1]))
        alphas = np.asarray(self.alphas, float) * X.shape[1]
        scores: np.ndarray = leave_one_out.downhill(Z, Y, alphas, share)[0]
        return scores

    def _fit_sums(
        self, blocks: Iterable[np.ndarray], Y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Fit to more rows than features: all that is kept of them is Z' Z and Z' Y."""
        n, p = len(Y), self.n_features_in_
        w = np.ones(n) if weight is None else weight
        judges = _judges(n)
        G, ZY, total = np.zeros((p, p), order="F"), np.zeros((p, Y.shape[1])), np.zeros(p)
        kept, seen = [], 0
        for place, block in leave_one_out.walk(iter(blocks)):
            seen = place.stop
            if seen > n:
                break
            rows = np.asarray(block, float)
            heavy = rows * np.sqrt(w[place])[:, None]
            G = dsyrk(1.0, heavy.T, beta=1.0, c=G, lower=1, overwrite_c=1)
            total += w[place] @ rows
            ZY += rows.T @ (w[place][:, None] * Y[place])
            kept.append(block[_within(judges, place)])
        if seen != n:
            raise ValueError(f"y must have as many rows as X, got {n}")
        x_mean, y_mean = total / w.sum(), np.average(Y, axis=0, weights=w)
        X = np.concatenate(kept)
        root = np.sqrt(w[judges])[:, None]
        share = w[judges] / w.sum()
        self.scores_ = self._judge(X, (Y[judges] - y_mean) * root, share, x_mean, weight, judges)
        G = dsyrk(-w.sum(), x_mean[:, None], beta=1.0, c=G, lower=1, overwrite_c=1)
        ZY -= w.sum() * np.outer(x_mean, y_mean)
        alpha = np.asarray(self.alphas, float)[np.nanargmin(self.scores_)] * p
        self._keep(leave_one_out.of_sums(G, ZY, alpha), x_mean, y_mean)

    def _keep(self, coef: np.ndarray, x_mean: np.ndarray, y_mean: np.ndarray) -> None:
        intercept = y_mean - x_mean @ coef
        self.alpha_ = float(self.alphas[int(np.nanargmin(self.scores_))])
        self.coef_ = coef[:, 0].copy() if self._flat else np.ascontiguousarray(coef.T)
        self.intercept_ = float(intercept[0]) if self._flat else intercept

    # -- checks ----------------------------------------------------------------------------------

    def _check_alphas(self) -> None:
        check_alphas(self.alphas)
        if min(self.alphas) <= 0:
            raise ValueError(f"alphas must be positive, got {min(self.alphas)!r}")

    def _prepare(
        self, y: Any, count: int, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets (n, targets) and weights, checked."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        Y = check_array(y, ensure_2d=False, dtype=float, input_name="y")
        if Y.ndim not in (1, 2):
            raise ValueError(f"y must be (n,) or (n, targets), got shape {Y.shape}")
        if len(Y) != count:
            raise ValueError(f"y must have as many rows as X ({count}), got {len(Y)}")
        self._flat = Y.ndim == 1
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, Y, ensure_non_negative=True)
        return Y.reshape(count, -1), weight

    # What a saved model holds besides its parameters.
    LEARNT = (
        "n_features_in_", "feature_names_in_", "coef_", "intercept_", "alpha_", "scores_", "_flat",
    )  # fmt: skip

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        self._check_alphas()
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        right = (
            self.coef_.ndim == (1 if self._flat else 2)
            and coef.shape == (intercept.size, self.n_features_in_)
            and np.shape(self.scores_) == (len(self.alphas),)
            and self.alpha_ in list(self.alphas)
        )
        if not right:
            raise ValueError("the arrays of a DualRidge do not fit together")


def _judges(count: int) -> np.ndarray:
    """Places of the rows that penalties are chosen by, ascending: a random few where many."""
    if count <= _JUDGES:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, _JUDGES, replace=False))


def _within(places: np.ndarray, block: slice) -> np.ndarray:
    """Those of the places that are in a block, counted from its beginning."""
    inside = places[(places >= block.start) & (places < block.stop)]
    return inside - block.start


def _centred(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    x_mean: np.ndarray,
    y_mean: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and targets without their means, times the roots of the weights; shares of weights."""
    Z = X - x_mean.astype(X.dtype)
    if weight is None:
        return Z, Y - y_mean, np.full(len(X), 1.0 / len(X))
    root = np.sqrt(weight)[:, None]
    Z *= root.astype(X.dtype)
    return Z, (Y - y_mean) * root, weight / weight.sum()


register_estimator(DualRidge, DualRidge.LEARNT, DualRidge._check_learnt)
