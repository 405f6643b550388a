"""The closed loop as a dynamical system of its own."""

from dataclasses import dataclass

import numpy as np

from paralesn import checks
from paralesn.layers.state import State
from paralesn.reservoirs.base import Reservoir


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    r"""A reservoir that reads what its own linear readout predicts: an autonomous system.

    .. math::

        h_t = F(h_{t-1}, x_t), \qquad x_{t+1} = W z_t + b \;(+\, x_t),

    z being the states of the reservoir that a readout sees, and :math:`x_t` added where the readout
    predicts differences. On `patches` of a field, W and b predict the values that a patch owns from
    its own states, for all patches alike.

    A fitted forecaster in closed loop has it as ``model.closed_loop_``. Values are those the
    reservoir reads, scaled; `scale` and `mean` bring them back to the units of the data.

    Attributes
    ----------
    reservoir : Reservoir
        Drawn.
    weights : (D, columns); intercept : (D,)
    difference : bool
    state : State
        Of a batch of B series, before they read `newest`.
    newest : (B, D)
        What is read first; the field of all patches where there are several.
    mean, scale : (D,), or (B, D) where series have units of their own
        Values in the units of the data are ``mean + scale * x``.
    """

    reservoir: Reservoir
    weights: np.ndarray
    intercept: np.ndarray
    difference: bool
    state: State
    newest: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    def run(self, steps: int) -> np.ndarray:
        """Predictions (steps, B, D) of the steps after `newest`, as the reservoir reads them."""
        inputs = np.zeros((checks.integer("steps", steps, 1), *self.newest.shape))
        inputs[0] = self.newest
        call = (self.state, self.weights, self.intercept, self.difference)
        return self.reservoir.close_loop(inputs, *call)
