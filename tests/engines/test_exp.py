"""The vectorised exponential against NumPy's, in units in the last place."""

import numpy as np
import pytest

from paralesn.engines.cpu.kernels.exp import exp
from paralesn.runtime.compiler import kernel


@kernel
def exp_of(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


def ours(x):
    out = np.empty_like(x)
    exp_of(x, out)
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_error_is_at_most_three_ulp_wherever_the_result_is_a_normal_number(dtype, rng):
    limits = np.finfo(dtype)
    lowest, highest = np.log(4 * limits.tiny), np.log(limits.max)
    turns = (np.arange(int(lowest / np.log(2)), int(highest / np.log(2))) + 0.5) * np.log(2)
    x = np.concatenate(
        [rng.uniform(lowest, highest, 400_000), rng.uniform(-2, 2, 400_000),
         10.0 ** rng.uniform(-30, 0, 100_000), turns],
    ).astype(dtype)  # fmt: skip
    expected = np.exp(x.astype(np.longdouble))
    error = np.abs(ours(x) - expected) / np.spacing(expected.astype(dtype))
    assert error[np.isfinite(expected.astype(dtype))].max() <= 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_values(dtype):
    largest = np.nextafter(np.log(np.finfo(dtype).max), 0, dtype=dtype)
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1e30, 1e30, 800, -800], dtype)
    expected = np.array([1, 1, np.inf, 0, np.nan, 0, np.inf, np.inf, 0], dtype)
    np.testing.assert_array_equal(ours(x), expected)
    assert np.isfinite(ours(np.array([largest])))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_does_not_depend_on_the_place_in_the_array(dtype, rng):
    x = rng.normal(size=1003).astype(dtype)
    np.testing.assert_array_equal(ours(x)[1:], ours(x[1:].copy()))


def test_outside_kernels_it_refuses():
    with pytest.raises(RuntimeError, match=r"numpy\.exp"):
        exp(0.5)
