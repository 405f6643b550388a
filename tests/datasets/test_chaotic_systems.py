"""The catalogue of chaotic systems against SciPy, and its exponents against trajectories."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

from paralesn import datasets
from paralesn.datasets.generated import elementary, equations
from paralesn.datasets.generated.ieee import slope
from paralesn.datasets.generated.mackey_glass import _production
from paralesn.datasets.generated.runge_kutta import integrate

NAMES = datasets.chaotic_systems()
FLOWS = [name for name in NAMES if name not in ("lorenz96", "mackey_glass")]


@cache
def long_run(name):
    return datasets.chaotic_system(name).generate(5000)


def lorenz96(u, du):
    for i in range(5):
        du[i] = u[i - 1] * (u[(i + 1) % 5] - u[i - 2]) - u[i] + 8.0


def equation(name):
    return lorenz96 if name == "lorenz96" else getattr(equations, name)


@pytest.mark.parametrize("name", [*FLOWS, "lorenz96"])
def test_systems_solve_their_equations(name):
    """A Lyapunov time on from a point of the attractor, in units of the largest deviation."""
    system = datasets.chaotic_system(name)
    steps = int(np.ceil(system.lyapunov_steps)) + 1
    series, scale = long_run(name)[:steps], long_run(name).std(axis=0).max()
    times = np.arange(steps) * system.dt

    def derivative(t, u):
        du = np.empty(u.size)
        equation(name)(u, du)
        return du

    truth = solve_ivp(derivative, (0, times[-1]), series[0], "DOP853", times,
                      rtol=1e-12, atol=1e-13 * scale).y.T  # fmt: skip
    np.testing.assert_allclose(series / scale, truth / scale, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", FLOWS)
def test_compiled_systems_round_every_operation(name, rng):
    """Bit by bit what the interpreter computes, so that no machine differs."""
    start = datasets.chaotic_system(name).generate(1, transient=5)[0]
    compiled, interpreted = np.empty((2, 3, start.size))
    integrate(slope(getattr(equations, name)), start, compiled, 0.01, 4)
    integrate.py_func(getattr(equations, name), start, interpreted, 0.01, 4)
    np.testing.assert_array_equal(compiled, interpreted)


@pytest.mark.parametrize("name", NAMES)
def test_series_are_drawn_by_seed(name):
    system = datasets.chaotic_system(name)
    series = system.generate(60, transient=20)
    assert series.shape == (60, system.dims)
    assert series.dtype == np.float64
    np.testing.assert_array_equal(series, system.generate(60, seed=0, transient=20))
    np.testing.assert_array_equal(series[:25], system.generate(25, transient=20))
    np.testing.assert_array_equal(series[15:], system.generate(45, transient=35))
    assert np.all(series[0] != system.generate(1, seed=1, transient=20)[0])
    assert system.generate(0, transient=0).shape == (0, system.dims)
    twice = system.generate(10, dt=2 * system.dt, transient=0)
    once = system.generate(20, transient=0)[1::2]
    np.testing.assert_allclose(twice, once, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_end_on_one_attractor(name):
    """Long runs from two starts: bounded, never at rest, with the same mean and deviation."""
    runs = [long_run(name), datasets.chaotic_system(name).generate(5000, seed=3)]
    scale = runs[0].std(axis=0)
    for series in runs:
        assert np.all(np.abs(series - runs[0].mean(axis=0)) < 30 * scale)  # spikes are high
        for part in np.split(series, 4):
            assert np.all(part.std(axis=0) > 0.2 * scale)
        np.testing.assert_allclose(series.std(axis=0), scale, rtol=0.3)
        assert np.all(np.abs(series.mean(axis=0) - runs[0].mean(axis=0)) < 0.6 * scale)
    assert np.abs(runs[0] - runs[1]).max() > scale.max()


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_dense_and_the_horizon_is_useful(name):
    """20 or more samples in a cycle through the mean of the liveliest variable."""
    system = datasets.chaotic_system(name)
    assert 15 < system.lyapunov_steps < 200
    series = long_run(name)
    above = series > series.mean(axis=0)
    crossings = (above[1:] & ~above[:-1]).sum(axis=0)
    assert 15 < len(series) / crossings.max() < 80


def growth(system, renewals, samples, seed):
    """Largest exponent from two trajectories brought back to a small distance."""
    u = system.generate(1, seed=seed)[0]
    direction = np.random.default_rng(seed).normal(size=u.size)
    small = 1e-8 * long_run(system.name).std(axis=0).max()
    direction *= small / np.linalg.norm(direction)
    near, far = np.empty((2, 1, u.size))
    compiled = slope(equation(system.name))
    dt, total = samples * system.dt, 0.0
    for n in range(renewals):
        integrate(compiled, u, near, dt, 25 * samples)
        integrate(compiled, u + direction, far, dt, 25 * samples)
        u, direction = near[0].copy(), far[0] - near[0]
        distance = np.linalg.norm(direction)
        if n >= 20:  # turned into the direction of fastest growth
            total += np.log(distance / small)
        direction *= small / distance
    return total / ((renewals - 20) * dt)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FLOWS, "lorenz96"])
def test_exponents(name):
    """Over 2000 Lyapunov times; exponents of the catalogue come from 25 times as many or more."""
    system = datasets.chaotic_system(name)
    samples = int(np.ceil(system.lyapunov_steps / 4))
    measured = growth(system, 8000, samples, seed=1)
    np.testing.assert_allclose(measured, system.exponent, rtol=0.06)


@njit
def mackey_glass_growth(units, substeps):
    """Largest exponent of the equation with delay 17 from two histories, by Heun's method."""
    size, h = 17 * substeps + 1, 1.0 / substeps
    f = np.full((2, size), 1.2)
    f[1, -1] += 1e-8
    newest, total = size - 1, 0.0
    for n in range(units):
        for _ in range(substeps):
            after, later = (newest + 1) % size, (newest + 2) % size
            for j in range(2):
                first = _production(f[j, after]) - 0.1 * f[j, newest]
                second = _production(f[j, later]) - 0.1 * (f[j, newest] + h * first)
                f[j, after] = f[j, newest] + 0.5 * h * (first + second)
            newest = after
        distance = np.sqrt(np.mean((f[1] - f[0]) ** 2))
        if n >= 3000:
            total += np.log(distance / 1e-8)
        f[1] = f[0] + (f[1] - f[0]) * (1e-8 / distance)
    return total / (units - 3000)


@pytest.mark.slow
def test_exponent_of_mackey_glass():
    system = datasets.chaotic_system("mackey_glass")
    np.testing.assert_allclose(mackey_glass_growth(600_000, 20), system.exponent, rtol=0.05)


@pytest.mark.parametrize(
    ("name", "published"),
    [("lorenz63", 0.9056), ("rossler", 0.0714), ("thomas", 0.0349), ("halvorsen", 0.7899),
     ("chua", 0.3271), ("chen", 2.0272), ("sprott_b", 0.210), ("sprott_s", 0.188),
     ("hyper_rossler", 0.112), ("liu", 1.643)],
)  # fmt: skip
def test_exponents_agree_with_published_ones(name, published):
    """Wolf (1985), Sprott (1994, 2003) and the papers of the systems."""
    np.testing.assert_allclose(datasets.chaotic_system(name).exponent, published, rtol=0.01)


def test_mackey_glass_is_the_series_of_that_name():
    system = datasets.chaotic_system("mackey_glass")
    expected = datasets.mackey_glass(50, seed=4, transient=3000)
    np.testing.assert_array_equal(system.generate(50, seed=4), expected)
    every_third = datasets.mackey_glass(30, seed=4, transient=0)[2::3]
    np.testing.assert_array_equal(system.generate(10, dt=3, seed=4, transient=0), every_third)


def test_elementary_functions():
    x = np.concatenate([np.linspace(-40, 40, 4001), np.geomspace(1e-9, 100, 200)])
    for own, truth in [(elementary.sine, np.sin), (elementary.cosine, np.cos)]:
        np.testing.assert_allclose([own(v) for v in x], truth(x), rtol=0, atol=1e-15)
    np.testing.assert_allclose([elementary.exponential(v) for v in x], np.exp(x), rtol=1e-15)
    sinh = [elementary.hyperbolic_sine(v) for v in x]
    np.testing.assert_allclose(sinh, np.sinh(x), rtol=1e-15, atol=1e-15)
    assert elementary.exponential(-1e9) == 0.0
    assert elementary.exponential(-690.0) == pytest.approx(np.exp(-690.0), rel=1e-15, abs=0)


def test_catalogue():
    assert len(NAMES) >= 22
    assert list(NAMES) == sorted(NAMES)
    systems = [datasets.chaotic_system(name) for name in NAMES]
    assert [system.name for system in systems] == list(NAMES)
    assert len({system.title for system in systems}) == len(NAMES)
    with pytest.raises(dataclasses.FrozenInstanceError):
        systems[0].dt = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: datasets.chaotic_system("lorentz"), "name must be one of 'blasius', .*'vallis', got 'lorentz'"),
        (lambda s: s.generate(-1), "steps must be a whole number of at least 0, got -1"),
        (lambda s: s.generate(2.5), "steps must be a whole number of at least 0, got 2.5"),
        (lambda s: s.generate(1, dt=0.0), r"dt must be a finite number in \(0, inf\), got 0.0"),
        (lambda s: s.generate(1, dt=np.nan), r"dt must be a finite number in \(0, inf\), got nan"),
        (lambda s: s.generate(1, transient=-2), "transient must be a whole number of at least 0"),
        (lambda s: s.generate(1, seed=-1), "seed must be a whole number of at least 0, None or"),
        (lambda s: datasets.chaotic_system("mackey_glass").generate(1, dt=0.5), "dt must be a whole number for mackey_glass, got 0.5"),
    ],
)  # fmt: skip
def test_systems_refuse_nonsense(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(datasets.chaotic_system("rossler"))
