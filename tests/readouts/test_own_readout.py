"""A readout of one's own: a frozen state, fit and predict, used and saved as ours are."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import paralesn as pe


@pe.register
@dataclass(frozen=True, eq=False)
class FittedLeastAbsolute:
    coef: np.ndarray  # (features + 1, targets), the intercept last

    def check(self, model):
        if self.coef.ndim != 2 or not np.isfinite(self.coef).all():
            raise ValueError(f"coef must be finite, (features + 1, targets), got {self.coef.shape}")


@pe.register
class LeastAbsolute(RegressorMixin, BaseEstimator):
    """Least absolute deviations by iteratively reweighted least squares."""

    fitted_: FittedLeastAbsolute

    def __init__(self, iterations=20):
        self.iterations = iterations

    @property
    def n_features_in_(self):
        return len(self.fitted_.coef) - 1

    def fit(self, X, y):
        rows, y = np.column_stack([X, np.ones(len(X))]), np.reshape(y, (len(X), -1))
        weight = np.ones(len(X))
        for _ in range(self.iterations):
            root = np.sqrt(weight)[:, None]
            coef = np.linalg.lstsq(rows * root, y * root, rcond=None)[0]
            weight = 1 / np.maximum(np.abs(y - rows @ coef).mean(axis=1), 1e-6)
        self.fitted_ = FittedLeastAbsolute(coef)
        return self

    def predict(self, X):
        return np.column_stack([X, np.ones(len(X))]) @ self.fitted_.coef


X = np.random.default_rng(0).normal(size=(600, 2))
Y = np.roll(X, 2, axis=0)


def test_it_resists_outliers_in_a_regressor():
    y = Y.copy()
    y[::20] += 50.0  # to the mean of squares they are everything
    ours = pe.ReservoirRegressor(pe.ParalESN(units=40)).fit(X, y)
    robust = pe.ReservoirRegressor(pe.ParalESN(units=40), LeastAbsolute()).fit(X, y)
    clean = np.arange(len(y)) % 20 != 0
    clean[:100] = False  # the washout

    def error(model):
        return np.abs(model.predict(X) - Y)[clean].mean()

    assert error(robust) < 0.01 * error(ours)


@pytest.mark.parametrize("fitted", [False, True])
def test_saved_and_loaded_with_the_regressor(fitted, tmp_path):
    model = pe.ReservoirRegressor(pe.ParalESN(units=40), LeastAbsolute(iterations=5))
    model = model.fit(X, Y) if fitted else model
    pe.save(model, tmp_path / "model")
    again = pe.load(tmp_path / "model")
    assert type(again.readout) is LeastAbsolute
    assert again.readout.iterations == 5
    if fitted:
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_its_state_refuses_is_refused_in_a_file(tmp_path):
    readout = LeastAbsolute().fit(X, Y)
    readout.fitted_ = FittedLeastAbsolute(np.full((3, 2), np.nan))
    pe.save(readout, tmp_path / "model")
    with pytest.raises(ValueError, match="coef must be finite"):
        pe.load(tmp_path / "model")


@pytest.mark.slow
def test_another_process_must_import_it_first(tmp_path):
    pe.save(LeastAbsolute().fit(X, Y), tmp_path / "model")
    load = f"import paralesn as pe; print(pe.load({str(tmp_path / 'model')!r}).n_features_in_)"
    here = Path(__file__)
    for first, expected in (
        ("", "no class 'LeastAbsolute' is registered"),
        (f"import {here.stem}; ", "2"),
    ):
        result = subprocess.run(
            [sys.executable, "-c", first + load], cwd=here.parent, capture_output=True, text=True
        )
        assert expected in result.stdout + result.stderr
