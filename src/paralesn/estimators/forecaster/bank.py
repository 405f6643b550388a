"""The bank of smoothers: weighed by the errors of their forecasts from rolling origins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster import intermittent
from paralesn.estimators.forecaster.rolling import evidence, future_of
from paralesn.layers.smoothers import LEVEL, SEASON, TREND, Origins, SmootherLayer, smoother_grid
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats

_KEPT = 96  # smoothers with the largest weights, none below a twentieth of the largest
_NAIVE = 45.0  # the seasonal naive counts as much as so many smoothers


def _kernels() -> Any:
    """The engine's functions of smoothers; it compiles kernels, and is slow to import."""
    from paralesn.engines.cpu import smoothers

    return smoothers


@register
@dataclass(frozen=True, eq=False)
class FittedBank:
    """Smoothers of one series, what each counts, and where they are.

    Attributes
    ----------
    layer : SmootherLayer
        The smoothers that count, at most 96.
    weights : (M,)
    state : (rows, M)
        After the last step.
    periods, naive_weights : (P,)
        Seasonal naives (1: the last value), and what each counts. All weights sum to 1.
    flat_weights : (F,)
        What the flat forecasts of `intermittent` count; empty for other series.
    count : int
        Steps seen.
    """

    layer: SmootherLayer
    weights: Floats
    state: Floats
    periods: Counts
    naive_weights: Floats
    flat_weights: Floats
    count: Count

    @property
    def log_share(self) -> float:
        """Share of the weights that reads logarithms."""
        return float(self.weights[self.layer.log].sum())

    def forecast(self, y: np.ndarray, steps: int) -> np.ndarray:
        """Forecast (steps,) after the series y, which ends where the bank is."""
        values = np.zeros(steps)
        if self.layer.size:
            values += _kernels().ahead(self.layer, self.state, self.count, self.weights, steps)
        for period, weight in zip(self.periods, self.naive_weights, strict=True):
            values += weight * repeat_season(y, int(period), np.array([y.size - 1]), steps)[0]
        if self.flat_weights.size:
            values += intermittent.flat_forecasts(y, np.array([y.size - 1]))[0] @ self.flat_weights
        return values

    def follow(
        self, y: np.ndarray, origins: np.ndarray, horizon: int, before: np.ndarray | None = None
    ) -> tuple[np.ndarray, "FittedBank"]:
        """Forecasts (O, horizon) from some steps of y, and the bank after it.

        Without `before`, y is the series from its beginning. Otherwise it follows the steps
        `before`, at whose end this bank is.
        """
        origins = np.asarray(origins, np.int64)
        values = np.zeros((origins.size, horizon))
        if before is None:
            state, first, whole = start(self.layer, y, y.size), 0, y
        else:
            state, first, whole = self.state.copy(), self.count, np.concatenate([before, y])
        if self.layer.size:
            log_y = _logarithms(y) if self.layer.log.any() else y
            call = (self.layer, y, log_y, first, state, origins)
            values += _kernels().follow(*call, self.weights, horizon)
        at = origins + whole.size - y.size
        for period, weight in zip(self.periods, self.naive_weights, strict=True):
            values += weight * repeat_season(whole, int(period), at, horizon)
        if self.flat_weights.size:
            values += (intermittent.flat_forecasts(whole, at) @ self.flat_weights)[:, None]
        return values, replace(self, state=state, count=first + y.size)

    def check(self) -> None:
        """Check what a file said."""
        shape = (self.layer.rows, self.layer.size)
        weights = np.concatenate([self.weights, self.naive_weights, self.flat_weights])
        right = (
            self.state.shape == shape and np.isfinite(self.state).all()
            and self.weights.shape == shape[1:] and self.periods.shape == self.naive_weights.shape
            and self.periods.min(initial=1) >= 1
            and self.flat_weights.size in (0, intermittent.COUNT)
            and np.isfinite(weights).all() and weights.min(initial=0) >= 0
            and isinstance(self.count, int) and self.count >= 0
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a bank of smoothers do not fit together")


def fit_bank(y: np.ndarray, seasons: tuple[int, ...], horizon: int, origins: Origins) -> FittedBank:
    """Weigh all smoothers, and keep those that count.

    A smoother with the mean absolute error e weighs e^-p times what it counts beforehand, where p
    grows with the number of horizons that the origins cover, from 4 to 25: errors seen a few times
    are luck, and an average is safer then.

    Parameters
    ----------
    y : (n,)
        NaN where a value is missing.
    seasons : periods to consider besides none
    """
    n, h = y.size, horizon
    periods = np.array([m for m in (1, *seasons) if m == 1 or 2 * m <= n])
    truth = future_of(y, origins.steps, h)
    counted = np.where(np.isnan(truth), 0.0, origins.weights[:, None])
    naive = [repeat_season(y, int(m), origins.steps, h) for m in periods]
    naive_errors = np.array([(counted * np.abs(np.nan_to_num(truth - f))).sum() for f in naive])
    is_flat = intermittent.is_intermittent(y)
    best = (periods == periods.max()) & (periods > (1 if is_flat else 0))
    naive_prior = np.where(best, _NAIVE, 1.0)
    flat_errors, layer, errors = np.zeros(0), smoother_grid(1, False).part(np.zeros(0, int)), []
    if is_flat:
        flat = intermittent.flat_forecasts(y, origins.steps)
        flat_errors = counted[..., None] * np.abs(np.nan_to_num(truth[..., None] - flat[:, None]))
        flat_errors = flat_errors.sum(axis=(0, 1))
    else:
        for log in (False, True) if np.nanmin(y) > 0 else (False,):
            for m in periods.tolist():
                grid = smoother_grid(m, log)
                state = start(grid, y, int(origins.steps[0]) + 1)
                read = np.log(y) if log else y
                errors.append(_kernels().score(grid, read, y, state, origins, h))
                layer = layer.and_also(grid)
    every = np.concatenate([*errors, naive_errors, flat_errors]) / max(counted.sum(), 1e-300)
    priors = np.concatenate([_prior(layer), naive_prior, np.full(flat_errors.size, 3.0)])
    power = min(max(evidence(origins.steps, n, h), 4.0), 25.0)
    weights = _weights(every, priors, power)
    kept = np.flatnonzero(weights[: layer.size])
    layer, parts = layer.part(kept), np.split(weights, [layer.size, layer.size + periods.size])
    bank = FittedBank(
        layer, parts[0][kept], np.zeros((layer.rows, layer.size)), periods, parts[1], parts[2], 0
    )
    return bank.follow(y, np.zeros(0, np.int64), 1)[1]


_TREND_PRIORS = {
    0.05: 1.0,
    0.1: 1.5,
    0.2: 1.0,
}  # by gain of a damped trend, relative to the level's
_DRIFT_PRIORS = {0.5: 2.5, 1.0: 0.6}
_LEVEL_PRIORS = {0.05: 0.7, 0.1: 1.0, 0.2: 1.0, 0.35: 1.3, 0.5: 1.5, 0.7: 1.3, 1.0: 1.0}


def _prior(layer: SmootherLayer) -> np.ndarray:
    """What smoothers count before any error is seen: simple and cautious ones more.

    Chosen by experiment, with the number below, on training parts of real series.
    """
    prior = np.full(layer.size, 2.0)  # neither trend nor drift
    relative = np.round(layer.trend / layer.level, 3)
    for gain, count in _TREND_PRIORS.items():
        prior[relative == gain] = count
    prior[layer.damping == 1] = 0.6
    for drift, count in _DRIFT_PRIORS.items():
        prior[layer.drift == drift] = count
    level = np.array([_LEVEL_PRIORS[gain] for gain in layer.level.tolist()])
    return np.asarray(prior * level * np.where(layer.period == 1, 0.5, 1.0))


def _weights(errors: np.ndarray, priors: np.ndarray, power: float) -> np.ndarray:
    """Weights that sum to 1, of the `_KEPT` largest only."""
    right = np.isfinite(errors)
    least = max(errors[right].min(), 1e-9 * float(np.median(errors[right])), 1e-300)
    with np.errstate(over="ignore"):
        logs = np.log(priors) - power * np.log(np.maximum(np.where(right, errors, np.inf), least))
    weights = np.exp(logs - logs[right].max())
    weights[~right] = 0.0
    weights[weights < 0.05] = 0.0
    weights[np.argsort(-weights, kind="stable")[_KEPT:]] = 0.0
    return np.asarray(weights / weights.sum())


def start(layer: SmootherLayer, y: np.ndarray, known: int) -> np.ndarray:
    """States (rows, M) to start from: a line and a season through the first of `known` steps."""
    state = np.zeros((layer.rows, layer.size))
    beginning = y[: max(known, 1)]
    for log in np.unique(layer.log):
        read = _logarithms(beginning) if log else beginning
        for m in np.unique(layer.period).tolist():
            of_kind = (layer.log == log) & (layer.period == m)
            level, slope, season = _first_line(read, m)
            state[LEVEL, of_kind] = level
            state[TREND, of_kind & (layer.damping > 0)] = slope
            state[SEASON : SEASON + m, of_kind] = season[:, None]
    return state


def _first_line(y: np.ndarray, m: int) -> tuple[float, float, np.ndarray]:
    """Level before the first step, slope and season (m,) of the beginning of a series."""
    cycles = min(y.size // m, 4)
    if m > 1 and cycles >= 1:
        table = y[: cycles * m].reshape(cycles, m)
        means = np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan
                          for row in table])  # fmt: skip
        level, slope = _line(means)
        slope /= m
        season = table - means[:, None] - (np.arange(m) - (m - 1) / 2) * slope
        counts = np.isfinite(season).sum(axis=0)
        season = np.where(counts, np.nan_to_num(season).sum(axis=0) / np.maximum(counts, 1), 0.0)
        return level - slope * (m + 1) / 2, slope, season
    level, slope = _line(y[:10])
    return level - slope, slope, np.zeros(m)


def _line(y: np.ndarray) -> tuple[float, float]:
    """Value at 0 and slope of the line through values at 0, 1, …, those missing left out."""
    t = np.flatnonzero(np.isfinite(y))
    if t.size < 2:
        return (float(y[t[0]]), 0.0) if t.size else (0.0, 0.0)
    values, centred = y[t], t - t.mean()
    slope = float(centred @ values / (centred @ centred))
    return float(values.mean() - slope * t.mean()), slope


def repeat_season(y: np.ndarray, m: int, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Seasonal naive forecasts (O, horizon) from some steps; with m = 1, the last value."""
    filled = _last_seen(y, m)
    k = np.arange(1, horizon + 1)
    at = origins[:, None] + k - m * ((k + m - 1) // m)
    return filled[np.where(at >= 0, at, origins[:, None])]


def _last_seen(y: np.ndarray, m: int) -> np.ndarray:
    """y, with missing values replaced by the last one of the same place in the season."""
    if not np.isnan(y).any():
        return y
    padded = np.concatenate([y, np.full(-y.size % m, np.nan)]).reshape(-1, m)
    rows = np.where(np.isnan(padded), 0, np.arange(len(padded))[:, None])
    filled = np.take_along_axis(padded, np.maximum.accumulate(rows, axis=0), 0).ravel()[: y.size]
    at = np.maximum.accumulate(np.where(np.isnan(filled), 0, np.arange(filled.size)))
    return np.where(np.isnan(filled[at]), y[np.isfinite(y)][0], filled[at])


def _logarithms(y: np.ndarray) -> np.ndarray:
    """Logarithms, NaN for values that have none."""
    return np.log(np.where(y > 0, y, np.nan))
