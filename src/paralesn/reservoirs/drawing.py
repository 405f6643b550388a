"""Random operators: matrices of a given spectral radius, orthogonal ones."""

import numpy as np
from scipy.linalg import qr

from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Operator, Sparse, padded
from paralesn.layers.spectrum import spectral_radius
from paralesn.runtime.blas import single_threaded_blas


def draw_matrix(rng: np.random.Generator, units: int, rho: float, density: float) -> Dense | Sparse:
    """Entries uniform on [-1, 1], then rescaled to spectral radius `rho`.

    With a density below one, every unit reads the same number of units, at least one: so every
    row costs the same, and the units always form a cycle, without which the radius would be zero.
    """
    values = rng.uniform(
        -1.0, 1.0, (units, units) if density == 1 else (units, _fan_in(units, density))
    )
    if density == 1:
        matrix: Dense | Sparse = Dense(values)
    else:
        fan_in = values.shape[1]
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
    with single_threaded_blas():
        q, r = qr(rng.normal(size=(units, units)))
    return Dense(scale * q * np.sign(np.diag(r)))  # signs: otherwise not uniform


def draw_hadamard(rng: np.random.Generator, units: int, scale: float) -> Hadamard:
    """Random signs for a structured matrix."""
    signs = rng.integers(0, 2, (3, padded(units)), np.int8) * 2 - 1
    return Hadamard(units, scale, signs)
