"""Spectral radii, exact and the same for every number of threads."""

from math import inf

import numpy as np
from scipy.linalg import bandwidth, eigvals
from scipy.sparse import csr_array, tril, triu
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from paralesn.layers.operators import Cycle, Dense, Identity, Operator, Sparse
from paralesn.runtime.blas import single_threaded_blas

_SMALL = 400  # units up to which all eigenvalues cost less than the search for the largest one
_LARGE = 6000  # units beyond which they cost many minutes
_EFFORTS = (
    (4, 150),
    (8, 400),
    (16, 800),
)  # eigenvalues searched for, and dimension of the search space


def spectral_radius(operator: Operator) -> float:
    """Largest absolute value of an eigenvalue.

    Large matrices: an iterative search, in single precision from two starts, polished in double
    precision. The eigenvalues of a random matrix crowd near its spectral radius, and such a search
    may settle on one that is not the largest: where the two disagree, more effort is made, and in
    the end all eigenvalues decide.
    """
    if isinstance(operator, Cycle):
        return abs(operator.weight)
    if isinstance(operator, Identity):
        return abs(operator.scale)
    with single_threaded_blas():
        if operator.units > _SMALL:
            matrix = _matrix(operator)
            if _is_triangular(matrix):
                return float(np.abs(matrix.diagonal()).max())
            for effort in _EFFORTS:
                radius = _search(matrix, *effort)
                if radius is not None:
                    return radius
            if operator.units > _LARGE:
                raise RuntimeError(
                    f"the spectral radius of {operator.units} units could not be determined: "
                    "searches from different starts disagree; choose another seed"
                )
        return float(np.abs(eigvals(operator.dense())).max())


def is_stable(branch: Operator, recurrent: Operator, gain: float) -> tuple[bool, float]:
    """Whether ``branch + gain recurrent`` has a spectral radius surely below one, and the radius.

    For structured operators the radius is an upper bound, so that large ones are never turned into
    matrices. A radius below one by no more than rounding error does not count as stable.
    """
    below = 1.0 - 8 * branch.units * float(np.finfo(float).eps)
    bound = _norm_bound(branch) + abs(gain) * _norm_bound(recurrent)
    if bound < below:
        return True, bound
    kinds = (Cycle, Identity)
    if isinstance(branch, kinds) and isinstance(recurrent, kinds):  # circulant
        turns = np.exp(2j * np.pi * np.arange(branch.units) / branch.units)
        carried, driven = (
            operator.weight * turns if isinstance(operator, Cycle) else operator.scale
            for operator in (branch, recurrent)
        )
        bound = float(np.abs(carried + gain * driven).max())
    elif branch.units <= _LARGE or np.isinf(bound):
        bound = spectral_radius(Dense(branch.dense() + gain * recurrent.dense()))
    return bound < below, bound


def _norm_bound(operator: Operator) -> float:
    """The 2-norm of structured operators or a bound on it; infinity for others."""
    if isinstance(operator, Cycle):
        return abs(operator.weight)
    return inf if isinstance(operator, (Dense, Sparse)) else abs(operator.scale)


def _search(matrix: np.ndarray | csr_array, count: int, basis: int) -> float | None:
    """Spectral radius by Arnoldi iterations, None where they do not agree."""
    size = matrix.shape[0]
    count, basis = min(count, size - 2), min(basis, size - 1)
    starts = np.random.default_rng(0).normal(size=(2, size))
    rough = matrix.astype(np.float32)
    try:
        (first, vector), (second, _) = (
            _largest(rough, start, count, basis, 1e-5) for start in starts
        )
        exact, _ = _largest(matrix, vector, count, basis, 1e-13)
    except ArpackError:
        return None
    return exact if max(abs(first - exact), abs(second - exact)) < 5e-5 * exact else None


def _is_triangular(matrix: np.ndarray | csr_array) -> bool:
    """Whether the eigenvalues can be read off, as of a zero matrix or a shift register."""
    if isinstance(matrix, csr_array):
        return triu(matrix, 1).nnz == 0 or tril(matrix, -1).nnz == 0
    below, above = bandwidth(matrix)
    return below == 0 or above == 0


def _matrix(operator: Operator) -> np.ndarray | csr_array:
    if isinstance(operator, Sparse):
        columns, values = operator.columns, operator.values
        row_ends = np.arange(0, values.size + 1, values.shape[1])
        return csr_array((values.ravel(), columns.ravel(), row_ends), shape=(operator.units,) * 2)
    return operator.dense()


def _largest(
    matrix: np.ndarray | csr_array, start: np.ndarray, count: int, basis: int, tolerance: float
) -> tuple[float, np.ndarray]:
    """Largest absolute eigenvalue and a real vector close to its invariant subspace."""
    product = LinearOperator(matrix.shape, matvec=matrix.__matmul__, dtype=matrix.dtype)
    values, vectors = eigs(
        product, k=count, ncv=basis, v0=start.astype(matrix.dtype), tol=tolerance, maxiter=100
    )
    largest = int(np.abs(values).argmax())
    return float(np.abs(values[largest])), vectors[:, largest].real + vectors[:, largest].imag
