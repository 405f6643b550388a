"""Intervals around forecasts that need no model, from what these were off in the past."""

import numpy as np

from paralesn.estimators.forecaster.bank import repeat_season
from paralesn.estimators.forecaster.rolling import evidence, future_of, rolling_origins
from paralesn.estimators.forecaster.spread import Errors, Forecast, measure
from paralesn.workflows.yardsticks import LAST, SEASONAL, naive_forecast


def naive_with_interval(
    method: str, y: np.ndarray, horizon: int, season: int, level: float
) -> Forecast:
    """A naive forecast of the steps after y (n,) and its interval, each (horizon,).

    The interval is made as that of a forecaster is: of absolute errors from rolling origins in the
    last two thirds of the series, and wider where these are few.

    Parameters
    ----------
    method : "seasonal naive" or "last value"
    level : float
        Share of values that the interval should hold.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.naive_intervals import naive_with_interval
    >>> y = np.tile([3.0, 5.0], 30) + np.random.default_rng(0).normal(size=60)
    >>> found = naive_with_interval("seasonal naive", y, 2, 2, 0.9)
    >>> bool((found.lower < found.values).all() and (found.values < found.upper).all())
    True
    """
    if method not in (SEASONAL, LAST):
        raise ValueError(f"method must be {SEASONAL!r} or {LAST!r}, got {method!r}")
    m = season if method == SEASONAL else 1
    values = naive_forecast(method, y, horizon, season)
    origins, weights = rolling_origins(y.size, horizon, m)
    errors = Errors(
        repeat_season(y, m, origins, horizon), future_of(y, origins, horizon), weights,
        evidence(origins, y.size, horizon), False, 0.0 if np.nanmin(y) >= 0 else -np.inf,
    )  # fmt: skip
    lower, upper = measure([errors], horizon).bounds(values[None], level)
    return Forecast(values, lower[0], upper[0])
