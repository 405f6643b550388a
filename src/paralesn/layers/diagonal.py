"""A diagonal layer: its arrays, and the checks that given ones must pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import States

LONGEST_KERNEL = 63  # what a slice of units and its halo leave room for


@register
@dataclass(frozen=True, eq=False)
class DiagonalLayer:
    """Arrays of a layer whose units do not see each other.

    With N units, F inputs and a mixing kernel of length k, a time step is::

        h = eigenvalues h + tau (w_in x + bias)
        z[i] = tanh(Re(sum_j mix_kernel[j] h[i + j - (k - 1) // 2] + mix_bias))

    h being zero outside the layer; z is what the next layer and the readout see.

    Attributes
    ----------
    eigenvalues : (N,)
        Transition diagonal, leak folded in. All arrays are complex, or real for a real reservoir.
    w_in : (N, F) dense, or (N,) ring
        Ring: unit i reads unit (i - 1) mod width of the layer below.
    bias : (N,)
    tau : float
    mix_kernel : (k,)
    mix_bias : number
    tokens : bool
        Whether x is the number of a token, which stands for column x of the dense `w_in`.
    """

    eigenvalues: States
    w_in: States
    bias: States
    tau: float
    mix_kernel: States
    mix_bias: complex
    tokens: bool = False

    def __post_init__(self) -> None:
        arrays = ("eigenvalues", "w_in", "bias", "mix_kernel", "mix_bias")
        kind: Any = complex
        if not any(np.iscomplexobj(getattr(self, name)) for name in arrays):
            kind = float
        for name in arrays:
            array = np.array(getattr(self, name), kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array if array.ndim else array[()])

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.eigenvalues.size)

    @property
    def n_inputs(self) -> int:
        """Columns that a time step has where this layer is the first: of tokens, one."""
        return 1 if self.tokens else int(self.w_in.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether states are complex."""
        return np.iscomplexobj(self.eigenvalues)

    def n_columns(self, mixing: bool) -> int:
        """Columns of the layer's states in an output, mixed or raw (real, then imaginary parts)."""
        return self.units * (2 if self.is_complex and not mixing else 1)


def check_diagonal_layers(layers: Iterable[DiagonalLayer]) -> tuple[DiagonalLayer, ...]:
    """Check layers on top of each other: types, shapes, finite values, stable eigenvalues."""
    layers = tuple(layers) if isinstance(layers, Iterable) else (layers,)
    if not layers or not all(isinstance(layer, DiagonalLayer) for layer in layers):
        raise TypeError("layers must be a list of at least one DiagonalLayer")
    below = 0
    for depth, layer in enumerate(layers, 1):
        here = f"of layer {depth}"
        units = layer.eigenvalues.size
        if layer.eigenvalues.ndim != 1 or not units:
            raise ValueError(f"eigenvalues {here} must be (N,), got {layer.eigenvalues.shape}")
        if np.iscomplexobj(layer.eigenvalues) != np.iscomplexobj(layers[0].eigenvalues):
            raise TypeError(f"arrays {here} must be complex or real as those of the first layer")
        checks.weights(layer, units, below, here)
        if checks.flag(f"tokens {here}", layer.tokens) and (below or layer.w_in.shape[1] < 2):
            raise ValueError(
                f"tokens {here} must be False: only a first layer of several inputs may"
            )
        size = layer.mix_kernel.size
        if layer.mix_kernel.ndim != 1 or not 1 <= size <= LONGEST_KERNEL:
            shape = layer.mix_kernel.shape
            raise ValueError(f"mix_kernel {here} must be (k,), k from 1 to 63, got {shape}")
        if np.ndim(layer.mix_bias):
            raise ValueError(f"mix_bias {here} must be a number, got {layer.mix_bias!r}")
        checks.number(f"tau {here}", layer.tau, 0.0, 1.0, open_left=True)
        for name in ("eigenvalues", "w_in", "bias", "mix_kernel", "mix_bias"):
            if not np.isfinite(getattr(layer, name)).all():
                raise ValueError(f"{name} {here} must be finite, got NaN or infinity")
        radius = np.abs(layer.eigenvalues)
        if not (radius < 1).all():
            worst = int(radius.argmax())
            raise ValueError(
                f"eigenvalues {here} must lie inside the unit circle (the echo state property "
                f"needs |eigenvalue| < 1), got |eigenvalues[{worst}]| = {radius[worst]:.17g}"
            )
        below = units
    return layers
