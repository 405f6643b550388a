"""Levels and quantiles of forecasts, and the columns they are called by."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.grid import Grid
from paralesn.estimators.forecaster.panel import FLAT, LIST, TABLE, Layout
from paralesn.estimators.forecaster.shapes import shaped_like
from paralesn.estimators.forecaster.spread import Forecast

Bounds = Any  # function of a level: lower and upper (S, steps)


def check_levels(interval: Any) -> list[float]:
    """Shares that intervals should hold: none, one or several."""
    if interval is None:
        return []
    every = interval if isinstance(interval, Sequence | np.ndarray) else [interval]
    return [checks.number("interval", v, 0, 1, open_left=True, open_right=True) for v in every]


def check_quantiles(quantiles: Any) -> list[float]:
    """Shares of values that lie below, between 0 and 1."""
    if quantiles is None:
        return []
    every = quantiles if isinstance(quantiles, Sequence | np.ndarray) else [quantiles]
    return [checks.number("quantiles", v, 0, 1, open_left=True, open_right=True) for v in every]


def percent(share: float) -> str:
    """A share as people write it in column names: 90, 97.5."""
    return f"{100 * share:.10g}"


def assemble(
    layout: Layout, grids: Sequence[Grid], values: np.ndarray, bounds: Bounds, interval: Any,
    quantiles: Any,
) -> Any:  # fmt: skip
    """Forecasts (S, steps), with intervals or quantiles where wanted, in the form of the series.

    Arrays: a `Forecast` of values, lower and upper, with an axis for the levels at the end where
    there are several; quantiles are an array with an axis for them at the end. Frames: columns
    ``yhat``, ``yhat-lo-90``, ``yhat-hi-90``, ``yhat-q-5``.
    """
    levels, shares = check_levels(interval), check_quantiles(quantiles)
    if levels and shares:
        raise ValueError("interval and quantiles must not both be given")
    if layout.backend is None:
        return _arrays(layout, values, bounds, levels, shares, np.ndim(interval) > 0,
                       np.ndim(quantiles) > 0)  # fmt: skip
    extras: dict[str, Sequence[np.ndarray]] = {}
    for level in levels:
        lower, upper = bounds(level)
        extras[f"-lo-{percent(level)}"], extras[f"-hi-{percent(level)}"] = list(lower), list(upper)
    for share in shares:
        extras[f"-q-{percent(share)}"] = list(quantile(values, bounds, share))
    return shaped_like(layout, grids, list(values), extras)


def quantile(values: np.ndarray, bounds: Bounds, share: float) -> np.ndarray:
    """A quantile (S, steps): a bound of the interval around the forecast that ends there."""
    level = abs(2 * share - 1)
    if level < 1e-9:
        return values
    lower, upper = bounds(level)
    return np.asarray(upper if share > 0.5 else lower)


def _arrays(
    layout: Layout, values: np.ndarray, bounds: Bounds, levels: list[float], shares: list[float],
    several_levels: bool, several_shares: bool,
) -> Any:  # fmt: skip
    def like(array: np.ndarray) -> Any:  # (S, steps) or (S, steps, levels)
        if layout.kind == FLAT:
            return array[0]
        if layout.kind == TABLE:
            return np.swapaxes(array, 0, 1)
        return list(array)

    assert layout.kind in (FLAT, TABLE, LIST)
    if shares:
        every = np.stack([quantile(values, bounds, share) for share in shares], axis=-1)
        return like(every if several_shares else every[..., 0])
    if not levels:
        return like(values)
    pairs = [bounds(level) for level in levels]
    lower, upper = (np.stack([pair[k] for pair in pairs], axis=-1) for k in (0, 1))
    if not several_levels:
        lower, upper = lower[..., 0], upper[..., 0]
    return Forecast(like(values), like(lower), like(upper))
