"""Ridge regression that digests blocks, merges, forgets, and solves for every alpha at once."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from paralesn.persistence import register_estimator
from paralesn.readouts import triangular
from paralesn.readouts import validation as judging
from paralesn.readouts.rollback import unharmed
from paralesn.readouts.solve import Solution, check_alphas, solve

_ROWS = 8192  # rows digested at a time


class Ridge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Linear readout with an l2 penalty, trained in one pass, the penalty chosen from several.

    Minimises :math:`\|y - Z w - b\|^2 + \alpha \|w\|^2` over standardised states Z (zero mean, unit
    variance, ddof 0) with a free intercept b. All it keeps of the data is the triangular factor of
    the rows [1, z, y]: means, standard deviations, the solution for every alpha and the training
    error come out of it, and two such factors merge into one.

    alpha = 0 is the minimum-norm least-squares solution; singular values of the standardised states
    below ``eps * max(n, p)`` times the largest count as zero. A state without variance gets the
    coefficient zero.

    Parameters
    ----------
    alphas : sequence of float
        Penalties to choose from.
    per_target : bool
        Choose one alpha per target instead of one for all.
    nan_targets : "error" or "omit"
        With "omit", a row whose target is NaN is left out for that target only.

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
    n_samples_seen_ : int

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

    def __init__(
        self,
        alphas: Sequence[float] = (0, 0.01, 0.1, 1, 10, 100),
        *,
        per_target: bool = False,
        nan_targets: str = "error",
    ) -> None:
        self.alphas = alphas
        self.per_target = per_target
        self.nan_targets = nan_targets

    # -- digesting -------------------------------------------------------------------------------

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
        with unharmed(self):
            for name in ("_factors", "n_features_in_", "_solved"):
                self.__dict__.pop(name, None)
            self.partial_fit(X, y, sample_weight)
            if validation is not None:
                try:
                    X_held, y_held = validation
                except (TypeError, ValueError):
                    raise ValueError("validation must be None or a pair (X, y)") from None
                self.validate(X_held, y_held)
            self._solution()
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a block of rows to what was seen so far."""
        self._check_parameters()
        with unharmed(self):
            self._learn(X, y, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "_factors")
        X = validate_data(self, X, reset=first, dtype=_FLOATS)
        y, flat = self._targets(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"y must have as many rows as X ({X.shape[0]}), got {y.shape[0]}")
        if first:
            self._flat, self._n_targets, self.n_samples_seen_, self._rows = flat, y.shape[1], 0, 0.0
            self._judged: dict[str, np.ndarray] | None = None
            # Targets among themselves are of no interest: many of them go in groups.
            size = 1 if self.nan_targets == "omit" else max(X.shape[1], 64)
            targets = list(range(y.shape[1]))
            self._groups = [targets[i : i + size] for i in range(0, y.shape[1], size)]
            self._factors: list[np.ndarray | None] = [None] * len(self._groups)
            self._first_row, self._constant = X[0].astype(float), np.ones(X.shape[1], bool)
        elif y.shape[1] != self._n_targets:
            raise ValueError(f"y must have {self._n_targets} targets as before, got {y.shape[1]}")
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            weight = np.sqrt(weight)
        # Copies: what is changed in place could not be taken back.
        self._factors, self._constant = list(self._factors), self._constant.copy()
        for start in range(0, X.shape[0], _ROWS):
            cut = slice(start, start + _ROWS)
            self._digest(X[cut], y[cut], None if weight is None else weight[cut])
        triangular.watch_constants(X, self._first_row, self._constant)
        self.n_samples_seen_ += X.shape[0]
        self._rows += float(X.shape[0] if weight is None else np.count_nonzero(weight))
        self._solved: Solution | None = None

    def _digest(self, X: np.ndarray, y: np.ndarray, root_weight: np.ndarray | None) -> None:
        """Absorb the rows [1, z, y], one factor for each group of targets."""
        p = X.shape[1]
        for g, targets in enumerate(self._groups):
            known = slice(None)
            if self.nan_targets == "omit":
                known = ~np.isnan(y[:, targets[0]])

            def rows(known: Any = known, targets: list[int] = targets) -> np.ndarray:
                states = X[known]
                block = np.empty((states.shape[0], 1 + p + len(targets)))
                block[:, 0] = 1.0
                block[:, 1 : p + 1] = states
                block[:, p + 1 :] = y[known][:, targets]
                if root_weight is not None:
                    block *= root_weight[known, None]
                return block

            if self.nan_targets != "omit" or known.any():  # type: ignore[attr-defined]
                self._factors[g] = triangular.absorb(self._factors[g], rows, p + 1)

    def merge(self, other: "Ridge") -> Self:
        """Add everything another readout has seen; it is left as it was."""
        check_is_fitted(self, "n_features_in_")
        if not isinstance(other, Ridge):
            raise TypeError(f"other must be a Ridge, got {type(other).__name__}")
        check_is_fitted(other, "n_features_in_")
        mine = (self.n_features_in_, self._n_targets, len(self._groups))
        theirs = (other.n_features_in_, other._n_targets, len(other._groups))
        if mine != theirs:
            raise ValueError(
                "other must have seen as many features and targets, with the same nan_targets: "
                f"expected {mine[:2]}, got {theirs[:2]}"
            )
        for g, (a, b) in enumerate(zip(self._factors, other._factors, strict=True)):
            self._factors[g] = (
                triangular.stack(a, b, self.n_features_in_ + 1)
                if a is not None and b is not None
                else (a if b is None else b.copy())
            )
        self._constant &= other._constant & (self._first_row == other._first_row)
        self.n_samples_seen_ += other.n_samples_seen_
        self._rows += other._rows
        self._solved = None
        return self

    def validate(self, X: Any, y: Any) -> Self:
        """Judge every alpha, as solved from what was seen, by data that was not; choose by that.

        Errors add up over calls, and the choice stays when more is learnt, until the next `fit`.
        """
        X = self._states(X)
        y = self._targets(y)[0]
        if y.shape != (X.shape[0], self._n_targets):
            expected = f"{X.shape[0]} rows of {self._n_targets} targets"
            raise ValueError(f"validation data must hold {expected}, got y of shape {y.shape}")
        self._judged = judging.judge(self._solution(), X, y, self._judged)
        self._choose(self._solution())
        return self

    def choose_as(self, other: "Ridge") -> Self:
        """Choose alpha by the validation data another readout was judged by."""
        if not isinstance(other, Ridge) or getattr(other, "_judged", None) is None:
            raise ValueError(f"other must be a Ridge with validation data, got {other!r}")
        if other._n_targets != self._n_targets or len(other.alphas) != len(self.alphas):
            raise ValueError("other must have as many alphas and targets")
        self._judged, self._solved = other._judged, None
        return self

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything seen so far by `factor` in (0, 1].

        Called before every `partial_fit`, this is recursive least squares with forgetting.
        """
        check_is_fitted(self, "n_features_in_")
        if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < factor <= 1:
            raise ValueError(f"factor must be a number in (0, 1], got {factor!r}")
        root = float(factor) ** 0.5
        self._factors = [None if f is None else f * root for f in self._factors]
        self._rows *= float(factor)
        self._solved = None
        return self

    # -- solving ---------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for states X (n, features): (n,) or (n, targets)."""
        X = self._states(X)
        predicted = triangular.product(X, self._chosen(self._solution().coefs))
        predicted += self.intercept_
        return predicted[:, 0] if self._flat else predicted

    def predict_each(self, X: Any) -> list[np.ndarray]:
        """Predictions (n, targets) of every alpha, chosen or not."""
        X = self._states(X)
        return judging.predictions(self._solution(), X)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the chosen alpha, (features,) or (targets, features)."""
        coefs = self._chosen(self._solution().coefs).T
        return coefs[0] if self._flat else coefs

    @property
    def intercept_(self) -> Any:
        """Intercepts of the chosen alpha."""
        intercepts = self._chosen(self._solution().intercepts[:, None])[0]
        return float(intercepts[0]) if self._flat else intercepts

    @property
    def alpha_(self) -> Any:
        """The chosen alpha; with `per_target`, one for each."""
        self._solution()
        alphas = self._solved_for
        return alphas[self._best] if self.per_target else float(alphas[self._best[0]])

    @property
    def scores_(self) -> np.ndarray:
        """What alpha was chosen by, (alphas, targets)."""
        self._solution()
        return self._scores

    @property
    def mean_(self) -> np.ndarray:
        """Mean of the states."""
        self._solution()
        return self._mean

    @property
    def scale_(self) -> np.ndarray:
        """Standard deviation of the states."""
        self._solution()
        return self._scale

    def _chosen(self, values: np.ndarray) -> np.ndarray:
        """Of (alphas, k, targets) what belongs to each target's alpha: (k, targets)."""
        return np.stack([values[a, :, t] for t, a in enumerate(self._best)], axis=-1)

    def _solution(self) -> Solution:
        """Solve if anything was seen since the last time, and choose alpha."""
        if not hasattr(self, "_factors"):
            raise AttributeError("this Ridge was not fitted yet")
        if self._solved is None:
            p, alphas = self.n_features_in_, np.asarray(self.alphas, float)
            shape = len(alphas), p, self._n_targets
            solved = Solution(np.zeros(shape), np.zeros(shape[::2]), np.zeros(shape[::2]))
            for targets, factor in zip(self._groups, self._factors, strict=True):
                if factor is None:
                    raise ValueError(f"y must hold a number for target {targets[0]}, got only NaN")
                part, self._mean, self._scale = solve(
                    factor, self._constant, alphas, self.n_samples_seen_, self._rows
                )
                for mine, new in zip(solved, part, strict=True):
                    mine[..., targets] = new
            self._solved, self._solved_for = solved, alphas
            self._choose(solved)
        return self._solved

    def _choose(self, solved: Solution) -> None:
        self._scores = solved.gcv
        if self._judged is not None:
            self._scores = judging.scores(self._judged)
        if self.per_target:
            self._best = self._scores.argmin(axis=0)
        else:
            self._best = np.full(self._n_targets, self._scores.mean(axis=1).argmin())

    # What a saved model holds besides its parameters.
    LEARNT = (
        "n_features_in_", "feature_names_in_", "n_samples_seen_", "_factors", "_groups", "_flat",
        "_n_targets", "_first_row", "_constant", "_rows", "_judged", "_saved_solution",
    )  # fmt: skip

    @property
    def _saved_solution(self) -> dict[str, np.ndarray]:
        """The solution as it stands, so that a loaded model predicts the same to the last bit."""
        solved = self._solution()
        more = {
            "mean": self._mean,
            "scale": self._scale,
            "scores": self._scores,
            "best": self._best,
            "alphas": self._solved_for,
        }
        return {**solved._asdict(), **more}

    @_saved_solution.setter
    def _saved_solution(self, found: dict[str, np.ndarray]) -> None:
        self._solved = Solution(found["coefs"], found["intercepts"], found["gcv"])
        self._mean, self._scale = found["mean"], found["scale"]
        self._scores, self._best = found["scores"], found["best"]
        self._solved_for = found["alphas"]

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        self._check_parameters()
        p, m, solved = self.n_features_in_, self._n_targets, self._solution()
        alphas = len(self.alphas)
        right = (
            sorted(t for group in self._groups for t in group) == list(range(m))
            and len(self._factors) == len(self._groups)
            and all(
                factor is None
                or (factor.ndim == 2 and 1 <= len(factor) <= factor.shape[1] == 1 + p + len(group))
                for factor, group in zip(self._factors, self._groups, strict=True)
            )
            and solved.coefs.shape == (alphas, p, m)
            and solved.intercepts.shape == solved.gcv.shape == self._scores.shape == (alphas, m)
            and self._mean.shape == self._scale.shape == (p,)
            and self._first_row.shape == self._constant.shape == (p,)
            and self._best.shape == (m,)
            and self._solved_for.shape == (alphas,)
            and judging.fits(self._judged, alphas, m)
            and all(0 <= best < alphas for best in self._best)
        )
        if not right:
            raise ValueError("the arrays of a Ridge do not fit together")

    # -- checks ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_alphas(self.alphas)
        if not isinstance(self.per_target, (bool, np.bool_)):
            raise ValueError(f"per_target must be True or False, got {self.per_target!r}")
        if self.nan_targets not in ("error", "omit"):
            raise ValueError(f"nan_targets must be 'error' or 'omit', got {self.nan_targets!r}")

    def _states(self, X: Any) -> np.ndarray:
        """States of a fitted readout, checked."""
        check_is_fitted(self, "n_features_in_")
        return validate_data(self, X, reset=False, dtype=_FLOATS)

    def _targets(self, y: Any) -> tuple[np.ndarray, bool]:
        """Targets as (n, targets), and whether they came flat."""
        finite: Any = "allow-nan" if self.nan_targets == "omit" else True
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        array = check_array(
            y, ensure_2d=False, dtype=float, ensure_all_finite=finite, input_name="y"
        )
        if array.ndim not in (1, 2):
            raise ValueError(f"y must be (n,) or (n, targets), got shape {array.shape}")
        return array.reshape(array.shape[0], -1), array.ndim == 1


_FLOATS = (np.float64, np.float32)


register_estimator(Ridge, Ridge.LEARNT, Ridge._check_learnt)
