r"""Rows added to a triangular factor by Givens rotations, in a time that grows with its size only.

A rotation of row k of the triangle and a new row v, by the angle whose tangent is
:math:`v_k / F_{kk}`, leaves :math:`F^T F + v^T v` as it is and makes :math:`v_k` zero. One for each
column, and nothing is left of v.
"""

import math

import numpy as np

from paralesn.runtime.compiler import kernel


def add_rows(upper: np.ndarray, rows: np.ndarray, first: int = 0) -> np.ndarray:
    """The factor (q, q) of the rows of `upper` (q, q) and of more `rows` (n, q) together.

    Rows of zeros in `upper` are room for more. Columns before `first` are left as they are, and
    must be zero in `rows`.
    """
    grown = np.array(upper, order="C")
    _rotate(grown, np.array(rows, order="C"), first)
    return grown


@kernel
def _rotate(upper, rows, first):
    """Rotate every one of the rows into the triangle, which changes in place as they do."""
    for i in range(rows.shape[0]):
        v = rows[i]
        for k in range(first, upper.shape[0]):
            if v[k] == 0.0:
                continue
            f = upper[k]
            length = math.hypot(f[k], v[k])
            c, s = f[k] / length, v[k] / length
            f[k], v[k] = length, 0.0
            for j in range(k + 1, upper.shape[1]):
                a, b = f[j], v[j]
                f[j] = c * a + s * b
                v[j] = c * b - s * a
