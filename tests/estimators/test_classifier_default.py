"""The classifier as it comes, a filter bank and a dual ridge, on data with known answers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import paralesn as pe
from paralesn.features import filter_bank as module

BANK = pe.FilterBank(units=128)


def bumps(centres, steps, rng, noise=0.2):
    """Positive and negative bumps at (place, sign), each moved a little, and noise."""
    t = np.arange(steps)
    x = noise * rng.normal(size=steps)
    for place, sign in centres:
        x += 3 * sign * np.exp(-(((t - place - rng.integers(-5, 6)) / 3.0) ** 2))
    return x


def frequency(label, rng):
    t = np.arange(120)
    return np.sin(t * (0.3, 0.36)[label] + rng.uniform(0, 6)) + 0.3 * rng.normal(size=120)


def order(label, rng):
    sign = 1 - 2 * label
    place = rng.integers(30, 80)
    return bumps([(place, sign), (place + 25, -sign)], 150, rng)


def late_events(label, rng):
    x = rng.normal(size=200)
    if label:
        x[185:] = 2 * np.sin(np.arange(15) * 2.5)
    return x


def length(label, rng):
    """The same event in all, in a longer series where the label is one."""
    return bumps([(30, 1)], rng.integers(60, 80) + 60 * label, rng, 0.05)


def level(label, rng):
    """Frequencies at any level and of any size."""
    return frequency(label, rng) * rng.uniform(0.1, 10) + rng.normal() * 100


def channels(label, rng):
    """Two channels that only together tell: in phase or against it."""
    wave = np.sin(np.arange(80) * 0.4 + rng.uniform(0, 6))
    other = wave * (1 - 2 * label)
    noise = 0.3 * rng.normal(size=(80, 4))
    return np.column_stack([wave, rng.normal(size=80), other, rng.normal(size=80)]) + noise


@pytest.mark.parametrize("kind", [frequency, order, late_events, length, level, channels])
def test_tells_apart_what_differs(kind, rng):
    y = np.arange(160) % 2
    X = [kind(label, rng) for label in y]
    X = X if kind is length else np.array(X)
    model = pe.ReservoirClassifier().fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.9


def test_it_is_a_bank_and_a_readout(rng):
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 40)) + np.sin(np.arange(40) * (1 + y[:, None]))
    bank = pe.FilterBank()
    readout = pe.DualRidge().fit(
        bank.fit_transform(X), np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    )
    model = pe.ReservoirClassifier().fit(X, y)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(decision, readout.predict(bank.transform(X)))
    np.testing.assert_array_equal(model.predict(X), decision.argmax(axis=1))
    given = pe.ReservoirClassifier(pe.FilterBank()).fit(X, y)
    np.testing.assert_array_equal(given.decision_function(X), decision)
    logistic = pe.ReservoirClassifier(BANK, LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(logistic.predict_proba(X).sum(axis=1), 1, rtol=1e-6)


def test_many_series_are_learnt_in_blocks(rng, monkeypatch):
    y = np.arange(60) % 2
    X = [frequency(label, rng) for label in y]
    at_once = pe.ReservoirClassifier(BANK).fit(X, y)
    monkeypatch.setattr(module, "_SERIES", 7)
    blocks = pe.ReservoirClassifier(BANK).fit(X, y)
    np.testing.assert_allclose(blocks.decision_function(X), at_once.decision_function(X), atol=1e-6)


def test_threads_change_nothing(rng):
    y = np.arange(30) % 2
    X = np.array([frequency(label, rng) for label in y])
    one, three = (
        pe.ReservoirClassifier(pe.FilterBank(units=128, n_jobs=n)).fit(X, y) for n in (1, 3)
    )
    np.testing.assert_allclose(three.decision_function(X), one.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize(
    "names",
    [["left", "right"], np.array(["a", "b", "c"], object), [7, -1, 3], [True, False], [1.0, 2.0]],
)
def test_labels_of_any_type_and_files(names, rng, tmp_path):
    y = np.asarray(names)[np.arange(24) % len(names)]
    pace = 0.2 + 0.4 * (np.arange(24) % len(names))[:, None, None]
    X = np.sin(np.arange(60)[:, None] * pace) + 0.1 * rng.normal(size=(24, 60, 2))
    model = pe.ReservoirClassifier(BANK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).dtype == y.dtype
    assert repr(loaded) == repr(model) == repr(clone(model))


def test_one_series_of_each_class_and_short_ones(rng):
    X = np.array([np.sin(np.arange(50)), np.sin(np.arange(50) / 9)])
    assert pe.ReservoirClassifier(BANK).fit(X, ["fast", "slow"]).score(X, ["fast", "slow"]) == 1
    for steps in (1, 2, 3):
        X = rng.normal(size=(6, steps))
        model = pe.ReservoirClassifier(BANK).fit(X, [0, 1] * 3)
        assert np.isfinite(model.decision_function(X)).all()


def test_class_weights_find_a_rare_class(rng):
    y = np.r_[np.zeros(60, int), np.ones(6, int)]
    X = np.array([frequency(label, rng) + rng.normal(size=120) for label in y])
    plain = pe.ReservoirClassifier(BANK).fit(X, y)
    balanced = pe.ReservoirClassifier(BANK, class_weight="balanced").fit(X, y)
    rare = np.array([frequency(1, rng) + rng.normal(size=120) for _ in range(60)])
    assert balanced.decision_function(rare).mean() > plain.decision_function(rare).mean()
    weight = np.where(y == 1, 66 / 12, 66 / 120)
    by_hand = pe.ReservoirClassifier(BANK).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(by_hand.decision_function(X), balanced.decision_function(X))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.full((4, 9), np.nan), [0, 1] * 2, "X must be finite, got NaN at series 0, step 0"),
        (np.zeros((4, 9)), [0] * 4, "at least two classes, got one class: 0"),
        (np.zeros((4, 9)), [0, 1, 0], "label for each of the 4 series, got 3"),
        (np.zeros(9), [0, 1], "X must be a collection of series"),
    ],
)
def test_wrong_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        pe.ReservoirClassifier().fit(X, y)


def test_a_nan_among_many_series_is_named_by_its_position(rng):
    X = rng.normal(size=(600, 20))
    model = pe.ReservoirClassifier(BANK).fit(X[:20], [0, 1] * 10)
    X[523, 7] = np.inf
    with pytest.raises(ValueError, match="infinity at series 523, step 7"):
        model.predict(X)
