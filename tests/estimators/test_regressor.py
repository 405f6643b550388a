"""The regressor against a readout on stored states."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.datasets import mackey_glass
from paralesn.estimators import state_blocks

SMALL = {"units": 20, "bias_scale": 0.1, "mix_scale": 1.0}


def delayed(X, delay=2):
    return np.roll(X, delay, axis=-2)


@pytest.mark.parametrize("rows", [8192, 64, 7])
@pytest.mark.parametrize("kind", ["single", "flat", "batch", "ragged"])
def test_equals_a_readout_on_stored_states(kind, rows, monkeypatch, rng):
    monkeypatch.setattr(state_blocks, "_ROWS", rows)
    if kind == "ragged":
        X = [rng.normal(size=(n, 2)) for n in (40, 15, 200, 11)]
        y = [delayed(x) for x in X]
    else:
        X = rng.normal(size=(5, 60, 2) if kind == "batch" else (300, 2))
        y = delayed(X)[..., 0] if kind == "flat" else delayed(X)
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), washout=10, standardize=False).fit(X, y)

    states, state = pe.ParalESN(**SMALL).run(X)
    lists = [states] if kind in ("single", "flat") else list(states)
    targets = [y] if kind in ("single", "flat") else list(y)
    ridge = pe.Ridge().fit(
        np.vstack([z[10:] for z in lists]), np.concatenate([t[10:] for t in targets])
    )
    assert model.readout_.alpha_ == ridge.alpha_
    assert model.readout_.n_samples_seen_ == ridge.n_samples_seen_
    predicted = model.predict(X)
    if kind == "batch":
        assert predicted.shape == y.shape
    for mine, z in zip(
        [predicted] if kind in ("single", "flat") else predicted, lists, strict=True
    ):
        np.testing.assert_allclose(mine, ridge.predict(z), rtol=0, atol=1e-8)
    for h, expected in zip(model.state_.layers, state.layers, strict=True):
        np.testing.assert_array_equal(h, expected)


def test_prediction_goes_on_from_a_state(rng):
    series = mackey_glass(1500)
    x, y = series[:-1], series[1:, 0]
    model = pe.ReservoirRegressor(pe.ParalESN(units=60), standardize=False).fit(x[:1000], y[:1000])
    whole = model.predict(x)
    np.testing.assert_allclose(
        model.predict(x[1000:], state=model.state_), whole[1000:], atol=1e-12
    )
    first, state = model.predict(x[:700], return_state=True)
    np.testing.assert_allclose(first, whole[:700], atol=1e-12)
    np.testing.assert_allclose(model.predict(x[700:], state), whole[700:], atol=1e-12)
    assert (
        np.abs(model.predict(x[1000:])[:5] - whole[1000:1005]).max() > 1e-3
    )  # from zero by default
    assert np.abs(whole[1000:] - y[1000:]).max() < 5e-3


def test_score_leaves_the_washout_out():
    series = mackey_glass(1500)
    x, y = series[:-1], series[1:, 0]
    model = pe.ReservoirRegressor(pe.ParalESN(units=60), washout=200, standardize=False).fit(
        x[:1000], y[:1000]
    )
    assert model.score(x, y) == r2_score(y[200:], model.predict(x)[200:])


def test_any_regressor_may_read_out(rng):
    X = rng.normal(size=(300, 1))
    y = delayed(X)[:, 0]
    model = pe.ReservoirRegressor(
        pe.ParalESN(**SMALL), LinearRegression(), washout=20, standardize=False
    ).fit(X, y)
    states = pe.ParalESN(**SMALL).run(X)[0]
    expected = LinearRegression().fit(states[20:], y[20:]).predict(states)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)


def test_missing_targets(rng):
    X = rng.normal(size=(300, 1))
    Y = np.hstack([delayed(X), delayed(X, 3)])
    holes = Y.copy()
    holes[50:90, 0] = np.nan
    with pytest.raises(ValueError, match="y must be finite, got nan at step 50"):
        pe.ReservoirRegressor(pe.ParalESN(**SMALL), standardize=False).fit(X, holes)
    readout = pe.Ridge(nan_targets="omit")
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), readout, washout=20, standardize=False).fit(
        X, holes
    )
    states = pe.ParalESN(**SMALL).run(X)[0]
    alone = pe.Ridge(nan_targets="omit").fit(states[20:], holes[20:])
    np.testing.assert_allclose(model.predict(X), alone.predict(states), atol=1e-9)
    np.testing.assert_array_equal(model.readout_.scores_.shape, (6, 2))


def test_in_scikit_learns_company():
    series = mackey_glass(1200)
    x, y = series[:-1], series[1:, 0]
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(),
            pe.ReservoirRegressor(pe.ParalESN(units=30), washout=50, standardize=False),
        ),
        {"reservoirregressor__reservoir__rho": [(0.0, 0.1), (0.5, 0.9)]},
        cv=TimeSeriesSplit(2),
    ).fit(x, y)
    assert search.best_score_ > 0.99
    model = clone(search.best_estimator_[-1])
    assert model.reservoir.rho == search.best_params_["reservoirregressor__reservoir__rho"]
    frame = pd.DataFrame(x, columns=["level"])
    fitted = pe.ReservoirRegressor(pe.ParalESN(units=30), standardize=False).fit(frame, y)
    assert list(fitted.feature_names_in_) == ["level"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"level": "other"}))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((300, 1)), np.zeros(299), "y must have 300 time steps as X has, got 299"),
        (np.zeros((2, 300, 1)), np.zeros((3, 300)), "y must hold 2 series as X does"),
        (np.zeros((300, 1)), np.zeros((300, 1, 1)), "y must have one value"),
        ([np.zeros((300, 1))], np.zeros((1, 300)), "y must be a list of 1 arrays as X is"),
        (
            [np.zeros((300, 1))] * 2,
            [np.zeros(300)] * 3,
            "y must be a list of 2 arrays as X is, got 3",
        ),
        (
            [np.zeros((300, 1))] * 2,
            [np.zeros(300), np.zeros(200)],
            r"y\[1\] must have 300 time steps",
        ),
        (
            [np.zeros((300, 1))] * 2,
            [np.zeros((300, 1)), np.zeros((300, 2))],
            "same number of targets",
        ),
        (np.zeros((2, 300)), np.zeros(300), "X has 2 steps of 300 features: is it transposed"),
        ([[1, 2, 3], [1, 2]], np.zeros(2), r"got lists of 2 to 3 items. If each is a series"),
        (np.zeros((300, 1)), np.full(300, np.nan), "y must be finite, got nan at step 0"),
        (np.zeros((300, 1)), np.array(["a"] * 300), "y must hold real numbers"),
        (np.zeros((300, 1)), None, "y is None"),
        (np.full((300, 1), np.inf), np.zeros(300), "X must be finite, got infinity at step 0"),
    ],
)
def test_wrong_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        pe.ReservoirRegressor().fit(X, y)


@pytest.mark.parametrize(
    ("X", "got"),
    [
        (np.zeros((100, 1)), "100 in series 0"),
        ([np.zeros((300, 1)), np.zeros((50, 1))], "50 in series 1"),
    ],
)
def test_a_series_within_the_washout(X, got):
    y = [x[:, 0] for x in X] if isinstance(X, list) else X[:, 0]
    message = rf"longer than the washout \(100 steps\), got {got}; washout=None leaves out a tenth"
    with pytest.raises(ValueError, match=message):
        pe.ReservoirRegressor(washout=100).fit(X, y)


def test_the_default_washout_is_a_tenth_and_at_most_a_hundred_steps(rng):
    X = [rng.normal(size=(n, 1)) for n in (36, 9, 1500)]
    y = [delayed(x)[:, 0] for x in X]
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL)).fit(X, y)
    assert model.readout_.n_samples_seen_ == (36 - 3) + 9 + (1500 - 100)
    predicted = model.predict(X)
    parts = [(t[w:], p[w:]) for t, p, w in zip(y, predicted, (3, 0, 100), strict=True)]
    wanted, found = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert model.score(X, y) == r2_score(wanted, found)


def test_score_of_few_rows(rng):
    """50 rows leave a number where a tenth is washed out, and a cure where a hundred are."""
    X = rng.normal(size=(300, 1))
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL)).fit(X, X[:, 0])
    expected = r2_score(X[5:50, 0], model.predict(X[:50])[5:])
    assert model.score(X[:50], X[:50, 0]) == expected > 0.9
    with pytest.raises(
        ValueError, match=r"washout \(100 steps\) to score, got 0 of 50; score more"
    ):
        model.set_params(washout=100).score(X[:50], X[:50, 0])
    lists = [X[:150], X[:50]]  # what is shorter than the washout does not count
    scored = model.score(lists, [x[:, 0] for x in lists])
    assert scored == r2_score(X[100:150, 0], model.predict(X[:150])[100:])


@pytest.mark.parametrize(
    ("name", "function", "least"),
    [
        ("delay", lambda x: np.roll(x, 3), 0.999),
        ("square", lambda x: x**2, 0.999),
        ("product", lambda x: x * np.roll(x, 1), 0.999),
        ("product of delays", lambda x: np.roll(x, 2) * np.roll(x, 5), 0.97),
        ("absolute value", lambda x: np.abs(x), 0.9),
        ("noise", lambda x: np.random.default_rng(1).normal(size=x.size), -0.02),
    ],
)
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_the_default_learns_ordinary_things(name, function, least, dtype, rng):
    x = rng.uniform(-1, 1, 4000)
    y = function(x)
    x = x.astype(dtype)
    model = pe.ReservoirRegressor().fit(x[:3000], y[:3000])
    score = r2_score(y[3000:], model.predict(x[3000:], state=model.state_))
    assert least < score <= 1.0
    if name == "noise":
        assert score < 0.02


def test_wrong_arguments(rng):
    X = rng.normal(size=(300, 1))
    with pytest.raises(ValueError, match="washout must be a whole number of at least 0, got -1"):
        pe.ReservoirRegressor(washout=-1).fit(X, X)
    with pytest.raises(TypeError, match="reservoir must be None or a reservoir, got 'esn'"):
        pe.ReservoirRegressor("esn", standardize=False).fit(X, X)
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), standardize=False).fit(X, X)
    with pytest.raises(TypeError, match="state must be None or a State"):
        model.predict(X, state="end")
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(np.zeros((3, 2)))
    other = pe.ReservoirRegressor(pe.ParalESN(units=20, seed=5), standardize=False).fit(X, X)
    with pytest.raises(ValueError, match="state must come from this model"):
        model.predict(X, other.state_)


def test_a_state_of_other_series_is_refused(monkeypatch, rng):
    """Also where series are taken one at a time, so that none is left out in silence."""
    monkeypatch.setattr(state_blocks, "_ROWS", 50)
    X = rng.normal(size=(4, 60, 1))
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), washout=5, standardize=False).fit(X, X)
    for series in (X[:3], [X[0]], [*X, X[0]]):
        with pytest.raises(ValueError, match="state must be of as many series as X"):
            model.predict(series, model.state_)
    _, single = model.predict(X[0], return_state=True)
    with pytest.raises(ValueError, match="state must be of as many series as X"):
        model.predict(X, single)
    going_on = model.predict(X, model.state_)
    whole = model.predict(np.concatenate([X, X], axis=1))
    np.testing.assert_allclose(going_on, whole[:, 60:], atol=1e-12)


def test_names_of_features_do_not_outlive_a_new_fit(rng):
    X = rng.normal(size=(200, 1))
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), standardize=False).fit(
        pd.DataFrame(X, columns=["a"]), X
    )
    assert not hasattr(model.fit(X, X), "feature_names_in_")


def test_every_alpha_predicts(rng):
    Z, y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    both = pe.Ridge((0.1, 10.0)).fit(Z, y).predict_each(Z)
    for alpha, predicted in zip((0.1, 10.0), both, strict=True):
        np.testing.assert_allclose(predicted, pe.Ridge([alpha]).fit(Z, y).predict(Z), rtol=1e-9)
