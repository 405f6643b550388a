"""What is one series, and what is a list of them."""

import numpy as np
import pytest

import paralesn as pe
from paralesn import series
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


def test_what_is_masked_is_not_read(rng):
    """A masked value used to be read as if nothing were masked."""
    x = rng.normal(size=(200, 2))
    hidden = np.ma.masked_array(x, mask=np.zeros_like(x, bool))
    np.testing.assert_array_equal(series.numeric(hidden), x)
    hidden[3, 1] = np.ma.masked
    np.testing.assert_array_equal(np.argwhere(np.isnan(series.numeric(hidden))), [[3, 1]])
    with pytest.raises(ValueError, match="X must be finite, got NaN at step 3, feature 1"):
        pe.ReservoirRegressor().fit(hidden, x[:, 0])
    whole = np.ma.masked_array(np.arange(6), mask=[0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(series.numeric(whole), [0, 1, np.nan, 3, 4, 5])


def test_a_number_beyond_every_float_is_refused():
    with pytest.raises(TypeError, match="X must hold real numbers: int too large"):
        pe.ParalESN(units=5).run([[10**400, 1.0]])


def test_a_tensor_that_requires_a_gradient_is_named(rng):
    torch = pytest.importorskip("torch")
    X = torch.zeros(20, 30, requires_grad=True)
    with pytest.raises(TypeError, match=r"X must not require a gradient, .*: call detach\(\)"):
        pe.ReservoirClassifier().fit(X, np.arange(20) % 2)


def test_a_relation_of_duckdb_is_named():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    relation = duckdb.sql("select range as y from range(50)")
    with pytest.raises(TypeError, match=r"y must be in memory.*: call to_arrow_table\(\)"):
        pe.ReservoirForecaster().fit(relation)


def test_an_empty_array_of_text_is_refused_as_text():
    with pytest.raises(ValueError, match="X must hold real numbers, got dtype <U"):
        series.numeric(np.empty((0, 1), "U3"))
