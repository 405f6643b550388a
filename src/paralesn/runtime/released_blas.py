"""BLAS calls during which other threads run, for matrices that are cut into fixed pieces.

SciPy's own wrappers hold the interpreter's lock, so that two threads of ours would take turns. The
routines themselves are the same: SciPy exports their addresses for Cython. With BLAS on one thread
(`single_threaded_blas`) and pieces whose shapes do not depend on the number of threads, results are
the same bits on any number of cores.

Arrays are float32 or float64, all of a call alike, and may be slices of larger ones as long as
values lie beside each other along one axis. BLAS counts columns first: it sees the transpose of an
array in C order, so that C = A B is computed as C' = B' A'.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_PREFIX = {np.dtype("float32"): "s", np.dtype("float64"): "d"}
_NUMBER = {"s": ctypes.c_float, "d": ctypes.c_double}


class _Matrix(NamedTuple):
    """How BLAS sees an array."""

    address: int
    is_transposed: bool  # the memory holds, column by column, the transpose: C order
    stride: ctypes.c_int


def multiply(out: np.ndarray, a: np.ndarray, b: np.ndarray, alpha: float, beta: float) -> None:
    """Make ``alpha * a @ b + beta * out`` of `out` (n, m), whose rows are in C order."""
    (n, k), m = a.shape, b.shape[1]
    kind, (target, left, right) = _seen(out, a, b)
    if not target.is_transposed or b.shape[0] != k or out.shape != (n, m):
        raise ValueError(
            f"expected C order and fitting shapes, got {out.shape}, {a.shape}, {b.shape}"
        )
    sizes = [ctypes.c_int(size) for size in (m, n, k)]
    scale, keep = _NUMBER[kind](alpha), _NUMBER[kind](beta)
    _routine(f"{kind}gemm", 13)(
        b"N" if right.is_transposed else b"T", b"N" if left.is_transposed else b"T",
        *map(_at, sizes), _at(scale), right.address, _at(right.stride), left.address,
        _at(left.stride), _at(keep), target.address, _at(target.stride),
    )  # fmt: skip


def solve_right(rows: np.ndarray, upper: np.ndarray) -> None:
    """Make ``rows @ inv(upper)`` of rows (n, p), in place; only the upper triangle is read."""
    _solve(b"L", rows, upper)


def solve_left(lower: np.ndarray, columns: np.ndarray) -> None:
    """Make ``inv(lower) @ columns`` of columns (p, n), in place; only the lower triangle is read.

    Columns are in C order.
    """
    _solve(b"R", columns, lower.T)


def _solve(side: bytes, rows: np.ndarray, upper: np.ndarray) -> None:
    """Make inv(U') rows' of the transpose of `rows`, or rows' inv(U) from the right."""
    n, p = rows.shape
    kind, (target, triangle) = _seen(rows, upper)
    if not target.is_transposed:
        raise ValueError("expected rows in C order")
    is_lower = triangle.is_transposed  # memory read column by column holds U', a lower triangle
    trans = (side == b"L") != is_lower
    sizes = [ctypes.c_int(size) for size in (p, n)]
    one = _NUMBER[kind](1.0)
    _routine(f"{kind}trsm", 11)(
        side, b"L" if is_lower else b"U", b"T" if trans else b"N", b"N", *map(_at, sizes), _at(one),
        triangle.address, _at(triangle.stride), target.address, _at(target.stride),
    )  # fmt: skip


def upper_gram(rows: np.ndarray) -> np.ndarray:
    """Upper triangle of ``rows.T @ rows`` (p, p), in Fortran order, for rows (n, p) in C order."""
    n, p = rows.shape
    kind, (seen,) = _seen(rows)
    if not seen.is_transposed:
        raise ValueError("expected rows in C order")
    out, sizes = np.zeros((p, p), rows.dtype, order="F"), [ctypes.c_int(p), ctypes.c_int(n)]
    one, zero = _NUMBER[kind](1.0), _NUMBER[kind](0.0)
    _routine(f"{kind}syrk", 10)(
        b"U", b"N", *map(_at, sizes), _at(one), seen.address, _at(seen.stride), _at(zero),
        out.ctypes.data, _at(sizes[0]),
    )  # fmt: skip
    return out


def _seen(*arrays: np.ndarray) -> tuple[str, list[_Matrix]]:
    """The letter of the arrays' dtype, and how BLAS sees each of them."""
    kinds = {_PREFIX.get(array.dtype) for array in arrays}
    kind = kinds.pop()
    if kinds or kind is None:
        raise ValueError(f"expected arrays of one float dtype, got {[a.dtype for a in arrays]}")
    return kind, [_matrix(array) for array in arrays]


def _matrix(array: np.ndarray) -> _Matrix:
    rows, columns = (stride // array.itemsize for stride in array.strides)
    if columns == 1 or array.shape[1] == 1:
        stride = rows if array.shape[0] > 1 else array.shape[1]
        return _Matrix(array.ctypes.data, True, ctypes.c_int(max(stride, array.shape[1], 1)))
    if rows == 1 or array.shape[0] == 1:
        return _Matrix(array.ctypes.data, False, ctypes.c_int(max(columns, array.shape[0], 1)))
    raise ValueError(f"expected values beside each other along one axis, got {array.strides}")


def _at(value: Any) -> int:
    return ctypes.addressof(value)


@cache
def _routine(name: str, arguments: int) -> Callable[..., None]:
    """The routine of a name, which ctypes calls without the interpreter's lock."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    assert address is not None
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
