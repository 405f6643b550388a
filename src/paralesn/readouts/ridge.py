"""Ridge regression that learns block by block, merges, forgets, and solves for every alpha."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.moments import measured
from paralesn.persistence import register
from paralesn.readouts import inputs, triangular
from paralesn.readouts.fitted_ridge import AlphaChoice, FittedRidge
from paralesn.readouts.recursive_solution import Linear
from paralesn.readouts.ridge_left_out import left_out_residuals
from paralesn.readouts.ridge_path import RidgePath, ridge_path
from paralesn.readouts.ridge_problem import moments
from paralesn.readouts.ridge_statistics import RidgeStatistics
from paralesn.readouts.validation import ValidationErrors, validation_errors
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.memory import held_bytes


@register
class Ridge(
    inputs.FittedFeatures, inputs.CheckedScore, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    r"""Linear readout with an l2 penalty, trained in one pass, the penalty chosen from several.

    Minimises :math:`\|y - Z w - b\|^2 + \alpha \|w\|^2` over standardised states Z (zero mean, unit
    variance, ddof 0) with a free intercept b. All it keeps of the data is the triangular factor of
    the rows [1, z, y]: means, standard deviations, the solution for every alpha and the training
    error are computed from it, and two such factors merge into one.

    alpha = 0 is the minimum-norm least-squares solution; singular values of the standardised states
    below ``eps * max(n, p)`` times the largest count as zero. A state without variance gets the
    coefficient zero.

    `forget` and `partial_fit` of a row are recursive least squares: a row costs a time that grows
    with the square of the number of states, and the solution is that of `fit` on all rows with
    their weights, to rounding. A block of few rows (one, or a sixteenth of the number of states) is
    learnt so. Of several alphas, the one chosen then stays until rows that came since have a third
    of the weight of all; larger blocks, `merge` and `solve` have it chosen anew.

    Parameters
    ----------
    alphas : sequence of float
        Penalties to choose from.
    per_target : bool
        Choose one alpha per target instead of one for all.
    nan_targets : "error" or "omit"
        With "omit", a row whose target is NaN is left out for that target only.
    gamma : float
        What a degree of freedom counts in generalised cross-validation, at least 1. A little more
        keeps it from fitting noise where rows are few.

    Attributes
    ----------
    coef_ : array (features,) or (targets, features)
        For the states as they come, not standardised.
    intercept_ : float or array (targets,)
    alpha_ : float, or array (targets,) with `per_target`
    scores_ : array (alphas, targets)
        What alpha was chosen by: the generalised cross-validation error, or the mean squared error
        on the validation data, divided by the target's variance. Lower is better.
    mean_, scale_ : arrays (features,)
        Of the states (with `nan_targets="omit"`, of the rows the last target was learnt from).
    n_samples_seen_, n_features_in_ : int
    fitted_ : FittedRidge
        All of the above comes from it; it never changes, but is replaced by what is learnt next.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(500, 3))
    >>> y = Z @ [1.0, 2.0, 0.0] + 5
    >>> first, second = pe.Ridge([0]).partial_fit(Z[:200], y[:200]), pe.Ridge([0])
    >>> both = first.merge(second.partial_fit(Z[200:], y[200:]))
    >>> both.coef_.round(6) + 0, round(float(both.intercept_), 6)
    (array([1., 2., 0.]), 5.0)
    """

    fitted_: FittedRidge

    def __init__(
        self,
        alphas: Sequence[float] = (0, 0.01, 0.1, 1, 10, 100),
        *,
        per_target: bool = False,
        nan_targets: str = "error",
        gamma: float = 1.0,
    ) -> None:
        self.alphas = alphas
        self.per_target = per_target
        self.nan_targets = nan_targets
        self.gamma = gamma

    # -- learning --------------------------------------------------------------------------------

    @single_threaded_blas()
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit to states X (n, features) and targets y (n,) or (n, targets).

        Parameters
        ----------
        sample_weight : array (n,), optional
            Non-negative weights of the rows: how often each counts. Where they sum to less than the
            number of rows, only their proportions matter to the choice of alpha.
        validation : (X, y), optional
            Data to choose alpha by, instead of generalised cross-validation.
        """
        fresh = copy(self)
        fresh.__dict__.pop("fitted_", None)
        fresh.partial_fit(X, y, sample_weight)
        if validation is not None:
            fresh.validate(*inputs.pair_of_validation(validation))
        self.fitted_ = fresh.solve().fitted_
        return self

    @single_threaded_blas()
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a block of rows, or a single one, to what was seen so far."""
        self.check_parameters()
        fitted: FittedRidge | None = getattr(self, "fitted_", None)
        omits = self.nan_targets == "omit"
        if fitted is None:
            X, names = inputs.first_states(self, X)
            targets = inputs.numeric_targets(y, X.shape[0], allow_nan=omits)
            y = targets.reshape(X.shape[0], -1)
            statistics = RidgeStatistics.empty(X[0], y.shape[1], omits)
            fitted = FittedRidge(statistics, targets.ndim == 1, names)
        else:
            X = inputs.further_states(self, X)
            omits = omits and fitted.statistics.omits_nan
            y = inputs.numeric_targets(y, X.shape[0], allow_nan=omits).reshape(X.shape[0], -1)
            if y.shape[1] != fitted.n_targets:
                raise ValueError(
                    f"y must have {fitted.n_targets} targets as before, got {y.shape[1]}"
                )
        weight = None
        if sample_weight is not None:
            weight = inputs.row_weights(sample_weight, X)
        self.fitted_ = fitted.with_rows(X, y, weight, self._alphas)
        return self

    @single_threaded_blas()
    def learn_from(self, X: np.ndarray, y: np.ndarray) -> Self:
        """`partial_fit` of a fitted readout on float arrays (n, features), (n, targets).

        Only their finiteness and sizes are looked at: quicker for a single row.
        """
        fitted, omits = self.fitted_, self.fitted_.statistics.omits_nan
        expected = (X.shape[0], fitted.n_features), (X.shape[0], fitted.n_targets)
        if (X.shape, y.shape) != expected:
            raise ValueError(f"X and y must be of shapes {expected}, got {X.shape}, {y.shape}")
        if not (np.isfinite(X).all() and (np.isfinite(y) | (omits & np.isnan(y))).all()):
            raise ValueError("X and y must be finite, got NaN or infinity")
        self.fitted_ = fitted.with_rows(X, y, None, self._alphas)
        return self

    def merge(self, other: "Ridge") -> Self:
        """A readout that has seen everything this one and another have; both stay as they were.

        Errors on validation data add up as well, where both readouts measured them with the same
        alphas; the new readout chooses by them, or by those of the one that has any.
        """
        check_is_fitted(self, "fitted_")
        if not isinstance(other, Ridge):
            raise TypeError(f"other must be a Ridge, got {type(other).__name__}")
        check_is_fitted(other, "fitted_")
        mine, theirs = self.fitted_, other.fitted_
        expected, came = (
            (state.n_features, state.n_targets, len(state.statistics.groups))
            for state in (mine, theirs)
        )
        if came != expected:
            raise ValueError(
                "other must have seen as many features and targets, with the same nan_targets: "
                f"expected {expected[:2]}, got {came[:2]}"
            )
        if theirs.validation is not None and not np.array_equal(self._alphas, other._alphas):
            raise ValueError(
                "other must have been validated with the same alphas, "
                f"{list(self.alphas)}, got {list(other.alphas)}"
            )
        merged = copy(self)
        merged.fitted_ = mine.merged(theirs)
        return merged

    @single_threaded_blas()
    def validate(self, X: Any, y: Any) -> Self:
        """Measure the error of every alpha on data that were not learnt from; choose by that.

        Errors add up over calls, and the choice stays when more is learnt, until the next `fit`.
        """
        check_is_fitted(self, "fitted_")
        X = inputs.further_states(self, X)
        y = inputs.numeric_targets(y, allow_nan=self.nan_targets == "omit")
        y = y.reshape(y.shape[0], -1)
        if y.shape != (X.shape[0], self.fitted_.n_targets):
            expected = f"{X.shape[0]} rows of {self.fitted_.n_targets} targets"
            raise ValueError(f"validation data must hold {expected}, got y of shape {y.shape}")
        path = self._path()
        errors = validation_errors(path, X, y, self.fitted_.validation)
        self.fitted_ = replace(self.fitted_, validation=errors).solved(path, self.per_target)
        return self

    def choose_as(self, other: "Ridge") -> Self:
        """Choose alpha by the validation data of another readout."""
        check_is_fitted(self, "fitted_")
        theirs = getattr(other, "fitted_", None) if isinstance(other, Ridge) else None
        if theirs is None or theirs.validation is None:
            raise ValueError(f"other must be a Ridge with validation data, got {other!r}")
        if theirs.n_targets != self.fitted_.n_targets or len(other.alphas) != len(self.alphas):
            raise ValueError("other must have as many alphas and targets")
        self.fitted_ = self.fitted_.unsolved(validation=theirs.validation)
        return self

    @single_threaded_blas()
    def choose_by(self, scores: Any) -> Self:
        """Choose alpha by scores (alphas,) from elsewhere, the lowest; the choice stays."""
        check_is_fitted(self, "fitted_")
        scores = np.asarray(scores, float)
        if scores.shape != (len(self.alphas),) or np.isnan(scores).any():
            raise checks.fail("scores", scores, f"{len(self.alphas)} numbers, one for each alpha")
        targets = self.fitted_.n_targets
        errors = np.repeat(scores[:, None], targets, axis=1)
        chosen = ValidationErrors(errors, measured(np.zeros((1, targets))))
        path = self._path()
        self.fitted_ = replace(self.fitted_, validation=chosen).solved(path, self.per_target)
        return self

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything seen so far by `factor` in (0, 1].

        Called before every `partial_fit`, this is recursive least squares with forgetting: a row
        that came k calls ago counts ``factor ** k``. The alpha stays as it was chosen.
        """
        check_is_fitted(self, "fitted_")
        factor = checks.number("factor", factor, 0, 1, open_left=True)
        if factor < 1:
            self.fitted_ = self.fitted_.forgotten(factor, self._alphas)
        return self

    # -- solving ---------------------------------------------------------------------------------

    @single_threaded_blas()
    def solve(self) -> Self:
        """Solve for every alpha and choose one, if anything was learnt since the last time.

        Whatever needs the solution calls for it; call this yourself only to decide when the time is
        spent, or to have alpha chosen anew from everything seen.
        """
        fitted = self._fitted()
        if fitted.solution is None or fitted.added:
            self.fitted_ = fitted.solved(self._path(), self.per_target)
        return self

    def _fitted(self) -> FittedRidge:
        if not hasattr(self, "fitted_"):
            raise AttributeError(f"this {type(self).__name__} was not fitted yet")
        return self.fitted_

    @property
    def _alphas(self) -> np.ndarray:
        return np.asarray(self.alphas, float)

    def _path(self) -> RidgePath:
        """Solutions for every alpha."""
        fitted = self._fitted()
        if fitted.solution is not None:
            return fitted.solution.path
        return ridge_path(fitted.statistics, self.alphas, self.gamma)

    @single_threaded_blas()
    def _linear(self) -> Linear:
        """The solution of the chosen alpha."""
        fitted = self._fitted()
        if fitted.recursion is not None:
            followed = fitted.recursion.solved(fitted.statistics)
            if followed is not None:
                self.fitted_ = replace(fitted, recursion=followed)
                assert followed.coef is not None
                assert followed.intercept is not None
                return Linear(followed.coef, followed.intercept)
        if fitted.solution is None:
            fitted = self.fitted_ = fitted.chosen(self._alphas, self.per_target, self.gamma)
        assert fitted.solution is not None
        return Linear(fitted.solution.coef, fitted.solution.intercept)

    def _choice(self) -> AlphaChoice:
        """The alphas chosen, after whatever solving that takes."""
        if self._fitted().choice is None:
            self._linear()
        fitted = self.fitted_
        if fitted.choice is not None:
            return fitted.choice
        assert fitted.solution is not None
        return fitted.solution.choice

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for states X (n, features): (n,) or (n, targets)."""
        check_is_fitted(self, "fitted_")
        predicted = inputs.predictions(self.read_out(inputs.further_states(self, X)))
        return predicted[:, 0] if self.fitted_.flat else predicted

    def read_out(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, targets) for states X that need no check: quicker for a single row."""
        fitted = self.fitted_
        if fitted.recursion is not None and X.shape[0] < fitted.n_targets:
            predicted = fitted.recursion.predictions(fitted.statistics, X)
            if predicted is not None:
                return predicted
        coef, intercept = self._linear()
        predicted = triangular.product(X, coef)
        predicted += intercept
        return predicted

    @single_threaded_blas()
    def left_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Predictions for rows that were learnt from, each as if it had been left out.

        In closed form, from the leverage of every row; means and scales of the states stay those of
        all rows. With X, y and weights as they were learnt from, or some of their rows.
        """
        check_is_fitted(self, "fitted_")
        X = inputs.further_states(self, X)
        y = inputs.numeric_targets(y, X.shape[0])
        weight = None
        if sample_weight is not None:
            weight = inputs.row_weights(sample_weight, X)
        alphas = self._choice().alphas
        residuals = (y - self.predict(X)).reshape(len(X), -1)
        seen = self.fitted_.statistics
        left_out = left_out_residuals(seen, alphas, X, residuals, weight).reshape(y.shape)
        return np.asarray(y - left_out)

    def predict_each(self, X: Any) -> list[np.ndarray]:
        """Predictions (n, targets) of every alpha, chosen or not."""
        check_is_fitted(self, "fitted_")
        return self._path().predictions(inputs.further_states(self, X))

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the chosen alpha, (features,) or (targets, features)."""
        coefs = self._linear().coef.T
        return coefs[0] if self.fitted_.flat else coefs

    @property
    def intercept_(self) -> Any:
        """Intercepts of the chosen alpha."""
        intercepts = self._linear().intercept
        return float(intercepts[0]) if self.fitted_.flat else intercepts

    @property
    def alpha_(self) -> Any:
        """The chosen alpha; with `per_target`, one for each."""
        alphas = self._choice().alphas
        return alphas if self.per_target else float(alphas[0])

    @property
    def path_(self) -> RidgePath:
        """Solutions for every alpha."""
        return self._path()

    @property
    def scores_(self) -> np.ndarray:
        """What alpha was chosen by, (alphas, targets)."""
        return self._choice().scores

    @property
    def mean_(self) -> np.ndarray:
        """Mean of the states."""
        return self._moments().mean

    @property
    def scale_(self) -> np.ndarray:
        """Standard deviation of the states."""
        return self._moments().scale

    def _moments(self) -> Any:
        seen = self._fitted().statistics
        factor = seen.factors[-1]
        if factor is None:
            raise ValueError("y must hold a number with weight for the last target, got none")
        return moments(factor, seen.constant)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learnt from."""
        return self.fitted_.statistics.n_samples

    def __sizeof__(self) -> int:
        """Bytes of everything learnt, too: schedulers of tasks ask for it."""
        return object.__sizeof__(self) + held_bytes(self.__dict__)

    def check_parameters(self) -> None:
        """Raise for the first parameter that is not what it must be."""
        inputs.check_alphas(self.alphas)
        checks.flag("per_target", self.per_target)
        checks.choice("nan_targets", self.nan_targets, ("error", "omit"))
        checks.number("gamma", self.gamma, 1.0)
