"""Forecasts that need no model: what any forecaster has to beat."""

from collections.abc import Sequence

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.bank import repeat_season

MODEL = "model"
SEASONAL, LAST, DRIFT, MEAN = "seasonal naive", "last value", "drift", "mean"
SMOOTHERS = "smoothers"
NAMES = (SEASONAL, LAST, DRIFT, MEAN, SMOOTHERS)


def check_yardsticks(yardsticks: object) -> list[str]:
    """Names of yardsticks: all, none or some."""
    if isinstance(yardsticks, bool | np.bool_):
        return list(NAMES) if yardsticks else []
    if isinstance(yardsticks, str) or not isinstance(yardsticks, Sequence):
        expected = f"True, False or a list of {', '.join(map(repr, NAMES))}"
        raise checks.fail("yardsticks", yardsticks, expected, TypeError)
    for name in yardsticks:
        checks.choice("yardsticks", name, NAMES)
    return [name for name in NAMES if name in yardsticks]


def naive_forecast(method: str, y: np.ndarray, horizon: int, season: int) -> np.ndarray:
    r"""Forecast (horizon,) of the steps after the series y (n,), by a method without a model.

    With the last value :math:`y_n` and the season m, the forecast k steps ahead is

    - seasonal naive: :math:`y_{n + k - m \lceil k / m \rceil}`,
    - last value: :math:`y_n`,
    - drift: :math:`y_n + k (y_n - y_1) / (n - 1)`,
    - mean: that of all values.

    Missing values are left out: the last of those that are there counts, in the seasonal naive the
    last of the same place in the season.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.yardsticks import naive_forecast
    >>> y = np.array([1.0, 5.0, 2.0, 7.0])
    >>> naive_forecast("seasonal naive", y, 3, 2)
    array([2., 7., 2.])
    >>> naive_forecast("drift", y, 3, 2)
    array([ 9., 11., 13.])
    """
    if method in (SEASONAL, LAST):
        m = season if method == SEASONAL else 1
        return repeat_season(y, m, np.array([y.size - 1]), horizon)[0]
    seen = np.flatnonzero(np.isfinite(y))
    if method == MEAN:
        return np.full(horizon, y[seen].mean())
    first, last = seen[0], seen[-1]
    slope = (y[last] - y[first]) / max(last - first, 1)
    return np.asarray(y[last] + slope * (y.size - 1 - last + np.arange(1, horizon + 1)))
