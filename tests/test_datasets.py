"""Generators against independent integrations."""

import numpy as np
from scipy.integrate import solve_ivp

from paralesn.datasets import lorenz63, mackey_glass
from paralesn.datasets.synthetic import _integrate_mackey_glass


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
