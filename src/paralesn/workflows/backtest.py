"""Backtests: forecasts from every step of a held-out part of a series, beside naive ones.

A naive forecast needs no model: it repeats the last value, or the value one season before. A model
that does not beat both is of no use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster.forecaster import StateForecaster

MODEL, SEASONAL, LAST = "model", "seasonal naive", "last value"
_VALUES = 1 << 21  # forecast values that exist at a time


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be forecast.

    Attributes
    ----------
    y : array (time, series)
        The targets first, then series that are only read.
    targets : int
        Number of targets.
    X : array (time or more, inputs) or None
        Inputs that are known in advance.
    horizon : int
        Steps to forecast.
    season : int or None
        Steps of a season.
    """

    y: np.ndarray
    targets: int
    X: np.ndarray | None
    horizon: int
    season: int | None

    def inputs(self, first: int, last: int) -> np.ndarray | None:
        """Known inputs of the steps first .. last - 1, or None."""
        return None if self.X is None else self.X[first:last]

    def between(self, first: int, last: int) -> "Problem":
        """The same problem on the steps first .. last - 1."""
        return Problem(
            self.y[first:last], self.targets, self.inputs(first, last), self.horizon, self.season
        )

    def scale(self, end: int) -> np.ndarray:
        """Mean absolute change over a season before step `end`, by target: the unit of MASE."""
        y, lag = self.y[:end, : self.targets], self.season or 1
        if end <= lag:
            lag = 1
        return np.abs(y[lag:] - y[:-lag]).mean(axis=0)


class Errors(NamedTuple):
    """Mean absolute error, root mean squared error and mean absolute scaled error, by target.

    MASE is MAE divided by the mean absolute change over a season in the training part (over one
    step without a season); NaN where the target never changes.
    """

    mae: np.ndarray
    rmse: np.ndarray
    mase: np.ndarray


@dataclass(frozen=True, eq=False)
class BacktestResult:
    """Errors of a model and of naive forecasts on the same held-out steps.

    Attributes
    ----------
    errors : dict of str to Errors
        By method: ``"model"``, ``"seasonal naive"`` where there is a season, ``"last value"``.
    origins : int
        Number of steps that forecasts were made from.
    coverage : array (targets,) or None
        Share of values inside the model's intervals; None without intervals.
    latest : array (horizon, targets)
        The model's forecast of the last steps of the series.
    """

    errors: dict[str, Errors]
    origins: int
    coverage: np.ndarray | None
    latest: np.ndarray

    def overall(self, method: str) -> float:
        """One number to compare methods by: mean MASE over targets, or MAE where there is none."""
        errors = self.errors[method]
        by_target = errors.mase if np.isfinite(errors.mase).all() else errors.mae
        return float(by_target.mean())

    def best_naive(self) -> str:
        """The better naive method."""
        return min((method for method in self.errors if method != MODEL), key=self.overall)

    def beats_naive(self) -> bool:
        """Whether the model was better than every naive method."""
        return self.overall(MODEL) < self.overall(self.best_naive())


def backtest(
    model: StateForecaster, problem: Problem, first: int, interval: float | None = None
) -> BacktestResult:
    """Judge a forecaster by the steps of a series that it was not fitted to.

    Parameters
    ----------
    model : StateForecaster
        Fitted to the steps before `first`. It reads the later ones without learning from them.
    problem : Problem
    first : int
        First step of the test part, which must be at least as long as the horizon.
    interval : float, optional
        Share of values that intervals should hold; their coverage is then measured.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.workflows.backtest import Problem, backtest
    >>> y = np.sin(np.arange(500) / 7)[:, None]
    >>> problem = Problem(y, targets=1, X=None, horizon=5, season=None)
    >>> model = pe.StateForecaster(horizon=5).fit(y[:400])
    >>> result = backtest(model, problem, 400)
    >>> result.origins, result.beats_naive()
    (96, True)
    """
    bounds = None
    if interval is not None:
        ahead = problem.inputs(first, first + problem.horizon)
        bounds = interval_offsets(model, ahead, interval)
    tally = _Tally(problem, first, bounds)
    for origins, forecasts in forecast_origins(model, problem, first):
        tally.add(origins, forecasts[:, :, : problem.targets])
    return tally.result()


def forecast_origins(
    model: StateForecaster, problem: Problem, first: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Forecast from every step from `first` on that a whole horizon follows.

    The model has observed the steps before `first`, and reads further ones without learning.
    Yields origins (n,), the numbers of steps known, and forecasts (n, horizon, series) from there.
    """
    h, y = problem.horizon, problem.y
    last = len(y) - h
    yield np.array([first]), model.forecast(X=problem.inputs(first, first + h)).reshape(1, h, -1)
    size = max(1, min(1 << 15, _VALUES // (h * y.shape[1])))
    for a in range(first, last, size):
        b = min(a + size, last)
        forecasts = model.predict(y[a:b], problem.inputs(a, b + h), follow=True)
        yield np.arange(a + 1, b + 1), forecasts.reshape(b - a, h, -1)
        if b < last:
            model.update(y[a:b], problem.inputs(a, b))


def interval_offsets(model: StateForecaster, X: Any, level: float) -> np.ndarray | None:
    """Lower and upper bounds (2, horizon, series) relative to forecasts; None without intervals."""
    try:
        forecast = model.forecast(X=X, interval=level)
    except ValueError:  # too few held-out forecasts
        return None
    offsets = np.stack([forecast.lower - forecast.values, forecast.upper - forecast.values])
    return offsets.reshape(2, model.horizon_, -1)


class _Tally:
    """Sums of errors over blocks of forecasts."""

    def __init__(self, problem: Problem, first: int, bounds: np.ndarray | None) -> None:
        d, season = problem.targets, problem.season
        self._problem, self._first = problem, first
        self._y, self._ahead = problem.y[:, :d], np.arange(problem.horizon)
        self._bounds = None if bounds is None else bounds[:, :, :d]
        is_seasonal = season is not None and season <= first
        self._methods = [MODEL, *([SEASONAL] if is_seasonal else []), LAST]
        self._absolute = {method: np.zeros(d) for method in self._methods}
        self._squared = {method: np.zeros(d) for method in self._methods}
        self._inside, self._origins = np.zeros(d), 0
        self._latest = np.zeros((problem.horizon, d))

    def add(self, origins: np.ndarray, forecasts: np.ndarray) -> None:
        """Compare forecasts (n, horizon, targets) from steps (n,) with the truth."""
        truth = self._y[origins[:, None] + self._ahead]  # (n, horizon, targets)
        for method in self._methods:
            error = truth - self._forecast(method, origins, forecasts)
            self._absolute[method] += np.abs(error).sum(axis=(0, 1))
            self._squared[method] += (error**2).sum(axis=(0, 1))
        if self._bounds is not None:
            error = truth - forecasts
            is_inside = (error >= self._bounds[0]) & (error <= self._bounds[1])
            self._inside += is_inside.sum(axis=(0, 1))
        self._origins += len(origins)
        self._latest = forecasts[-1]

    def _forecast(self, method: str, origins: np.ndarray, forecasts: np.ndarray) -> np.ndarray:
        if method == MODEL:
            return forecasts
        if method == LAST:
            return self._y[origins - 1][:, None]
        season = self._problem.season or 1
        return self._y[origins[:, None] + self._ahead - season * (self._ahead // season + 1)]

    def result(self) -> BacktestResult:
        """The errors, averaged."""
        count, scale = self._origins * self._problem.horizon, self._problem.scale(self._first)
        errors = {}
        for method in self._methods:
            mae = self._absolute[method] / count
            mase = np.divide(mae, scale, out=np.full(mae.size, np.nan), where=scale > 0)
            errors[method] = Errors(mae, np.sqrt(self._squared[method] / count), mase)
        coverage = None if self._bounds is None else self._inside / count
        return BacktestResult(errors, self._origins, coverage, self._latest)
