"""Generators against independent integrations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from paralesn.datasets import lorenz63, lorenz96, mackey_glass
from paralesn.datasets.generated.lorenz import _integrate_lorenz96
from paralesn.datasets.generated.mackey_glass import _integrate_mackey_glass


def method_of_steps(pieces, delay=17.0):
    """Mackey-Glass from a constant history of 1.2, one delay after the other, by SciPy."""
    solutions = [lambda t: np.array([1.2])]
    value = 1.2
    for n in range(pieces):
        before = solutions[-1]

        def slope(t, x, before=before):
            lagged = before(t - delay)[0]
            return 0.2 * lagged / (1 + lagged**10) - 0.1 * x

        solution = solve_ivp(slope, (n * delay, (n + 1) * delay), [value], rtol=1e-11, atol=1e-12,
                             dense_output=True)  # fmt: skip
        value = solution.y[0, -1]
        solutions.append(solution.sol)
    return lambda t: solutions[min(int(np.ceil(t / delay)), pieces)](t)[0]


def test_mackey_glass_solves_its_equation():
    """From a smooth stretch of SciPy's solution, 100 steps on."""
    truth = method_of_steps(16)
    start = 9 * 17
    history = np.array([truth(start - 17 + i / 10) for i in range(171)])
    out = np.empty(100)
    _integrate_mackey_glass(history, out, 17, 10)
    expected = [truth(start + n) for n in range(1, 101)]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)


def test_mackey_glass_is_the_centred_series():
    series = mackey_glass(5000)
    assert series.shape == (5000, 1)
    level = 1 + np.arctanh(series)
    assert 0.2 < level.min() < 0.5
    assert 1.2 < level.max() < 1.5
    assert abs(level.mean() - 0.92) < 0.02
    np.testing.assert_array_equal(series, mackey_glass(5000))
    assert np.abs(series - mackey_glass(5000, seed=1)).max() > 0.1


def test_lorenz63_solves_its_equation():
    """From a point on the attractor, two units of time on."""
    series = lorenz63(101, dt=0.02)

    def slope(t, u):
        return 10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]

    times = np.arange(101) * 0.02
    truth = solve_ivp(slope, (0, 2), series[0], t_eval=times, rtol=1e-11, atol=1e-11).y.T
    np.testing.assert_allclose(series, truth, rtol=0, atol=1e-4)
    assert np.abs(lorenz63(50, seed=1) - lorenz63(50)).max() > 0.1


@pytest.mark.parametrize(("dims", "forcing"), [(5, 8.0), (4, 8.0), (7, 3.5)])
def test_lorenz96_solves_its_equation(dims, forcing):
    """From the starts, over the length of the tasks; chaos multiplies errors by 1e5 on the way."""
    series = lorenz96(450, series=2, dims=dims, forcing=forcing, seed=3)

    def slope(t, f):
        return np.roll(f, 1) * (np.roll(f, -1) - np.roll(f, 2)) - f + forcing

    times = np.arange(450) * 0.01
    for one in series:
        truth = solve_ivp(slope, (0, 4.5), one[0], "DOP853", times, rtol=1e-13, atol=1e-13).y.T
        np.testing.assert_allclose(one[:80], truth[:80], rtol=0, atol=1e-8)
        np.testing.assert_allclose(one, truth, rtol=0, atol=1e-5)


def test_lorenz96_is_of_order_four():
    """Half the step, a sixteenth of the error."""
    start, ends = 8 + np.array([[0.1, -0.2, 0.3, 0.4, -0.5]]), []
    for substeps in (2, 4, 64):
        out = np.empty((1, 200, 5))
        _integrate_lorenz96(start, out, 8.0, 0.01, substeps)
        ends.append(out[0, -1])
    coarse, fine = (np.linalg.norm(end - ends[-1]) for end in ends[:2])
    assert 14 < coarse / fine < 18


def test_lorenz96_starts_around_its_forcing():
    series = lorenz96(2, series=2000)
    assert np.abs(series[:, 0] - 8).max() <= 0.5
    assert abs(series[:, 0].mean() - 8) < 0.02
    np.testing.assert_allclose(series[:, 0].std(), 12**-0.5, rtol=0.02)
    np.testing.assert_array_equal(lorenz96(2, series=3), series[:3])


def integrations(rng):
    yield _integrate_mackey_glass, (1.2 + 0.1 * rng.random(171), np.empty(40), 17, 10)
    yield _integrate_lorenz96, (8 + rng.random((2, 5)), np.empty((2, 100, 5)), 8.0, 0.01, 4)


def test_compiled_generators_round_every_operation(rng):
    """Bit by bit what the interpreter computes: no fused multiply-add, so no machine differs."""
    for integrate, arguments in integrations(rng):
        integrate(*arguments)
        compiled = arguments[1].copy()
        integrate.py_func(*arguments)
        np.testing.assert_array_equal(compiled, arguments[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mackey_glass(-1), "steps must be a whole number of at least 0, got -1"),
        (lambda: mackey_glass(10.0), "steps must be a whole number of at least 0, got 10.0"),
        (lambda: lorenz63(10, dt=0.0), "dt must be a positive finite number, got 0.0"),
        (lambda: lorenz96(0), "steps must be a whole number of at least 1, got 0"),
        (lambda: lorenz96(5, dims=3), "dims must be a whole number of at least 4, got 3"),
        (lambda: lorenz96(5, forcing=np.nan), "forcing must be finite, got nan"),
    ],
)
def test_generators_refuse_nonsense(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
