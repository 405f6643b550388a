"""Derivatives of closed loops against finite differences, exponents against known systems."""

from types import SimpleNamespace

import numpy as np
import pytest
from closed_loops import polynomial, random_loop, trained

import paralesn as pe
from paralesn.datasets import lorenz63
from paralesn.theory import lyapunov_exponents
from paralesn.theory.tangent import TangentLoop, orthonormalise

LORENZ = 0.906  # its largest exponent
MIXED = {"bias_scale": 0.2, "mix_scale": 0.7, "mix_bias_scale": 0.3}
RESERVOIRS = {
    "ParalESN": (pe.ParalESN(units=9, tau=0.7, **MIXED), 2),
    "deep": (pe.ParalESN(units=5, layers=3, **MIXED), 2),
    "concat, a ring of other widths": (pe.ParalESN(units=11, layers=3, concat=True, **MIXED), 2),
    "real": (pe.ParalESN(units=6, layers=2, real=True, **MIXED), 2),
    "raw": (pe.ParalESN(units=6, layers=2, mixing=False, concat=True, **MIXED), 2),
    "float32": (pe.ParalESN(units=5, dtype="float32", **MIXED), 2),
    "long kernel": (pe.ParalESN(units=4, mix_size=7, **MIXED), 1),
    "even kernel": (pe.ParalESN(units=6, mix_size=4, **MIXED), 1),
    "ESN": (pe.ESN(units=8, layers=2, concat=True, tau=0.6, bias_scale=0.2), 2),
    "sparse ESN": (pe.ESN(units=12, density=0.3, bias_scale=0.2), 2),
    "linear ESN": (pe.ESN(units=6, layers=2, linear=True, tau=0.5), 2),
    "ES2N": (pe.ES2N(units=7), 2),
    "cycle": (pe.SCR(units=7, layers=2), 2),
    "Hadamard": (pe.StructuredRC(units=11), 2),
    "NVAR": (pe.NVAR(delay=(0, 2, 3), order=4, bias=True), 2),
    "patches": (pe.LocalReservoirs(pe.ParalESN(units=5, layers=2, **MIXED), size=2, overlap=1), 6),
    "patches of ESN": (pe.LocalReservoirs(pe.ESN(units=5), size=3, overlap=1), 6),
    "patches of NVAR": (pe.LocalReservoirs(pe.NVAR(delay=2, order=2), size=2, overlap=2), 8),
}


@pytest.mark.parametrize("difference", [False, True], ids=["values", "differences"])
@pytest.mark.parametrize("name", RESERVOIRS)
def test_derivatives_are_finite_differences_of_the_loop(name, difference, rng):
    loop = random_loop(*RESERVOIRS[name], rng, difference, series=3)
    system = TangentLoop(loop)
    point = system.start(1)
    for expected in loop.run(4)[:, 1]:  # the trajectory is the engine's
        point, _ = system.step(point)
        tolerance = 1e-11 if loop.reservoir.dtype == "float64" else 1e-5
        np.testing.assert_allclose(point.x, expected, rtol=tolerance, atol=tolerance)
    _, slopes = system.step(point)
    size = point.flat().size
    ours = system.push(point.like(np.eye(size)), slopes).flat()
    for direction, row in zip(1e-6 * np.eye(size), ours, strict=True):
        beside = [point.like(point.flat() + sign * direction) for sign in (1, -1)]
        ahead, behind = (system.step(p)[0].flat() for p in beside)
        np.testing.assert_allclose(row, (ahead - behind) / 2e-6, atol=2e-7, rtol=1e-6)


def test_a_linear_ring_above_dense_layers(rng):
    """Input weights given as arrays: dense ones of a deeper layer, and a ring of another width."""
    layers = [
        pe.DiagonalLayer(0.5 * rng.normal(size=n) / 3, w_in, rng.normal(size=n), 0.9, [0.5, 1], 0.1)
        for n, w_in in (
            (4, rng.normal(size=(4, 2))),
            (7, rng.normal(size=(7, 4))),
            (5, rng.normal(size=5)),
        )
    ]
    loop = random_loop(pe.ParalESN.from_layers(layers, concat=True), 2, rng)
    system = TangentLoop(loop)
    point, slopes = system.step(system.start(0))
    np.testing.assert_allclose(point.x, loop.run(1)[0, 0], rtol=1e-12)
    size = point.flat().size
    before, direction = system.start(0), rng.normal(size=size)
    row = system.push(before.like(direction[None]), slopes).flat()[0]
    beside = [before.like(before.flat() + sign * 1e-6 * direction) for sign in (1, -1)]
    ahead, behind = (system.step(p)[0].flat() for p in beside)
    np.testing.assert_allclose(row, (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("difference", [False, True])
def test_a_linear_loop_has_the_eigenvalues_of_its_matrix(difference, rng):
    loop = random_loop(pe.ESN(units=6, linear=True, rho=0.8), 2, rng, difference)
    if difference:  # or the loop would grow without bound
        loop.weights[:] -= 0.3 * np.linalg.pinv(loop.reservoir.layers_[0].w_in)
    (layer,) = loop.reservoir.layers_
    A, B, W = layer.transition(), layer.gain * layer.w_in, loop.weights
    M = np.block([[A, B], [W @ A, W @ B + difference * np.eye(2)]])
    expected = np.sort(np.log(np.abs(np.linalg.eigvals(M)) + 1e-300))[::-1]
    assert expected[0] < 0.2
    found = lyapunov_exponents(loop, 2000, count=8, dt=0.5)
    np.testing.assert_allclose(found.exponents[:6], expected[:6] / 0.5, atol=5e-3)
    if not difference:  # x follows from h: two directions are lost at once
        assert (found.exponents[6:] == -np.inf).all()
    assert found.running.shape == (2000, 8)
    assert found.times[-1] == 1000
    np.testing.assert_array_equal(found.running[-1], found.exponents)


def test_a_complex_unit_counts_as_two_real_numbers(rng):
    loop = random_loop(pe.ParalESN(units=3, mixing=False, tau=0.8), 1, rng, size=0.1)
    (layer,) = loop.reservoir.layers_
    lam, w = layer.eigenvalues, layer.tau * layer.w_in
    A = np.block([[np.diag(lam.real), -np.diag(lam.imag)], [np.diag(lam.imag), np.diag(lam.real)]])
    M = A + np.concatenate([w.real, w.imag]) @ loop.weights  # of h alone, x = W h
    expected = np.sort(np.log(np.abs(np.linalg.eigvals(M))))[::-1]
    found = lyapunov_exponents(loop, 3000, count=7)
    np.testing.assert_allclose(found.exponents[:6], expected, atol=5e-3)
    assert found.exponents[6] == -np.inf
    assert found.dimension == 0.0  # a fixed point


def henon():
    return polynomial(2, 2, [0.0, 0.3, -1.4, 0.0, 0.0], 1.0, 0.1)


def test_a_loop_that_is_the_henon_map_has_its_exponents():
    found = lyapunov_exponents(henon(), 20_000)
    assert found.exponents[0] == pytest.approx(0.419, abs=0.005)
    # Areas shrink by 0.3; the plane they lie in tilts in the space of (h, x), which is forgotten.
    assert found.exponents[:2].sum() == pytest.approx(np.log(0.3), abs=2 / 20_000)
    assert found.exponents[2] == -np.inf  # the state (h, x) has a number more than the map
    assert found.dimension == pytest.approx(1.258, abs=0.004)
    assert abs(found.exponents[0] - 0.4192) < 4 * found.standard_error[0] < 0.02


def test_rare_orthonormalisation_changes_nothing_that_it_can_follow():
    often = lyapunov_exponents(henon(), 3000, count=2)
    rarely = lyapunov_exponents(henon(), 3000, count=2, every=7)
    np.testing.assert_allclose(rarely.exponents, often.exponents, atol=1e-10)
    assert len(rarely.times) == 429
    assert rarely.times[-1] == 3000
    assert np.isneginf(lyapunov_exponents(henon(), 3000, count=2, every=40).exponents[1])


def test_a_fitted_polynomial_is_the_map_it_learnt():
    x = np.empty(2000)
    x[:2] = 0.1
    for t in range(1, 1999):
        x[t + 1] = 1 - 1.4 * x[t] ** 2 + 0.3 * x[t - 1]
    loop = trained(pe.NVAR(delay=2, order=2), x[:, None], alpha=0.0)
    found = lyapunov_exponents(SimpleNamespace(closed_loop_=loop), 20_000, count=2)
    assert found.exponents[0] == pytest.approx(0.419, abs=0.005)
    assert found.exponents.sum() == pytest.approx(np.log(0.3), abs=2 / 20_000)


def test_the_logistic_map_has_the_logarithm_of_two():
    loop = polynomial(1, 2, [4.0, -4.0], 0.0, 0.3)
    found = lyapunov_exponents(loop, 20_000, count=5, dt=2.0)
    assert len(found.exponents) == 2  # the state has no more
    assert found.exponents[0] == pytest.approx(np.log(2) / 2, abs=2e-3)
    assert found.dimension == 1.0


def test_a_periodic_loop_has_dimension_one_whatever_rounding_says():
    angle = 0.3  # x_(t+1) = 2 cos(angle) x_t - x_(t-1) turns a circle
    loop = polynomial(2, 1, [2 * np.cos(angle), -1.0], 0.0, 1.0)
    found = lyapunov_exponents(loop, 4000, count=2)
    np.testing.assert_allclose(found.exponents, 0.0, atol=1e-3)
    assert np.isnan(found.dimension)  # two zeros, and a third exponent that was not computed
    assert lyapunov_exponents(loop, 4000, count=3).dimension == 2.0


RIVALS = {
    "ParalESN": (
        pe.ParalESN(
            units=300, rho=(0.0, 0.8), theta=(0.0, 0.3), input_scale=0.3, bias_scale=1.0,
            mix_scale=2.0, mix_bias_scale=1.0,
        ),
        1e-6,
    ),
    "ESN": (pe.ESN(units=200, rho=0.9, input_scale=0.3, bias_scale=0.5), 1e-6),
}  # fmt: skip


@pytest.mark.parametrize("name", RIVALS)
def test_loops_trained_on_lorenz_are_as_chaotic_as_it_is(name):
    reservoir, alpha = RIVALS[name]
    loop = trained(reservoir, lorenz63(10_000), alpha)
    found = lyapunov_exponents(loop, 10_000, dt=0.02)
    assert found.exponents[0] == pytest.approx(LORENZ, abs=0.09)
    assert found.exponents[1] == pytest.approx(0.0, abs=0.05)
    assert found.exponents[2] < -5
    assert 2.0 < found.dimension < 2.2


def test_polynomials_trained_on_lorenz_have_its_whole_spectrum():
    """Volumes shrink at the rate 10 + 1 + 8/3, and no unit has a slower rate of its own."""
    loop = trained(pe.NVAR(order=3), lorenz63(10_000), alpha=1e-6)
    found = lyapunov_exponents(loop, 10_000, dt=0.02)
    assert found.exponents.sum() == pytest.approx(-(10 + 1 + 8 / 3), abs=0.05)
    assert found.exponents[2] == pytest.approx(-14.57, abs=0.1)
    assert found.dimension == pytest.approx(2.062, abs=0.01)


def test_the_start_of_directions_and_of_series_does_not_matter_in_the_end(rng):
    loop = random_loop(pe.ESN(units=20, rho=0.7, bias_scale=0.3), 2, rng, size=1.0, series=2)
    runs = [
        lyapunov_exponents(loop, 4000, count=1, seed=seed, series=series).exponents
        for seed, series in ((0, 0), (1, 0), (0, 1))
    ]
    np.testing.assert_allclose(runs[1:], [runs[0]] * 2, atol=2e-3)
    again = lyapunov_exponents(loop, 4000, count=1).exponents
    np.testing.assert_array_equal(again, runs[0])


def test_rows_are_made_orthonormal_in_order(rng):
    rows = rng.normal(size=(3, 8))
    rows[2] = rows[0] - 2 * rows[1]
    turned, logs = orthonormalise(rows)
    np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-14)
    assert logs[0] == pytest.approx(np.log(np.linalg.norm(rows[0])))
    assert logs[2] == -np.inf


def test_a_loop_that_diverges_is_an_error():
    with pytest.raises(ValueError, match=r"the closed loop diverged within [0-9]+ steps"):
        lyapunov_exponents(polynomial(1, 2, [4.0, 4.0], 0.0, 0.3))


def test_short_runs_have_no_error_bars():
    found = lyapunov_exponents(henon(), 19, count=1)
    assert np.isnan(found.standard_error).all()
    assert "dimension: not known" in str(found)


def test_bad_arguments_are_named(rng):
    with pytest.raises(TypeError, match="loop must be a ClosedLoop, or a fitted model"):
        lyapunov_exponents(pe.ESN())
    for name, value in (("steps", 0), ("count", 0), ("washout", -1), ("every", 0), ("series", 1)):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            lyapunov_exponents(henon(), **{name: value})
    with pytest.raises(ValueError, match="dt must be a finite number in"):
        lyapunov_exponents(henon(), dt=0)


def test_the_figure_shows_how_estimates_settle(tmp_path):
    pytest.importorskip("matplotlib")
    found = lyapunov_exponents(henon(), 500, count=2)
    axes = found.plot(tmp_path / "lyapunov.png").axes[0]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), found.running[:, 0])
    assert (tmp_path / "lyapunov.png").stat().st_size > 1000
