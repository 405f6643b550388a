"""Regression of whole series: a number, or several, for each of them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from paralesn.estimators import defaults
from paralesn.estimators.components import check_features, check_readout
from paralesn.estimators.series_readout import SeriesReadout
from paralesn.estimators.series_targets import NumberSurvey, NumberTask
from paralesn.missing import ERROR, MissingValues
from paralesn.persistence import register
from paralesn.persistence.fields import Floats
from paralesn.readouts import inputs


@register
@dataclass(frozen=True, eq=False)
class FittedSeriesRegressor:
    """Fitted features and readout, and the targets' means and scales (targets,).

    `is_flat` says whether targets came without an axis of their own.
    """

    features: Any
    readout: Any
    mean: Floats
    scale: Floats
    is_flat: bool
    missing: MissingValues | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        check_features(self.features)
        check_readout(self.readout, self.features.n_features_out_)
        right = self.mean.ndim == 1 and self.mean.shape == self.scale.shape
        if not right or (self.is_flat and self.mean.size != 1) or not (self.scale > 0).all():
            raise ValueError("the targets' means and scales do not fit together")
        if self.missing is not None:
            self.missing.check(self.features.n_features_in_)


@register
class ReservoirSeriesRegressor(
    inputs.CheckedScore, MultiOutputMixin, RegressorMixin, SeriesReadout
):
    """Predict a number, or several, for every series: features of each, and a linear readout.

    `ReservoirRegressor` predicts a target at every time step instead.

    Parameters
    ----------
    features : FilterBank or PooledStates, optional
        What describes a series; any transformer of series with `fit`, `transform` and `blocks`
        will do. Default: `FilterBank(levels=True)`.
    readout : regressor, optional
        Default: `DualRidge` on a `FilterBank`, otherwise `Ridge` with penalties from 0.1 to 1e5.
        A `DualRidge` is fitted to targets brought to unit variance, so that none of several
        dominates the choice of the penalty; any other regressor to targets as they are.
    missing : "error", "interpolate" or "mask"
        What to do about missing values (NaN, None): refuse them; fill them in between their
        neighbours in time, at the ends by the nearest value; or read them as the mean of their
        series, with an additional channel for each that had missing values, 1 where one is missing.

    Attributes
    ----------
    features_, readout_ : the fitted ones
    n_features_in_ : int
        Features (channels) of a time step.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> rng = np.random.default_rng(0)
    >>> period = rng.uniform(10, 30, 80)
    >>> X = np.sin(2 * np.pi * np.arange(150) / period[:, None] + rng.uniform(0, 6, (80, 1)))
    >>> model = pe.ReservoirSeriesRegressor().fit(X[:60], period[:60])
    >>> model.score(X[60:], period[60:]) > 0.98
    True
    """

    fitted_: FittedSeriesRegressor
    DEFAULT_COMPONENTS: ClassVar = {
        "features": lambda model: defaults.series_regressing_features(),
        "readout": lambda model: defaults.classifying_readout(model.component("features")),
    }

    def __init__(self, features: Any = None, readout: Any = None, *, missing: str = ERROR) -> None:
        self.features = features
        self.readout = readout
        self.missing = missing

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to series X and their targets y.

        Parameters
        ----------
        X : array-like (batch, time, features), (batch, time) for univariate series, or a list of
            arrays (time, features) or (time,), of equal length or not
        y : array-like (batch,) or (batch, targets)
        sample_weight : array (batch,), optional
        """
        self._fit(X, y, sample_weight)
        return self

    def _task(self) -> NumberTask:
        return NumberTask()

    def is_flat(self, survey: NumberSurvey) -> bool:
        """Whether targets came without an axis of their own."""
        return survey.is_flat

    def restored_targets(self, Y: np.ndarray, survey: NumberSurvey, readout: Any) -> np.ndarray:
        """Targets (n, targets) as a readout of another library takes them."""
        return Y[:, 0] if survey.is_flat else Y

    def assembled(
        self, features: Any, readout: Any, survey: NumberSurvey, missing: MissingValues | None,
        left_out: Any, kept: Any,
    ) -> FittedSeriesRegressor:  # fmt: skip
        """What was learnt, from what passes over the series led to."""
        mean, scale = NumberTask().scale(survey, readout)
        return FittedSeriesRegressor(features, readout, mean, scale, survey.is_flat, missing)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the series X: (batch,) or (batch, targets)."""
        predicted = self._read_out(X, lambda rows: self.readout_.predict(rows))
        fitted = self.fitted_
        restored = predicted.reshape(len(predicted), -1) * fitted.scale + fitted.mean
        return restored[:, 0] if fitted.is_flat else restored
