"""A recurrent layer: its arrays and operators, and the checks that given ones must pass."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Operator, check_operator
from paralesn.layers.spectrum import is_stable
from paralesn.persistence import register
from paralesn.persistence.fields import Floats


@register
@dataclass(frozen=True, eq=False)
class RecurrentLayer:
    """Arrays of a layer whose units see each other.

    With N units and F inputs, a time step is
    ``h = branch h + gain f(recurrent h + w_in x + bias)``, f being tanh or the identity.

    Attributes
    ----------
    recurrent : operator
        One of `Dense`, `Sparse`, `Cycle`, `Hadamard`, `Identity`.
    w_in : (N, F) dense, or (N,) ring
        Ring: unit i reads unit (i - 1) mod width of the layer below.
    bias : (N,)
    branch : operator
        Carries the previous state over: for a leaky layer ``Identity(N, 1 - tau)``.
    gain : float
        For a leaky layer tau.
    linear : bool
        Whether f is the identity.
    """

    recurrent: Operator
    w_in: Floats
    bias: Floats
    branch: Operator
    gain: float
    linear: bool = False

    def __post_init__(self) -> None:
        for name in ("w_in", "bias"):
            array = np.array(getattr(self, name), float, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def units(self) -> int:
        """Number of units."""
        return self.recurrent.units

    @property
    def n_inputs(self) -> int:
        """Columns that a time step has where this layer is the first."""
        return int(self.w_in.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether states are complex: never."""
        return False

    def n_columns(self, mixing: bool) -> int:
        """Columns of the layer's states in an output; there is nothing to mix."""
        return self.units

    def transition(self) -> np.ndarray:
        """``branch + gain recurrent`` (N, N): the recurrence linearised at the origin."""
        return self.branch.dense() + self.gain * self.recurrent.dense()


def check_recurrent_layers(layers: Iterable[RecurrentLayer]) -> tuple[RecurrentLayer, ...]:
    """Check layers on top of each other: types, shapes, finite values, stable where linear."""
    layers = tuple(layers) if isinstance(layers, Iterable) else (layers,)
    if not layers or not all(isinstance(layer, RecurrentLayer) for layer in layers):
        raise TypeError("layers must be a list of at least one RecurrentLayer")
    below = 0
    for depth, layer in enumerate(layers, 1):
        here = f"of layer {depth}"
        for name in ("recurrent", "branch"):
            check_operator(f"{name} {here}", getattr(layer, name))
        units = layer.units
        if layer.branch.units != units:
            raise ValueError(
                f"branch {here} must have {units} units as recurrent, got {layer.branch.units}"
            )
        checks.weights(layer, units, below, here)
        checks.number(f"gain {here}", layer.gain)
        checks.flag(f"linear {here}", layer.linear)
        if layer.linear != layers[0].linear:
            raise ValueError(f"linear {here} must be as in the first layer, got {layer.linear}")
        for name in ("w_in", "bias"):
            if not np.isfinite(getattr(layer, name)).all():
                raise ValueError(f"{name} {here} must be finite, got NaN or infinity")
        below = units
    check_stable(layers)
    return layers


def check_stable(layers: Iterable[RecurrentLayer]) -> None:
    """Raise for a linear layer whose states would grow without end."""
    for depth, layer in enumerate(layers, 1):
        if not layer.linear:
            continue
        stable, radius = is_stable(layer.branch, layer.recurrent, layer.gain)
        if not stable:
            raise ValueError(
                f"layer {depth} must be stable with linear=True (spectral radius below 1), got "
                f"{radius:.17g}"
            )
