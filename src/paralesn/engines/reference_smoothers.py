"""The specification of smoothers: plain NumPy that reads like the docstring of `SmootherLayer`.

The kernels in `paralesn.engines.cpu.smoothers` must agree with it; what functions take and return
is documented there.
"""

import numpy as np

from paralesn.layers.smoothers import LEVEL, MOMENT, SEASON, SUM, TREND, SmootherLayer

LARGEST = 700.0  # exponent that floats hold


def advance(layer: SmootherLayer, state: np.ndarray, t: int, y: np.ndarray) -> np.ndarray:
    """The state (rows, M) after step t, at which each smoother reads its own y (M,).

    A smoother with drift steps along the line through what was seen: values without their season
    or, where one is missing, what was expected instead.
    """
    new, each = state.copy(), np.arange(layer.size)
    place = SEASON + t % layer.period
    d = layer.damping * state[TREND] + layer.drift * line_slope(state, t)
    expected = state[LEVEL] + d
    season = state[place, each]
    e = np.where(np.isnan(y), 0.0, y - (expected + season))
    x = np.where(np.isnan(y), expected, y - season)
    new[LEVEL] = expected + layer.level * e
    new[TREND] = layer.damping * state[TREND] + layer.trend * e
    new[place, each] = season + layer.season * e
    new[SUM] += x
    new[MOMENT] += t * x
    return new


def line_slope(state: np.ndarray, count: int) -> np.ndarray:
    """Slopes (M,) of the lines through `count` points at 0, 1, …; 0 for fewer than three."""
    if count < 3:
        return np.zeros(state.shape[1])
    t = np.arange(count)
    return (state[MOMENT] - t.mean() * state[SUM]) / ((t - t.mean()) ** 2).sum()


def ahead_of_each(layer: SmootherLayer, state: np.ndarray, count: int, steps: int) -> np.ndarray:
    """Forecasts (steps, M) of every smoother after `count` steps of a series."""
    level, b, each = state[LEVEL], state[TREND], np.arange(layer.size)
    forecasts = np.zeros((steps, layer.size))
    for k in range(steps):
        b = layer.damping * b
        level = level + b + layer.drift * line_slope(state, count)
        value = level + state[SEASON + (count + k) % layer.period, each]
        forecasts[k] = np.where(layer.log, np.exp(np.minimum(value, LARGEST)), value)
    return forecasts


def ahead(
    layer: SmootherLayer, state: np.ndarray, count: int, weights: np.ndarray, steps: int
) -> np.ndarray:
    """Weighted forecasts (steps,) after `count` steps of a series."""
    return np.asarray(ahead_of_each(layer, state, count, steps) @ weights)


def score(
    layer: SmootherLayer, y: np.ndarray, truth: np.ndarray, state: np.ndarray,
    origins: tuple[np.ndarray, np.ndarray], horizon: int,
) -> np.ndarray:  # fmt: skip
    """Weighted sums (M,) of absolute errors of forecasts up to `horizon` steps from each origin."""
    errors = np.zeros(layer.size)
    weight_at = dict(zip(origins[0].tolist(), origins[1].tolist(), strict=True))
    for t, value in enumerate(y.tolist()):
        state = advance(layer, state, t, np.full(layer.size, value))
        if t not in weight_at:
            continue
        future = truth[t + 1 : t + 1 + horizon, None]
        forecasts = ahead_of_each(layer, state, t + 1, len(future))
        errors += weight_at[t] * np.nansum(np.abs(future - forecasts), axis=0)
    return errors


def follow(
    layer: SmootherLayer, y: np.ndarray, log_y: np.ndarray, first: int, state: np.ndarray,
    origins: np.ndarray, weights: np.ndarray, horizon: int,
) -> np.ndarray:  # fmt: skip
    """Weighted forecasts (O, horizon) from some steps of a series; `state` moves on to its end."""
    forecasts = []
    for t in range(y.size):
        state[:] = advance(layer, state, first + t, np.where(layer.log, log_y[t], y[t]))
        if t in origins:
            forecasts.append(ahead(layer, state, first + t + 1, weights, horizon))
    return np.array(forecasts).reshape(len(origins), horizon)
