"""What one-step forecasts of a fitted forecaster leave over."""

import numpy as np

from paralesn.estimators.forecaster import following
from paralesn.estimators.forecaster.fitted import FittedForecaster


def residuals(fitted: FittedForecaster, i: int, most: int = 4000) -> np.ndarray:
    """What one-step forecasts of the last steps of series i were off, (n,); NaN where unknown.

    Of a longer series the members begin a third earlier than the first of `most` steps.
    """
    part = following.part_of(fitted, [i])
    (y,), past = part.remainders(), part.memory.past
    first = max(0, y.size - most - most // 3)
    (ahead,) = part.ensemble.one_step([y[first:]], [past[first:]])
    off = y[first:] - ahead
    return np.asarray(off[-most:] if first else off)
