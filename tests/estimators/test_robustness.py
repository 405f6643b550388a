"""What a user may do to a model and must not regret: failed fits, odd scales, frames, weights."""

import numpy as np
import pandas as pd
import pytest

import paralesn as pe
from paralesn import scaling
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.sources import source

SMALL = {"units": 30, "bias_scale": 0.5, "mix_scale": 1.0}
Y = np.sin(np.arange(1200) / 9) * np.cos(np.arange(1200) / 31)


# -- scaling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [0.1, 0.3, 1e5 + 0.1, -7.0])
def test_a_constant_feature_has_no_spread(constant):
    rows = np.column_stack([np.sin(np.arange(6000.0)), np.full(6000, constant)])
    found = scaling.measure(source(rows))
    assert found.scale[1] == 1
    assert found.mean[1] == constant
    np.testing.assert_allclose(found.mean[0], rows[:, 0].mean(), atol=1e-12)
    np.testing.assert_allclose(found.scale[0], rows[:, 0].std(), rtol=1e-12)
    model = StateForecaster().fit(Y, np.full(1200, constant))
    values = [model.forecast(3, np.full(3, constant + change)) for change in (0, 1e-9)]
    np.testing.assert_allclose(*values, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_any_scale_that_floats_hold(scale):
    plain = StateForecaster().fit(Y).forecast(10)
    np.testing.assert_allclose(
        StateForecaster().fit(scale * Y).forecast(10) / scale, plain, atol=1e-8
    )


def test_a_spread_beyond_floats_is_an_error():
    with pytest.raises(ValueError, match="finite spread"):
        StateForecaster().fit(np.tile([-1.5e308, 1.5e308], 300))


# -- failures leave a model as it was --------------------------------------------------------------


def test_a_failed_fit_changes_nothing():
    forecaster = StateForecaster(readout=pe.Ridge()).fit(Y[:1000])
    before = forecaster.forecast(5)
    forecaster.set_params(readout=pe.Ridge(alphas=(-1,)), difference=False)
    for y in (Y * 100 + 7, np.full(1000, np.nan)):
        with pytest.raises(ValueError, match=r"alphas|finite"):
            forecaster.fit(y)
        np.testing.assert_array_equal(forecaster.forecast(5), before)

    regressor = pe.ReservoirRegressor(pe.ParalESN(**SMALL), standardize=False).fit(Y[:-1], Y[1:])
    before = regressor.predict(Y)
    regressor.set_params(reservoir__units=7, readout=pe.Ridge(alphas=(-1,)))
    with pytest.raises(ValueError, match="alphas"):
        regressor.fit(Y[:-1], Y[1:])
    np.testing.assert_array_equal(regressor.predict(Y), before)


def test_a_failed_readout_changes_nothing(rng, tmp_path):
    Z = rng.normal(size=(100, 6))
    ridge = pe.Ridge().fit(Z, Z[:, 0])
    before = ridge.predict(Z)
    with pytest.raises(ValueError, match="as many rows"):
        ridge.fit(Z, Z[:50, 0])
    with pytest.raises(ValueError, match="as many rows"):
        ridge.partial_fit(Z, Z[:50, 0])
    np.testing.assert_array_equal(ridge.predict(Z), before)
    fresh = pe.Ridge()
    with pytest.raises(ValueError, match="sample_weight"):
        fresh.partial_fit(Z, Z[:, 0], sample_weight=-np.ones(100))
    fresh.partial_fit(Z[:, :3], Z[:, 0])  # nothing had been learnt


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_failed_update_changes_nothing(dtype, monkeypatch):
    model = StateForecaster(
        pe.ParalESN(**SMALL, dtype=dtype), standardize=True, difference=False
    ).fit(Y[:900])
    before, seen = model.forecast(5), model.readout_.n_samples_seen_
    wild = np.r_[Y[900:], 1e308 if dtype == "float64" else 1e39]
    for y in (wild, wild[::-1], [np.nan]):
        with pytest.raises(ValueError, match=r"y must (be|stay) finite"):
            model.update(y, refit=True)
    assert model.readout_.n_samples_seen_ == seen
    np.testing.assert_array_equal(model.forecast(5), before)


def test_parameters_set_after_fitting_wait_for_the_next_fit(tmp_path):
    X, y = np.sin(np.arange(40) * np.linspace(0.2, 1, 20)[:, None]), [0, 1] * 10
    features = pe.PooledStates(pe.ParalESN(**SMALL), pool="mean", segments=1)
    model = pe.ReservoirClassifier(features).fit(X, y)
    before = model.decision_function(X)
    model.set_params(features__pool="max", features__segments=3)
    np.testing.assert_array_equal(model.decision_function(X), before)
    forecaster = StateForecaster(
        pe.ParalESN(**SMALL), horizon=5, difference=False, standardize=False
    ).fit(Y)
    ahead = forecaster.forecast()
    forecaster.set_params(horizon=2, only_last=True)
    np.testing.assert_array_equal(forecaster.forecast(), ahead)
    pe.save(forecaster, tmp_path / "model")
    np.testing.assert_array_equal(pe.load(tmp_path / "model").forecast(), ahead)
    ridge = pe.Ridge([0.5]).fit(Y[:1000].reshape(-1, 5), Y[:200])
    assert ridge.set_params(alphas=(5, 6)).alpha_ == 0.5


# -- choice of penalties ---------------------------------------------------------------------------


def test_weights_may_be_proportions(rng):
    Z = rng.normal(size=(100, 60))
    y = Z[:, 0] + 3 * rng.normal(size=100)
    plain = pe.Ridge().fit(Z, y)
    even = pe.Ridge([alpha / 100 for alpha in plain.alphas]).fit(Z, y, np.full(100, 0.01))
    np.testing.assert_allclose(even.scores_, plain.scores_, rtol=1e-8)
    assert even.alpha_ == plain.alpha_ / 100


def test_validation_scores_do_not_depend_on_an_offset(rng):
    Z = rng.normal(size=(400, 60))
    Y = np.column_stack([Z[:, 0] + 3 * rng.normal(size=400), 1e-3 * Z[:, 1]])
    scores = []
    for offset in (0, 1e6):
        shifted = Y + np.array([0, offset])
        ridge = pe.Ridge((1e-4, 1, 1000))
        ridge.fit(Z[:200], shifted[:200], validation=(Z[200:], shifted[200:]))
        scores.append(ridge.scores_)
    np.testing.assert_allclose(scores[1][2], scores[0][2], rtol=1e-3)


def test_a_class_without_weight_is_an_error():
    X, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 3
    model = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(**SMALL)), class_weight={0: 0})
    with pytest.raises(ValueError, match="must leave some of class 0"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight\[1\] must be a finite number in \[0"):
        model.set_params(class_weight={1: -2}).fit(X, y)


# -- frames, labels, positions ---------------------------------------------------------------------


def test_frames_of_mixed_types_and_their_names():
    index = pd.date_range("2024", periods=1200, freq="h")
    known = pd.DataFrame({"hour": index.hour, "holiday": index.day_of_week > 4}, index=index)
    y = pd.Series(Y, index=index)
    model = StateForecaster().fit(y[:1000], known[:1000])
    arrays = StateForecaster().fit(Y[:1000], known[:1000].to_numpy(float))
    values = model.forecast(20, known[1000:1020])
    np.testing.assert_array_equal(values, arrays.forecast(20, known[1000:1020].to_numpy(float)))
    for call in (lambda X: model.forecast(5, X[:5]), lambda X: model.update(Y[1000:], X)):
        with pytest.raises(
            ValueError, match=r"X must have the feature names \['hour', 'holiday'\]"
        ):
            call(known[1000:][["holiday", "hour"]])
    nullable = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="X must be finite, got NaN at step 2, feature 0"):
        pe.ParalESN(units=3).run(nullable)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (pd.Series([0, 1] * 10, dtype="Int64"), "int64"),
        (pd.Series([True, False] * 10, dtype="boolean"), "bool"),
        (np.array([3, 4] * 10, object), "int64"),
    ],
)
def test_labels_keep_their_type(labels, dtype):
    X = np.sin(np.arange(40) * np.linspace(0.2, 1, 20)[:, None])
    model = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(**SMALL))).fit(X, labels)
    assert model.classes_.dtype == dtype


@pytest.mark.parametrize("label", [None, 1, 2.5])
def test_labels_of_several_types(label):
    X = np.zeros((4, 10))
    with pytest.raises(TypeError, match=r"y must hold labels of one type, got .*str"):
        pe.ReservoirClassifier().fit(X, np.array(["a", label] * 2, object))


def test_a_nan_is_named_by_its_position(rng):
    X = rng.normal(size=(5, 9000, 1))
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), standardize=False).fit(X, X[:, :, 0])
    X[3, 10] = np.nan
    with pytest.raises(ValueError, match="series 3, step 10"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"X\[3\] must be finite, got NaN at step 10"):
        model.predict(list(X))


def test_missing_targets_are_scored_around(rng):
    X = rng.normal(size=(400, 1))
    y = np.column_stack([np.roll(X[:, 0], 1), np.roll(X[:, 0], 2)])
    y[150:250, 0] = np.nan
    model = pe.ReservoirRegressor(
        pe.ParalESN(**SMALL), pe.Ridge(nan_targets="omit"), washout=20, standardize=False
    )
    assert model.fit(X, y).score(X, y) > 0.8


# -- files -----------------------------------------------------------------------------------------


def test_dicts_and_generators_survive_a_file(tmp_path):
    X, y = np.sin(np.arange(40) * np.linspace(0.2, 1, 20)[:, None]), [0, 1] * 10
    model = pe.ReservoirClassifier(
        pe.PooledStates(pe.ParalESN(**SMALL)), class_weight={0: 1.0, 1: 2.0}
    ).fit(X, y)
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    assert loaded.class_weight == {0: 1.0, 1: 2.0}
    np.testing.assert_array_equal(loaded.fit(X, y).decision_function(X), model.decision_function(X))
    for bits in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64):
        pe.save(pe.ParalESN(seed=np.random.Generator(bits(3))), tmp_path / "drawn")
        drawn = pe.load(tmp_path / "drawn").seed
        assert drawn.random() == np.random.Generator(bits(3)).random()
    pe.save(pe.Ridge(range(1, 4)), tmp_path / "ridge")
    assert pe.load(tmp_path / "ridge").alphas == [1, 2, 3]
