r"""Where a piece of a long series begins: what a reservoir has to know of the steps before it.

The states of one diagonal layer carry over exactly: with e the state after a piece of L steps that
began in zero, the state after the same piece that began in h is :math:`\lambda^L h + e`. Stacked
layers see each other through a tanh; they read a halo of earlier steps that is long enough for any
state before it to be forgotten.
"""

import math

import numpy as np

from paralesn.estimators.passes import Block
from paralesn.estimators.regressor_passes import StatePass
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.state import State
from paralesn.reservoirs.base import Reservoir

_FORGOTTEN = 1e-17  # what is left of a state in a halo


def is_exact(reservoir: Reservoir) -> bool:
    """Whether states carry over from piece to piece without a halo."""
    layers = reservoir.layers_
    return len(layers) == 1 and isinstance(layers[0], DiagonalLayer)


def forgotten_after(reservoir: Reservoir) -> int | None:
    """Steps after which diagonal layers have forgotten any state; None for other layers.

    The largest radius decides. Through several layers it takes longer: twice as long through two,
    three times through four.
    """
    layers = reservoir.layers_
    if not all(isinstance(layer, DiagonalLayer) for layer in layers):
        return None
    radius = max(float(np.abs(layer.eigenvalues).max()) for layer in layers)
    if radius == 0.0:
        return len(layers)
    steps = math.log(_FORGOTTEN) / math.log(radius)
    return math.ceil(steps * (1 + math.log2(len(layers)))) + len(layers)


def end_from_zero(step: StatePass, X: np.ndarray, before: State | None = None) -> State:
    """The state of one diagonal layer after a piece, which began in zero or in `before`."""
    source, _ = step.open(Block(X, np.zeros(len(X))))
    return step.end_after(source, before)


def carried(reservoir: Reservoir, before: State | None, end: State, steps: int) -> State:
    """The state after a piece of so many steps that began in `before`, from its end from zero."""
    if before is None:
        return end
    (eigenvalues,) = (layer.eigenvalues for layer in reservoir.layers_)
    (h,), (e,) = before.layers, end.layers
    return State(((eigenvalues**steps * h + e).astype(e.dtype),), end.origin)
