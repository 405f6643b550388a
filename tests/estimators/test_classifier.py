"""The classifier against readouts on stored features, and as its users meet it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import paralesn as pe
from paralesn.features import pooled_states as module

SMALL = {"units": 30, "bias_scale": 0.5, "mix_scale": 1.0, "rho": (0.5, 0.99)}


def pooled(**options):
    """Pooled states of a small reservoir, inputs as they are."""
    return pe.PooledStates(pe.ParalESN(**SMALL), **{"standardize": False} | options)


def waves(count=60, steps=80, classes=3, seed=3, noise=0.3):
    """Noisy sines, one frequency a class, at random phases: no single step tells them apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    t = np.arange(steps)
    phase = rng.uniform(0, 2 * np.pi, (count, 1))
    X = np.sin(t * (0.2 + 0.15 * labels[:, None]) + phase) + noise * rng.normal(size=(count, steps))
    return X, labels


@pytest.mark.parametrize("pool", ["last", "mean", ("last", "mean", "std", "max", "min", "ppv")])
@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_equals_scikit_learns_ridge_classifier_on_stored_features(pool, segments, classes):
    X, y = waves(classes=classes)
    res = pe.ParalESN(**SMALL)
    features = pe.PooledStates(res, pool=pool, segments=segments, standardize=False)
    model = pe.ReservoirClassifier(features, pe.Ridge([2.0])).fit(X, y)
    features = clone(res).pool(X[:, :, None], pool, segments)
    scaler = StandardScaler().fit(features)
    expected = RidgeClassifier(2.0).fit(scaler.transform(features), y)
    X_new, _ = waves(seed=4, classes=classes)
    new = scaler.transform(clone(res).pool(X_new[:, :, None], pool, segments))
    np.testing.assert_allclose(
        model.decision_function(X_new), expected.decision_function(new), atol=1e-8
    )
    np.testing.assert_array_equal(model.predict(X_new), expected.predict(new))


def test_unequal_lengths_and_blocks_of_series(monkeypatch):
    X, y = waves()
    ragged = [x[: 50 + b % 30] for b, x in enumerate(X)]
    whole = pe.ReservoirClassifier(pooled()).fit(ragged, y)
    monkeypatch.setattr(module, "_VALUES", 200)
    pieces = pe.ReservoirClassifier(pooled()).fit(ragged, y)
    decided = pieces.decision_function(ragged), whole.decision_function(ragged)
    np.testing.assert_allclose(*decided, rtol=1e-9, atol=1e-10)
    assert whole.score(ragged, y) == 1


def test_defaults_learn_from_data_of_any_scale():
    X, y = waves(steps=60)
    X_new, y_new = waves(steps=60, seed=9)
    for shift, scale in ((0, 1), (1e4, 1e3), (-3, 1e-6)):
        model = pe.ReservoirClassifier().fit(shift + scale * X, y)
        assert model.score(shift + scale * X_new, y_new) > 0.95
        model = pe.ReservoirClassifier(pe.PooledStates()).fit(shift + scale * X, y)
        assert model.score(shift + scale * X_new, y_new) > 0.95


def test_standardising_is_that_of_scikit_learn(rng):
    X, y = rng.normal(5, [1, 20], (30, 40, 2)), np.arange(30) % 2
    model = pe.ReservoirClassifier(pooled(standardize=True)).fit(X, y)
    scaled = StandardScaler().fit_transform(X.reshape(-1, 2)).reshape(X.shape)
    plain = pe.ReservoirClassifier(pooled()).fit(scaled, y)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(scaled), atol=1e-9
    )


@pytest.mark.parametrize(
    "names",
    [
        ["left", "middle", "right"],
        np.array(["a", "bb", "ccc"]),
        np.array(["a", "bb", "ccc"], dtype=object),
        [7, -1, 3],
        np.array([1, 2, 3], np.uint8),
        [1.0, 2.0, 5.0],
        [True, False],
    ],
)
def test_labels_of_any_type(names, tmp_path):
    X, labels = waves(classes=len(names))
    y = np.asarray(names)[labels]
    model = pe.ReservoirClassifier(pooled()).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    assert (predicted == y).mean() > 0.9
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.classes_.dtype == model.classes_.dtype


def test_default_pooling():
    X, y = waves()
    default = pe.ReservoirClassifier(pooled()).fit(X, y)
    said = pe.ReservoirClassifier(pooled(pool=("mean", "std", "ppv"), segments=2)).fit(X, y)
    np.testing.assert_array_equal(default.decision_function(X), said.decision_function(X))
    last = pe.ReservoirClassifier(pooled(pool="last", segments=1)).fit(X, y)
    assert last.readout_.n_features_in_ == 30  # the paper's: one segment


def test_class_weights(rng):
    """Weights are repetitions; balanced ones find a rare class."""
    X, y = waves(count=90, classes=2, noise=2.5)
    rare = np.flatnonzero((y == 0) | (np.arange(90) % 10 == 1))
    X, y = X[rare], y[rare]
    features, readout = pooled(), pe.Ridge([10.0])
    weighted = pe.ReservoirClassifier(features, readout, class_weight={1: 3}).fit(X, y)
    times = np.where(y == 1, 3, 1)
    repeated = pe.ReservoirClassifier(features, readout).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )
    by_hand = pe.ReservoirClassifier(features, readout).fit(X, y, sample_weight=times)
    np.testing.assert_array_equal(by_hand.decision_function(X), weighted.decision_function(X))
    X_new, y_new = waves(count=200, classes=2, noise=2.5, seed=11)
    plain = pe.ReservoirClassifier(features, readout).fit(X, y)
    balanced = pe.ReservoirClassifier(features, readout, class_weight="balanced").fit(X, y)
    rare_new = X_new[y_new == 1]
    assert (balanced.predict(rare_new) == 1).mean() > (plain.predict(rare_new) == 1).mean()


def test_any_readout():
    X, y = waves()
    names = np.array(["x", "y", "z"])[y]
    res = pe.ParalESN(**SMALL)
    described = pe.PooledStates(res, pool=("mean", "std"), segments=1, standardize=False)
    features = clone(res).pool(X[:, :, None], ("mean", "std"))
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    model = pe.ReservoirClassifier(described, logistic).fit(X, names)
    expected = clone(logistic).fit(features, names)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(features))
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(features))
    np.testing.assert_array_equal(model.predict(X), expected.predict(features))
    plain = pe.ReservoirClassifier(described, SklearnRidge(1.0)).fit(X, names)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    expected = SklearnRidge(1.0).fit(features, targets).predict(features)
    np.testing.assert_allclose(plain.decision_function(X), expected)
    assert not hasattr(plain, "predict_proba")
    assert hasattr(pe.ReservoirClassifier(readout=LogisticRegression()), "predict_proba")
    with pytest.raises(ValueError, match="need a readout whose fit takes sample_weight"):
        pe.ReservoirClassifier(described, logistic, class_weight="balanced").fit(X, names)


def test_in_scikit_learns_company():
    X, y = waves()
    search = GridSearchCV(
        pe.ReservoirClassifier(pooled()),
        {"features__pool": ["last", ("mean", "std")], "features__reservoir__tau": [0.5, 1.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["features__pool"] == ("mean", "std")
    assert search.best_score_ > 0.9
    differences = make_pipeline(FunctionTransformer(np.diff), pe.ReservoirClassifier(pooled()))
    assert cross_val_score(differences, X, y, cv=3).mean() > 0.8


GOOD_X, GOOD_Y = np.random.default_rng(0).normal(size=(6, 20, 1)), [0, 1] * 3


@pytest.mark.parametrize(
    ("options", "X", "y", "error", "message"),
    [
        ({}, GOOD_X, [0] * 6, ValueError, "at least two classes, got one class: 0$"),
        ({}, GOOD_X, [0, 1] * 2, ValueError, "label for each of the 6 series, got 4"),
        ({}, GOOD_X, None, ValueError, "y is None"),
        ({}, GOOD_X, np.linspace(0, 1, 6), ValueError, "Unknown label type: continuous"),
        ({}, GOOD_X, np.array([1, "a"] * 3, object), (TypeError, ValueError), "label"),
        ({}, GOOD_X, [[0, 1]] * 6, ValueError, "1d array"),
        ({}, np.zeros(20), GOOD_Y, ValueError, "X must be a collection of series"),
        ({}, np.full((6, 20), np.nan), GOOD_Y, ValueError, "X must be finite, got NaN at series 0"),
        ({}, [np.zeros((5, 1)), np.zeros((5, 2))] * 3, GOOD_Y, ValueError, "2 features"),
        ({"features": pooled(pool="sum")}, GOOD_X, GOOD_Y, ValueError, "pool must be one of 'last'"),
        ({"features": pooled(segments=0)}, GOOD_X, GOOD_Y, ValueError, "segments must be a whole"),
        ({"features": pooled(segments=21)}, GOOD_X, GOOD_Y, ValueError, "at most the number of time"),
        ({"class_weight": "even"}, GOOD_X, GOOD_Y, ValueError, "class_weight must be None"),
        ({"class_weight": {5: 1}}, GOOD_X, GOOD_Y, ValueError, "keys among the labels"),
        ({"features": pooled(standardize="yes")}, GOOD_X, GOOD_Y, TypeError, "standardize must be"),
        ({"features": pe.PooledStates("esn")}, GOOD_X, GOOD_Y, TypeError, "None or a reservoir"),
        ({"features": pe.ParalESN()}, GOOD_X, GOOD_Y, TypeError, "features must be None, a Filter"),
        ({"readout": 3}, GOOD_X, GOOD_Y, TypeError, "readout must be None or an object with fit"),
    ],
)  # fmt: skip
def test_wrong_data_and_arguments(options, X, y, error, message):
    with pytest.raises(error, match=message):
        pe.ReservoirClassifier(**{"features": pooled()} | options).fit(X, y)


def test_wrong_use(rng):
    model = pe.ReservoirClassifier(pooled())
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(GOOD_X)
    model.fit(GOOD_X, GOOD_Y)
    with pytest.raises(
        ValueError, match="X has 2 features, but ReservoirClassifier is expecting 1"
    ):
        model.predict(np.zeros((3, 20, 2)))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(GOOD_X, GOOD_Y, sample_weight=[1, 2])
