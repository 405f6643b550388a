"""The closed loop as a dynamical system of its own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn import checks, series
from paralesn.layers.state import State
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.local_reservoirs import LocalReservoirs
from paralesn.runtime.memory import require_room


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

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> series = pe.datasets.lorenz63(3000)
    >>> model = pe.ReservoirForecaster(strategy="closed-loop").fit(series[:2000])
    >>> starts = np.stack([series[first : first + 100] for first in (2000, 2300, 2600)])
    >>> loops = model.closed_loop_.started(starts).forecast(50)  # from three places at once
    >>> truth = np.stack([series[first + 100 : first + 150] for first in (2000, 2300, 2600)])
    >>> bool(np.abs(loops - truth).max() < 0.01 * series.std())
    True
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
        steps = checks.integer("steps", steps, 1)
        require_room("steps", steps, 16 * steps * self.newest.size)
        inputs = np.zeros((steps, *self.newest.shape))
        inputs[0] = self.newest
        call = (self.state, self.weights, self.intercept, self.difference)
        return self.reservoir.close_loop(inputs, *call)

    def started(self, y: Any) -> "ClosedLoop":
        """The same system after reading other stretches, from a zero state on: its spin-up.

        Parameters
        ----------
        y : array-like (time, D) or (batch, time, D)
            In the units of the data, at least two steps. Where the reservoir reads patches of a
            field, the field may have another size: any multiple of the size of a patch.

        Returns
        -------
        ClosedLoop
            Of as many series as y holds.
        """
        values = series.numeric(y, "y")
        if values.ndim not in (2, 3) or values.shape[-2] < 2:
            expected = "of shape (time, D) or (batch, time, D) with at least two steps"
            raise ValueError(f"y must be {expected}, got {values.shape}")
        if self.mean.ndim != 1:
            raise ValueError("y must not be given where series have units of their own")
        reservoir, mean, scale, width = self.reservoir, self.mean, self.scale, values.shape[-1]
        if width != mean.size:
            if not isinstance(reservoir, LocalReservoirs):
                raise ValueError(f"y must have {mean.size} columns, got {width}")
            reservoir = reservoir.on_field(width)
            mean, scale = np.full(width, mean[0]), np.full(width, scale[0])  # common to all
        batch = (values.reshape(-1, *values.shape[-2:]) - mean) / scale
        _, state = reservoir.run(batch[:, :-1])
        return replace(
            self, reservoir=reservoir, state=state, newest=batch[:, -1], mean=mean, scale=scale
        )

    def forecast(self, steps: int) -> np.ndarray:
        """Predictions (B, steps, D) in the units of the data; none is looked at, as in `run`."""
        values = self.run(steps) * self.scale + self.mean
        return np.ascontiguousarray(values.swapaxes(0, 1))
