"""Intermittent series, zero most of the time: flat forecasts of how much to expect.

Three kinds, after Croston: exponential smoothing of the values; the smoothed size of demands times
the smoothed probability of one (Teunter, Syntetos and Babai, 2011); and medians of recent values,
which are what makes absolute errors smallest, often zero.
"""

import numpy as np

_LEVELS = (0.02, 0.05, 0.1, 0.2)  # of exponential smoothing
_SIZES = ((0.1, 0.05), (0.2, 0.1), (0.2, 0.2))  # gains of size and probability
_MEDIANS = (12, 24, 1 << 62)  # values looked at
COUNT = len(_LEVELS) + len(_SIZES) + len(_MEDIANS)
_SHARE = 1 / 3  # of zeros, from which on a series is intermittent


def is_intermittent(y: np.ndarray) -> bool:
    """Whether at least a third of a series is zero and nothing is below."""
    seen = y[np.isfinite(y)]
    return bool(seen.size and seen.min() == 0 and (seen == 0).mean() >= _SHARE)


def flat_forecasts(y: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Forecasts (O, COUNT) from some steps: one value each, for all steps to come."""
    seen = y[: int(origins.max(initial=0)) + 1]
    beginning = seen[np.isfinite(seen)][:6]
    start = float(beginning.mean()) if beginning.size else 0.0
    level = np.full(len(_LEVELS), start)
    sizes, chances = np.array(_SIZES).T
    size = np.full(sizes.size, float(beginning[beginning > 0].mean()) if start > 0 else 0.0)
    chance = np.full(sizes.size, float((beginning > 0).mean()) if beginning.size else 0.0)
    smoothed = np.empty((seen.size, len(_LEVELS) + sizes.size))
    gains = np.array(_LEVELS)
    for t, value in enumerate(seen.tolist()):
        if value == value:
            level = level + gains * (value - level)
            chance = chance + chances * ((value > 0) - chance)
            if value > 0:
                size = size + sizes * (value - size) if size[0] > 0 else np.full(size.size, value)
        smoothed[t, : level.size], smoothed[t, level.size :] = level, chance * size
    medians = [[_median(seen[max(0, t + 1 - k) : t + 1]) for k in _MEDIANS] for t in origins]
    return np.hstack([smoothed[origins], np.array(medians).reshape(-1, len(_MEDIANS))])


def _median(values: np.ndarray) -> float:
    seen = values[np.isfinite(values)]
    return float(np.median(seen)) if seen.size else 0.0
