"""Rolling origins: steps of a series that forecasts are made from, to see how good they are."""

import numpy as np

from paralesn.layers.smoothers import Origins

MOST = 100  # origins of a series
_RECENT = 2.0  # an origin at the beginning counts exp(-2) as much as one at the end


def rolling_origins(n: int, horizon: int, season: int) -> Origins:
    """Origins in the last two thirds of n steps, fewer where that is too short for a season.

    Some value follows each of them, not always a whole horizon. Recent ones count more.
    """
    first = max(min(n // 3, n - horizon - 1), min(2 * season if season > 1 else 3, n // 2), 1)
    first = max(0, min(first, n - 3))
    steps = np.unique(np.linspace(first, n - 2, min(MOST, n - 1 - first)).astype(np.int64))
    return Origins(steps, np.exp(-_RECENT * (n - 1 - steps) / n))


def future_of(y: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Values (O, horizon) that follow some steps, NaN beyond the end."""
    padded = np.concatenate([y, np.full(horizon, np.nan)])
    return padded[origins[:, None] + np.arange(1, horizon + 1)]


def evidence(origins: np.ndarray, n: int, horizon: int) -> float:
    """How many horizons the origins cover: what error estimates rest on."""
    return float((n - origins[0]) / horizon)
