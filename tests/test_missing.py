"""Missing inputs against plain NumPy: interpolated, masked, in blocks, and row by row."""

import numpy as np
import pandas as pd
import pytest

import paralesn as pe
from paralesn import missing, sources
from paralesn.estimators.live import Live

SMALL = {"units": 20, "bias_scale": 0.3, "mix_scale": 1.0}


def with_holes(rng, shape, share=0.2):
    x = rng.normal(size=shape)
    holes = rng.random(shape) < share
    return np.where(holes, np.nan, x)


def interpolated(x):
    """Column by column, by pandas."""
    frame = pd.DataFrame(x).interpolate(limit_direction="both")
    return frame.to_numpy()


def masked(x, mean, flagged):
    holes = np.isnan(x)
    return np.hstack([np.where(holes, mean, x), holes[:, flagged]])


@pytest.mark.parametrize("at_once", [1 << 22, 0])
@pytest.mark.parametrize("how", ["interpolate", "mask"])
@pytest.mark.parametrize("kind", ["single", "batch", "ragged"])
def test_equals_filling_by_hand(kind, how, at_once, monkeypatch, rng):
    monkeypatch.setattr(sources, "_AT_ONCE", at_once)
    monkeypatch.setattr(missing, "_LOOK", 3)
    X = [with_holes(rng, (n, 3), 0.5) for n in ((70,) if kind == "single" else (40, 40, 40))]
    for x in X:
        x[:, 1] = np.arange(len(x))  # always known
        x[5:25, 0] = np.nan  # longer than blocks
        x[3, 0] = x[39, 0] = 1.0
    if kind == "ragged":
        X = [X[0], X[1][:33]]
        X[1][2, 2] = 1.0
    given = X[0] if kind == "single" else np.stack(X) if kind == "batch" else X
    source, learnt = missing.opened(given, how, "a test")
    rows = np.concatenate(X)
    mean = np.nanmean(rows, axis=0)
    fill = interpolated if how == "interpolate" else lambda x: masked(x, mean, [0, 2])
    expected = [fill(x) for x in X]
    assert source.n_features == expected[0].shape[1]
    np.testing.assert_allclose(source.read().rows, np.concatenate(expected), rtol=1e-13)
    for steps in (1, 7, 1000):
        first = 0
        for block in source.blocks(steps):
            cut = [x[first : first + steps] for x in expected]
            np.testing.assert_allclose(block.rows, np.concatenate(cut), rtol=1e-13)
            first += steps
    again = missing.reopened(given, learnt, 3, "a test")
    np.testing.assert_array_equal(again.read().rows, source.read().rows)


@pytest.mark.parametrize("how", ["interpolate", "mask"])
def test_regressor_equals_one_of_filled_inputs(how, rng):
    X, y = with_holes(rng, (300, 2)), rng.normal(size=300)
    X[:, 1] = rng.normal(size=300)
    fill = interpolated if how == "interpolate" else (
        lambda x: masked(x, np.nanmean(X[:200], axis=0), [0])
    )  # fmt: skip
    reservoir = pe.ParalESN(**SMALL)
    model = pe.ReservoirRegressor(reservoir, missing=how).fit(X[:200], y[:200])
    plain = pe.ReservoirRegressor(reservoir).fit(fill(X[:200]), y[:200])
    np.testing.assert_allclose(model.predict(X[200:]), plain.predict(fill(X[200:])), atol=1e-9)
    assert model.n_features_in_ == 2
    assert abs(model.score(X[200:], y[200:]) - plain.score(fill(X[200:]), y[200:])) < 1e-9


@pytest.mark.parametrize("how", ["interpolate", "mask"])
@pytest.mark.parametrize("features", [pe.FilterBank(64), pe.PooledStates(pe.ParalESN(**SMALL))])
def test_classifier_equals_one_of_filled_inputs(how, features, rng):
    X, y = with_holes(rng, (30, 50, 2)), np.arange(30) % 3
    if how == "interpolate":
        filled = np.stack([interpolated(x) for x in X])
    else:
        filled = np.stack([masked(x, np.nanmean(x, axis=0), [0, 1]) for x in X])
    model = pe.ReservoirClassifier(features, missing=how).fit(X[:20], y[:20])
    plain = pe.ReservoirClassifier(features).fit(filled[:20], y[:20])
    decided = model.decision_function(X[20:])
    np.testing.assert_allclose(decided, plain.decision_function(filled[20:]), atol=1e-5)
    assert model.n_features_in_ == 2


def test_features_of_others_are_given_complete_arrays(rng, monkeypatch):
    X, y = with_holes(rng, (12, 30, 1)), np.arange(12) % 2

    class Foreign:
        n_features_out_, n_features_in_ = 2, 2

        def get_params(self, deep=True):
            return {}

        def fit(self, X, y=None):
            self.seen = X
            return self

        def fit_transform(self, X, y=None):
            return self.fit(X).transform(X)

        def transform(self, X):
            return np.concatenate(list(self.blocks(X)))

        def blocks(self, X):
            yield np.array([[x[:, 0].mean(), x[:, 1].mean()] for x in X])

    for at_once in (1 << 22, 0):
        monkeypatch.setattr(sources, "_AT_ONCE", at_once)
        model = pe.ReservoirClassifier(Foreign(), missing="mask").fit(X, y)
        assert model.features_.seen.shape == (12, 30, 2)
        assert np.isfinite(model.features_.seen).all()


def test_frames_with_none_and_na(rng):
    values = with_holes(rng, 200)
    y = rng.normal(size=200)
    expected = pe.ReservoirRegressor(missing="mask").fit(values[:, None], y).predict(values)
    frames = [
        pd.DataFrame({"a": [None if np.isnan(v) else v for v in values]}, dtype=object),
        pd.DataFrame({"a": pd.array([pd.NA if np.isnan(v) else v for v in values], "Float64")}),
        [[None if np.isnan(v) else v] for v in values],
    ]
    for frame in frames:
        model = pe.ReservoirRegressor(missing="mask").fit(frame, y)
        np.testing.assert_array_equal(model.predict(frame), expected)


def test_a_value_missing_only_after_training_is_the_mean(rng):
    X, y = rng.normal(size=(200, 1)), rng.normal(size=200)
    model = pe.ReservoirRegressor(missing="mask").fit(X, y)
    holes, filled = X.copy(), X.copy()
    holes[20], filled[20] = np.nan, X.mean()
    np.testing.assert_allclose(model.predict(holes), model.predict(filled), atol=1e-9)


def test_live_rows(rng, tmp_path):
    X, y = with_holes(rng, (300, 2)), rng.normal(size=300)
    X[0] = 0.0
    known = interpolated(X[:200])[-1]
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), missing="interpolate").fit(X[:200], y[:200])
    rest = pd.DataFrame(np.vstack([known, X[200:]])).ffill().to_numpy()[1:]
    live = Live(model)
    found = []
    for t, row in enumerate(X[200:]):
        if t == 50:  # in another process
            pe.save(live.state, tmp_path / "state")
            live = Live(model)
            live.state = pe.load(tmp_path / "state")
        found.append(live.read(row)[0, 0])
    np.testing.assert_allclose(found, model.predict(rest, state=model.state_), atol=1e-9)
    masking = pe.ReservoirRegressor(pe.ParalESN(**SMALL), missing="mask").fit(X[:200], y[:200])
    live = Live(masking)
    found = [live.read(row)[0, 0] for row in X[200:]]
    np.testing.assert_allclose(found, masking.predict(X[200:], state=masking.state_), atol=1e-9)
    with pytest.raises(ValueError, match="x must be known in the first row, got NaN in feature 1"):
        Live(model, fresh=True).read(np.array([1.0, np.nan]))


@pytest.mark.parametrize("how", ["interpolate", "mask"])
def test_saved_and_loaded(how, tmp_path, rng):
    X, y = with_holes(rng, (100, 2)), rng.normal(size=100)
    model = pe.ReservoirRegressor(pe.ParalESN(**SMALL), missing=how).fit(X, y)
    pe.save(model, tmp_path / "model")
    np.testing.assert_array_equal(pe.load(tmp_path / "model").predict(X), model.predict(X))


def test_messages(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    hole, empty, infinite = X.copy(), X.copy(), X.copy()
    hole[7, 1], empty[:, 1], infinite[7, 1] = np.nan, np.nan, np.inf
    cases = rng.normal(size=(6, 20))
    cases[3, 7] = np.nan
    frame = pd.DataFrame({"t": pd.date_range("2020", periods=100), "x": y})
    nested = pd.DataFrame({"x": [pd.Series(y)] * 4})
    regressor, classifier = pe.ReservoirRegressor, pe.ReservoirClassifier
    choices = "feature {}. Missing values: missing='interpolate' .* missing='mask'"
    for call, message in (
        (lambda: regressor().fit(hole, y), "at step 7, " + choices.format(1)),
        (lambda: regressor().fit(X, y).predict(hole), "at step 7, " + choices.format(1)),
        (lambda: classifier().fit(cases, [0, 1] * 3), "series 3, step 7, " + choices.format(0)),
        (lambda: regressor(missing="interpolate").fit(empty, y), "for feature 1, got only NaN, wh"),
        (lambda: regressor(missing="mask").fit(empty, y), "a number for feature 1, got only NaN$"),
        (lambda: regressor(missing="drop").fit(X, y), "missing must be one of 'error', 'interp"),
        (lambda: classifier().fit(X[:6, None], [0, 1] * 3), "of a single step. If the last axis"),
        (lambda: regressor().fit(frame, y), "X must hold real numbers, got dates; leave them out"),
        (lambda: classifier().fit(nested, [0, 1] * 2), "are a Series each; several series are a l"),
        (lambda: classifier().fit([[1, 2], [1, 2, 3]], [0, 1]), "got lists of 2 to 3 items. If ea"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    for how in missing.CHOICES:
        with pytest.raises(ValueError, match=r"got infinity at step 7, feature 1$"):
            regressor(missing=how).fit(infinite, y)
