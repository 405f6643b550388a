"""The vectorised tanh against NumPy's, in units in the last place."""

import platform

import numpy as np
import pytest
from numba import njit

from paralesn.engines.cpu.kernels.diagonal import HALO, ONE, layer_kernel
from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.runtime.compiler import FASTMATH, kernel


@kernel
def tanh_of(x, out):
    for i in range(x.size):
        out[i] = tanh(x[i])


def ulps(x):
    out = np.empty_like(x)
    tanh_of(x, out)
    expected = np.tanh(x.astype(np.longdouble))
    with np.errstate(under="ignore"):
        return out, np.abs(out - expected) / np.spacing(np.abs(expected).astype(x.dtype))


@pytest.mark.parametrize(("dtype", "smallest"), [("float64", -323), ("float32", -44)])
def test_error_is_at_most_four_ulp_over_the_whole_range(dtype, smallest, rng):
    magnitudes = 10 ** rng.uniform(smallest, 3, 400_000)
    x = np.concatenate(
        [
            magnitudes * rng.choice([-1, 1], magnitudes.size),
            rng.uniform(-1, 1, 400_000),
            rng.uniform(-25, 25, 400_000),
            np.arange(-60, 60) * np.log(2) / 4,  # where the range reduction changes over
            [np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny, np.finfo(dtype).max],
        ]
    ).astype(dtype)
    out, error = ulps(x)
    assert error.max() <= 4
    assert (np.abs(out) <= 1).all()
    with np.errstate(under="ignore"):
        reference = np.tanh(x)
    assert np.abs(out - reference).max() <= 5 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_values(dtype):
    small = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, small, -small, 1e30, -1e30], dtype)
    out = np.empty_like(x)
    tanh_of(x, out)
    np.testing.assert_array_equal(
        out, np.array([0, -0.0, 1, -1, np.nan, small, -small, 1, -1], dtype)
    )
    assert np.signbit(out).tolist() == np.signbit(np.tanh(x)).tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_is_odd_and_does_not_depend_on_the_place_in_the_array(dtype, rng):
    x = rng.normal(size=1003).astype(dtype)
    out, flipped, shifted = np.empty_like(x), np.empty_like(x), np.empty_like(x[1:])
    tanh_of(x, out)
    tanh_of(-x, flipped)
    tanh_of(x[1:].copy(), shifted)
    np.testing.assert_array_equal(out, -flipped)
    np.testing.assert_array_equal(out[1:], shifted)


def test_outside_kernels_it_refuses():
    with pytest.raises(RuntimeError, match=r"numpy\.tanh"):
        tanh(0.5)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
@pytest.mark.parametrize(("dtype", "packed"), [("f8", "divpd"), ("f4", "divps")])
def test_the_compiled_layer_divides_vectors(dtype, packed):
    """The tanh holds the layer kernel's only divisions, in a loop for whole slices and in one for
    the last: LLVM must have vectorised both."""
    function = njit(fastmath=FASTMATH, error_model="numpy")(layer_kernel(True, ONE, 64).py_func)
    one = np.dtype(dtype).type(1)
    rows, steps = np.zeros(1, np.int64), np.ones(1, np.int64)
    state = np.zeros((1, 64), np.result_type(dtype, 1j))
    function(
        np.ones((1, 1), dtype), rows, 0, 1, steps, state, state.copy(), np.zeros((1, 64), dtype),
        rows, 0, np.ones((1, 6, 64 + HALO), dtype), np.ones((2, 3), dtype), one, 1, True, 8, 0, 1, 0, 1,
        0, 1,
    )  # fmt: skip
    (assembly,) = function.inspect_asm().values()
    assert assembly.count(packed) >= 2
