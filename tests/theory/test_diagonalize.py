"""Linear echo state networks as diagonal ones: equal states, errors within their bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge

import paralesn as pe
from paralesn.layers.operators import Cycle, Dense, Identity
from paralesn.theory import diagonalize
from paralesn.theory.diagonalize import flatten
from paralesn.theory.eigen import power_sum, response_sum

STEPS = 400


def layer(matrix, w_in=None, bias=None, branch=0.0, gain=1.0, linear=True):
    matrix = np.asarray(matrix, float)
    n = len(matrix)
    w_in = np.ones((n, 1)) if w_in is None else w_in
    bias = np.zeros(n) if bias is None else bias
    return pe.RecurrentLayer(Dense(matrix), w_in, bias, Identity(n, branch), gain, linear)


def network(matrix, seed=0, features=1, **more):
    rng = np.random.default_rng(seed)
    n = len(matrix)
    w_in, bias = rng.normal(size=(n, features)), rng.normal(size=n)
    return pe.ESN.from_layers([layer(matrix, w_in, bias, **more)])


def random_matrix(n, radius=0.9, seed=0):
    matrix = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    return matrix * (radius / max(np.abs(np.linalg.eigvals(matrix)).max(), 1e-3))


def loop(esn, X):
    """States of all layers, one plain step after the other."""
    h = [np.zeros(part.units) for part in esn.layers_]
    rows = []
    for x in X:
        for k, part in enumerate(esn.layers_):
            if part.w_in.ndim == 2:
                driven = part.w_in @ x
            else:
                driven = part.w_in * x[(np.arange(part.units) - 1) % x.size]
            pre = part.recurrent.dense() @ h[k] + driven + part.bias
            h[k] = x = part.branch.dense() @ h[k] + part.gain * pre
        rows.append(np.concatenate(h) if esn.concat else h[-1])
    return np.array(rows)


def signs(esn, seed=1, steps=STEPS):
    """Inputs of norm one."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], (steps, esn.n_features_in_))
    return X / np.sqrt(esn.n_features_in_)


def error_and_bound(esn, **options):
    """Largest error over time and its bound."""
    same, X = diagonalize(esn, **options), signs(esn)
    raw, _ = same.reservoir.run(X)
    truth = loop(esn, X)
    return np.linalg.norm(same.states(raw) - truth, axis=1).max(), same.bound(1.0), same, truth


# -- diagonalisable matrices ---------------------------------------------------------------------


@settings(max_examples=40)
@given(n=st.integers(1, 40), tau=st.floats(0.05, 1.0), radius=st.floats(0.0, 0.99), features=st.integers(1, 3), seed=st.integers(0, 999))  # fmt: skip
def test_random_networks_are_equal(n, tau, radius, features, seed):
    matrix = random_matrix(n, radius, seed)
    esn = network(matrix, seed, features, branch=1 - tau, gain=tau)
    error, bound, same, truth = error_and_bound(esn)
    assert error <= 1e-8 * max(1.0, np.abs(truth).max())
    assert error <= bound
    assert same.perturbation == 0.0
    values = same.reservoir.layers_[0].eigenvalues
    np.testing.assert_array_equal(np.sort_complex(values), np.sort_complex(values.conj()))


REPEATED = {
    "zero": np.zeros((5, 5)),
    "identity": 0.9 * np.eye(7),
    "symmetric": None,
    "orthogonal": None,
    "skew": 0.5 * np.kron(np.eye(4), [[0.0, 1.0], [-1.0, 0.0]]),
    "cycle": 0.95 * np.roll(np.eye(50), 1, axis=0),
    "blocks": np.kron(np.eye(3), [[0.5, 0.8], [-0.1, 0.3]]),
    "one": [[-0.7]],
}


@pytest.mark.parametrize("name", REPEATED)
def test_repeated_eigenvalues_need_no_perturbation(name, rng):
    matrix = REPEATED[name]
    basis = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    if name == "symmetric":
        matrix = basis @ np.diag(np.repeat([0.9, 0.5, 0.5, -0.3], 5)) @ basis.T
    elif name == "orthogonal":
        matrix = 0.9 * basis
    error, bound, same, _ = error_and_bound(network(matrix))
    assert same.perturbation == 0.0
    assert error <= bound < 1e-9
    if name != "blocks":
        assert same.condition == 1.0


@pytest.mark.parametrize(
    "esn",
    [
        pe.ESN(units=30, linear=True, tau=0.3, bias_scale=1.0),
        pe.ESN(units=30, linear=True, density=0.2),
        pe.ResESN(units=20, linear=True, rho=0.3),
        pe.SCR(units=25, linear=True, layers=2, tau=0.5, inter={"rho": 0.5}),
        pe.StructuredRC(units=20, linear=True, layers=2),
        pe.ESN(units=12, layers=3, linear=True, tau=0.5, bias_scale=0.5, concat=True),
        pe.ESN(units=10, layers=3, linear=True, bias_scale=0.5),
    ],
    ids=str,
)
def test_every_kind_of_linear_reservoir(esn):
    error, bound, same, truth = error_and_bound(esn.fit(np.zeros((2, 2))))
    assert error <= bound
    assert error <= 1e-8 * np.abs(truth).max()
    assert same.mapping.shape == (truth.shape[1], 2 * sum(part.units for part in esn.layers_))
    np.testing.assert_allclose(esn.run(signs(esn))[0], truth, atol=1e-9 * np.abs(truth).max())


def test_a_deep_network_flattens_to_one_with_block_triangular_matrix():
    esn = pe.ESN(units=9, layers=3, linear=True, tau=0.4, bias_scale=1.0, concat=True)
    flat = flatten(esn.fit(np.zeros((2, 2))).layers_)
    X, h, rows = signs(esn, steps=50), np.zeros(9), []
    for x in X:
        h = flat.transition @ h + flat.inputs @ x + flat.bias
        rows.append(h)
    np.testing.assert_allclose(rows, loop(esn, X), atol=1e-12)
    for above in (flat.transition[:3, 3:], flat.transition[3:6, 6:]):
        assert not above.any()


# -- defective and nearly defective matrices -----------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 40])
@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9])
def test_jordan_blocks_stay_within_a_bound_that_is_not_absurd(n, radius):
    jordan = radius * np.eye(n) + 0.1 * np.eye(n, k=1)
    error, bound, same, truth = error_and_bound(network(jordan))
    assert error <= bound
    assert bound <= 1000 * error
    assert bound <= 1e-3 * np.linalg.norm(truth, axis=1).max()
    assert 0 < same.perturbation <= 1e-7
    assert same.condition <= 1e8
    assert same.perturbation < same.error <= 10 * same.perturbation


def test_a_strong_jordan_block():
    error, bound, *_ = error_and_bound(network(0.9 * np.eye(3) + np.eye(3, k=1)))
    assert error <= bound <= 100 * error


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-10, 1e-14, 1e-16, 1e-18])
def test_nearly_defective_matrices_stay_within_the_bound(gap):
    error, bound, same, truth = error_and_bound(network([[0.8, 1.0], [gap, 0.8]]))
    assert error <= bound < 1e-5 * np.linalg.norm(truth, axis=1).max()
    assert (same.perturbation > 0) == (gap < 1e-16)


def test_two_equal_layers_are_defective_together():
    first, second = layer(random_matrix(8, 0.7)), layer(random_matrix(8, 0.7), np.eye(8))
    for esn in (
        pe.ESN.from_layers([first, second], concat=True),
        pe.SCR(units=25, linear=True, layers=2, tau=0.5).fit(np.zeros((2, 1))),
    ):
        error, bound, *_ = error_and_bound(esn)
        assert error <= bound < 1e-2
        error, bound, same, _ = error_and_bound(esn, limit=1e6)
        assert same.perturbation > 0
        assert error <= bound < 1e-5


def test_perturbation_can_be_refused():
    esn = network(0.5 * np.eye(4) + np.eye(4, k=1))
    with pytest.raises(ValueError, match=r"perturb=False: .* condition .*, above limit \(1e\+08\)"):
        diagonalize(esn, perturb=False)
    mixed = network(block_diag(0.3, random_matrix(5)))
    assert diagonalize(mixed, perturb=False).perturbation == 0.0
    with pytest.raises(ValueError, match=r"above limit \(2\)"):
        diagonalize(network(random_matrix(20)), perturb=False, limit=2.0)


def test_the_limit_is_kept():
    esn = network(0.5 * np.eye(6) + 0.1 * np.eye(6, k=1))
    for limit in (1e3, 1e5, 1e12):
        error, bound, same, _ = error_and_bound(esn, limit=limit)
        assert same.condition <= limit
        assert error <= bound


def test_eigenvalues_must_stay_inside_the_circle():
    esn = network(0.95 * np.eye(20) + np.eye(20, k=1))
    with pytest.raises(ValueError, match="out of the unit circle; a larger limit may do"):
        diagonalize(esn)
    narrow = network(0.9 * np.eye(10) + np.eye(10, k=1))
    assert np.abs(diagonalize(narrow, limit=1e12).reservoir.layers_[0].eigenvalues).max() < 1


def test_the_seed_fixes_the_perturbation():
    esn = network(0.5 * np.eye(6) + 0.1 * np.eye(6, k=1))
    first, again, other = (diagonalize(esn, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.mapping, again.mapping)
    assert not np.array_equal(first.mapping, other.mapping)


# -- sums in the bound ---------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9, 0.99])
def test_power_sums(radius):
    cycle, jordan = (
        radius * np.roll(np.eye(6), 1, axis=0),
        radius * np.eye(4) + 0.1 * np.eye(4, k=1),
    )
    assert power_sum(cycle) == pytest.approx(1 / (1 - radius), rel=1e-9)
    truth, power = 0.0, np.eye(4)
    for _ in range(4000):
        truth += np.linalg.norm(power, 2)
        power = power @ jordan
    assert truth * (1 - 1e-9) <= power_sum(jordan) <= 1.02 * truth


def test_response_sums_are_those_of_the_matrix():
    matrix = random_matrix(12, 0.95)
    values, vectors = np.linalg.eig(matrix)
    inputs = np.random.default_rng(0).normal(size=(12, 2))
    truth, power = 0.0, inputs
    for _ in range(2000):
        truth += np.linalg.norm(power, 2)
        power = matrix @ power
    found = response_sum(values, vectors, np.linalg.solve(vectors, inputs))
    assert truth <= found <= 1.01 * truth


# -- what comes with it --------------------------------------------------------------------------


@pytest.mark.parametrize("concat", [False, True])
def test_readouts_are_carried_over(concat):
    esn = pe.ESN(units=20, layers=2, linear=True, tau=0.5, concat=concat)
    X = signs(esn.fit(np.zeros((2, 2))))
    states, (raw, _) = esn.run(X)[0], (same := diagonalize(esn)).reservoir.run(X)
    target = np.column_stack([np.roll(X[:, 0], 2), np.roll(X[:, 1], 1)])
    for readout in (pe.Ridge([1e-3]), SklearnRidge(1e-3)):
        for y in (target, target[:, 0]):
            readout.fit(states, y)
            carried = same.carry(readout)
            truth = readout.predict(states)
            np.testing.assert_allclose(carried.predict(raw), truth, atol=1e-9)
            linear = raw @ carried.coef_.T + carried.intercept_
            np.testing.assert_allclose(linear, truth, atol=1e-8)
    classifier = LogisticRegression(max_iter=2000).fit(states, target[:, 0] > 0)
    probabilities = same.carry(classifier).predict_proba(raw)
    np.testing.assert_allclose(probabilities, classifier.predict_proba(states), atol=1e-9)


def test_a_perceptron_is_carried_over():
    pytest.importorskip("torch")
    esn = pe.ESN(units=20, linear=True).fit(np.zeros((2, 1)))
    X, same = signs(esn), diagonalize(esn)
    states, raw = esn.run(X)[0], same.reservoir.run(X)[0]
    mlp = pe.MLP(hidden=8, epochs=2).fit(states, np.roll(X[:, 0], 2))
    np.testing.assert_allclose(same.carry(mlp).predict(raw), mlp.predict(states), atol=1e-6)


@pytest.mark.parametrize("batch", [None, 3])
def test_going_on_from_a_state(batch):
    esn = pe.ESN(units=15, layers=2, linear=True, concat=True, bias_scale=1.0)
    shape = (60, 1) if batch is None else (batch, 60, 1)
    X = np.random.default_rng(0).normal(size=shape)
    _, state = esn.run(X)
    rest, _ = esn.run(X, state)
    same = diagonalize(esn)
    for given_state in (state, list(state.layers)):
        raw, _ = same.reservoir.run(X, same.initial(given_state))
        np.testing.assert_allclose(same.states(raw), rest, atol=1e-10)
    with pytest.raises(ValueError, match="state must come from this model"):
        same.initial(pe.ESN(units=15, layers=2, linear=True, seed=5).run(X)[1])


def test_the_diagonal_network_is_saved_like_any_other(tmp_path):
    esn = pe.ESN(units=15, linear=True).fit(np.zeros((2, 1)))
    same, X = diagonalize(esn), signs(esn)
    pe.save(same.reservoir, tmp_path / "same.esn")
    again = pe.load(tmp_path / "same.esn")
    np.testing.assert_array_equal(again.run(X)[0], same.reservoir.run(X)[0])


def test_bad_input_is_named():
    esn = pe.ESN(units=5, linear=True).fit(np.zeros((2, 1)))
    with pytest.raises(TypeError, match="esn must be a reservoir with linear recurrent layers"):
        diagonalize(pe.ParalESN().fit(np.zeros((2, 1))))
    with pytest.raises(ValueError, match="esn must be linear"):
        diagonalize(pe.ESN(units=5).fit(np.zeros((2, 1))))
    with pytest.raises(ValueError, match=r"limit must be a finite number in \[1, inf\)"):
        diagonalize(esn, limit=0.5)
    with pytest.raises(TypeError, match="perturb must be True or False"):
        diagonalize(esn, perturb=1)
    same = diagonalize(esn)
    with pytest.raises(ValueError, match=r"raw must have shape \(..., 10\), got \(7, 5\)"):
        same.states(np.zeros((7, 5)))
    with pytest.raises(ValueError, match="readout must be one fitted to 5 columns"):
        same.carry(SklearnRidge().fit(np.eye(3), np.ones(3)))
    with pytest.raises(TypeError, match="readout must be a fitted predictor"):
        same.carry("ridge")
    with pytest.raises(ValueError, match="largest_input"):
        same.bound(-1.0)
    unstable = pe.RecurrentLayer(Cycle(4, 1.0), np.ones((4, 1)), np.zeros(4), Identity(4, 0.0), 1.0, True)  # fmt: skip
    with pytest.raises(ValueError, match="stable"):
        diagonalize(pe.ESN.from_layers([unstable]))
