"""The closed loop in Python, around the steps of any engine."""

from collections.abc import Callable
from typing import Any

import numpy as np

from paralesn.engines.base import States


def feed_back(
    step: Callable[..., States],
    program: Any,
    inputs: np.ndarray,
    state: States,
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    which: np.ndarray | None = None,
    after: States | None = None,
) -> np.ndarray:
    """Close the loop around the `step` of any engine; see `Engine.loop`."""
    outputs, columns = weights.shape[-2:]
    predicted = np.empty((*inputs.shape[:2], outputs))
    z = np.empty((inputs.shape[1], columns), inputs.dtype)
    x = inputs[0].copy()
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asked looks at the result
        for t in range(inputs.shape[0]):
            x[:, outputs:] = inputs[t, :, outputs:]
            state = step(program, x, state, z, check=False)
            read = read_out(z, weights, intercept, which)
            predicted[t] = read + (x[:, :outputs] if difference else 0.0)
            x[:, :outputs] = predicted[t]
    keep_ends(after, state)
    return predicted


def read_out(
    z: np.ndarray, weights: np.ndarray, intercept: np.ndarray, which: np.ndarray | None
) -> np.ndarray:
    """Predictions (B, D) of states (B, columns) by one readout, or by that of each series."""
    if which is None:
        return np.asarray(z @ weights.T + intercept)
    predicted = np.empty((len(z), weights.shape[1]))
    for r in np.unique(which):
        own = which == r
        predicted[own] = z[own] @ weights[r].T + intercept[r]
    return predicted


def keep_ends(after: States | None, state: States) -> None:
    """Write states to the arrays that were given for them, if any were."""
    if after is not None:
        for end, h in zip(after, state, strict=True):
            end[...] = h
