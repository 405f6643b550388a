"""A diagonal layer: its arrays, how they are drawn, and what given ones must fulfil."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register

LONGEST_KERNEL = 63  # what a slice of units and its halo leave room for

# Hyperparameters of a layer, which `inter` may set anew for the layers after the first.
OF_A_LAYER = (
    "rho", "theta", "phases", "tau", "input_scale", "bias_scale", "mix_scale", "mix_bias_scale",
    "mix_size",
)  # fmt: skip
PHASES = ("random", "even")


@register
@dataclass(frozen=True, eq=False)
class DiagonalLayer:
    """Drawn arrays of one layer; its recurrence is ``h = eigenvalues h + tau (w_in x + bias)``.

    Attributes
    ----------
    eigenvalues : (N,)
        Transition diagonal, leak folded in. All arrays are complex, or real for a real reservoir.
    w_in : (N, F) dense, or (N,) ring
        Ring: unit i reads unit (i - 1) mod width of the layer below.
    bias : (N,)
    tau : float
    mix_kernel : (k,)
        ``z[i] = tanh(Re(sum_j mix_kernel[j] h[i + j - (k - 1) // 2] + mix_bias))``, zero outside.
    mix_bias : number
    tokens : bool
        Whether x is the number of a token, which stands for column x of the dense `w_in`.
    """

    eigenvalues: np.ndarray
    w_in: np.ndarray
    bias: np.ndarray
    tau: float
    mix_kernel: np.ndarray
    mix_bias: Any
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
    def parts(self) -> int:
        """Real numbers in a unit's state: two where it is complex."""
        return 2 if np.iscomplexobj(self.eigenvalues) else 1


def check_hyperparameters(hyper: Mapping[str, Any], prefix: str) -> None:
    """Check the hyperparameters of one layer."""
    checks.interval(f"{prefix}rho", hyper["rho"], least=0.0, most=1.0, open_right=True)
    checks.interval(f"{prefix}theta", hyper["theta"])
    checks.choice(f"{prefix}phases", hyper["phases"], PHASES)
    checks.number(f"{prefix}tau", hyper["tau"], 0.0, 1.0, open_left=True)
    for name in ("input_scale", "bias_scale", "mix_scale", "mix_bias_scale"):
        checks.number(prefix + name, hyper[name], 0.0)
    checks.integer(f"{prefix}mix_size", hyper["mix_size"], 1, LONGEST_KERNEL)


def draw_layer(
    rng: np.random.Generator,
    width: int,
    weights: tuple[int, ...],
    *,
    real: bool,
    rho: tuple[float, float],
    theta: tuple[float, float],
    phases: str,
    tau: float,
    input_scale: float,
    bias_scale: float,
    mix_scale: float,
    mix_bias_scale: float,
    mix_size: int,
    tokens: bool = False,
) -> DiagonalLayer:
    """Draw one layer of `width` units whose input weights have the shape `weights`.

    Each quantity has a random stream of its own, so that changing one hyperparameter leaves the
    others' draws as they were.
    """
    entropy = [int(word) for word in rng.integers(0, 2**32, size=4)]
    streams = map(np.random.default_rng, np.random.SeedSequence(entropy).spawn(6))
    radii, angles, inputs, biases, kernels, mix_biases = streams

    def symmetric(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        part = stream.uniform(-1.0, 1.0, shape)
        return part if real else part + 1j * stream.uniform(-1.0, 1.0, shape)

    radius = radii.uniform(rho[0], rho[1], width)
    if real:
        spectrum = radius * np.where(angles.random(width) < 0.5, -1.0, 1.0)
    else:
        spread = np.arange(width) / width if phases == "even" else angles.random(width)
        spectrum = radius * np.exp(1j * (theta[0] + (theta[1] - theta[0]) * spread))
    eigenvalues = (1.0 - tau) + tau * spectrum
    scale = input_scale * np.sqrt(np.maximum(0.0, 1.0 - np.abs(eigenvalues) ** 2))
    return DiagonalLayer(
        eigenvalues=eigenvalues,
        w_in=symmetric(inputs, weights) * scale.reshape(-1, *[1] * (len(weights) - 1)),
        bias=bias_scale * symmetric(biases, (width,)),
        tau=float(tau),
        mix_kernel=mix_scale * symmetric(kernels, (mix_size,)),
        mix_bias=mix_bias_scale * symmetric(mix_biases, (1,))[0],
        tokens=tokens,
    )


def checked(layers: Iterable[DiagonalLayer]) -> tuple[DiagonalLayer, ...]:
    """Check given layers: kinds, shapes, finite values, eigenvalues inside the unit circle."""
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
