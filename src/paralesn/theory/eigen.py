"""Eigendecompositions that can be relied on: unitary, well conditioned, or of a matrix nearby."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, schur

from paralesn.theory.contraction import norm

_EPS = float(np.finfo(float).eps)
_SIZES = np.logspace(-16, -2, 15)  # of perturbations, relative to the matrix
_FINER = np.logspace(-1, 1, 9)
_DIRECTIONS = 3


@dataclass(frozen=True, eq=False)
class Eigen:
    """``matrix = vectors diag(values) vectors^-1 + error``.

    Attributes
    ----------
    values (N,), vectors (N, N) : complex
        Columns of `vectors` have norm one.
    condition : float
        Of the eigenvectors.
    perturbation : float
        2-norm of what was added to the matrix on purpose.
    error : float
        2-norm of what is missing: the perturbation, and all rounding.
    """

    values: np.ndarray
    vectors: np.ndarray
    condition: float
    perturbation: float
    error: float


def decompose(matrix: np.ndarray, limit: float, perturb: bool, seed: int) -> Eigen:
    """Eigenvectors of a real matrix, or of one nearby, whose condition is at most `limit`."""
    eigen = _normal(matrix)
    if eigen is None:
        eigen = _general(matrix, matrix, 0.0)
    if eigen.condition <= limit:
        return eigen
    nearby = _perturbed(matrix, limit, np.random.default_rng(seed)) if perturb else None
    if nearby is not None:
        return nearby
    what = f"eigenvectors of condition {eigen.condition:.3g}, above limit ({limit:.3g})"
    if not perturb:
        raise ValueError(f"esn cannot be diagonalised with perturb=False: it has {what}")
    raise ValueError(
        f"esn cannot be diagonalised: it has {what}, and every perturbation that brings it down "
        "pushes an eigenvalue out of the unit circle; a larger limit may do"
    )


def _normal(matrix: np.ndarray) -> Eigen | None:
    """Unitary eigenvectors from the real Schur form, in exact conjugate pairs; None if not normal.

    `eig` would do as well where eigenvalues are distinct; of repeated ones it may return vectors
    that are far from orthogonal, or not even independent.
    """
    form, basis = schur(matrix, output="real")
    n = len(matrix)
    pairs = np.flatnonzero(np.diag(form, -1))  # 2 x 2 blocks [[a, b], [c, a]] with b c < 0
    rest = form.copy()
    np.fill_diagonal(rest, 0.0)
    values, vectors = np.diag(form).astype(complex), basis.astype(complex)
    for i in pairs:
        b, c = form[i, i + 1], form[i + 1, i]
        rest[i, i + 1], rest[i + 1, i] = (b + c) / 2, (b + c) / 2
        turn = (b - c) / 2
        values[i] += 1j * turn
        values[i + 1] = values[i].conjugate()
        vectors[:, i] = (basis[:, i] + 1j * basis[:, i + 1]) / np.sqrt(2.0)
        vectors[:, i + 1] = vectors[:, i].conj()
    if np.linalg.norm(rest) > 4 * n * _EPS * np.linalg.norm(matrix):
        return None
    inverse = vectors.conj().T
    return Eigen(values, vectors, 1.0, 0.0, _error(matrix, values, vectors, inverse, 1.0))


def _general(matrix: np.ndarray, nearby: np.ndarray, perturbation: float) -> Eigen:
    """Eigenvectors of `nearby` as a decomposition of `matrix`."""
    values, vectors = eig(nearby)
    vectors = vectors.astype(complex)
    sizes = np.linalg.svd(vectors, compute_uv=False)
    if not sizes[-1] > _EPS * sizes[0]:
        return Eigen(values, vectors, np.inf, perturbation, np.inf)
    condition = float(sizes[0] / sizes[-1])
    error = _error(matrix, values, vectors, np.linalg.inv(vectors), condition)
    return Eigen(values, vectors, condition, perturbation, error)


def _error(
    matrix: np.ndarray,
    values: np.ndarray,
    vectors: np.ndarray,
    inverse: np.ndarray,
    condition: float,
) -> float:
    """2-norm of matrix - vectors diag(values) inverse, with what rounding hides of it."""
    residual = (matrix @ vectors - vectors * values) @ inverse
    return norm(residual) + 4 * _EPS * norm(matrix) * condition


def _perturbed(matrix: np.ndarray, limit: float, rng: np.random.Generator) -> Eigen | None:
    """The nearest of many matrices nearby whose eigenvectors have a condition within `limit`.

    Gaussian regularisation (Davies' conjecture, proved by Banks, Kulkarni, Mukherjee and
    Srivastava): adding delta times a random matrix leaves eigenvectors of a condition of order
    1 / delta. Small deltas leave rounding errors of eps times the condition, large ones are errors
    themselves: the error as measured, which is the sum of the two, decides. A coarse search for
    the size is followed by a finer one in several directions. None where nothing stable is left.
    """
    n, size = len(matrix), norm(matrix)
    directions = []
    for _ in range(_DIRECTIONS):
        direction = rng.normal(size=(n, n))
        directions.append(direction / norm(direction))

    def attempt(delta: float, direction: np.ndarray) -> Eigen:
        return _general(matrix, matrix + delta * size * direction, delta * size)

    def fits(eigen: Eigen) -> bool:
        return eigen.condition <= limit and bool((np.abs(eigen.values) < 1).all())

    coarse = [(attempt(delta, directions[0]), delta) for delta in _SIZES]
    good = [(eigen.error, delta) for eigen, delta in coarse if fits(eigen)]
    # Where nothing fits yet, the window between too ill and unstable may lie between two sizes.
    ill = [delta for eigen, delta in coarse if eigen.condition > limit]
    centre = min(good)[1] if good else max(ill, default=_SIZES[0])
    fine = [attempt(centre * f, direction) for direction in directions for f in _FINER]
    candidates = [eigen for eigen in [*(eigen for eigen, _ in coarse), *fine] if fits(eigen)]
    return min(candidates, key=lambda eigen: eigen.error, default=None)


def power_sum(matrix: np.ndarray) -> float:
    r"""Bound on :math:`S(A) = \sum_{k \ge 0} \|A^k\|_2`; exact for multiples of unitary matrices.

    For every K, :math:`S(A) \le \sum_{k < K} \|A^k\| \cdot S(A^K)`, and
    :math:`S(A) \le 1 / (1 - \|A\|)` once the norm is below 1. The longer the first sum,
    the sharper.
    """
    longest = int(np.clip(2e8 / len(matrix) ** 3, 32, 16384))
    product = 1.0
    for _ in range(12):  # 32 ** 12 steps: more than any eigenvalue below 1 in double precision
        total, power, size = 1.0, matrix, norm(matrix)
        for _ in range(longest):
            if size < 0.01 or size > 1e100:
                break
            total += size
            power = power @ matrix
            size = norm(power)
        if size > 1e100:
            return np.inf
        product *= total
        if size < 0.01:
            return product / (1.0 - size)
        matrix = power
    return np.inf


def response_sum(values: np.ndarray, vectors: np.ndarray, columns: np.ndarray) -> float:
    r"""Bound on :math:`\sum_{k \ge 0} \|V \Lambda^k C\|_2`, C (N, F)."""
    total, powers = 0.0, columns
    sizes, slack = np.abs(vectors), 1.0 - np.abs(values)[:, None]
    for k in range(4096):
        total += norm(vectors @ powers)
        powers = values[:, None] * powers
        if k % 32 == 31 and (tail := norm(sizes @ (np.abs(powers) / slack))) < 1e-3 * total:
            return total + tail
    return total + norm(sizes @ (np.abs(powers) / slack))
