"""Arrays made inside kernels."""

import numpy as np
import pytest

from paralesn.engines.cpu.kernels.room import clear, empty_rows
from paralesn.runtime.compiler import kernel


@kernel
def _made(like, rows, columns):
    made = empty_rows(like, rows, columns)
    clear(made)
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_zeros_that_begin_at_a_cache_line(dtype):
    like = np.ones(3, dtype)
    kept = [_made(like, rows, 5) for rows in range(1, 40)]
    for rows, made in enumerate(kept, 1):
        assert made.shape == (rows, 5)
        assert made.dtype == dtype
        assert made.flags.c_contiguous
        assert not made.any()
        assert made.ctypes.data % 64 == 0
