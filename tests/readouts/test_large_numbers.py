"""Readouts of numbers whose squares or products are too large for double precision."""

import pytest

import paralesn as pe
from paralesn.readouts.dual_ridge import DualRidge


@pytest.mark.parametrize("factors", [(1.0, 1e200), (1e200, 1.0), (1e307, 1e307)])
def test_coefficients_that_are_not_finite_are_refused(factors, rng):
    X, y = rng.normal(size=(50, 4)) * factors[0], rng.normal(size=50) * factors[1]
    with pytest.raises(ValueError, match="X and y must be small enough for squares in float64"):
        pe.Ridge().fit(X, y).predict(X)


@pytest.mark.parametrize("readout", [pe.Ridge, DualRidge])
def test_predictions_that_are_not_finite_are_refused(readout, rng):
    X = rng.normal(size=(50, 4))
    model = readout().fit(X, X[:, 0] * 1e10)
    X[3] = 1e307
    with pytest.raises(ValueError, match=r"small enough for predictions in float64.* row 3"):
        model.predict(X)
