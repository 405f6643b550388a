"""Intervals around forecasts, from the errors of forecasts into data held out of training."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster.closed_loop import close_loop
from paralesn.estimators.state_forecaster.windows import Windows, as_series
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.reservoirs.base import Reservoir

ORIGINS = 200  # forecasts into the held-out steps, at most


class Start(NamedTuple):
    """Where forecasts from K origins, of `series` each, start, and what came then."""

    layers: tuple[np.ndarray, ...]  # (K * series, units)
    newest: np.ndarray  # (K * series, 1 + horizon, width)
    known: np.ndarray  # (K * series, steps, known)
    truth: np.ndarray  # (K * series, steps, width), NaN beyond the end


@register
@dataclass(frozen=True, eq=False)
class Calibration:
    """What it takes to forecast again from origins in the held-out part of the training series.

    Attributes
    ----------
    readout : the readout as it was before it learnt from the held-out part
    layers : per layer (K, series, units)
        States `horizon` steps before each origin.
    panel : (series, n, features)
        Observations and known inputs from `horizon` steps before the first origin to the end.
    origins : (K,)
        The step of `panel` that is the last one known to each forecast.
    """

    readout: Any
    layers: tuple[np.ndarray, ...]
    panel: np.ndarray
    origins: np.ndarray

    def residuals(self, reservoir: Reservoir, windows: Windows, steps: int) -> np.ndarray:
        """Errors (K, steps, targets) of forecasts over whole horizons, NaN beyond the end."""
        layers, newest, known, truth = self.start(windows, steps)
        forecast = close_loop(windows, reservoir, self.readout, layers, newest, known, steps)
        errors = truth[:, -forecast.shape[1] :] - forecast
        of_each = errors.reshape(self.origins.size, -1, *errors.shape[1:])
        return windows.flat(of_each.swapaxes(0, 1))

    def start(self, windows: Windows, steps: int) -> Start:
        """What forecasts of so many steps from all origins take, and the truth."""
        h, width = windows.horizon, windows.width
        pending = np.concatenate([self._window(o - h, h + 1) for o in self.origins])
        truth = np.concatenate([self._window(o + 1, steps) for o in self.origins])
        # Inputs known in advance end with the series: horizons that reach beyond do not count.
        ended = np.isnan(truth[:, :, 0])
        whole = ended.reshape(len(ended), -1, h).any(axis=2).repeat(h, axis=1)
        known = np.where(whole[:, :, None], 0.0, truth[:, :, width:])
        layers = tuple(states.reshape(-1, states.shape[-1]) for states in self.layers)
        beyond = whole if windows.known else ended
        truth = np.where(beyond[:, :, None], np.nan, truth[:, :, :width])
        return Start(layers, pending[:, :, :width], known, truth)

    def part(self, chosen: np.ndarray) -> "Calibration":
        """Some of the origins."""
        layers = tuple(states[chosen] for states in self.layers)
        return Calibration(self.readout, layers, self.panel, self.origins[chosen])

    def check(self, horizon: int, features: int, count: int) -> None:
        """Check what a file said: `count` series of so many features."""
        right = (
            self.panel.ndim == 3 and self.panel.shape[::2] == (count, features)
            and np.isfinite(self.panel).all()
            and self.origins.ndim == 1 and self.origins.dtype.kind == "i"
            and horizon <= self.origins.min() and self.origins.max() < self.panel.shape[1]
            and all(h.ndim == 3 and h.shape[:2] == (self.origins.size, count) for h in self.layers)
        )  # fmt: skip
        if not right:
            raise ValueError("the calibration of a forecaster does not fit together")

    def _window(self, first: int, count: int) -> np.ndarray:
        """Steps (series, count, features) from `first` on, NaN beyond the end."""
        inside = self.panel[:, first : first + count]
        rest = np.full((len(inside), count - inside.shape[1], inside.shape[2]), np.nan)
        return np.concatenate([inside, rest], axis=1)


def calibrate(
    reservoir: Reservoir,
    readout: Any,
    state: State,
    panel: np.ndarray,
    inputs: np.ndarray,
    held: int,
) -> Calibration:
    """Make a calibration on the last `held` steps of a panel.

    `state` is that of the reservoir `horizon` steps before the first origin.
    """
    steps, horizon = panel.shape[1], panel.shape[1] - inputs.shape[1]
    count = min(ORIGINS, held)
    origins = np.unique(np.linspace(steps - held - 1, steps - 2, count).astype(int))
    layers = [state.layers]
    for a, b in pairwise((origins - horizon + 1).tolist()):
        _, state = reservoir.last(as_series(inputs[:, a:b]), state, return_state=True)
        layers.append(state.layers)
    return Calibration(
        readout=readout,
        layers=tuple(np.stack(states) for states in zip(*layers, strict=True)),
        panel=panel[:, origins[0] - horizon :].copy(),
        origins=origins - origins[0] + horizon,
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
