"""NVAR: delays and products against plain loops, reservoirpy, closed forms and the Lorenz system."""

from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

import paralesn as pe
from paralesn import datasets
from paralesn.estimators.live import Live
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

ENGINES = ("reference", "cpu", "torch")


def plain(x, lags, orders):
    """The definition, step by step."""
    rows = []
    for t in range(len(x)):
        v = np.concatenate([x[t - lag] if t >= lag else np.zeros(x.shape[1]) for lag in lags])
        rows.append([
            np.prod([v[i] for i in chosen])
            for p in orders
            for chosen in combinations_with_replacement(range(v.size), p)
        ])  # fmt: skip
    return np.array(rows)


# -- the definition ------------------------------------------------------------------------------


@given(
    lags=st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True).map(sorted),
    orders=st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(sorted),
    features=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    engine=st.sampled_from(ENGINES),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_states_are_the_definition(lags, orders, features, lengths, engine, bias, seed):
    if engine == "torch":
        pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(steps, features)) for steps in lengths]
    res = pe.NVAR(lags, orders, bias=bias, engine=engine)
    states, state = res.run(X)
    for x, z in zip(X, states, strict=True):
        np.testing.assert_allclose(z, plain(x, lags, [0] * bias + orders), rtol=1e-13, atol=0)
    np.testing.assert_array_equal(res.last(X), np.stack([z[-1] for z in states]))
    more = [rng.normal(size=(steps, features)) for steps in lengths]
    rest, _ = res.run(more, state)
    for x, y, z in zip(X, more, rest, strict=True):
        whole = plain(np.vstack([x, y]), lags, [0] * bias + orders)
        np.testing.assert_allclose(z, whole[len(x) :], rtol=1e-13, atol=0)


@pytest.mark.parametrize(("delay", "stride", "order"), [(2, 1, 2), (3, 2, 3), (1, 1, 2), (4, 3, 2)])
def test_states_are_those_of_reservoirpy(delay, stride, order, rng):
    nodes = pytest.importorskip("reservoirpy.nodes")
    x = rng.normal(size=(80, 3))
    theirs = nodes.NVAR(delay=delay, order=order, strides=stride).run(x)
    ours, _ = pe.NVAR(delay, (1, order), stride=stride).run(x)
    np.testing.assert_array_equal(ours, theirs)


def test_an_order_counts_all_products_up_to_it(rng):
    x = rng.normal(size=(50, 3))
    res = pe.NVAR(1, 3, bias=True).fit(x)
    assert res.n_features_out_ == comb(3 + 3, 3)
    expected = PolynomialFeatures(degree=3).fit_transform(x)  # in the same order, too
    np.testing.assert_allclose(res.run(x)[0], expected, rtol=1e-14)
    assert res.n_parameters_ == 0
    assert res.product_names(["a", "b", "c"])[:5] == ["1", "a[t]", "b[t]", "c[t]", "a[t] a[t]"]


def test_threads_blocks_and_steps_change_no_bit(rng, monkeypatch):
    from paralesn.engines.cpu import delay_layer

    monkeypatch.setattr(delay_layer, "_LEAST_WORK", 50)
    X = [rng.normal(size=(n, 2)) for n in (40, 1, 13, 40)]
    expected, end = pe.NVAR(3, 3, stride=2, n_jobs=1).run(X)
    for n_jobs in (2, 3):
        states, state = pe.NVAR(3, 3, stride=2, n_jobs=n_jobs).run(X)
        for a, b in zip(states, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(state.layers[0], end.layers[0])
    res, state = pe.NVAR(3, 3, stride=2), None
    for t, x in enumerate(X[0]):
        z, state = res.step(x, state)
        np.testing.assert_array_equal(z, expected[0][t])
    stream = res.stream(X[0], block=7)
    np.testing.assert_array_equal(np.vstack(list(stream)), expected[0])
    np.testing.assert_array_equal(stream.state.layers[0], end.layers[0][0])


@pytest.mark.parametrize("engine", ENGINES)
def test_pooled_products_are_pools_of_the_products(engine, rng):
    if engine == "torch":
        pytest.importorskip("torch")
    X = [rng.normal(size=(n, 2)) for n in (30, 9, 17)]
    pools = ("last", "mean", "std", "max", "min", "ppv")
    pooled = pe.NVAR(2, 2, engine=engine).pool(X, pools, segments=3)
    for x, row in zip(X, pooled, strict=True):
        z, T = plain(x, (0, 1), (1, 2)), len(x)
        parts = [z[T * s // 3 : T * (s + 1) // 3] for s in range(3)]
        expected = [
            f(part) for part in parts
            for f in (lambda p: p[-1], lambda p: p.mean(0), lambda p: p.std(0), lambda p: p.max(0),
                      lambda p: p.min(0), lambda p: (p > 0).mean(0))
        ]  # fmt: skip
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=1e-12, atol=1e-14)


def test_float32_is_float64_rounded(rng):
    x = rng.normal(size=(60, 3))
    for engine in ("cpu", "torch"):
        if engine == "torch":
            pytest.importorskip("torch")
        states, _ = pe.NVAR(2, 3, dtype="float32", engine=engine).run(x)
        assert states.dtype == np.float32
        np.testing.assert_allclose(states, pe.NVAR(2, 3).run(x)[0], rtol=1e-6)


def test_tensors_carry_gradients(rng):
    torch = pytest.importorskip("torch")
    x = torch.tensor(rng.normal(size=(6, 2)), requires_grad=True)
    res = pe.NVAR(2, 3, stride=2, engine="torch").fit(np.zeros((2, 2)))
    assert torch.autograd.gradcheck(lambda x: res.run(x)[0], (x,))


# -- what it is for --------------------------------------------------------------------------------


def valid_time(forecast, truth, lyapunov):
    """How long the error stays below 0.4 standard deviations, in Lyapunov times."""
    errors = np.sqrt((((forecast - truth) / truth.std(axis=0)) ** 2).mean(axis=1))
    wrong = np.flatnonzero(~(errors < 0.4))
    return (wrong[0] if wrong.size else len(truth)) / lyapunov


@pytest.mark.parametrize(
    ("order", "readout", "least"), [(2, pe.Ridge([1e-6]), 4.5), (3, None, 8.0)]
)
def test_the_lorenz_system_is_forecast_for_lyapunov_times(order, readout, least):
    """Two delays and few points, as in Gauthier et al. 2021, whose penalty is fixed."""
    times = []
    for seed in range(5):
        series = datasets.lorenz63(1400, seed=seed)
        reservoir = pe.NVAR(2, order)
        model = pe.ReservoirForecaster(reservoir, readout, strategy="closed-loop").fit(series[:600])
        times.append(valid_time(model.forecast(800), series[600:], 55.2))
    assert np.median(times) > least


def test_the_closed_loop_is_the_loop_written_out():
    series = datasets.lorenz63(700, seed=1)
    values = {}
    for engine in ENGINES:
        if engine == "torch":
            pytest.importorskip("torch")
        model = StateForecaster(pe.NVAR(2, 2, stride=2, engine=engine)).fit(series[:600])
        values[engine] = model.forecast(20)
    y = list(model.scaling_.apply(series[:600]))
    i, j = np.triu_indices(6)
    for _ in range(20):
        v = np.concatenate([y[-1], y[-3]])
        z = np.concatenate([v, v[i] * v[j]])
        y.append(y[-1] + np.asarray(model.readout_.coef_) @ z + model.readout_.intercept_)
    for found in values.values():
        np.testing.assert_allclose(found, model.scaling_.undo(np.array(y[600:])), rtol=1e-7)


def test_a_polynomial_system_is_learnt_exactly():
    """The Henon map is a quadratic of two delays: the readout finds its coefficients."""
    x = np.zeros(300)
    for t in range(2, 300):
        x[t] = 1 - 1.4 * x[t - 1] ** 2 + 0.3 * x[t - 2]
    model = pe.ReservoirRegressor(pe.NVAR(2, 2), pe.Ridge([0.0]), washout=10, standardize=False)
    model.fit(x[:-1], x[1:])
    names = model.reservoir_.product_names(["x"])
    found = dict(zip(names, np.ravel(model.readout_.coef_).round(8) + 0.0, strict=True))
    assert found == {"x[t]": 0.0, "x[t-1]": 0.3, "x[t] x[t]": -1.4, "x[t] x[t-1]": 0.0,
                     "x[t-1] x[t-1]": 0.0}  # fmt: skip
    assert model.readout_.intercept_ == pytest.approx(1.0)


def test_estimators_take_it(tmp_path, rng):
    x = rng.uniform(-1, 1, 1000)
    y = x * np.roll(x, 3)
    model = pe.ReservoirRegressor(pe.NVAR((0, 3)), washout=5).fit(x[:800], y[:800])
    assert model.score(x[800:], y[800:]) > 1 - 1e-9
    pe.save(model, tmp_path / "nvar")
    loaded = pe.load(tmp_path / "nvar")
    np.testing.assert_array_equal(
        loaded.predict(x[800:], state=loaded.state_), model.predict(x[800:], state=model.state_)
    )
    live = Live(loaded)
    found = np.array([live.read(row)[0, 0] for row in x[800:900, None]])
    np.testing.assert_allclose(found, y[800:900], atol=1e-7)
    X = [np.sin(np.arange(60) / p + rng.uniform(0, 6)) for p in (9, 7) * 20]
    classifier = pe.ReservoirClassifier(pe.PooledStates(pe.NVAR(3, 2)))
    classifier.fit(X[:20], ["slow", "fast"] * 10)
    assert classifier.score(X[20:], ["slow", "fast"] * 10) == 1.0
    forecaster = pe.ReservoirForecaster(pe.NVAR(3, 2), horizon=3).fit(np.sin(np.arange(400) / 9))
    assert np.abs(forecaster.forecast() - np.sin(np.arange(400, 403) / 9)).max() < 0.01


def test_a_file_must_fit_its_parameters(tmp_path, rng):
    res = pe.NVAR(2, 2).fit(rng.normal(size=(5, 2)))
    again = clone(res).set_params(delay=3)
    with pytest.raises(ValueError, match="lags of the layer do not fit the parameters"):
        again.fitted_ = res.fitted_


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reservoir", "error", "message"),
    [
        (pe.NVAR(0), ValueError, "delay must be a whole number of at least 1, got 0"),
        (pe.NVAR(2.0), TypeError, "delay must be a rising sequence of whole numbers, got 2.0"),
        (pe.NVAR(True), TypeError, "delay must be a whole number of at least 1, got True"),
        (pe.NVAR((1, 0)), ValueError, r"delay must be a rising sequence of whole numbers, got \(1, 0\)"),
        (pe.NVAR((0, 2), stride=2), ValueError, "stride must be 1 where delay gives the lags themselves, got 2"),
        (pe.NVAR(2, 0), ValueError, "order must be a whole number from 1 to 8, got 0"),
        (pe.NVAR(2, (0, 1)), ValueError, r"order\[0\] must be a whole number from 1 to 8, got 0"),
        (pe.NVAR(2, ()), ValueError, "order must be a rising sequence"),
        (pe.NVAR(stride=0), ValueError, "stride must be a whole number of at least 1, got 0"),
        (pe.NVAR(bias=1), TypeError, "bias must be True or False, got 1"),
        (pe.NVAR(100, 5), ValueError, "orders must make at most 1048576 products, got 96560645"),
        (pe.NVAR(engine="gpu"), ValueError, "engine must be one of"),
        (pe.NVAR(device="cpu"), ValueError, "device must be None with engine='auto'"),
        (pe.NVAR(dtype="int8"), ValueError, "dtype must be one of"),
    ],
)  # fmt: skip
def test_hyperparameters_are_checked(reservoir, error, message):
    with pytest.raises(error, match=message):
        reservoir.run(np.zeros((3, 1)))


def test_what_needs_a_recurrence_refuses_it_by_name(rng):
    x = rng.normal(size=50)
    res = pe.NVAR(4).fit(x)
    for ask in (
        pe.theory.echo_state_property,
        lambda r: pe.theory.forgetting_curve(r, x),
        lambda r: pe.theory.edge_of_stability(r, x),
        pe.theory.plot_spectrum,
    ):
        with pytest.raises(TypeError, match=r"recurrent layers, got NVAR: .* exactly 4 steps"):
            ask(res)
    with pytest.raises(TypeError, match="esn must be a reservoir with linear recurrent layers"):
        pe.theory.diagonalize(res)
    assert pe.theory.memory_capacity(pe.NVAR(5, 1)).total == pytest.approx(5.0, abs=0.1)


def test_a_loop_that_diverges_is_an_error():
    series = datasets.lorenz63(700, seed=0)
    readout = pe.Ridge((1e-12,))
    reservoir = pe.NVAR(2, 2, stride=5)
    model = pe.ReservoirForecaster(reservoir, readout, strategy="closed-loop").fit(series)
    with pytest.raises(ValueError, match=r"the closed loop (diverged|ran away)"):
        model.forecast(600)
