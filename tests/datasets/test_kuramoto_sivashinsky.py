"""The Kuramoto-Sivashinsky equation against half-size steps, finer grids and SciPy."""

import numpy as np
import pytest
from scipy import fft
from scipy.integrate import solve_ivp

from paralesn.datasets import kuramoto_sivashinsky
from paralesn.datasets.generated.fourier import transform, twiddles
from paralesn.datasets.generated.kuramoto_sivashinsky import (
    _STEP,
    _coefficients,
    _integrate,
    _solve,
    _start,
)


def modes(u):
    spectrum = fft.rfft(u)
    return np.array([spectrum.real, spectrum.imag])


@pytest.mark.parametrize("points", [2, 8, 64, 512])
def test_transform(points, rng):
    x = rng.normal(size=(2, points))
    truth = fft.fft(x[0] + 1j * x[1])
    transform(x, np.empty_like(x), twiddles(points))
    np.testing.assert_allclose(x[0] + 1j * x[1], truth, rtol=0, atol=1e-14 * points)


def test_solves_its_equation():
    """From a state of the attractor, by SciPy on the modes as one system of stiff equations."""
    length, points = 22.0, 32
    series = kuramoto_sivashinsky(5, length=length, points=points)
    k = 2 * np.pi / length * np.arange(points // 2 + 1)
    derivative = 1j * np.where(np.arange(k.size) < points // 2, k, 0)

    def slope(t, packed):
        v = np.ascontiguousarray(packed).view(complex)
        return ((k**2 - k**4) * v - 0.5 * derivative * fft.rfft(fft.irfft(v) ** 2)).view(float)

    truth = solve_ivp(slope, (0, 1), fft.rfft(series[0]).view(float), "Radau",
                      np.arange(5) * 0.25, rtol=1e-10, atol=1e-10).y.T  # fmt: skip
    truth = [fft.irfft(row.copy().view(complex)) for row in truth]
    np.testing.assert_allclose(series, truth, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("length", "points"), [(22.0, 64), (60.0, 128)])
def test_half_the_step_changes_little(length, points):
    """Over 20 units, about a Lyapunov time; the error falls as a method of order four's does."""
    start = modes(kuramoto_sivashinsky(1, length=length, points=points)[0])
    coarse, step, half, truth = np.empty((4, 80, points))
    for out, h in [(coarse, 2 * _STEP), (step, _STEP), (half, _STEP / 2), (truth, _STEP / 8)]:
        _solve(start, out, length, 0.25, h)
    assert np.abs(step - half).max() < 5e-6
    assert 10 < np.abs(coarse - truth).max() / np.abs(step - truth).max() < 20


def test_finer_grids_change_little():
    """The start does not depend on the grid, and 64 points resolve the solution."""
    coarse = kuramoto_sivashinsky(100, transient=0)
    fine = kuramoto_sivashinsky(100, points=128, transient=0)
    np.testing.assert_allclose(coarse, fine[:, ::2], rtol=0, atol=1e-7)


def test_series_of_the_attractor():
    series = kuramoto_sivashinsky(1500)
    assert series.shape == (1500, 64)
    assert np.abs(series.mean(axis=1)).max() < 1e-14  # the mean is conserved
    assert np.abs(series).max() < 4
    assert all(1.0 < part.std() < 1.4 for part in np.split(series, 5))


def test_series_are_drawn_by_seed():
    series = kuramoto_sivashinsky(40, points=32, transient=20)
    np.testing.assert_array_equal(series[:10], kuramoto_sivashinsky(10, points=32, transient=20))
    np.testing.assert_array_equal(series[5:], kuramoto_sivashinsky(35, points=32, transient=25))
    other = kuramoto_sivashinsky(40, points=32, transient=20, seed=1)
    assert np.abs(series - other).max() > 0.5
    assert kuramoto_sivashinsky(0, points=32).shape == (0, 32)


def test_compiled_code_rounds_every_operation(rng):
    """Bit by bit what the interpreter computes, so that no machine differs."""
    wave = 2 * np.pi / 22 * np.arange(9)
    linear = wave**2 - wave**4
    rows = _coefficients(linear, 0.05)
    np.testing.assert_array_equal(rows, _coefficients.py_func(linear, 0.05))
    start, roots = _start(22.0, 16, rng), twiddles(16)
    np.testing.assert_array_equal(roots, twiddles.py_func(16))
    compiled, interpreted = np.empty((2, 3, 16))
    _integrate(start, compiled, wave, rows, 2, roots)
    _integrate.py_func(start, interpreted, wave, rows, 2, roots)
    np.testing.assert_array_equal(compiled, interpreted)


def exponent(length, points, renewals, apart=1e-7, time=5.0):
    """Largest exponent from two solutions brought back to a small distance."""
    u = kuramoto_sivashinsky(1, length=length, points=points)[0]
    direction = kuramoto_sivashinsky(1, length=length, points=points, seed=9, transient=0)[0]
    direction *= apart / np.linalg.norm(direction)
    near, far = np.empty((2, 1, points))
    rates = []
    for _ in range(renewals):
        _solve(modes(u), near, length, time, 0.05)
        _solve(modes(u + direction), far, length, time, 0.05)
        u, direction = near[0].copy(), far[0] - near[0]
        distance = np.linalg.norm(direction)
        rates.append(np.log(distance / apart) / time)
        direction *= apart / distance
    return np.mean(rates[20:])


@pytest.mark.slow
def test_exponents():
    """Edson et al. (2019) have 0.043 at 22, Cvitanovic et al. (2010) 0.048."""
    assert 0.042 < exponent(22.0, 64, 3000) < 0.054
    assert 0.085 < exponent(200.0, 512, 120) < 0.105


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 48}, "points must be a power of two, got 48"),
        ({"points": 4}, "points must be a whole number of at least 8, got 4"),
        (
            {"length": 100.0},
            "points must be at least the length, 100, to resolve the waves, got 64",
        ),
        ({"length": np.nan}, r"length must be a finite number in \(0, inf\), got nan"),
        ({"dt": 0.0}, r"dt must be a finite number in \(0, inf\), got 0.0"),
        ({"steps": -1}, "steps must be a whole number of at least 0, got -1"),
        ({"transient": 0.5}, "transient must be a whole number of at least 0, got 0.5"),
    ],
)
def test_refuses_nonsense(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kuramoto_sivashinsky(**{"steps": 1, **arguments})
