"""Probabilities of the classifier: calibrated on series left out, on data with known answers."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import paralesn as pe
from needs import real_files
from paralesn import datasets
from paralesn.estimators import probabilities as module
from paralesn.estimators.probabilities import PowerCalibration, calibrate

BANK = pe.FilterBank(units=128)
POOLED = pe.PooledStates(pe.ParalESN(units=30, rho=(0.5, 0.99), bias_scale=0.5, mix_scale=1.0))


def tones(count, classes, rng, noise=2.0):
    """Noisy sines, one frequency a class, at random phases."""
    y = np.arange(count) % classes
    phase = rng.uniform(0, 6, (count, 1))
    X = np.sin(np.arange(80) * (0.2 + 0.15 * y[:, None]) + phase)
    return X + noise * rng.normal(size=X.shape), y


def by_hand(decision, power, doubt):
    """The docstring's formula, in plain NumPy."""
    d = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
    s = np.log(1 + np.exp(3 * (1 + d))) / 6
    return (1 - doubt) * s**power / (s**power).sum(axis=1, keepdims=True) + doubt / d.shape[1]


@pytest.mark.parametrize("shape", [(40,), (40, 3)])
def test_the_formula(rng, shape):
    decision = rng.normal(size=shape)
    found = PowerCalibration(2.3, 0.02).probabilities(decision)
    np.testing.assert_allclose(found, by_hand(decision, 2.3, 0.02), rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_power_maximises_the_likelihood_times_the_prior(rng, classes):
    labels = rng.integers(0, classes, 60)
    decision = np.where(labels[:, None] == np.arange(classes), 0.2, -0.4)
    decision += 0.5 * rng.normal(size=decision.shape)
    decision = decision[:, 1] if classes == 2 else decision
    weight = rng.uniform(0.2, 3, 60)
    w = weight * weight.sum() / (weight**2).sum()

    def loss(log_power):
        found = by_hand(decision, np.exp(log_power[0]), 1 / (w.sum() + 2))
        prior = (log_power[0] - np.log(module._USUAL)) ** 2 / (2 * module._SPREAD**2)
        return prior - w @ np.log(found[np.arange(60), labels])

    expected = np.exp(minimize(loss, [0.0]).x[0])
    found = calibrate(decision, labels, weight)
    assert found.power == pytest.approx(expected, rel=1e-3)
    assert calibrate(decision, labels, 7 * weight).power == pytest.approx(found.power)
    assert found.doubt == pytest.approx(1 / (w.sum() + 2))


def test_cases_in_blocks_calibrate_as_all_at_once_do(rng):
    labels = rng.integers(0, 3, 300)
    decision = np.where(labels[:, None] == np.arange(3), 0.3, -0.5) + 0.3 * rng.normal(
        size=(300, 3)
    )
    whole, blocks = calibrate(decision, labels), None
    for start in range(0, 300, 60):
        cut = slice(start, start + 60)
        blocks = calibrate(decision[cut], labels[cut], before=blocks)
    assert blocks.doubt == pytest.approx(whole.doubt) == 1 / 302
    assert np.log(blocks.power) == pytest.approx(np.log(whole.power), abs=whole.spread / 3)
    assert blocks.spread == pytest.approx(whole.spread, rel=0.2)
    assert whole.spread < module._SPREAD / 2


@pytest.mark.parametrize("features", [BANK, POOLED], ids=["DualRidge", "Ridge"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_on_what_models_without_a_series_say_of_it(rng, features, classes, weighted):
    X, y = tones(30, classes, rng)
    weight = rng.uniform(0.5, 2, 30) if weighted else None
    model = pe.ReservoirClassifier(features).fit(X, y, sample_weight=weight)
    rows, readout = model.features_.transform(X), model.readout_
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    targets = targets[:, 1] if classes == 2 else targets
    alpha = readout.alpha_
    if isinstance(readout, pe.DualRidge):
        alpha *= rows.shape[1]
    else:
        rows = (rows - readout.mean_) / np.where(readout.scale_ > 0, readout.scale_, 1)
    left_out = []
    for train, test in LeaveOneOut().split(rows):
        w = None if weight is None else weight[train]
        without = SklearnRidge(alpha).fit(rows[train], targets[train], sample_weight=w)
        left_out.append(without.predict(rows[test])[0])
    expected = calibrate(np.array(left_out), y, weight)
    assert model.fitted_.calibration.power == pytest.approx(expected.power, rel=1e-3)
    new, _ = tones(20, classes, rng)
    np.testing.assert_allclose(
        model.predict_proba(new),
        expected.probabilities(model.decision_function(new)),
        rtol=1e-3,
    )


@pytest.mark.parametrize(
    ("features", "noise"), [(BANK, 2.5), (POOLED, 1.0)], ids=["DualRidge", "Ridge"]
)
@pytest.mark.parametrize("classes", [2, 5])
def test_a_better_proper_score_than_one_hot_answers_and_shares(rng, features, noise, classes):
    X, y = tones(60 * classes, classes, rng, noise)
    train = np.arange(len(y)) < 30 * classes
    model = pe.ReservoirClassifier(features).fit(X[train], y[train])
    found, truth = model.predict_proba(X[~train]), y[~train]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X[~train]))
    one_hot = np.eye(classes)[found.argmax(axis=1)]
    accuracy = (found.argmax(axis=1) == truth).mean()
    assert 1 / classes + 0.1 < accuracy < 0.99  # there is something to be unsure of
    happened = np.eye(classes)[truth]
    assert np.square(found - happened).sum() < np.square(one_hot - happened).sum()  # Brier's score
    honest = (1 - accuracy) / (classes - 1) + one_hot * (accuracy - (1 - accuracy) / (classes - 1))
    labels = np.arange(classes)
    assert log_loss(truth, found, labels=labels) < log_loss(truth, honest, labels=labels)
    confidence = found.max(axis=1)
    assert abs(confidence.mean() - accuracy) < 0.12


def test_few_series_told_apart_without_a_mistake_are_not_certain(rng):
    X, y = tones(10, 2, rng, noise=0.01)
    found = pe.ReservoirClassifier().fit(X, y).predict_proba(X)
    assert (found.argmax(axis=1) == y).all()
    assert 0.85 < found.max() < 0.99
    many, labels = tones(400, 2, rng, noise=0.01)
    sure = pe.ReservoirClassifier().fit(many, labels).predict_proba(many)
    assert 0.99 < sure.max() < 1


def test_one_series_of_a_class(rng):
    X, y = tones(20, 2, rng, noise=0.5)
    y[0] = 7  # never seen once it is left out
    model = pe.ReservoirClassifier(BANK).fit(X, y)
    found = model.predict_proba(X)
    assert found.shape == (20, 3)
    assert np.isfinite(found).all()
    single = pe.ReservoirClassifier(BANK).fit(X[:2], [0, 1])  # only the prior is left
    assert single.fitted_.calibration.power == pytest.approx(module._USUAL, rel=1e-4)
    assert single.fitted_.calibration.doubt == 0.5


def test_decision_values_that_tie_after_rounding_keep_their_order():
    calibration = PowerCalibration(0.5, 0.5)
    for decision in (
        np.array([1e-300, -1e-300, 0.0]),
        np.array([[0.1, np.nextafter(0.1, 1), -1], [-50, -49, -800], [9e3, 1e4, 0.0]]),
    ):
        found = calibration.probabilities(decision)
        decided = decision > 0 if decision.ndim == 1 else decision.argmax(axis=1)
        np.testing.assert_array_equal(found.argmax(axis=1), decided)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_balanced_classes_are_more_probable(rng):
    X, y = tones(90, 2, rng, noise=2.5)
    rare = np.flatnonzero((y == 0) | (np.arange(90) % 10 == 1))
    new, _ = tones(90, 2, rng, noise=2.5)
    plain, balanced = (
        pe.ReservoirClassifier(BANK, class_weight=w).fit(X[rare], y[rare]).predict_proba(new)[:, 1]
        for w in (None, "balanced")
    )
    assert (balanced > plain).mean() > 0.8
    assert balanced.mean() > plain.mean() + 0.05


@pytest.mark.parametrize("features", [BANK, POOLED], ids=["DualRidge", "Ridge"])
def test_saved_and_loaded(rng, features, tmp_path):
    X, y = tones(30, 3, rng)
    model = pe.ReservoirClassifier(features).fit(X, y)
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_who_knows_probabilities(rng):
    X, y = tones(20, 2, rng)
    for readout in (None, pe.DualRidge(), pe.Ridge([1.0]), LogisticRegression()):
        model = pe.ReservoirClassifier(BANK, readout)
        assert hasattr(model, "predict_proba")
        assert hasattr(model.fit(X, y), "predict_proba")
    plain = pe.ReservoirClassifier(BANK, SklearnRidge())
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain.fit(X, y), "predict_proba")
    logistic = pe.ReservoirClassifier(BANK, LogisticRegression()).fit(X, y)
    expected = LogisticRegression().fit(BANK.fit_transform(X), y)
    np.testing.assert_allclose(
        logistic.predict_proba(X), expected.predict_proba(BANK.transform(X)), rtol=1e-6
    )


def test_many_series_are_calibrated_on_some(rng, monkeypatch):
    from paralesn.readouts import dual_statistics

    X, y = tones(60, 2, rng)
    whole = pe.ReservoirClassifier(POOLED).fit(X, y).fitted_.calibration
    monkeypatch.setattr(dual_statistics, "SAMPLE", 40)
    some = pe.ReservoirClassifier(POOLED).fit(X, y).fitted_.calibration
    assert some.doubt == pytest.approx(1 / 42)
    assert some.power == pytest.approx(whole.power, rel=0.5)


@pytest.mark.parametrize(("power", "doubt"), [(0.0, 0.1), (np.nan, 0.1), (1.0, 0.0), (1.0, 1.5)])
def test_a_calibration_that_is_none_is_refused(power, doubt):
    with pytest.raises(
        ValueError, match="the power and the spread of a calibration must be positive"
    ):
        PowerCalibration(power, doubt)


@real_files
@pytest.mark.parametrize("name", ["ECG5000", "InsectWingbeatSound"])
def test_calibrated_on_archive_data(name):
    """As sure as it is right, on test parts that had no part in any choice."""
    data = datasets.load(f"ucr:{name}", download=False)
    model = pe.ReservoirClassifier().fit(data.X_train, data.y_train)
    found = model.predict_proba(data.X_test)
    right = model.classes_[found.argmax(axis=1)] == data.y_test
    confidence = found.max(axis=1)
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = [abs((confidence - right)[bins == b].sum()) for b in range(10)]
    assert sum(gaps) / len(right) < 0.04
    share = np.log([(data.y_train == label).mean() for label in model.classes_])
    loss = log_loss(data.y_test, found, labels=model.classes_)
    assert loss < 0.55 * -share[np.searchsorted(model.classes_, data.y_test)].mean()


def test_scikit_learns_searches_score_by_it(rng):
    X, y = tones(40, 2, rng)
    found = cross_val_predict(pe.ReservoirClassifier(BANK), X, y, method="predict_proba", cv=4)
    assert log_loss(y, found) < np.log(2)
