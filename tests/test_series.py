"""What is one series, and what is a list of them."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.series import is_collection


@pytest.mark.parametrize("of", [tuple, list])
def test_a_list_of_numbers_is_one_series_whoever_made_the_numbers(rng, of):
    y = rng.normal(size=200)
    assert not is_collection(of(y))
    assert not is_collection(of(y.tolist()))
    assert is_collection(of([y[:30], y[30:]]))
    whole = pe.ReservoirForecaster(horizon=2).fit(y).forecast()
    np.testing.assert_array_equal(pe.ReservoirForecaster(horizon=2).fit(of(y)).forecast(), whole)
    np.testing.assert_array_equal(
        pe.ReservoirRegressor().fit(of(y), of(y)).predict(of(y)),
        pe.ReservoirRegressor().fit(y, y).predict(y),
    )
