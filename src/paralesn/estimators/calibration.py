"""Intervals around forecasts, from the errors of forecasts into data held out of training."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from paralesn.persistence import register
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.state import State

ORIGINS = 200  # forecasts into the held-out steps, at most


class Forecast(NamedTuple):
    """A forecast and the interval around it, each (steps,) or (steps, targets)."""

    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class Calibration:
    """What it takes to forecast again from places in the held-out part of the training series.

    Attributes
    ----------
    readout : the readout as it was before it saw the held-out part
    layers : per layer (K, units)
        States `horizon` steps before each place.
    rows : (n, features)
        Observations and known inputs from `horizon` steps before the first place to the end.
    origins : (K,)
        The places: the row in `rows` that is the last one known to each forecast.
    """

    readout: Any
    layers: tuple[np.ndarray, ...]
    rows: np.ndarray
    origins: np.ndarray

    def residuals(self, roll: Callable[..., np.ndarray], horizon: int, steps: int) -> np.ndarray:
        """Errors (K, steps, D) of forecasts by `roll` over whole horizons, NaN beyond the end."""
        pending = np.stack([self._window(o - horizon + 1, horizon) for o in self.origins])
        truth = np.stack([self._window(o + 1, steps) for o in self.origins])
        # Inputs known in advance end with the series: horizons that reach beyond do not count.
        ended = np.isnan(truth[:, :, -1])
        whole = ended.reshape(len(ended), -1, horizon).any(axis=2).repeat(horizon, axis=1)
        ahead = np.where(whole[:, :, None], 0.0, truth)
        forecast = roll(self.readout, self.layers, pending, ahead, steps)
        d = forecast.shape[2]
        truth = np.where((whole if truth.shape[2] > d else ended)[:, :, None], np.nan, truth)
        return truth[:, -forecast.shape[1] :, :d] - forecast

    def check(self, horizon: int, features: int) -> None:
        """Check what a file said."""
        first, count = self.origins.min(), self.origins.size
        right = (
            self.rows.ndim == 2 and self.rows.shape[1] == features and np.isfinite(self.rows).all()
            and self.origins.ndim == 1 and self.origins.dtype.kind == "i"
            and horizon - 1 <= first and self.origins.max() < len(self.rows)
            and all(h.ndim == 2 and len(h) == count for h in self.layers)
        )  # fmt: skip
        if not right:
            raise ValueError("the calibration of a forecaster does not fit together")

    def _window(self, first: int, count: int) -> np.ndarray:
        """Rows from `first` on, NaN beyond the end."""
        found = self.rows[first : first + count]
        rest = np.full((count - len(found), self.rows.shape[1]), np.nan)
        return np.concatenate([found, rest])


def prepare(
    reservoir: Reservoir,
    readout: Any,
    state: State,
    rows: np.ndarray,
    inputs: np.ndarray,
    held: int,
) -> Calibration:
    """Make a calibration on the last `held` of the rows.

    `state` is that of the reservoir `horizon` steps before the first place, the step before them.
    """
    steps, horizon = len(rows), len(rows) - len(inputs)
    count = min(ORIGINS, held)
    origins = np.unique(np.linspace(steps - held - 1, steps - 2, count).astype(int))
    layers = [state.layers]
    for a, b in pairwise(origins - horizon + 1):
        _, state = reservoir.last(inputs[a:b], state, return_state=True)
        layers.append(state.layers)
    return Calibration(
        readout=readout,
        layers=tuple(np.stack(parts) for parts in zip(*layers, strict=True)),
        rows=rows[origins[0] - horizon + 1 :].copy(),
        origins=origins - origins[0] + horizon - 1,
    )


def bounds(residuals: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper errors (steps, D) that hold a share `level` of new ones.

    Order statistics of the n errors at each step, the floor((n + 1) (1 - level) / 2)-th from either
    end: were errors exchangeable, the interval would hold at least that share of new ones, whatever
    their distribution.
    """
    lower, upper = [], []
    for step, errors in enumerate(residuals.transpose(1, 0, 2), 1):
        errors = np.sort(errors[np.isfinite(errors).all(axis=1)], axis=0)
        n = len(errors)
        rank = floor((n + 1) * (1 - level) / 2 + 1e-9)
        if rank < 1:
            raise ValueError(
                f"interval={level:g} needs at least {ceil(2 / (1 - level) - 1e-9) - 1} held-out "
                f"forecasts, got {n} that reach step {step}: lower it, forecast fewer steps, or "
                "raise held_out"
            )
        lower.append(errors[rank - 1])
        upper.append(errors[n - rank])
    return np.array(lower), np.array(upper)


def _parts(found: Calibration) -> dict[str, Any]:
    return {field.name: getattr(found, field.name) for field in fields(Calibration)}


register(Calibration, _parts, lambda found: Calibration(**found))
