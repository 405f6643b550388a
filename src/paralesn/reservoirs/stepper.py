"""One step a call, with everything prepared: for live data and for loops written in Python."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from paralesn import checks, series
from paralesn.engines.overflow import Overflow
from paralesn.engines.stepping import Steps
from paralesn.engines.torch import tensors
from paralesn.layers.state import State, ended
from paralesn.runtime.memory import require_room


class Stepper:
    """Advance a reservoir by one step a call; made by the method `stepper` of a reservoir.

    Arguments were checked and arrays made once, so that a call costs little more than the step:
    states are those of `run`, bit for bit, and `state` is where to continue from. A stepper is a
    position in a series: give every thread its own.

    Examples
    --------
    Inputs may depend on earlier states, as in a closed loop:

    >>> import numpy as np, paralesn as pe
    >>> y = np.sin(np.arange(500) / 9)
    >>> res = pe.ParalESN(units=64)
    >>> states, state = res.run(y[:-1])
    >>> readout = pe.Ridge(alphas=[1e-8]).fit(states[100:], y[101:])
    >>> step, value = res.stepper(state), y[-1]
    >>> for _ in range(20):
    ...     value = step(value) @ readout.coef_ + readout.intercept_
    >>> bool(abs(value - np.sin(519 / 9)) < 1e-3)
    True
    """

    def __init__(
        self, steps: Steps, origin: str, kind: str, copy: bool,
        check: Callable[[Any], None] | None,
    ) -> None:  # fmt: skip
        self._steps, self._origin, self._copy, self._check = steps, origin, copy, check
        self._advance, self._x = steps.advance, steps.x
        self._kind, is_single = kind, kind is series.SINGLE
        self._out = steps.out[0] if is_single else steps.out
        self._is_number = is_single and steps.x.shape[1] == 1

    def __call__(self, x: Any) -> np.ndarray:
        """Take one step.

        Parameters
        ----------
        x : number, array (features,), or (batch, features) for a stepper of several series

        Returns
        -------
        z : array (units,) or (batch, units)
            Yours to keep, unless the stepper was made with ``copy=False``.
        """
        if self._check is not None:
            self._check(x)
        # A Python float or NumPy's; one that float32 does not hold takes the long way to its error.
        if self._is_number and isinstance(x, float) and isfinite(x) and abs(x) < 1e38:
            self._x[0, 0] = x
        else:
            self._x[...] = self._rows(x)
        try:
            self._advance()
        except Overflow as error:  # the state is as it was
            raise error.live(self._kind is series.SINGLE) from None
        return self._out.copy() if self._copy else self._out

    def _rows(self, x: Any) -> np.ndarray:
        """The step as (batch, features), checked."""
        if tensors.is_tensor(x):
            raise TypeError("a stepper reads numbers and arrays, got a tensor: use step for these")
        count, features = self._x.shape
        rows, kind = series.one_step(x, self._x.dtype, features)
        if kind != self._kind or len(rows) != count:
            expected = f"({features},)" if self._kind is series.SINGLE else f"{self._x.shape}"
            raise ValueError(f"x must be of shape {expected} for this stepper, got {np.shape(x)}")
        return rows

    @property
    def state(self) -> State:
        """The state after the latest step, to continue from or to save: a copy."""
        layers = self._steps.state
        if self._kind is series.SINGLE:
            return ended(tuple([h[0].copy() for h in layers]), self._origin)
        return ended(tuple([h.copy() for h in layers]), self._origin)


def series_of(state: Any, batch: Any) -> int | None:
    """Number of series that a stepper is of, None for a single one without an axis for it."""
    if batch is not None:
        require_room("batch", batch, 8 * checks.integer("batch", batch, 1))
        return int(batch)
    layers = state.layers if isinstance(state, State) else state
    is_batch = isinstance(layers, (list, tuple)) and len(layers) and np.ndim(layers[0]) == 2
    return len(layers[0]) if is_batch else None
