"""What one-step forecasts leave over."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.forecaster.residuals import residuals


@pytest.fixture
def model(rng):
    t = np.arange(300)
    return pe.ReservoirForecaster(horizon=4).fit(
        np.column_stack([np.sin(t / 7), np.cos(t / 5)]) + 0.1 * rng.normal(size=(300, 2))
    )


def test_they_are_observations_minus_one_step_forecasts(model):
    found = model.anomalies()
    y = np.stack(model.fitted_.observed(), axis=1)
    for i in (0, 1):
        np.testing.assert_allclose(residuals(model.fitted_, i), y[:, i] - found.values[:, i])


def test_of_a_long_series_the_last_are_nearly_the_same(model):
    whole, last = residuals(model.fitted_, 0), residuals(model.fitted_, 0, most=90)
    assert last.shape == (90,)
    assert np.corrcoef(whole[-90:], last)[0, 1] > 0.9
