"""The echo state property: verdicts against known cases, trajectories against their bound."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard
from sklearn.exceptions import NotFittedError

import paralesn as pe
from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Sparse
from paralesn.theory import echo_state_property, forgetting_curve, plot_spectrum
from paralesn.theory.contraction import circulant_spectrum, contraction, mixing_norm, norm_of

ONE = np.zeros((2, 1))


def diagonal(eigenvalues, **more):
    n = len(eigenvalues)
    given = {"w_in": np.ones((n, 1)), "mix_kernel": [1.0], **more}
    return pe.DiagonalLayer(eigenvalues, bias=np.zeros(n), tau=1.0, mix_bias=0.0, **given)


def recurrent(matrix, branch=0.0, gain=1.0, bias=0.0, linear=False, features=1):
    n = len(matrix)
    operator = branch if isinstance(branch, Dense | Cycle) else Identity(n, branch)
    w_in = np.ones((n, features)) / features
    return pe.RecurrentLayer(Dense(matrix), w_in, np.full(n, bias), operator, gain, linear)


def random_matrix(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n))


# -- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eigenvalues", "holds"),
    [([0.5, -0.999], True), ([0.3, 1j], False), ([1.0], False), ([0.2 + 1.1j, 0.1], False)],
)
def test_diagonal_layers_are_decided_by_the_eigenvalues(eigenvalues, holds):
    found = echo_state_property(diagonal(eigenvalues))
    assert found.holds is holds
    assert bool(found) is holds
    assert found.exact
    assert found.radius == found.contraction == (np.abs(eigenvalues).max(),)


@given(n=st.integers(1, 30), scale=st.floats(0.1, 3.0), tau=st.floats(0.1, 1.0), seed=st.integers(0, 99))  # fmt: skip
def test_linear_layers_are_decided_by_scipys_eigenvalues(n, scale, tau, seed):
    matrix = scale * random_matrix(n, seed) / np.sqrt(n)
    layer = recurrent(matrix, 1 - tau, tau, bias=0.3, linear=True)
    truth = np.abs(np.linalg.eigvals((1 - tau) * np.eye(n) + tau * matrix)).max()
    found = echo_state_property(layer)
    assert found.exact
    assert found.radius[0] == pytest.approx(truth, rel=1e-10)
    assert found.holds is bool(truth < 1)


def test_a_defective_layer_is_decided_by_its_diagonal():
    jordan = 0.999 * np.eye(30) + np.eye(30, k=1)
    assert echo_state_property(recurrent(jordan, linear=True)).radius == (0.999,)
    assert echo_state_property(recurrent(jordan + 0.002 * np.eye(30), linear=True)).holds is False
    on_the_circle = echo_state_property(recurrent(jordan + 0.001 * np.eye(30), linear=True))
    assert on_the_circle.holds is None  # as far as rounding lets one see
    assert not on_the_circle.exact


def test_small_singular_values_suffice():
    matrix = random_matrix(20)
    matrix *= 0.9 / np.linalg.norm(matrix, 2)
    found = echo_state_property(recurrent(matrix, bias=1.0))
    assert found.holds is True
    assert not found.exact
    assert found.contraction[0] <= 0.9 + 1e-12
    tau = 0.25
    leaky = echo_state_property(recurrent(matrix, 1 - tau, tau))
    assert leaky.holds is True
    assert leaky.radius[0] <= leaky.contraction[0] <= 1 - tau + tau * 0.9 + 1e-12


def test_an_unstable_origin_denies_it_and_trajectories_agree():
    matrix = random_matrix(20)
    matrix *= 1.3 / np.abs(np.linalg.eigvals(matrix)).max()
    layer = recurrent(matrix)
    assert echo_state_property(layer).holds is False
    curve = forgetting_curve(pe.ESN.from_layers([layer]), np.zeros(2000))
    assert curve.distance[-200:].min() > 0.1
    assert np.isinf(curve.bound).all()


def test_with_a_bias_an_unstable_origin_proves_nothing():
    # h = tanh(1.5 h + 5): the origin would be unstable, yet every state goes to the fixed point.
    layer = recurrent([[1.5]], bias=5.0)
    found = echo_state_property(layer)
    assert found.radius[0] > 1
    assert found.holds is None
    assert forgetting_curve(pe.ESN.from_layers([layer]), np.zeros(300)).distance[-1, 0] < 1e-12


def test_between_the_conditions_it_is_undecided():
    found = echo_state_property(pe.ESN(units=50, rho=0.9).fit(ONE))
    assert found.radius[0] < 1 < found.contraction[0]
    assert found.holds is None
    assert not found
    assert "undecided" in str(found)
    # h = tanh(h) has the property, but neither condition says so, at a radius of 1.
    assert echo_state_property(recurrent([[1.0]])).holds is None
    assert echo_state_property(pe.ESN(units=40, rho=1.0).fit(ONE)).holds is None


def test_a_scaled_norm_decides_what_the_euclidean_does_not():
    matrix = np.triu(3 * np.ones((6, 6)), 1) + 0.5 * np.eye(6)
    rate, scaling = contraction(recurrent(matrix))
    truth = np.linalg.norm(scaling[:, None] * matrix / scaling, 2)
    assert rate == pytest.approx(truth)
    assert rate < 1 < np.linalg.norm(matrix, 2)
    assert echo_state_property(recurrent(matrix)).holds is True


@given(n=st.integers(1, 12), gain=st.floats(-1.0, 1.0), seed=st.integers(0, 99))
def test_no_step_expands_by_more_than_the_contraction(n, gain, seed):
    rng = np.random.default_rng(seed)
    matrix, branch = rng.normal(size=(2, n, n))
    layer = recurrent(matrix, Dense(branch), gain)
    rate, scaling = contraction(layer)
    for _ in range(20):  # slopes of tanh, also extreme ones
        slopes = rng.uniform(size=n) if rng.random() < 0.5 else rng.integers(0, 2, n)
        jacobian = branch + gain * slopes[:, None] * matrix
        assert np.linalg.norm(scaling[:, None] * jacobian / scaling, 2) <= rate * (1 + 1e-10)


# -- cascades ------------------------------------------------------------------------------------


def test_one_unstable_layer_is_enough():
    good, bad = diagonal([0.5]), diagonal([1.0], w_in=[1.0])
    found = echo_state_property([good, bad])
    assert (found.holds, found.layers) == (False, (True, False))
    assert echo_state_property([good, good]).holds is True
    assert "layer 2" in str(found)
    assert "does not hold" in str(found)


def test_a_bias_below_makes_an_unstable_layer_above_undecided():
    stable, unstable = recurrent([[0.5]]), recurrent([[1.5]])
    assert echo_state_property([stable, unstable]).holds is False
    assert echo_state_property([recurrent([[0.5]], bias=0.1), unstable]).holds is None
    linear = recurrent([[0.5]], bias=0.1, linear=True), recurrent([[1.5]], linear=True)
    assert echo_state_property(linear).holds is False


# -- structured layers ---------------------------------------------------------------------------


def test_norms_of_operators_agree_with_their_matrices(rng):
    columns = np.sort(np.stack([rng.choice(20, 4, replace=False) for _ in range(20)]), axis=1)
    signs = rng.choice([-1, 1], (3, 32))
    for operator in (
        Cycle(7, -0.8), Identity(5, -2.0), Hadamard(32, 0.7, signs), Hadamard(20, 0.7, signs),
        Sparse(columns, rng.normal(size=(20, 4))), Dense(rng.normal(size=(9, 9))),
    ):  # fmt: skip
        assert norm_of(operator) == pytest.approx(np.linalg.norm(operator.dense(), 2), rel=1e-12)
    assert np.linalg.norm(hadamard(32) / np.sqrt(32), 2) == pytest.approx(1.0)


def test_rings_have_a_closed_form():
    layer = pe.RecurrentLayer(Cycle(9, 0.7), np.ones((9, 1)), np.zeros(9), Identity(9, 0.4), 0.6)
    truth = np.sort_complex(np.linalg.eigvals(layer.transition()))
    np.testing.assert_allclose(np.sort_complex(circulant_spectrum(layer, 0.6)), truth, atol=1e-12)
    assert echo_state_property(layer).radius[0] == pytest.approx(0.4 + 0.42)
    two = pe.RecurrentLayer(Cycle(9, 0.7), np.ones((9, 1)), np.zeros(9), Cycle(9, -0.4), 0.6)
    assert echo_state_property(two).contraction[0] <= 0.4 + 0.42


def test_large_structured_reservoirs_need_no_matrix():
    size = 1 << 17  # a matrix would have 128 GB
    for reservoir, rate in (
        (pe.SCR(units=size, rho=0.9, tau=0.5), 0.95),
        (pe.StructuredRC(units=size, scale=0.9), 0.9),
        (pe.StructuredRC(units=100_000, scale=0.9, tau=0.5), 0.95),
    ):
        found = echo_state_property(reservoir.fit(ONE))
        assert found.holds is True
        assert found.contraction[0] == pytest.approx(rate)
    assert np.isnan(found.radius[0])
    assert "not computed" in str(found)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_the_mixing_norm_bounds_the_convolution(rng, size):
    kernel = rng.normal(size=size) + 1j * rng.normal(size=size)
    layer = diagonal(np.zeros(20, complex), mix_kernel=kernel)
    left = (size - 1) // 2
    matrix = sum(k * np.eye(20, k=j - left) for j, k in enumerate(kernel))
    assert np.linalg.norm(matrix, 2) <= mixing_norm(layer) * (1 + 1e-12)
    assert mixing_norm(layer) <= np.abs(kernel).sum() * (1 + 1e-12)


# -- trajectories --------------------------------------------------------------------------------

RESERVOIRS = {
    "paralesn": pe.ParalESN(units=40),
    "leaky": pe.ParalESN(units=40, rho=(0.8, 0.99), tau=0.3, bias_scale=0.5),
    "real": pe.ParalESN(units=40, real=True, layers=2, mix_scale=1.0),
    "deep": pe.ParalESN(units=30, layers=3, mix_scale=0.7, mix_size=4),
    "concat": pe.ParalESN(units=31, layers=3, mix_scale=0.7, concat=True, dtype="float32"),
    "cycle": pe.SCR(units=40, layers=2, tau=0.6, bias_scale=0.2),
    "hadamard": pe.StructuredRC(units=20, layers=2),
    "esn": pe.ESN(units=20, layers=2, rho=0.4, tau=0.7),
    "residual": pe.ResESN(units=20, rho=0.2, orthogonal="cyclic"),
    "linear": pe.SCR(units=20, linear=True),
}


@pytest.mark.parametrize("name", RESERVOIRS)
def test_trajectories_stay_below_their_bound(name):
    x = np.random.default_rng(1).uniform(-1, 1, 300)
    curve = forgetting_curve(RESERVOIRS[name], x, trajectories=5, scale=2.0)
    layers = RESERVOIRS[name].layers
    assert curve.distance.shape == curve.bound.shape == (300, layers)
    assert np.isfinite(curve.bound).all()
    assert (curve.distance <= curve.bound * (1 + 1e-9) + 1e-12).all()
    assert (curve.distance[0] > 1e-3 * curve.bound[0]).all()
    assert (curve.bound[-1] < 0.9 * curve.bound.max(axis=0)).all()
    assert not hasattr(RESERVOIRS[name], "layers_")


def test_a_scaled_bound_holds_in_the_euclidean_norm():
    matrix = np.triu(3 * np.ones((6, 6)), 1) + 0.5 * np.eye(6)
    second = recurrent(matrix, features=6)
    reservoir = pe.ESN.from_layers([recurrent(matrix), second])
    curve = forgetting_curve(reservoir, np.sin(np.arange(200.0)), scale=1e-3)
    assert np.isfinite(curve.bound).all()
    assert (curve.distance <= curve.bound + 1e-12).all()


def test_the_first_bound_is_the_theorems_and_sharp_for_equal_radii():
    layer = diagonal(0.9 * np.exp(1j * np.arange(10)))
    curve = forgetting_curve(pe.ParalESN.from_layers([layer]), np.ones(100))
    assert curve.rate == (pytest.approx(0.9),)
    expected = 0.9 ** np.arange(1, 101) * curve.initial
    np.testing.assert_allclose(curve.bound[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(curve.distance[:, 0], expected, rtol=1e-9)


def test_long_series_are_measured_in_blocks(monkeypatch):
    reservoir, x = pe.ParalESN(units=10, layers=2), np.sin(np.arange(100.0))
    whole = forgetting_curve(reservoir, x)
    monkeypatch.setattr("paralesn.theory.forgetting._ENTRIES", 1500)
    np.testing.assert_array_equal(forgetting_curve(reservoir, x).distance, whole.distance)


# -- bad input, figures, imports -----------------------------------------------------------------


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="reservoir must be a fitted reservoir, a layer"):
        echo_state_property("esn")
    with pytest.raises(TypeError, match="reservoir must be"):
        echo_state_property([])
    with pytest.raises(TypeError, match="of one kind"):
        echo_state_property([diagonal([0.5]), recurrent([[0.5]])])
    with pytest.raises(ValueError, match="eigenvalues of layer 1 must be finite"):
        echo_state_property(diagonal([np.nan]))
    with pytest.raises(NotFittedError):
        echo_state_property(pe.ESN())
    with pytest.raises(ValueError, match="trajectories must be"):
        forgetting_curve(pe.ParalESN(), np.ones(9), trajectories=1)
    with pytest.raises(ValueError, match="X must be one series"):
        forgetting_curve(pe.ParalESN(), np.ones((2, 9, 1)))
    with pytest.raises(TypeError, match="reservoir must be a reservoir"):
        forgetting_curve(diagonal([0.5]), np.ones(9))


def test_figures_show_the_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    reservoir = pe.ParalESN(units=30, layers=2).fit(ONE)
    figure = plot_spectrum(reservoir, tmp_path / "spectrum.png")
    for layer, dots in zip(reservoir.layers_, figure.axes[0].collections, strict=True):
        np.testing.assert_allclose(dots.get_offsets() @ [1, 1j], layer.eigenvalues)
    curve = forgetting_curve(reservoir, np.ones(50))
    line = curve.plot(tmp_path / "forgetting.svg").axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata()[1:], curve.distance[:, 0])
    assert {path.name for path in tmp_path.iterdir()} == {"spectrum.png", "forgetting.svg"}
    assert (tmp_path / "spectrum.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="not supported"):
        plot_spectrum(reservoir, tmp_path / "spectrum.xyz")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_importing_loads_no_extras():
    code = "import sys, paralesn.theory; print({'matplotlib', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
