"""Intervals around forecasts, from the errors of forecasts into data held out of training."""

from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster.closed_loop import close_loop
from paralesn.estimators.state_forecaster.windows import Windows, as_series
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Floats, OpenFloats, States
from paralesn.reservoirs.base import Reservoir

ORIGINS = 200  # forecasts into the held-out steps, at most
_KEPT = 1 << 20  # errors that are kept, at most


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
    errors : (K, steps, targets) or None
        Of the longest forecasts that intervals were wanted of so far, NaN beyond the end: they
        follow from the rest, so that they are kept instead of computed for every forecast.
    """

    readout: Any
    layers: tuple[States, ...]
    panel: Floats
    origins: Counts
    errors: OpenFloats | None = None

    def residuals(self, reservoir: Reservoir, windows: Windows, steps: int) -> np.ndarray:
        """Errors (K, steps, targets) of forecasts over whole horizons, NaN beyond the end."""
        errors = self.errors
        if errors is None or errors.shape[1] < self._predicted(windows, steps):
            errors = self._residuals(reservoir, windows, steps)
            if errors.size <= _KEPT:  # seen by copies of the forecaster, too
                object.__setattr__(self, "errors", errors)
        return errors[:, :steps]

    @staticmethod
    def _predicted(windows: Windows, steps: int) -> int:
        """Steps of so many that are predicted."""
        return steps // windows.horizon if windows.only_last else steps

    def _residuals(self, reservoir: Reservoir, windows: Windows, steps: int) -> np.ndarray:
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
            and (self.errors is None
                 or (self.errors.ndim == 3 and len(self.errors) == self.origins.size
                     and self.errors.dtype == float))
            and all(h.ndim == 3 and h.shape[:2] == (self.origins.size, count) for h in self.layers)
        )  # fmt: skip
        if not right:
            raise ValueError("the calibration of a forecaster does not fit together")

    def _window(self, first: int, count: int) -> np.ndarray:
        """Steps (series, count, features) from `first` on, NaN beyond the end."""
        inside = self.panel[:, first : first + count]
        rest = np.full((len(inside), count - inside.shape[1], inside.shape[2]), np.nan)
        return np.concatenate([inside, rest], axis=1)


def held_out_origins(steps: int, held: int) -> np.ndarray:
    """Steps of a panel that forecasts into the last `held` ones are made from."""
    count = min(ORIGINS, held)
    return np.unique(np.linspace(steps - held - 1, steps - 2, count).astype(int))


def calibrate(
    reservoir: Reservoir,
    readout: Any,
    state: State,
    panel: np.ndarray,
    inputs: np.ndarray,
    origins: np.ndarray,
) -> Calibration:
    """Make a calibration on the part of a panel after its first origin.

    `state` is that of the reservoir `horizon` steps before the first origin.
    """
    first, horizon = int(origins[0]), panel.shape[1] - inputs.shape[1]
    later = as_series(inputs[:, first - horizon + 1 :])
    layers = [state.layers]
    layers += [
        end.layers for end in reservoir.states_after(later, (origins[1:] - first).tolist(), state)
    ]
    return Calibration(
        readout=readout,
        layers=tuple(np.stack(states) for states in zip(*layers, strict=True)),
        panel=panel[:, first - horizon :].copy(),
        origins=origins - first + horizon,
    )


def bounds(residuals: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper errors (steps, D) that hold a share `level` of new ones.

    Order statistics of the n errors at each step, the floor((n + 1) (1 - level) / 2)-th from either
    end: were errors exchangeable, the interval would hold at least that share of new ones, whatever
    their distribution.
    """
    known = np.isfinite(residuals).all(axis=2, keepdims=True)
    errors = np.sort(np.where(known, residuals, np.nan), axis=0)  # NaN come last
    counts = known.sum(axis=0)[:, 0]
    ranks = np.floor((counts + 1) * (1 - level) / 2 + 1e-9).astype(int)
    if (ranks < 1).any():
        step = int(np.argmax(ranks < 1))
        raise ValueError(
            f"interval={level:g} needs at least {ceil(2 / (1 - level) - 1e-9) - 1} held-out "
            f"forecasts, got {counts[step]} that reach step {step + 1}: lower it, forecast fewer "
            "steps, or raise held_out"
        )
    steps = np.arange(counts.size)
    return errors[ranks - 1, steps], errors[counts - ranks, steps]
