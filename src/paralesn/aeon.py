"""Classifier, regressor and forecaster with aeon's shapes (cases, channels, time) and conventions.

Needs the extra ``aeon``: ``pip install 'paralesn[aeon]'``.
"""

from copy import copy
from typing import Any

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.estimators.series_regressor import ReservoirSeriesRegressor
from paralesn.features.filter_bank import FilterBank
from paralesn.files import require

require("aeon", "aeon", purpose="paralesn.aeon")
from aeon.classification.base import BaseClassifier  # noqa: E402
from aeon.forecasting.base import (  # noqa: E402
    BaseForecaster,
    DirectForecastingMixin,
    IterativeForecastingMixin,
    SeriesToSeriesForecastingMixin,
)
from aeon.regression.base import BaseRegressor  # noqa: E402
from aeon.utils.validation import check_n_jobs  # noqa: E402

_OF_WHOLE_SERIES = {
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:multithreading": True,
    "algorithm_type": "convolution",
    "X_inner_type": ["np-list", "numpy3D"],
}


class ParalESNClassifier(BaseClassifier):
    """Classify series by a filter bank and a ridge readout: `ReservoirClassifier` for aeon.

    Parameters
    ----------
    units : int
        Number of filters, a multiple of 64.
    thresholds : int
        Thresholds of each filter's response.
    class_weight : None, "balanced" or dict
        Weights of the classes.
    n_jobs : int
        Threads; -1 is every core.
    random_state : int or None
        Seed of the filters.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.aeon import ParalESNClassifier  # doctest: +SKIP
    >>> X = np.random.default_rng(0).normal(size=(20, 1, 50))  # (cases, channels, time)
    >>> ParalESNClassifier().fit(X, [0, 1] * 10).predict(X)  # doctest: +SKIP
    """

    _tags = _OF_WHOLE_SERIES

    def __init__(
        self,
        units: int = 2048,
        thresholds: int = 4,
        class_weight: Any = None,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.units = units
        self.thresholds = thresholds
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: np.ndarray) -> "ParalESNClassifier":
        model = ReservoirClassifier(_bank(self), class_weight=self.class_weight)
        self.model_ = model.fit(_time_first(X), y)
        return self

    def _predict(self, X: Any) -> np.ndarray:
        return self.model_.predict(_time_first(X))

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_proba(_time_first(X))

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"units": 64, "thresholds": 2}


class ParalESNRegressor(BaseRegressor):
    """Predict a number for every series: `ReservoirSeriesRegressor` for aeon.

    Parameters
    ----------
    units : int
        Number of filters, a multiple of 64.
    thresholds : int
        Thresholds of each filter's response.
    n_jobs : int
        Threads; -1 is every core.
    random_state : int or None
        Seed of the filters.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.aeon import ParalESNRegressor  # doctest: +SKIP
    >>> X = np.random.default_rng(0).normal(size=(20, 1, 50))  # (cases, channels, time)
    >>> ParalESNRegressor().fit(X, X.std(axis=(1, 2))).predict(X)  # doctest: +SKIP
    """

    _tags = _OF_WHOLE_SERIES

    def __init__(
        self,
        units: int = 2048,
        thresholds: int = 4,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.units = units
        self.thresholds = thresholds
        self.n_jobs = n_jobs
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: np.ndarray) -> "ParalESNRegressor":
        self.model_ = ReservoirSeriesRegressor(_bank(self, levels=True)).fit(_time_first(X), y)
        return self

    def _predict(self, X: Any) -> np.ndarray:
        return self.model_.predict(_time_first(X))

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"units": 64, "thresholds": 2}


class ParalESNForecaster(
    DirectForecastingMixin,
    IterativeForecastingMixin,
    SeriesToSeriesForecastingMixin,
    BaseForecaster,
):
    """Forecast by smoothers and a reservoir: `ReservoirForecaster` for aeon.

    `predict(y)` forecasts the step `horizon` after y. Where y begins with the series of `fit`, the
    model goes on over what follows; any other y is a series never seen, forecast by what was
    learnt. `series_to_series_forecast` gives all steps of a horizon at once. NaN is a missing
    value.

    Inputs (`exog`) are not taken: `predict` gets those of the target step alone, and the model
    needs those of every step that follows `fit`. `paralesn.ReservoirForecaster` takes them.

    Parameters
    ----------
    horizon : int
        The step ahead to forecast.
    season : "auto", int or sequence of int
        Steps of the season, or of several; 1: none.
    reservoir, readout : as in `ReservoirForecaster`
    n_jobs : int
        Threads; -1 is every core. The result does not depend on it.

    Attributes
    ----------
    model_ : ReservoirForecaster
        The fitted model, with `weights_`, `season_` and `notes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.aeon import ParalESNForecaster  # doctest: +SKIP
    >>> y = np.sin(np.arange(200) / 5)
    >>> ParalESNForecaster(horizon=3).forecast(y)  # doctest: +SKIP
    >>> ParalESNForecaster().series_to_series_forecast(y, 12)  # doctest: +SKIP
    """

    _tags = {  # noqa: RUF012
        "capability:missing_values": True,
        "capability:multithreading": True,
    }

    def __init__(
        self,
        horizon: int = 1,
        season: Any = "auto",
        reservoir: Any = None,
        readout: Any = None,
        n_jobs: int = 1,
    ) -> None:
        self.season = season
        self.reservoir = reservoir
        self.readout = readout
        self.n_jobs = n_jobs
        super().__init__(horizon=horizon, axis=1)

    def _fit(self, y: np.ndarray, exog: Any = None) -> "ParalESNForecaster":
        self._n_jobs = check_n_jobs(self.n_jobs)
        self.model_ = self._fitted(y[0], self.horizon)
        self._seen = np.array(y[0])
        return self

    def _fitted(self, y: np.ndarray, horizon: int) -> ReservoirForecaster:
        model = ReservoirForecaster(
            self.reservoir,
            self.readout,
            horizon=horizon,
            season=self.season,
            n_jobs=check_n_jobs(self.n_jobs),
        )
        return model.fit(y)

    def _predict(self, y: np.ndarray, exog: Any = None) -> float:
        series, seen = y[0], len(self._seen)
        if not np.array_equal(series[:seen], self._seen, equal_nan=True):
            return float(self.model_.forecast(self.horizon, y=series)[-1])
        model = self.model_
        if len(series) > seen:
            model = copy(model).update(series[seen:])  # which replaces what the copy learnt
        return float(model.forecast(self.horizon)[-1])

    def _series_to_series_forecast(
        self, y: Any, prediction_horizon: int, exog: Any = None
    ) -> np.ndarray:
        series, _ = self._preprocess_forecasting_input(y, exog, 1, True)
        return np.asarray(self._fitted(series[0], prediction_horizon).forecast())

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        from paralesn.readouts.ridge import Ridge
        from paralesn.reservoirs.paralesn import ParalESN

        own = {"reservoir": ParalESN(units=10, seed=0), "readout": Ridge((0.1,))}
        return [{}, {**own, "horizon": 3, "season": 4}]


def _bank(model: Any, levels: bool = False) -> FilterBank:
    """The filter bank of a model's parameters; `_n_jobs` is set on the model, as aeon demands."""
    model._n_jobs = check_n_jobs(model.n_jobs)
    return FilterBank(
        model.units,
        thresholds=model.thresholds,
        levels=levels,
        n_jobs=model._n_jobs,
        seed=model.random_state,
    )


def _time_first(X: Any) -> Any:
    """Series (channels, time) as (time, channels), whether stacked or in a list."""
    if isinstance(X, np.ndarray):
        return X.transpose(0, 2, 1)
    return [np.asarray(x).T for x in X]
