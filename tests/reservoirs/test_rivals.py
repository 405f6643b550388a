"""ESN, ResESN, SCR and StructuredRC against plain loops, closed forms, SciPy and their papers."""

import numpy as np
import pytest
from scipy.linalg import hadamard
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.layers import spectrum

ALL = (pe.ESN, pe.ResESN, pe.SCR, pe.StructuredRC)


def layers_of(reservoir, features=1):
    return reservoir.fit(np.zeros((2, features))).layers_


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


# -- the equations ---------------------------------------------------------------------------------


def test_esn_is_the_papers_equation(rng):
    x = rng.normal(size=(60, 3))
    res = pe.ESN(units=40, tau=0.3, bias_scale=0.2, input_scale=0.7)
    states, _ = res.run(x)
    (layer,) = res.layers_
    W, h = layer.recurrent.matrix, np.zeros(40)
    for t in range(60):
        h = 0.7 * h + 0.3 * np.tanh(W @ h + layer.w_in @ x[t] + layer.bias)
        np.testing.assert_allclose(states[t], h, atol=1e-13)


def test_deep_esn_hands_states_upwards(rng):
    x = rng.normal(size=(50, 1))
    res = pe.ESN(
        units=31, layers=3, concat=True, inter={"rho": 0.5, "tau": 0.4, "input_scale": 0.1}
    )
    states, _ = res.run(x)
    widths = [layer.units for layer in res.layers_]
    assert widths == [11, 10, 10]
    assert [layer.w_in.shape for layer in res.layers_] == [(11, 1), (10, 11), (10, 10)]
    assert [radius(layer.recurrent.matrix) for layer in res.layers_] == pytest.approx(
        [0.9, 0.5, 0.5]
    )
    assert [np.abs(layer.w_in).max() <= 0.1 for layer in res.layers_] == [False, True, True]
    h = [np.zeros(width) for width in widths]
    for t in range(50):
        below = x[t]
        for depth, (layer, tau) in enumerate(zip(res.layers_, (1.0, 0.4, 0.4), strict=True)):
            inner = np.tanh(layer.recurrent.matrix @ h[depth] + layer.w_in @ below)
            below = h[depth] = (1 - tau) * h[depth] + tau * inner
        np.testing.assert_allclose(states[t], np.concatenate(h), atol=1e-13)


@pytest.mark.parametrize("kind", ["random", "cyclic", "identity"])
def test_resesn_is_its_papers_equation(kind, rng):
    x = rng.normal(size=(60, 2))
    res = pe.ResESN(units=20, alpha=0.6, beta=0.3, orthogonal=kind, bias_scale=0.1)
    states, _ = res.run(x)
    (layer,) = res.layers_
    Q = layer.branch.dense() / 0.6
    np.testing.assert_allclose(Q @ Q.T, np.eye(20), atol=1e-13)
    if kind == "cyclic":
        np.testing.assert_array_equal(Q @ np.arange(20), np.roll(np.arange(20), 1))
    h = np.zeros(20)
    for t in range(60):
        inner = layer.recurrent.matrix @ h + layer.w_in @ x[t] + layer.bias
        h = 0.6 * Q @ h + 0.3 * np.tanh(inner)
        np.testing.assert_allclose(states[t], h, atol=1e-13)


def test_resesn_with_the_identity_is_a_leaky_esn(rng):
    x = rng.normal(size=(60, 2))
    res = pe.ResESN(units=20, alpha=0.7, beta=0.3, orthogonal="identity")
    esn = pe.ESN(units=20, tau=0.3)
    np.testing.assert_allclose(res.run(x)[0], esn.run(x)[0], atol=1e-14)  # drawn alike, too


def test_an_impulse_travels_round_a_linear_cycle():
    res = pe.SCR(units=5, rho=0.5, linear=True)
    x = np.zeros(12)
    x[0] = 1.0
    states, _ = res.run(x)
    w = res.layers_[0].w_in[:, 0]
    assert set(w) == {-1.0, 1.0}
    for t in range(12):
        np.testing.assert_allclose(states[t], 0.5**t * np.roll(w, t), rtol=1e-15)


@pytest.mark.parametrize("units", [1, 2, 3, 8, 13, 64])
def test_structured_rc_multiplies_by_hadamard_matrices(units, rng):
    x = rng.normal(size=(30, 1))
    res = pe.StructuredRC(units=units, scale=0.8, tau=0.5, bias_scale=0.1)
    states, _ = res.run(x)
    (layer,) = res.layers_
    size = 1 << int(np.ceil(np.log2(units)))
    H = hadamard(size) / np.sqrt(size)
    D1, D2, D3 = (np.diag(signs) for signs in layer.recurrent.signs)
    W = 0.8 * (H @ D1 @ H @ D2 @ H @ D3)[:units, :units]
    np.testing.assert_allclose(layer.recurrent.dense(), W, atol=1e-15)
    if units == size:
        np.testing.assert_allclose(W @ W.T, 0.64 * np.eye(units), atol=1e-14)
    h = np.zeros(units)
    for t in range(30):
        h = 0.5 * h + 0.5 * np.tanh(W @ h + layer.w_in @ x[t] + layer.bias)
        np.testing.assert_allclose(states[t], h, atol=1e-13)


def test_linear_drops_the_tanh(rng):
    x = 0.1 * rng.normal(size=(200, 1))
    once, _ = pe.ESN(units=30, linear=True, rho=0.8).run(x)
    twice, _ = pe.ESN(units=30, linear=True, rho=0.8).run(2 * x)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
    assert np.abs(pe.ESN(units=30, rho=0.8).run(x)[0] - once).max() > 1e-3


# -- how they are drawn ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "density"), [(1, 1), (2, 1), (50, 1), (50, 0.2), (450, 1), (450, 0.05), (700, 0.01)]
)
def test_the_spectral_radius_is_exact(units, density):
    (layer,) = layers_of(pe.ESN(units=units, rho=0.77, density=density))
    assert radius(layer.recurrent.dense()) == pytest.approx(0.77, rel=1e-10)
    assert np.abs(layer.recurrent.dense()).max() > 0


def test_searches_that_disagree_leave_it_to_all_eigenvalues(monkeypatch, rng):
    W = pe.operators.Dense(rng.uniform(-1, 1, (420, 420)))
    expected = radius(W.matrix)
    lies = iter(np.linspace(1.0, 2.0, 100))
    monkeypatch.setattr(spectrum, "_largest", lambda m, *_: (next(lies) * expected, np.ones(420)))
    assert spectrum.spectral_radius(W) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(spectrum, "_LARGE", 400)
    with pytest.raises(RuntimeError, match="420 units could not be determined"):
        spectrum.spectral_radius(W)


def test_eigenvalues_of_triangular_matrices_are_read_off():
    """No search would end on a matrix whose powers vanish."""
    X = np.zeros((2, 1))
    assert (pe.ESN(units=500, rho=0.0, linear=True).fit(X).layers_[0].recurrent.matrix == 0).all()
    shift = pe.operators.Dense(np.eye(500, k=-1))
    assert spectrum.spectral_radius(shift) == 0.0
    columns = np.maximum(np.arange(500) - 1, 0)[:, None]
    values = np.where(np.arange(500) > 0, 1.0, 0.25)[:, None]
    assert spectrum.spectral_radius(pe.operators.Sparse(columns, values)) == 0.25


def test_nearly_equal_eigenvalues_are_told_apart(rng):
    """Many eigenvalues crowd below the largest one, as in large random matrices."""
    values = np.append(np.linspace(0.99, 0.9999, 599), 1.0)
    Q, _ = np.linalg.qr(rng.normal(size=(600, 600)))
    found = spectrum.spectral_radius(pe.operators.Dense(Q @ np.diag(values) @ Q.T))
    assert found == pytest.approx(1.0, rel=1e-10)


def test_a_draw_does_not_depend_on_the_threads_of_blas():
    drawn = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            drawn.append(layers_of(pe.ResESN(units=450)))
    (one,), (two,) = drawn
    np.testing.assert_array_equal(one.recurrent.matrix, two.recurrent.matrix)
    np.testing.assert_array_equal(one.branch.matrix, two.branch.matrix)


def test_entries_are_uniform_before_they_are_rescaled():
    (layer,) = layers_of(pe.ESN(units=300, input_scale=2.0, bias_scale=0.5), features=4)
    W = layer.recurrent.matrix
    assert W.std() * np.sqrt(300) == pytest.approx(0.9, rel=0.1)  # the circular law
    assert np.abs(W).max() / W.std() == pytest.approx(np.sqrt(3), rel=1e-2)  # of a uniform
    assert 1.95 < np.abs(layer.w_in).max() <= 2.0
    assert 0.45 < np.abs(layer.bias).max() <= 0.5


def test_one_hyperparameter_does_not_reshuffle_the_others():
    (base,) = layers_of(pe.ESN(units=30, bias_scale=1.0))
    (other,) = layers_of(pe.ESN(units=30, bias_scale=2.0, rho=0.45, tau=0.5, input_scale=3.0))
    np.testing.assert_allclose(other.recurrent.matrix, base.recurrent.matrix / 2, rtol=1e-14)
    np.testing.assert_allclose(other.bias, 2 * base.bias, rtol=1e-15)
    np.testing.assert_allclose(other.w_in, 3 * base.w_in, rtol=1e-15)


@pytest.mark.parametrize(
    ("units", "density", "reads"), [(50, 0.1, 5), (50, 0.001, 1), (10, 0.99, 10)]
)
def test_sparse_units_read_as_many_others_each(units, density, reads):
    (layer,) = layers_of(pe.ESN(units=units, density=density))
    assert layer.recurrent.values.shape == (units, reads)
    assert all(len(set(row)) == reads for row in layer.recurrent.columns.tolist())


def test_rho_zero_is_a_reservoir_without_recurrence(rng):
    x = rng.normal(size=(10, 1))
    res = pe.ESN(units=7, rho=0.0)
    states, _ = res.run(x)
    np.testing.assert_allclose(states, np.tanh(x @ res.layers_[0].w_in.T), atol=1e-15)


def test_parameters_are_counted_as_in_the_paper():
    X = np.zeros((2, 1))
    assert pe.ESN(units=1024, rho=0.0).fit(X).n_parameters_ == 1024**2 + 1024
    assert pe.ESN(units=1024, rho=0.0, layers=5).fit(X).n_parameters_ == 9 * 1024**2 + 1024
    assert pe.ESN(units=100, density=0.1).fit(X).n_parameters_ == 1000 + 100
    assert pe.ResESN(units=10).fit(X).n_parameters_ == 210
    assert pe.ResESN(units=10, orthogonal="cyclic").fit(X).n_parameters_ == 111
    assert pe.SCR(units=10, layers=2).fit(X).n_parameters_ == 22
    assert pe.StructuredRC(units=10).fit(X).n_parameters_ == 3 * 16 + 1 + 10


# -- as the other reservoirs -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_every_estimator_takes_them(kind, rng):
    x = np.sin(np.arange(600) / 7) + 0.1 * rng.normal(size=600)
    reservoir = kind(units=50, input_scale=0.5)
    model = pe.ReservoirRegressor(reservoir, washout=20, standardize=False).fit(x[:400], x[1:401])
    assert model.score(x[400:-1], x[401:]) > 0.9
    forecaster = StateForecaster(reservoir, difference=False, standardize=False).fit(
        np.sin(np.arange(600) / 7)
    )
    truth = np.sin(np.arange(600, 630) / 7)
    assert np.abs(forecaster.forecast(30) - truth).max() < 0.05
    X = [np.sin(np.arange(60) / p + rng.uniform(0, 6)) for p in (9, 7) * 20]
    classifier = pe.ReservoirClassifier(pe.PooledStates(reservoir, standardize=False))
    classifier.fit(X[:20], ["slow", "fast"] * 10)
    assert classifier.score(X[20:], ["slow", "fast"] * 10) == 1.0


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("layers", [1, 2])
def test_saved_and_loaded(kind, layers, tmp_path, rng):
    x = rng.normal(size=(30, 2))
    res = kind(units=20, layers=layers, inter={"input_scale": 0.3})
    states, state = res.run(x)
    pe.save(res, tmp_path / "reservoir")
    loaded = pe.load(tmp_path / "reservoir")
    np.testing.assert_array_equal(loaded.run(x)[0], states)
    again, _ = loaded.run(x, state)  # a state of the same model
    np.testing.assert_array_equal(again, res.run(x, state)[0])
    with pytest.raises(ValueError, match="state must come from this model"):
        kind(units=20, layers=layers, seed=1).fit(x).run(x, state)


@pytest.mark.parametrize("kind", ALL)
def test_given_layers_are_run_as_drawn_ones(kind, rng):
    x = rng.normal(size=(30, 2))
    drawn = kind(units=20, layers=2, concat=True)
    states, _ = drawn.run(x)
    given = kind.from_layers(drawn.layers_, concat=True)
    np.testing.assert_array_equal(given.run(x)[0], states)
    np.testing.assert_array_equal(clone(given).run(x)[0], states)
    with pytest.raises(ValueError, match="seed must be left alone"):
        given.set_params(seed=3).fit(x)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reservoir", "error", "message"),
    [
        (pe.ESN(rho=-0.1), ValueError, r"rho must be a finite number in \[0, inf\), got -0.1"),
        (pe.ESN(rho=(0, 1)), TypeError, r"rho must be a finite number in \[0, inf\), got \(0, 1\)"),
        (pe.ESN(rho=1.0, linear=True), ValueError, r"rho must be a finite number in \[0, 1\), got 1"),
        (pe.ESN(density=0), ValueError, r"density must be a finite number in \(0, 1\], got 0"),
        (pe.ESN(tau=0), ValueError, "tau must be"),
        (pe.ESN(layers=2, inter={"theta": 1}), ValueError, "rho, tau, input_scale, bias_scale, density, got the unknown 'theta'"),
        (pe.ESN(layers=2, inter={"rho": np.nan}), ValueError, "inter rho must be a finite number"),
        (pe.ESN(units=2, layers=3, concat=True), ValueError, r"units must be at least layers \(3\)"),
        (pe.ESN(linear=1), TypeError, "linear must be True or False, got 1"),
        (pe.ResESN(alpha=1.1), ValueError, r"alpha must be a finite number in \[0, 1\], got 1.1"),
        (pe.ResESN(beta=0.0), ValueError, r"beta must be a finite number in \(0, 1\], got 0"),
        (pe.ResESN(orthogonal="ring"), ValueError, "orthogonal must be one of 'random', 'cyclic', 'identity', got 'ring'"),
        (pe.ResESN(alpha=1.0, beta=0.5, linear=True), ValueError, r"layer 1 must be stable with linear=True"),
        (pe.SCR(rho=1.0, linear=True), ValueError, r"layer 1 must be stable .* got 1"),
        (pe.SCR(units=128, rho=1.0, tau=0.5, linear=True), ValueError, "layer 1 must be stable"),
        (pe.SCR(units=300_000, rho=1.2, linear=True), ValueError, "layer 1 must be stable .* got 1.2"),
        (pe.StructuredRC(units=8, scale=1.0, linear=True), ValueError, "layer 1 must be stable"),
        (pe.StructuredRC(units=300_000, scale=1.2, linear=True), ValueError, "layer 1 must be stable"),
        (pe.SCR(units=5, rho=1 - 1e-9, linear=True, dtype="float32"), ValueError, "layer 1 must stay stable after rounding to float32"),
        (pe.StructuredRC(scale=-1), ValueError, "scale must be"),
        (pe.StructuredRC(input_scale="a"), TypeError, "input_scale must be"),
    ],
)  # fmt: skip
def test_hyperparameters_are_checked(reservoir, error, message):
    with pytest.raises(error, match=message):
        reservoir.run(np.zeros((3, 1)))


def one_layer(**changes):
    parts = {
        "recurrent": pe.operators.Dense(0.1 * np.eye(3)), "w_in": np.ones((3, 2)),
        "bias": np.zeros(3), "branch": pe.operators.Identity(3, 0.0), "gain": 1.0,
    }  # fmt: skip
    return pe.RecurrentLayer(**(parts | changes))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers must be a list of at least one RecurrentLayer"),
        ([one_layer(recurrent=np.eye(3))], "recurrent of layer 1 must be one of Dense, Sparse, Cycle, Hadamard, Identity, got ndarray"),
        ([one_layer(recurrent=pe.operators.Dense(np.ones((3, 2))))], r"matrix of recurrent of layer 1 must be \(N, N\), got \(3, 2\)"),
        ([one_layer(recurrent=pe.operators.Dense(np.full((3, 3), np.nan)))], "matrix of recurrent of layer 1 must be finite"),
        ([one_layer(branch=pe.operators.Identity(4, 0.0))], "branch of layer 1 must have 3 units as recurrent, got 4"),
        ([one_layer(branch=pe.operators.Cycle(0, 0.0))], "units of branch of layer 1 must be"),
        ([one_layer(recurrent=pe.operators.Sparse([[0, 1], [1, 0], [0, 2]], np.ones((3, 2))))], "columns of recurrent of layer 1 must rise"),
        ([one_layer(recurrent=pe.operators.Sparse([[3], [0], [0]], np.ones((3, 1))))], "lie from 0 to 2"),
        ([one_layer(recurrent=pe.operators.Sparse([[0], [0], [0]], np.ones((3, 2))))], r"must be \(N, K\), got \(3, 1\) and \(3, 2\)"),
        ([one_layer(recurrent=pe.operators.Hadamard(3, 1.0, np.zeros((3, 4))))], r"signs of recurrent of layer 1 must be \(3, 4\), each 1 or -1"),
        ([one_layer(w_in=np.ones(3))], r"w_in of layer 1 must have shape \(3, features\), got \(3,\)"),
        ([one_layer(), one_layer()], r"w_in of layer 2 must have shape \(3,\) or \(3, 3\), got \(3, 2\)"),
        ([one_layer(bias=np.ones(2))], r"bias of layer 1 must have shape \(3,\), got \(2,\)"),
        ([one_layer(gain=np.inf)], "gain of layer 1 must be a finite number"),
        ([one_layer(), one_layer(w_in=np.ones(3), linear=True)], "linear of layer 2 must be as in the first layer"),
        ([one_layer(recurrent=pe.operators.Dense(np.eye(3)), linear=True)], "layer 1 must be stable"),
    ],
)  # fmt: skip
def test_given_layers_are_checked(layers, message):
    with pytest.raises((TypeError, ValueError), match=message):
        pe.ESN.from_layers(layers)


def test_a_step_that_is_none_draws_nothing():
    res = pe.ESN(units=3)
    for x in ([], np.zeros((2, 3, 5))):
        with pytest.raises(ValueError, match="x must be one time step"):
            res.step(x)
    assert res.run(np.zeros((4, 1)))[0].shape == (4, 3)


def test_columns_of_sparse_operators_are_whole_numbers():
    for columns in ([[0.9]], [[2**32]]):
        with pytest.raises(ValueError, match="columns must be whole numbers"):
            pe.operators.Sparse(columns, [[1.0]])


def test_large_structured_linear_reservoirs_need_no_matrix(rng):
    res = pe.SCR(units=200_000, linear=True, rho=0.9)
    assert res.last(rng.normal(size=5)).shape == (200_000,)
