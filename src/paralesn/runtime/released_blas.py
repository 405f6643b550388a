"""BLAS calls during which other threads run, for matrices that are cut into fixed pieces.

SciPy's own wrappers hold the interpreter's lock, so that two threads of ours would take turns. The
routines themselves are the same: SciPy exports their addresses for Cython. With BLAS on one thread
(`single_threaded_blas`) and pieces whose shapes do not depend on the number of threads, results are
the same bits on any number of cores.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_ONE, _ZERO = ctypes.c_double(1.0), ctypes.c_double(0.0)


def solve_upper(rows: np.ndarray, upper: np.ndarray) -> None:
    """Make ``rows @ inv(upper)`` of rows (n, p), in place.

    rows (n, p) in C order; upper (p, p) in Fortran order, of which the lower part is not read.
    """
    n, p = rows.shape
    _check(rows, "C")
    _check(upper, "F")
    sizes = (_int(p), _int(n))
    _routine("dtrsm", 11)(
        b"L", b"U", b"T", b"N", *map(_at, sizes), _at(_ONE), upper.ctypes.data, _at(sizes[0]),
        rows.ctypes.data, _at(sizes[0]),
    )  # fmt: skip


def upper_gram(rows: np.ndarray) -> np.ndarray:
    """Upper triangle of ``rows.T @ rows`` (p, p), in Fortran order, for rows (n, p) in C order."""
    n, p = rows.shape
    _check(rows, "C")
    out, sizes = np.zeros((p, p), order="F"), (_int(p), _int(n))
    _routine("dsyrk", 10)(
        b"U", b"N", *map(_at, sizes), _at(_ONE), rows.ctypes.data, _at(sizes[0]), _at(_ZERO),
        out.ctypes.data, _at(sizes[0]),
    )  # fmt: skip
    return out


def product(rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Write ``rows @ weights`` (n, m) to `out`, for rows (n, p) and weights (p, m), all C-ordered.

    BLAS sees the transposes: out' = weights' rows'.
    """
    (n, p), m = rows.shape, weights.shape[1]
    for array in (rows, weights, out):
        _check(array, "C")
    sizes = (_int(m), _int(n), _int(p))
    _routine("dgemm", 13)(
        b"N", b"N", *map(_at, sizes), _at(_ONE), weights.ctypes.data, _at(sizes[0]),
        rows.ctypes.data, _at(sizes[2]), _at(_ZERO), out.ctypes.data, _at(sizes[0]),
    )  # fmt: skip


def _check(array: np.ndarray, order: str) -> None:
    """Raise unless the memory of an array is as a routine will read it."""
    right = array.flags.c_contiguous if order == "C" else array.flags.f_contiguous
    if array.dtype != float or not right:
        raise ValueError(f"expected float64 in {order} order, got {array.dtype}, {array.flags}")


def _int(value: int) -> ctypes.c_int:
    return ctypes.c_int(value)


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
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    address = pointer_of(capsule, name_of(capsule))
    assert address is not None
    return signature(address)
