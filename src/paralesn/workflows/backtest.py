"""Forecasts from every step of a held-out part of a series, beside naive ones.

A naive forecast needs no model: the last value, or the value a season before. Whoever cannot beat
them should not be believed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.estimator import ReservoirForecaster

MODEL, SEASONAL, LAST = "model", "seasonal naive", "last value"
_VALUES = 1 << 21  # forecast values that exist at a time


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be forecast.

    Attributes
    ----------
    y : (time, series), the targets first, then series that are only read
    targets : int
    X : (time or more, inputs), what is known in advance, or None
    horizon : int
    season : int or None
    """

    y: np.ndarray
    targets: int
    X: np.ndarray | None
    horizon: int
    season: int | None

    def known(self, first: int, last: int) -> np.ndarray | None:
        """What is known of the steps first .. last."""
        return None if self.X is None else self.X[first:last]

    def part(self, first: int, last: int) -> "Problem":
        """The same of some of the steps."""
        return Problem(
            self.y[first:last], self.targets, self.known(first, last), self.horizon, self.season
        )

    def scale(self, end: int) -> np.ndarray:
        """Mean change over a season before step `end`, for each target: the unit of MASE."""
        y, lag = self.y[:end, : self.targets], self.season or 1
        if end <= lag:
            lag = 1
        return np.abs(y[lag:] - y[:-lag]).mean(axis=0)


class Errors(NamedTuple):
    """Errors of one way to forecast, for each target."""

    mae: np.ndarray
    rmse: np.ndarray
    mase: np.ndarray  # NaN where the target never changes


class Backtest(NamedTuple):
    """What came out: errors by the way of forecasting, and how many forecasts they are from.

    `inside` is the share of values that intervals held, for each target, None without intervals;
    `newest` the forecast (horizon, targets) of the last steps of the series.
    """

    errors: dict[str, Errors]
    origins: int
    inside: np.ndarray | None
    newest: np.ndarray

    def overall(self, name: str) -> float:
        """One number to compare by: MASE averaged over targets, or MAE where there is none."""
        found = self.errors[name]
        whole = found.mase if np.isfinite(found.mase).all() else found.mae
        return float(whole.mean())

    def naive(self) -> str:
        """The better one of the naive forecasts."""
        return min((name for name in self.errors if name != MODEL), key=self.overall)

    def beats_naive(self) -> bool:
        """Whether the model was better than every naive forecast."""
        return self.overall(MODEL) < self.overall(self.naive())


def rolling(
    model: ReservoirForecaster, problem: Problem, first: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Forecasts from every step on which a whole horizon follows.

    The model has observed the steps before `first`, and goes on observing without learning. Yields
    numbers of steps known and forecasts from there, (n,) and (n, horizon, series).
    """
    h, y = problem.horizon, problem.y
    last = len(y) - h
    yield np.array([first]), model.forecast(X=problem.known(first, first + h)).reshape(1, h, -1)
    size = max(1, min(1 << 15, _VALUES // (h * y.shape[1])))
    for a in range(first, last, size):
        b = min(a + size, last)
        found = model.predict(y[a:b], problem.known(a, b + h), follow=True)
        yield np.arange(a + 1, b + 1), found.reshape(b - a, h, -1)
        if b < last:
            model.update(y[a:b], problem.known(a, b))


def offsets(model: ReservoirForecaster, X: Any, level: float) -> np.ndarray | None:
    """Lower and upper ends (2, horizon, series) of intervals around forecasts, or None."""
    try:
        found = model.forecast(X=X, interval=level)
    except ValueError:  # too few held-out forecasts
        return None
    ends = np.stack([found.lower - found.values, found.upper - found.values])
    return ends.reshape(2, model.horizon_, -1)


def backtest(
    model: ReservoirForecaster, problem: Problem, first: int, level: float | None = None
) -> Backtest:
    """Judge a model that was fitted to the steps before `first` by those from there on."""
    h, d, season = problem.horizon, problem.targets, problem.season
    y = problem.y[:, :d]
    ends = None
    if level is not None:
        ends = offsets(model, problem.known(first, first + h), level)
    names = [MODEL, *([SEASONAL] if season and season <= first else []), LAST]
    absolute, squared = ({name: np.zeros(d) for name in names} for _ in range(2))
    count, inside, newest = 0, np.zeros(d), np.zeros((h, d))
    ahead = np.arange(h)
    for known, forecast in rolling(model, problem, first):
        truth = y[known[:, None] + ahead]  # (n, horizon, targets)
        found = {MODEL: forecast[:, :, :d], LAST: y[known - 1][:, None]}
        if SEASONAL in names and season:
            found[SEASONAL] = y[known[:, None] + ahead - season * (ahead // season + 1)]
        for name in names:
            off = truth - found[name]
            absolute[name] += np.abs(off).sum(axis=(0, 1))
            squared[name] += (off**2).sum(axis=(0, 1))
        if ends is not None:
            off = truth - found[MODEL]
            inside += ((off >= ends[0, :, :d]) & (off <= ends[1, :, :d])).sum(axis=(0, 1))
        count, newest = count + len(known), forecast[-1, :, :d]
    scale = problem.scale(first)
    errors = {}
    for name in names:
        mae = absolute[name] / (count * h)
        mase = np.divide(mae, scale, out=np.full(d, np.nan), where=scale > 0)
        errors[name] = Errors(mae, np.sqrt(squared[name] / (count * h)), mase)
    return Backtest(errors, count, None if ends is None else inside / (count * h), newest)
