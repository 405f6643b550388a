"""How strongly a layer contracts: norms of operators, Lipschitz constants, spectral radii.

Everything here is an upper bound or exact; nothing forms a dense matrix that is not needed.
"""

from typing import Any

import numpy as np
from scipy.linalg import eig, eigvals, eigvalsh, matrix_balance

from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Operator, Sparse, padded
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.layers.spectrum import spectral_radius

Recurrence = DiagonalLayer | RecurrentLayer  # layers that theory speaks of

_DENSE = 4096  # units up to which a structured operator is written out as a matrix
_SCALED = 1024  # units up to which other norms than the Euclidean are tried


def norm_of(operator: Operator) -> float:
    """2-norm of an operator; for large `Sparse` and cut `Hadamard` ones a bound on it."""
    if isinstance(operator, Cycle):
        return abs(operator.weight)
    if isinstance(operator, Identity):
        return abs(operator.scale)
    is_large = operator.units > _DENSE
    if isinstance(operator, Hadamard) and (is_large or operator.units == padded(operator.units)):
        return abs(operator.scale)  # orthogonal; where units are cut off, a part of one that is
    if isinstance(operator, Sparse) and is_large:
        size = np.abs(operator.values)
        columns = np.bincount(operator.columns.ravel(), size.ravel())
        return float(np.sqrt(size.sum(axis=1).max() * columns.max()))
    return norm(operator.dense())


def radius(layer: Recurrence) -> float:
    """Spectral radius of the layer linearised at the origin; NaN where it costs too much."""
    if isinstance(layer, DiagonalLayer):
        return float(np.abs(layer.eigenvalues).max())
    circulant = circulant_spectrum(layer, layer.gain)
    if circulant is not None:
        return float(np.abs(circulant).max())
    if not _is_writable(layer):
        without_branch = isinstance(layer.branch, Identity) and layer.branch.scale == 0
        if not without_branch:
            return np.nan
        if isinstance(layer.recurrent, Sparse):
            return abs(layer.gain) * spectral_radius(layer.recurrent)
        is_orthogonal = layer.units == padded(layer.units)
        return abs(layer.gain) * norm_of(layer.recurrent) if is_orthogonal else np.nan
    matrix = layer.transition()
    if not np.tril(matrix, -1).any() or not np.triu(matrix, 1).any():
        return float(np.abs(np.diag(matrix)).max())  # exact, even where it is defective
    return spectral_radius(Dense(matrix))


def spectrum(layer: Recurrence) -> np.ndarray:
    """Eigenvalues of the layer linearised at the origin."""
    if isinstance(layer, DiagonalLayer):
        return layer.eigenvalues
    circulant = circulant_spectrum(layer, layer.gain)
    return eigvals(layer.transition()) if circulant is None else circulant


def circulant_spectrum(layer: RecurrentLayer, share: float) -> np.ndarray | None:
    """Eigenvalues of ``branch + share recurrent`` where both are rings or multiples of I."""
    angles = 2j * np.pi * np.arange(layer.units) / layer.units
    spectra: list[Any] = []
    for operator in (layer.branch, layer.recurrent):
        if isinstance(operator, Identity):
            spectra.append(operator.scale)
        elif isinstance(operator, Cycle):
            spectra.append(operator.weight * np.exp(angles))
        else:
            return None
    return np.broadcast_to(np.asarray(spectra[0] + share * spectra[1], complex), (layer.units,))


def contraction(layer: Recurrence) -> tuple[float, np.ndarray]:
    r"""Lipschitz constant of a layer's step in some norm :math:`\|S \cdot\|_2`, and S (N,).

    A step of a tanh layer takes a difference :math:`\delta` of states to
    :math:`(B + g D R)\,\delta`, D diagonal with entries in (0, 1]. With D = (I + E) / 2, every
    :math:`|E_{ii}| \le 1`, and S diagonal, which commutes with E,

    .. math:: \|S (B + g D R) S^{-1}\| \le \|S (B + g R / 2) S^{-1}\| + |g| / 2\, \|S R S^{-1}\|,

    never more than :math:`\|B\| + |g| \|R\|` in the same norm.
    """
    units = layer.units
    plain = np.ones(units)
    if isinstance(layer, DiagonalLayer):
        return radius(layer), plain
    share = layer.gain if layer.linear else layer.gain / 2
    rest = abs(layer.gain - share)
    circulant = circulant_spectrum(layer, share)
    if circulant is not None:  # normal: no norm is better
        return float(np.abs(circulant).max()) + rest * norm_of(layer.recurrent), plain
    if not _is_writable(layer):
        return norm_of(layer.branch) + abs(layer.gain) * norm_of(layer.recurrent), plain
    recurrent, branch = layer.recurrent.dense(), layer.branch.dense()
    if not branch.any():  # one norm tells both
        share, rest = layer.gain, 0.0
    both = branch + share * recurrent
    candidates = []
    for scaling in _scalings(branch, layer.gain * recurrent, layer.linear):
        ratio = scaling[:, None] / scaling
        rate = norm(both * ratio)
        if rest:
            rate += rest * norm(recurrent * ratio)
        candidates.append((rate, scaling))
    return min(candidates, key=lambda pair: pair[0])


def _scalings(branch: np.ndarray, driven: np.ndarray, linear: bool) -> list[np.ndarray]:
    """Diagonals of S worth trying: none, balancing, and the best one for non-negative matrices."""
    units = len(branch)
    candidates = [np.ones(units)]
    if units > _SCALED:
        return candidates
    matrix = branch + driven
    candidates.append(1.0 / matrix_balance(matrix, permute=False, separate=True)[1][0])
    # With Perron vectors u, v of a non-negative matrix P, S = sqrt(u / v) makes |S P S^-1|_2 its
    # spectral radius, and P bounds branch + g D recurrent entry by entry. A touch everywhere
    # keeps the vectors positive where P is reducible.
    bound = np.abs(matrix) if linear else np.abs(branch) + np.abs(driven)
    values, left, right = eig(bound + 1e-6 * bound.mean(), left=True, right=True)
    top = int(np.abs(values).argmax())
    with np.errstate(all="ignore"):
        candidates.append(np.sqrt(np.abs(left[:, top]) / np.abs(right[:, top])))
    return [s for s in candidates if np.isfinite(s).all() and s.min() > 1e-100 * s.max()]


def input_norm(layer: Recurrence, below: int, mine: np.ndarray, theirs: np.ndarray) -> float:
    """2-norm of ``S w_in S_below^-1``, from `below` inputs, times what multiplies it."""
    factor = layer.tau if isinstance(layer, DiagonalLayer) else abs(layer.gain)
    if layer.w_in.ndim == 2:
        return factor * norm(mine[:, None] * layer.w_in / theirs)
    source = (np.arange(layer.units) - 1) % below
    sizes = np.abs(mine * layer.w_in / theirs[source]) ** 2
    return factor * float(np.sqrt(np.bincount(source, sizes).max()))


def mixing_norm(layer: Recurrence) -> float:
    """Lipschitz constant of what a layer hands upwards as a function of its state."""
    if isinstance(layer, RecurrentLayer):
        return 1.0
    # The convolution with zero padding is a part of a circular one of this size, whose norm is
    # the largest absolute value of the kernel's Fourier transform; tanh and Re are 1-Lipschitz.
    size = layer.units + layer.mix_kernel.size - 1
    return float(np.abs(np.fft.fft(layer.mix_kernel, size)).max())


def _is_writable(layer: RecurrentLayer) -> bool:
    """Whether its matrices are small enough, or are there anyway."""
    is_written = isinstance(layer.recurrent, Dense) or isinstance(layer.branch, Dense)
    return is_written or layer.units <= _DENSE


def norm(matrix: np.ndarray) -> float:
    """2-norm of a matrix."""
    if min(matrix.shape) < 256:
        return float(np.linalg.norm(matrix, 2))
    gram = matrix.conj().T @ matrix  # several times faster, and as precise for the largest
    last = len(gram) - 1
    return float(np.sqrt(eigvalsh(gram, subset_by_index=[last, last])[0]))
