"""Scores of forecasts: errors, scaled errors, and how good intervals are."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

METRICS = ("mase", "mae", "rmse", "smape", "wape", "bias", "coverage", "width", "msis", "crps")
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # intervals whose ends are the quantiles .05, .15, …, .95


class Paths(NamedTuple):
    """Forecasts of a method from O origins of S series.

    Attributes
    ----------
    values : (O, S, horizon)
    lower, upper : (O, S, horizon) or None
        Bounds of intervals.
    crps : (O, S, horizon) or None
        Continuous ranked probability scores; None for forecasts without quantiles.
    """

    values: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    crps: np.ndarray | None = None


def seasonal_scale(y: np.ndarray, season: int) -> float:
    """Mean absolute change over a season, the unit of MASE; NaN where there is no change.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.scores import seasonal_scale
    >>> seasonal_scale(np.array([1.0, 2.0, 4.0, 3.0]), 2)
    2.0
    """
    lag = season if y.size > season else 1
    changes = np.abs(y[lag:] - y[:-lag])
    scale = float(np.nanmean(changes)) if np.isfinite(changes).any() else 0.0
    return scale if scale > 0 else float("nan")


def interval_crps(
    truth: np.ndarray, lower: np.ndarray, upper: np.ndarray, levels: Sequence[float] = LEVELS
) -> np.ndarray:
    r"""Continuous ranked probability score, from the bounds of intervals of several levels.

    .. math:: \mathrm{CRPS} = 2 \int_0^1 \rho_q(y - \hat y_q) \, dq,
        \qquad \rho_q(e) = \max(q e, (q - 1) e)

    by the midpoint rule: the bounds of levels .1, .3, …, .9 are the quantiles .05, .15, …, .95.
    For a point forecast it is the absolute error.

    Parameters
    ----------
    truth : (...)
    lower, upper : (..., levels)
    """
    share = np.asarray(levels)
    total = np.zeros(truth.shape)
    for q, bound in (((1 - share) / 2, lower), ((1 + share) / 2, upper)):
        error = truth[..., None] - bound
        total += np.maximum(q * error, (q - 1) * error).sum(axis=-1)
    return np.asarray(total / len(share))


def score(
    truth: np.ndarray, paths: Paths, scale: np.ndarray, level: float | None, axis: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Every metric, averaged over some axes of (O, S, horizon); missing values are left out.

    Parameters
    ----------
    truth : (O, S, horizon)
    scale : (S,)
        The unit of MASE and MSIS.
    level : float or None
        Share of values that intervals should hold.
    """
    unit, error = scale[:, None], paths.values - truth
    size, total = np.abs(error), np.abs(truth) + np.abs(paths.values)
    relative = 200 * np.divide(size, total, out=np.zeros_like(size), where=total > 0)
    relative[np.isnan(truth)] = np.nan
    nothing = np.full(truth.shape, np.nan)
    inside = width = interval_score = nothing
    if paths.lower is not None and paths.upper is not None and level is not None:
        lower, upper = paths.lower, paths.upper
        width = np.where(np.isfinite(truth), upper - lower, np.nan)
        inside = np.where(np.isfinite(truth), (truth >= lower) & (truth <= upper), np.nan)
        beyond = np.maximum(lower - truth, 0) + np.maximum(truth - upper, 0)
        interval_score = width + 2 / (1 - level) * beyond
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing are NaN

        def mean(array: np.ndarray) -> np.ndarray:
            return np.asarray(np.nanmean(array, axis=axis))

        with np.errstate(divide="ignore", invalid="ignore"):
            wape = 100 * np.nansum(size, axis=axis) / np.nansum(np.abs(truth), axis=axis)
        return {
            "mase": mean(size / unit), "mae": mean(size), "rmse": np.sqrt(mean(error**2)),
            "smape": mean(relative), "wape": np.asarray(wape), "bias": mean(error),
            "coverage": mean(inside), "width": mean(width), "msis": mean(interval_score / unit),
            "crps": mean(size if paths.crps is None else paths.crps),
        }  # fmt: skip
