"""Forecasts of any length: the model reads its predictions as if they had been observed."""

from typing import Any

import numpy as np

from paralesn.estimators.state_forecaster.windows import Windows, as_series
from paralesn.layers.state import State
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir


def close_loop(
    windows: Windows,
    reservoir: Reservoir,
    readout: Any,
    layers: tuple[np.ndarray, ...],
    pending: np.ndarray,
    known: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Forecast the steps (batch, steps, width) after `pending`, a horizon at a time.

    Parameters
    ----------
    layers : per layer (batch, units), the states before the last `horizon` steps of `pending`
    pending : (batch, 1 + horizon, width), the newest observations
    known : (batch, whole horizons, known), what is known of the steps to come
    """
    state = State(layers, reservoir.fingerprint_)
    if windows.horizon == 1 and isinstance(readout, Ridge):
        call = (*linear(windows, readout), state, pending, known, steps)
        return linear_loop(windows, reservoir, *call)
    pieces = []
    for first in range(0, steps, windows.horizon):
        observed = windows.changed(pending[:, 1:], pending[:, :1])
        ahead = known[:, first : first + windows.horizon]
        inputs = np.concatenate([observed, ahead], axis=2)
        z, state = reservoir.last(as_series(inputs), state, return_state=True)
        predicted = windows.predictions(readout, z, pending[:, -1])
        check_bounded(predicted, first)
        pieces.append(predicted)
        pending = np.concatenate([pending[:, -1:], predicted], axis=1)
    return np.concatenate(pieces, axis=1)[:, :steps]


def check_bounded(values: np.ndarray, first: int = 0) -> None:
    """Raise where forecasts (batch, steps, width) from step `first` on are not finite."""
    if not np.isfinite(values).all():
        step = first + int(np.argwhere(~np.isfinite(values))[:, 1].min()) + 1
        raise ValueError(f"the closed loop diverged: no finite forecast from step {step} on")


def linear(windows: Windows, readout: Ridge) -> tuple[np.ndarray, np.ndarray]:
    """Weights (outputs, units) and intercept (outputs,) of a readout of single steps."""
    outputs = windows.width // windows.n_readings
    weights = np.ascontiguousarray(np.asarray(readout.coef_).reshape(outputs, -1))
    return weights, np.asarray(readout.intercept_).reshape(outputs)


def linear_loop(
    windows: Windows,
    reservoir: Reservoir,
    weights: np.ndarray,
    intercept: np.ndarray,
    state: State,
    pending: np.ndarray,
    known: np.ndarray,
    steps: int,
) -> np.ndarray:
    """The loop of a linear readout of single steps, inside the engine; as `close_loop`."""
    width = windows.width
    inputs = np.zeros((steps, len(pending), width + windows.known))
    inputs[0, :, :width] = windows.changed(pending[:, 1:], pending[:, :1])[:, 0]
    inputs[:, :, width:] = known.transpose(1, 0, 2)
    # Where changes are read, the change predicted is what is fed back.
    difference = windows.difference and not windows.changes
    values = reservoir.close_loop(inputs, state, weights, intercept, difference).transpose(1, 0, 2)
    return pending[:, -1:] + values.cumsum(axis=1) if windows.changes else values
