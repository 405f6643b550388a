"""Smoothers over a series: errors of their forecasts from many origins, or the forecasts.

What the recurrences are is documented in `paralesn.layers.smoothers.SmootherLayer`, and written out
in plain NumPy in `paralesn.engines.reference_smoothers`.
"""

import math

import numpy as np

from paralesn.layers.smoothers import LEVEL, MOMENT, SEASON, SUM, TREND, Origins, SmootherLayer
from paralesn.runtime.compiler import called, kernel

_LARGEST = 700.0  # exponent that floats hold
_MOST_WORK = 1 << 24  # steps of smoothers in one call of a kernel: some tenths of a second


def score(
    layer: SmootherLayer, y: np.ndarray, truth: np.ndarray, state: np.ndarray, origins: Origins,
    horizon: int,
) -> np.ndarray:  # fmt: skip
    """Weighted sums (M,) of absolute errors of forecasts up to `horizon` steps from each origin.

    Parameters
    ----------
    layer : SmootherLayer
        All of one period, and all of values or all of logarithms.
    y : (n,)
        What they read, NaN where it is missing.
    truth : (n,)
        What forecasts are compared with: `y`, or where they read logarithms its exponential.
    state : (rows, M)
        To start from; not changed.
    """
    reach = np.cumsum(layer.damping ** np.arange(1, horizon + 1)[:, None], axis=0)  # (horizon, M)
    errors = np.zeros(layer.size)
    gains = (layer.level, layer.trend, layer.damping, layer.drift, layer.season)
    period, log = int(layer.period[0]), bool(layer.log[0])
    scratch = np.zeros((2, layer.size))
    given = (y, truth, np.stack(gains), period, log, state.copy(), *origins)
    most, o = max(1, _MOST_WORK // layer.size), 0
    for first in range(0, y.size, most):
        stop = min(first + most, y.size)
        o = _score(*given, reach, errors, scratch, first, stop, o)
    return errors


def follow(
    layer: SmootherLayer, y: np.ndarray, log_y: np.ndarray, first: int, state: np.ndarray,
    origins: np.ndarray, weights: np.ndarray, horizon: int,
) -> np.ndarray:  # fmt: skip
    """Weighted forecasts (O, horizon) from some steps of a series; `state` moves on to its end.

    Parameters
    ----------
    y, log_y : (n,)
        Values and their logarithms, which are read only where a smoother asks for them.
    first : int
        Number of the first step, counted from the beginning of the series.
    state : (rows, M)
        At the beginning; changed in place.
    origins : (O,)
        Steps of `y`, in order, that forecasts are made from.
    weights : (M,)
    """
    forecasts = np.zeros((origins.size, horizon))
    gains = np.stack((layer.level, layer.trend, layer.damping, layer.drift, layer.season))
    given = (y, log_y, first, gains, layer.period, layer.log)
    most = max(1, _MOST_WORK // max(1, y.size))
    for i in range(0, layer.size, most):
        _follow(*given, state, origins, weights, forecasts, i, min(i + most, layer.size))
    return forecasts


@called
def _slope(count, total, moment):
    """Slope of the line through `count` points at 0, 1, …, from sums of x and of t x."""
    if count < 3:
        return 0.0
    middle = 0.5 * (count - 1)
    return 12.0 * (moment - middle * total) / (count * (count * count - 1.0))


@kernel
def _score(
    y, truth, gains, period, log, state, origins, weights, reach, errors, scratch, first, stop, o
):  # fmt: skip
    """Time outside, smoothers inside, so that the inner loops are vectors; scratch (2, M) is 0.

    Steps `first` to before `stop`, from the origin with number o on; returns that of the next one.
    """
    size, horizon = errors.size, reach.shape[0]
    slope, step = scratch[0], scratch[1]
    for t in range(first, stop):
        s = SEASON + t % period
        is_missing = math.isnan(y[t])
        for i in range(size):
            step[i] = gains[2, i] * state[TREND, i] + slope[i]
            expected = state[LEVEL, i] + step[i]
            e = 0.0 if is_missing else y[t] - expected - state[s, i]
            x = expected if is_missing else y[t] - state[s, i]
            state[LEVEL, i] = expected + gains[0, i] * e
            state[TREND, i] = gains[2, i] * state[TREND, i] + gains[1, i] * e
            state[s, i] += gains[4, i] * e
            state[SUM, i] += x
            state[MOMENT, i] += t * x
            slope[i] = gains[3, i] * _slope(t + 1.0, state[SUM, i], state[MOMENT, i])
        if o == origins.size or origins[o] != t:
            continue
        for k in range(min(horizon, y.size - 1 - t)):
            actual, weight, s = truth[t + 1 + k], weights[o], SEASON + (t + 1 + k) % period
            if math.isnan(actual):
                continue
            for i in range(size):
                ahead = state[LEVEL, i] + reach[k, i] * state[TREND, i]
                ahead += (k + 1.0) * slope[i] + state[s, i]
                if log:
                    ahead = math.exp(min(ahead, _LARGEST))
                errors[i] += weight * abs(actual - ahead)
        o += 1
    return o


@kernel
def _follow(
    y, log_y, first, gains, periods, logs, state, origins, weights, forecasts, begin, end
):  # fmt: skip
    """Smoothers outside: each has a period and a scale of its own, and there are few.

    The smoothers `begin` to before `end`.
    """
    horizon = forecasts.shape[1]
    for i in range(begin, end):
        level, trend = state[LEVEL, i], state[TREND, i]
        total, moment = state[SUM, i], state[MOMENT, i]
        damping, period, log = gains[2, i], periods[i], logs[i]
        slope = gains[3, i] * _slope(float(first), total, moment)
        o = 0
        for t in range(y.size):
            value = log_y[t] if log else y[t]
            s, is_missing = SEASON + (first + t) % period, math.isnan(value)
            expected = level + damping * trend + slope
            e = 0.0 if is_missing else value - expected - state[s, i]
            x = expected if is_missing else value - state[s, i]
            level = expected + gains[0, i] * e
            trend = damping * trend + gains[1, i] * e
            state[s, i] += gains[4, i] * e
            total += x
            moment += (first + t) * x
            slope = gains[3, i] * _slope(first + t + 1.0, total, moment)
            if o < origins.size and origins[o] == t:
                ahead, change = level, trend
                for k in range(horizon):
                    change *= damping
                    ahead += change + slope
                    value = ahead + state[SEASON + (first + t + 1 + k) % period, i]
                    if log:
                        value = math.exp(min(value, _LARGEST))
                    forecasts[o, k] += weights[i] * value
                o += 1
        state[LEVEL, i], state[TREND, i] = level, trend
        state[SUM, i], state[MOMENT, i] = total, moment


def ahead(
    layer: SmootherLayer, state: np.ndarray, count: int, weights: np.ndarray, steps: int
) -> np.ndarray:
    """Weighted forecasts (steps,) after `count` steps of a series."""
    k = np.arange(1, steps + 1)[:, None]
    reach = np.cumsum(layer.damping**k, axis=0)
    slope = _slope.py_func(count, state[SUM], state[MOMENT])
    seasons = state[SEASON + (count + k - 1) % layer.period, np.arange(layer.size)]
    values = state[LEVEL] + reach * state[TREND] + k * layer.drift * slope + seasons
    values = np.where(layer.log, np.exp(np.minimum(values, _LARGEST)), values)
    return np.asarray(values @ weights)
