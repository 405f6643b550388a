"""A number for every series: against readouts on stored features, and as its users meet it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import GammaRegressor
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import paralesn as pe

BANK = pe.FilterBank(units=128, levels=True)


def waves(count, rng, noise=0.2):
    """Sines of a random period, size and level: the three are the targets."""
    period, size = rng.uniform(8, 30, count), rng.uniform(1, 5, count)
    level = rng.uniform(-50, 50, count)
    phase = rng.uniform(0, 6, (count, 1))
    X = np.sin(2 * np.pi * np.arange(120) / period[:, None] + phase)
    X = X + noise * rng.normal(size=X.shape)
    return size[:, None] * X + level[:, None], np.column_stack([period, size, level])


def test_learns_period_size_and_level(rng):
    X, Y = waves(200, rng)
    model = pe.ReservoirSeriesRegressor().fit(X[:120], Y[:120])
    predicted = model.predict(X[120:])
    assert predicted.shape == (80, 3)
    scores = r2_score(Y[120:], predicted, multioutput="raw_values")
    assert (scores > [0.95, 0.95, 0.95]).all(), scores
    assert model.score(X[120:], Y[120:]) == pytest.approx(scores.mean())
    no_levels = pe.ReservoirSeriesRegressor(pe.FilterBank()).fit(X[:120], Y[:120])
    normalised = r2_score(Y[120:], no_levels.predict(X[120:]), multioutput="raw_values")
    assert normalised[0] > 0.9  # a period shows in normalised series, a level does not
    assert (normalised[1:] < 0.3).all()


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_a_bank_and_a_readout(rng, targets, weighted):
    X, Y = waves(30, rng)
    y = Y[:, 0] if targets == 1 else Y
    weight = rng.uniform(0.5, 2, 30) if weighted else None
    model = pe.ReservoirSeriesRegressor(BANK).fit(X, y, sample_weight=weight)
    rows = clone(BANK).fit_transform(X)
    alpha = model.readout_.alpha_ * rows.shape[1]
    expected = SklearnRidge(alpha).fit(rows.astype(float), y, sample_weight=weight)
    new, _ = waves(10, rng)
    described = model.features_.transform(new).astype(float)
    np.testing.assert_allclose(model.predict(new), expected.predict(described), rtol=1e-5)


def test_no_target_dominates_the_choice_of_the_penalty(rng):
    X, Y = waves(40, rng, noise=1.0)
    model = pe.ReservoirSeriesRegressor(BANK).fit(X, Y)
    rescaled = pe.ReservoirSeriesRegressor(BANK).fit(X, Y * [1e-3, 1e6, 1] + [0, 5, 1e4])
    assert rescaled.readout_.alpha_ == model.readout_.alpha_
    np.testing.assert_allclose(
        rescaled.predict(X), model.predict(X) * [1e-3, 1e6, 1] + [0, 5, 1e4], rtol=1e-7
    )


def test_any_features_and_readout(rng):
    X, Y = waves(60, rng)
    pooled = pe.PooledStates(pe.ParalESN(units=30, rho=(0.5, 0.99), bias_scale=0.5))
    model = pe.ReservoirSeriesRegressor(pooled).fit(X, Y[:, 2])
    assert isinstance(model.readout_, pe.Ridge)
    rows = clone(pooled).fit_transform(X)
    expected = clone(model.readout_).fit(rows, Y[:, 2])
    np.testing.assert_allclose(model.predict(X), expected.predict(rows))
    forest = RandomForestRegressor(5, random_state=0)
    model = pe.ReservoirSeriesRegressor(BANK, forest).fit(X, Y)
    rows = clone(BANK).fit_transform(X)
    np.testing.assert_allclose(model.predict(X), clone(forest).fit(rows, Y).predict(rows))
    positive = pe.ReservoirSeriesRegressor(BANK, GammaRegressor(alpha=100.0)).fit(X, Y[:, 0])
    assert (positive.predict(X) > 0).all()  # targets arrive as they are


def test_lists_frames_and_a_constant_target(rng):
    X, Y = waves(30, rng)
    ragged = [x[: 60 + 2 * i] for i, x in enumerate(X)]
    model = pe.ReservoirSeriesRegressor(BANK).fit(ragged, Y[:, 2])
    assert model.score(ragged, Y[:, 2]) > 0.9
    y = pd.Series(Y[:, 2], index=np.arange(30)[::-1])
    frame = pe.ReservoirSeriesRegressor(BANK).fit(pd.DataFrame(X), y)
    array = pe.ReservoirSeriesRegressor(BANK).fit(X, Y[:, 2])
    np.testing.assert_array_equal(frame.predict(pd.DataFrame(X)), array.predict(X))
    constant = pe.ReservoirSeriesRegressor(BANK).fit(X, np.full(30, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0)
    column = pe.ReservoirSeriesRegressor(BANK).fit(X, Y[:, 2:])
    np.testing.assert_allclose(column.predict(X)[:, 0], array.predict(X))


def test_missing_values(rng):
    X, Y = waves(30, rng)
    holes = X.copy()
    holes[3, 10:14] = np.nan
    with pytest.raises(ValueError, match="missing"):
        pe.ReservoirSeriesRegressor(BANK).fit(holes, Y)
    filled = X.copy()
    filled[3, 10:14] = np.interp([10, 11, 12, 13], [9, 14], X[3, [9, 14]])
    model = pe.ReservoirSeriesRegressor(BANK, missing="interpolate").fit(holes, Y)
    expected = pe.ReservoirSeriesRegressor(BANK).fit(filled, Y)
    np.testing.assert_allclose(model.predict(holes), expected.predict(filled))
    masked = pe.ReservoirSeriesRegressor(BANK, missing="mask").fit(holes, Y)
    assert masked.n_features_in_ == 1
    assert np.isfinite(masked.predict(holes)).all()


@pytest.mark.parametrize("form", ["number", "numbers", "mask"])
def test_saved_and_loaded(rng, form, tmp_path):
    X, Y = waves(30, rng)
    X[0, 5] = np.nan if form == "mask" else X[0, 5]
    options = {"missing": "mask"} if form == "mask" else {}
    model = pe.ReservoirSeriesRegressor(BANK, **options)
    model.fit(X, Y if form == "numbers" else Y[:, 1])
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert repr(loaded) == repr(model) == repr(clone(model))


def test_in_scikit_learns_company(rng):
    X, Y = waves(60, rng)
    search = GridSearchCV(
        pe.ReservoirSeriesRegressor(),
        {"features__levels": [False, True], "features__units": [64]},
        cv=3,
    ).fit(X, Y[:, 2])
    assert search.best_params_ == {"features__levels": True, "features__units": 64}
    assert cross_val_score(pe.ReservoirSeriesRegressor(BANK), X, Y[:, 0], cv=3).mean() > 0.7


GOOD_X, GOOD_Y = np.random.default_rng(0).normal(size=(6, 20, 1)), np.arange(6.0)


@pytest.mark.parametrize(
    ("options", "X", "y", "error", "message"),
    [
        ({}, GOOD_X, GOOD_Y[:4], ValueError, "y must hold a target for each of the 6 series, got 4"),
        ({}, GOOD_X, None, ValueError, "y is None"),
        ({}, GOOD_X, [1, 2, np.nan, 4, 5, 6], ValueError, "y contains NaN"),
        ({}, GOOD_X, ["a"] * 6, ValueError, "could not convert string"),
        ({}, GOOD_X, np.zeros((6, 2, 2)), ValueError, "y must be|dim 3"),
        ({}, np.zeros(20), GOOD_Y, ValueError, "X must be a collection of series"),
        ({"features": pe.ParalESN()}, GOOD_X, GOOD_Y, TypeError, "features must be None, a Filter"),
        ({"features": pe.FilterBank(levels=1)}, GOOD_X, GOOD_Y, TypeError, "levels must be True or"),
        ({"readout": 3}, GOOD_X, GOOD_Y, TypeError, "readout must be None or an object with fit"),
        ({"missing": "drop"}, GOOD_X, GOOD_Y, ValueError, "missing must be one of"),
    ],
)  # fmt: skip
def test_wrong_data_and_arguments(options, X, y, error, message):
    with pytest.raises(error, match=message):
        pe.ReservoirSeriesRegressor(**options).fit(X, y)


def test_wrong_use():
    model = pe.ReservoirSeriesRegressor(BANK)
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(GOOD_X)
    model.fit(GOOD_X, GOOD_Y)
    with pytest.raises(ValueError, match="X has 2 features, but ReservoirSeriesRegressor is expec"):
        model.predict(np.zeros((3, 20, 2)))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(GOOD_X, GOOD_Y, sample_weight=[1, 2])
    from sklearn.neighbors import KNeighborsRegressor

    with pytest.raises(ValueError, match="sample_weight needs a readout whose fit takes"):
        pe.ReservoirSeriesRegressor(BANK, KNeighborsRegressor(1)).fit(GOOD_X, GOOD_Y, np.ones(6))
