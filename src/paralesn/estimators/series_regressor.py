"""Regression of whole series: a number, or several, for each of them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from paralesn.estimators import defaults
from paralesn.estimators.components import check_readout
from paralesn.estimators.series_readout import SeriesReadout, check_weighs, fit_readout
from paralesn.missing import ERROR, MissingValues
from paralesn.persistence import register
from paralesn.readouts import inputs
from paralesn.readouts.dual_ridge import DualRidge


@register
@dataclass(frozen=True, eq=False)
class FittedSeriesRegressor:
    """Fitted features and readout, and the targets' means and scales (targets,).

    `is_flat` says whether targets came without an axis of their own.
    """

    features: Any
    readout: Any
    mean: np.ndarray
    scale: np.ndarray
    is_flat: bool
    missing: MissingValues | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        check_readout(self.readout, self.features.n_features_out_)
        right = self.mean.ndim == 1 and self.mean.shape == self.scale.shape
        if not right or (self.is_flat and self.mean.size != 1) or not (self.scale > 0).all():
            raise ValueError("the targets' means and scales do not fit together")
        if self.missing is not None:
            self.missing.check(self.features.n_features_in_)


@register
class ReservoirSeriesRegressor(MultiOutputMixin, RegressorMixin, SeriesReadout):
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
        features, readout, source, missing = self._begin(X, "regression")
        targets = _targets(y, len(source))
        weight = None
        if sample_weight is not None:
            check_weighs(readout, "sample_weight needs")
            weight = inputs.row_weights(sample_weight, targets)
        mean, scale = np.zeros(targets[0].size), np.ones(targets[0].size)
        if isinstance(readout, DualRidge):
            mean, scale = _measured(targets, weight)
        scaled = ((targets.reshape(len(targets), -1) - mean) / scale).reshape(targets.shape)
        fit_readout(features, readout, source, scaled, weight)
        is_flat = targets.ndim == 1
        self.fitted_ = FittedSeriesRegressor(features, readout, mean, scale, is_flat, missing)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the series X: (batch,) or (batch, targets)."""
        predicted = self._read_out(X, lambda rows: self.readout_.predict(rows))
        fitted = self.fitted_
        restored = predicted.reshape(len(predicted), -1) * fitted.scale + fitted.mean
        return restored[:, 0] if fitted.is_flat else restored


def _targets(y: Any, count: int) -> np.ndarray:
    """Targets (n,) or (n, targets) of so many series."""
    targets = inputs.numeric_targets(y)
    if len(targets) != count:
        raise ValueError(f"y must hold a target for each of the {count} series, got {len(targets)}")
    return targets


def _measured(targets: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (targets,), the latter 1 where nothing varies."""
    columns = targets.reshape(len(targets), -1)
    mean = np.average(columns, axis=0, weights=weight)
    spread = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
