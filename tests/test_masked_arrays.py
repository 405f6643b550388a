"""Masked entries are missing values where these may be, and errors elsewhere: never values."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.datasets import metrics
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.readouts.dual_ridge import DualRidge

Y = np.sin(np.arange(300) / 9)
X = np.random.default_rng(0).normal(size=(40, 6))
CASES = np.random.default_rng(1).normal(size=(40, 30))
LABELS = np.arange(40) % 2


def masked(values):
    """One entry masked, under which is a number that would be noticed."""
    values = np.array(values)
    mask = np.zeros(values.shape, bool)
    mask.flat[3] = True
    values.flat[3] = 9
    return np.ma.masked_array(values, mask)


def missing(values):
    return np.ma.filled(masked(np.asarray(values, float)), np.nan)


def ridge(**options):
    return pe.Ridge(**options).fit(X, X[:, 0])


def classifier(**options):
    return pe.ReservoirClassifier(**options).fit(CASES, LABELS)


ones = np.ones(40)
REFUSED = {
    "X run": lambda: pe.ParalESN().run(masked(Y)),
    "X[1]": lambda: pe.ParalESN().last([Y, masked(Y)]),
    "X stream": lambda: list(pe.ParalESN().stream(iter([masked(Y)]))),
    "x step": lambda: pe.ParalESN().step(masked(np.zeros(5))),
    "x stepper": lambda: pe.ParalESN().stepper(n_features=5)(masked(np.zeros(5))),
    "state": lambda: pe.ParalESN(units=4).run(Y, [masked(np.zeros(4))]),
    "X of Ridge": lambda: pe.Ridge().fit(masked(X), X[:, 0]),
    "y of Ridge": lambda: pe.Ridge().fit(X, masked(X[:, 0])),
    "sample_weight of Ridge": lambda: pe.Ridge().fit(X, X[:, 0], sample_weight=masked(ones)),
    "X to predict": lambda: ridge().predict(masked(X)),
    "y of score": lambda: ridge().score(X, masked(X[:, 0])),
    "y left out": lambda: ridge().left_out(X, masked(X[:, 0])),
    "X of DualRidge": lambda: DualRidge().fit(masked(X), X[:, 0]),
    "X of blocks": lambda: DualRidge().fit_blocks(lambda: [masked(X)], X[:, 0]),
    "X of a classifier": lambda: pe.ReservoirClassifier().fit(masked(CASES), LABELS),
    "y of a classifier": lambda: pe.ReservoirClassifier().fit(CASES, masked(LABELS)),
    "y of its score": lambda: classifier().score(CASES, masked(LABELS)),
    "classes": lambda: pe.ReservoirClassifier(readout=pe.Ridge()).partial_fit(
        CASES, LABELS, classes=masked([0, 1, 2, 3, 4])
    ),
    "y of series": lambda: pe.ReservoirSeriesRegressor().fit(CASES, masked(CASES[:, 0])),
    "X of a regressor": lambda: pe.ReservoirRegressor().fit(masked(Y[:, None]), Y),
    "y of a regressor": lambda: pe.ReservoirRegressor().fit(Y[:, None], masked(Y)),
    "y of a loop": lambda: pe.ReservoirForecaster(strategy="closed-loop").fit(masked(Y)),
    "y of states": lambda: StateForecaster().fit(masked(Y)),
    "X of filters": lambda: pe.FilterBank().fit(masked(CASES)),
    "target": lambda: metrics.rmse(masked(Y), Y),
    "prediction": lambda: metrics.accuracy(LABELS, masked(LABELS)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_masked_entries_are_refused_where_values_must_be(name):
    with pytest.raises(
        ValueError, match=r"(?i)masked entries|must be finite, got nan|complete"
    ) as e:
        REFUSED[name]()
    assert str(e.value).startswith(name.split()[0] + " ")


ALIKE = {
    "targets that are omitted": lambda f: pe.Ridge(nan_targets="omit").fit(X, f(X[:, 0])).coef_,
    "cases": lambda f: pe.ReservoirClassifier(missing="interpolate")
    .fit(f(CASES), LABELS)
    .decision_function(CASES),
    "a forecaster": lambda f: pe.ReservoirForecaster(horizon=2).fit(f(Y)).forecast(),
    "its inputs": lambda f: pe.ReservoirForecaster(horizon=2)
    .fit(Y, f(np.arange(300.0)))
    .forecast(X=[1.0, 2.0]),
    "the past": lambda f: pe.ReservoirForecaster(horizon=2)
    .fit(Y, past=f(np.arange(300.0)))
    .forecast(),
    "smoothers": lambda f: pe.SmootherBank(horizon=2).fit(f(Y)).forecast(),
    "new rows": lambda f: pe.SmootherBank(horizon=2).fit(Y).update(f(Y)).forecast(),
    "a regressor": lambda f: pe.ReservoirRegressor(missing="mask").fit(f(Y[:, None]), Y).predict(
        f(Y[:, None])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_masked_entries_are_missing_values_where_these_may_be(name):
    np.testing.assert_array_equal(ALIKE[name](masked), ALIKE[name](missing))


def test_a_mask_of_nothing_changes_nothing():
    plain = np.ma.masked_array(Y, np.zeros(300, bool))
    np.testing.assert_array_equal(pe.ParalESN().run(plain)[0], pe.ParalESN().run(Y)[0])
