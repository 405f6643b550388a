"""Forecasts of any length: predictions are read again as observations."""

from typing import Any

import numpy as np

from paralesn.estimators.forecaster.windows import Rows
from paralesn.layers.state import State
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir


def roll(
    rows: Rows,
    reservoir: Reservoir,
    readout: Any,
    layers: tuple[np.ndarray, ...],
    pending: np.ndarray,
    known: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Forecast the steps (batch, steps, width) that follow on `pending`.

    Parameters
    ----------
    layers : per layer (batch, units), the states before the last `horizon` steps of `pending`
    pending : (batch, 1 + horizon, width), the newest observations
    known : (batch, whole horizons, known), what is known of the steps to come
    """
    state = State(layers, reservoir.fingerprint_)
    if rows.horizon == 1 and isinstance(readout, Ridge):
        return _closed_loop(rows, reservoir, readout, state, pending, known, steps)
    pieces = []
    for first in range(0, steps, rows.horizon):
        seen = rows.seen(pending[:, 1:], pending[:, :1])
        ahead = known[:, first : first + rows.horizon]
        inputs = np.concatenate([seen, ahead], axis=2)
        z, state = reservoir.last(inputs, state, return_state=True)
        predicted = rows.predictions(readout, z, pending[:, -1])
        pieces.append(predicted)
        pending = np.concatenate([pending[:, -1:], predicted], axis=1)
    return np.concatenate(pieces, axis=1)[:, :steps]


def _closed_loop(
    rows: Rows,
    reservoir: Reservoir,
    readout: Ridge,
    state: State,
    pending: np.ndarray,
    known: np.ndarray,
    steps: int,
) -> np.ndarray:
    """One step at a time, inside the engine."""
    width = rows.width
    inputs = np.zeros((steps, len(pending), width + rows.known))
    inputs[0, :, :width] = rows.seen(pending[:, 1:], pending[:, :1])[:, 0]
    inputs[:, :, width:] = known.transpose(1, 0, 2)
    weights = np.ascontiguousarray(np.asarray(readout.coef_).reshape(width, -1))
    intercept = np.asarray(readout.intercept_).reshape(width)
    # Where changes are read, the change predicted is what is fed back.
    difference = rows.difference and not rows.changes
    found = reservoir.close_loop(inputs, state, weights, intercept, difference).transpose(1, 0, 2)
    return pending[:, -1:] + found.cumsum(axis=1) if rows.changes else found
