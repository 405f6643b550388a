"""Intervals: how far forecasts from rolling origins were off, step by step."""

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.forms import Values
from paralesn.persistence import register
from paralesn.persistence.fields import Flags, Floats, OpenFloats

_SHARES = np.concatenate([np.linspace(0, 0.9, 46), np.linspace(0.905, 1.0, 20)])  # of quantiles
_CAUTION = 1.0  # intervals widen by 1 + 1 / (horizons that the origins cover)
_LARGEST = np.finfo(float).max
_SMOOTHING = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9.0
LITTLE_EVIDENCE = 2.0  # horizons covered, below which intervals rest on little


class Forecast(NamedTuple, Generic[Values]):
    """A forecast and the interval around it, each (steps,) or (steps, targets), or a list."""

    values: Values
    lower: Values
    upper: Values


@register
@dataclass(frozen=True, eq=False)
class Spread:
    """What intervals around the forecasts of S series are made of.

    Errors at step k, in units of their mean absolute size at that step, are taken to have the same
    distribution at every step. It is symmetric, in logarithms for a series whose forecasts mostly
    come from logarithms. Intervals are wider where few horizons were seen.

    Attributes
    ----------
    scale : (S, horizon)
        Mean absolute error at every step, growing with it.
    quantiles : (S, 66)
        Of absolute errors in units of `scale`.
    multiplicative : (S,) bool
        Whether errors are those of logarithms.
    floor : (S,)
        What no value lies below: 0 for a series that never was negative, else minus infinity.
    evidence : (S,)
        Horizons that the origins cover.
    """

    scale: Floats
    quantiles: Floats
    multiplicative: Flags
    floor: OpenFloats
    evidence: Floats

    def bounds(self, values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (S, steps) of forecasts, to hold a share `level`."""
        scale = extended(self.scale, values.shape[1])
        reach = self._size(level)[:, None] * scale
        return _around(values, reach, self.multiplicative[:, None], self.floor[:, None])

    def one_step_bounds(
        self, i: int, values: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (n,) of forecasts of series i, each one step ahead."""
        reach = self._size(level)[i] * self.scale[i, 0]
        return _around(values, reach, self.multiplicative[i], self.floor[i])

    def _size(self, level: float) -> np.ndarray:
        """Half the width (S,) of intervals, in units of the scale."""
        size = np.array([np.interp(level, _SHARES, row) for row in self.quantiles])
        return np.asarray(size * (1 + _CAUTION / self.evidence))

    def check(self, count: int, horizon: int) -> None:
        """Check what a file said."""
        right = (
            self.scale.shape == (count, horizon) and self.quantiles.shape == (count, _SHARES.size)
            and self.multiplicative.shape == self.floor.shape == self.evidence.shape == (count,)
            and np.isfinite(self.scale).all() and np.isfinite(self.quantiles).all()
            and self.scale.min(initial=0) >= 0 and self.evidence.min(initial=1) > 0
            and np.isin(self.floor, (0.0, -np.inf)).all() and np.isfinite(self.evidence).all()
        )  # fmt: skip
        if not right:
            raise ValueError("the intervals of a forecaster do not fit together")


def _around(
    values: np.ndarray, reach: np.ndarray, is_product: np.ndarray, floor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds at a distance from values, or at a factor where `is_product`; none below the floor."""
    with np.errstate(over="ignore", invalid="ignore"):
        factor = np.exp(np.where(is_product, np.minimum(reach, 700.0), 0.0))
        pair = np.stack([values / factor, values * factor])  # in this order where positive
        lower = np.where(is_product, pair.min(axis=0), values - reach)
        upper = np.where(is_product, pair.max(axis=0), values + reach)
    lower, upper = np.maximum(lower, -_LARGEST), np.minimum(upper, _LARGEST)
    return np.maximum(lower, np.minimum(floor, values)), upper


def extended(scale: np.ndarray, steps: int) -> np.ndarray:
    """Scales (S, steps): those beyond the horizon grow with the square root of the step."""
    horizon = scale.shape[1]
    if steps <= horizon:
        return scale[:, :steps]
    growth = np.sqrt(np.arange(horizon + 1, steps + 1) / horizon)
    return np.hstack([scale, scale[:, -1:] * growth])


class Errors(NamedTuple):
    """Forecasts (O, horizon) of one series, what came, and what each origin counts."""

    forecasts: np.ndarray
    truth: np.ndarray
    weights: np.ndarray
    evidence: float
    is_product: bool
    floor: float


def measure(every: list[Errors], horizon: int) -> Spread:
    """Make intervals of the errors of every series."""
    rows = [_of_series(errors, horizon) for errors in every]
    return Spread(
        np.array([row[0] for row in rows]).reshape(-1, horizon),
        np.array([row[1] for row in rows]).reshape(-1, _SHARES.size),
        np.array([row[2] for row in rows], bool),
        np.array([errors.floor for errors in every], float),
        np.array([max(errors.evidence, 0.25) for errors in every], float),
    )


def _of_series(errors: Errors, horizon: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Scale by step, quantiles, and whether errors are those of logarithms."""
    f, y = errors.forecasts, errors.truth
    # With less than a horizon seen, exponentials of wide errors would be absurd.
    is_product = errors.evidence >= 1 and _are_relative(errors)
    off = np.abs(np.log(y) - np.log(f) if is_product else y - f)
    counted = np.where(np.isfinite(off), errors.weights[:, None], 0.0)
    off = np.where(counted > 0, np.nan_to_num(off), 0.0)
    scale = _growing(off, counted)
    units = (off / np.where(scale > 0, scale, 1.0))[counted > 0]
    weights = counted[counted > 0]
    if not units.size:
        return np.zeros(horizon), np.zeros(_SHARES.size), is_product
    order = np.argsort(units, kind="stable")
    below = np.cumsum(weights[order])
    at = (below - 0.5 * weights[order]) / below[-1]
    return scale, np.interp(_SHARES, at, units[order]), is_product


def _are_relative(errors: Errors) -> bool:
    """Whether errors are those of logarithms: which of two Laplace distributions is likelier.

    With mean absolute errors b of values and c of logarithms, the mean log density of values is
    -log(2 b) - 1, and that of log-Laplace ones -log(2 c) - mean(log y) - 1.
    """
    f, y = errors.forecasts, errors.truth
    seen = np.isfinite(y)
    if not seen.any() or not ((f > 0).all() and (y[seen] > 0).all()):
        return False
    weights = np.broadcast_to(errors.weights[:, None], y.shape)[seen]
    b, c, level = (
        float(np.average(part, weights=weights))
        for part in (
            np.abs(y - f)[seen],
            np.abs(np.log(y[seen]) - np.log(f[seen])),
            np.log(y[seen]),
        )
    )
    if b == 0 or c == 0:
        return errors.is_product
    return np.log(c) + level < np.log(b)


def moved_on(
    spread: Spread, i: int, scale: np.ndarray, forecast: np.ndarray, truth: np.ndarray, gain: float
) -> tuple[np.ndarray, Spread]:
    """Intervals of series i after a forecast (horizon,) whose truth is known.

    That forecast counts `gain`, all before it the rest: in the mean absolute error of every step,
    `scale`, which is returned, and in the distribution of errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        is_product = bool(spread.multiplicative[i])
        off = np.abs(np.log(truth) - np.log(forecast) if is_product else truth - forecast)
    known = np.isfinite(off)
    if not known.any():
        return scale, spread
    scale = np.where(known, scale + gain * (np.where(known, off, 0.0) - scale), scale)
    units = np.sort((off / np.where(spread.scale[i] > 0, spread.scale[i], 1.0))[known])
    rows, quantiles = spread.scale.copy(), spread.quantiles.copy()
    rows[i] = np.maximum.accumulate(_smoothed(scale))
    at = np.sort(np.concatenate([quantiles[i], units]))
    below = np.searchsorted(units, at, side="right") / units.size
    shares = (1 - gain) * np.interp(at, quantiles[i], _SHARES) + gain * below
    quantiles[i] = np.interp(_SHARES, shares, at)
    return scale, replace(spread, scale=rows, quantiles=quantiles)


def _smoothed(scale: np.ndarray) -> np.ndarray:
    """Scales (horizon,) of neighbouring steps averaged."""
    if scale.size <= 4:
        return scale
    return np.convolve(np.pad(scale, 2, mode="edge"), _SMOOTHING, "valid")


def _growing(off: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Mean absolute error (horizon,) by step: smoothed, never falling, continued where unseen."""
    horizon, total = off.shape[1], counted.sum(axis=0)
    seen = np.flatnonzero(total > 0)
    if not seen.size:
        return np.zeros(horizon)
    means = (off * counted).sum(axis=0)[seen] / total[seen]
    steps = np.arange(horizon)
    scale = np.interp(steps, seen, means)
    last = int(seen[-1])
    scale[last + 1 :] = scale[last] * np.sqrt((steps[last + 1 :] + 1) / (last + 1))
    return np.maximum.accumulate(_smoothed(scale))
