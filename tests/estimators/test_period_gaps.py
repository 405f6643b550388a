"""Periods that are skipped are missing values, as dates that are skipped are."""

import numpy as np
import pytest

import paralesn as pe

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(("period", "date"), [("M", "MS"), ("D", "D"), ("Q", "QS"), ("2M", "2MS")])
def test_a_gap_of_periods_is_one_of_missing_values(rng, period, date):
    y = pd.Series(rng.normal(size=80).cumsum(), pd.date_range("2001-01-01", periods=80, freq=date))
    holes = y.copy()
    holes.iloc[[30, 31, 50]] = np.nan
    periods = pd.period_range("2001-01-01", periods=80, freq=period)
    skipped = pd.Series(holes.to_numpy(), periods).dropna()
    expected = pe.ReservoirForecaster(horizon=4).fit(holes).forecast()
    model = pe.ReservoirForecaster(horizon=4).fit(skipped)
    np.testing.assert_allclose(model.forecast(), expected)
    assert "3 steps of y are missing" in model.notes_[0]
    assert list(model.forecast().index) == list(periods[-1] + periods.freq * np.arange(1, 5))


def test_gaps_that_dwarf_the_data_are_not_filled():
    seconds = pd.PeriodIndex(["1990-01-01", "1990-01-02", "2020-01-01"], freq="s")
    model = pe.ReservoirForecaster(horizon=1).fit(pd.Series([1.0, 2.0, 3.0], seconds))
    assert "rows are taken as equal steps" in model.notes_[0]
