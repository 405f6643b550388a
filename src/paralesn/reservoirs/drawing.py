"""Random arrays: diagonal layers, matrices of a given spectral radius, orthogonal operators."""

import numpy as np
from scipy.linalg import qr

from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Operator, Sparse, padded
from paralesn.layers.spectrum import spectral_radius
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.memory import require_room


def draw_matrix(rng: np.random.Generator, units: int, rho: float, density: float) -> Dense | Sparse:
    """Entries uniform on [-1, 1], then rescaled to spectral radius `rho`.

    With a density below one, every unit reads the same number of units, at least one: so every
    row costs the same, and the units always form a cycle, without which the radius would be zero.
    """
    fan_in = units if density == 1 else _fan_in(units, density)
    require_room("units", units, 8 * units * fan_in)
    values = rng.uniform(-1.0, 1.0, (units, fan_in))
    if density == 1:
        matrix: Dense | Sparse = Dense(values)
    else:
        columns = np.stack([rng.choice(units, fan_in, replace=False) for _ in range(units)])
        matrix = Sparse(np.sort(columns, axis=1), values)
    if rho == 0:
        values *= 0.0
    else:
        values *= rho / spectral_radius(matrix)
    return Dense(values) if density == 1 else Sparse(matrix.columns, values)  # type: ignore[union-attr]


def _fan_in(units: int, density: float) -> int:
    return max(1, round(density * units))


def draw_orthogonal(rng: np.random.Generator, units: int, kind: str, scale: float) -> Operator:
    """`scale` times an orthogonal matrix: "random" (Haar measure), "cyclic" or "identity"."""
    if kind == "identity":
        return Identity(units, scale)
    if kind == "cyclic":
        return Cycle(units, scale)
    require_room("units", units, 16 * units**2)
    with single_threaded_blas():
        q, r = qr(rng.normal(size=(units, units)))
    return Dense(scale * q * np.sign(np.diag(r)))  # signs: otherwise not uniform


def draw_hadamard(rng: np.random.Generator, units: int, scale: float) -> Hadamard:
    """Random signs for a structured matrix."""
    signs = rng.integers(0, 2, (3, padded(units)), np.int8) * 2 - 1
    return Hadamard(units, scale, signs)


def draw_diagonal_layer(
    rng: np.random.Generator,
    width: int,
    weights: tuple[int, ...],
    *,
    real: bool,
    rho: tuple[float, float],
    theta: tuple[float, float],
    phases: str,
    radii: str,
    ring: str,
    kernel: str,
    tau: float,
    input_scale: float,
    bias_scale: float,
    mix_scale: float,
    mix_bias_scale: float,
    mix_size: int,
    tokens: bool = False,
) -> DiagonalLayer:
    """Draw a diagonal layer of `width` units whose input weights have the shape `weights`.

    Each quantity has a random stream of its own, so that changing one hyperparameter leaves the
    others' draws as they were.
    """
    entropy = [int(word) for word in rng.integers(0, 2**32, size=4)]
    streams = map(np.random.default_rng, np.random.SeedSequence(entropy).spawn(6))
    moduli, angles, inputs, biases, kernels, mix_biases = streams

    def symmetric(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        values = stream.uniform(-1.0, 1.0, shape)
        return values if real else values + 1j * stream.uniform(-1.0, 1.0, shape)

    if radii == "area":
        radius = np.sqrt(moduli.uniform(rho[0] ** 2, rho[1] ** 2, width))
    else:
        radius = moduli.uniform(rho[0], rho[1], width)
    if real:
        spectrum = radius * np.where(angles.random(width) < 0.5, -1.0, 1.0)
    else:
        spread = np.arange(width) / width if phases == "even" else angles.random(width)
        spectrum = radius * np.exp(1j * (theta[0] + (theta[1] - theta[0]) * spread))
    eigenvalues = (1.0 - tau) + tau * spectrum
    scale = input_scale * np.sqrt(np.maximum(0.0, 1.0 - np.abs(eigenvalues) ** 2))
    is_bare = ring == "bare" and len(weights) == 1
    factors = np.ones(weights) if is_bare else symmetric(inputs, weights)
    mix_kernel = symmetric(kernels, (mix_size,))
    if kernel == "normalized":
        mix_kernel /= np.linalg.norm(mix_kernel)
    return DiagonalLayer(
        eigenvalues=eigenvalues,
        w_in=factors * scale.reshape(-1, *[1] * (len(weights) - 1)),
        bias=bias_scale * symmetric(biases, (width,)),
        tau=float(tau),
        mix_kernel=mix_scale * mix_kernel,
        mix_bias=mix_bias_scale * symmetric(mix_biases, (1,))[0],
        tokens=tokens,
    )
