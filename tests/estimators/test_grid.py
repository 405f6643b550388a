"""Rows in time: gaps are missing values, irregular rows are said, and averages on request."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.forecaster.frames import Index
from paralesn.estimators.forecaster.grid import on_grid, usual_clock
from paralesn.tables.clock import Clock

pd = pytest.importorskip("pandas")

Y = np.random.default_rng(3).normal(size=80).cumsum()
INDEXES = {
    "days": pd.date_range("2024-01-01", periods=60),
    "hours": pd.date_range("2024-01-01", periods=60, freq="h"),
    "month ends": pd.date_range("2019-01-31", periods=60, freq="ME"),
    "business days": pd.bdate_range("2024-01-01", periods=60),
    "numbers": pd.RangeIndex(7, 307, 5),
    "periods": pd.period_range("2019-01", periods=60, freq="M"),
    "Berlin": pd.date_range("2024-03-01", periods=60, tz="Europe/Berlin"),
}


@pytest.mark.parametrize("name", INDEXES)
def test_a_time_that_is_skipped_is_a_missing_value(name):
    kept = np.delete(np.arange(60), [10, 11, 40])
    index = INDEXES[name]
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[kept], index[kept]))
    whole = np.where(np.isin(np.arange(60), kept), Y[:60], np.nan)
    np.testing.assert_array_equal(model.fitted_.memory.y, whole)
    assert model.notes_[0].startswith("3 steps of y are missing (every ")
    as_nan = pe.SmootherBank(horizon=3).fit(pd.Series(whole, index))
    np.testing.assert_array_equal(model.forecast(), as_nan.forecast())
    assert list(model.forecast().index) == list(as_nan.forecast().index)


def test_a_gap_in_an_update_is_a_missing_value():
    days = INDEXES["days"]
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[:50], days[:50]))
    model.update(pd.Series(Y[[50, 52]], days[[50, 52]]))  # two rows look like steps of two days
    expected = pe.SmootherBank(horizon=3).fit(Y[:50]).update([Y[50], np.nan, Y[52]])
    np.testing.assert_array_equal(model.forecast().to_numpy(), expected.forecast())
    assert model.forecast().index[0] == days[53]


def test_a_weekend_is_no_gap_of_business_days():
    days = pd.DatetimeIndex(list(INDEXES["business days"]))
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[:50], days[:50]))
    for part in (slice(50, 54), slice(54, 56), slice(56, 57)):
        model.update(pd.Series(Y[part], days[part]))
    assert model.fitted_.ends.counts[0] == 57
    assert list(model.forecast().index) == list(days[57:])


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2024-02-19"], "must follow the observations so far, which end at 2024-02-19, got 2024-02-19, which was seen already"),
        (["2024-02-22"], r"must go on at 2024-02-20, the next step \(every day\) after 2024-02-19, got 2024-02-22"),
        (["2024-02-20", "2024-02-20 07:00"], r"must have times that are whole steps \(every day\) apart, got 2024-02-20.* and 2024-02-20 07:00"),
    ],
)  # fmt: skip
def test_updates_that_do_not_follow(times, words):
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[:50], INDEXES["days"][:50]))
    with pytest.raises(ValueError, match=words):
        model.update(pd.Series(Y[: len(times)], pd.DatetimeIndex(times)))


def test_a_series_of_a_panel_that_does_not_follow_is_named():
    frame = pd.concat([pd.DataFrame({"unique_id": label, "ds": INDEXES["days"][:n], "y": Y[:n]})
                       for label, n in (("a", 30), ("b", 40))])  # fmt: skip
    model = pe.SmootherBank(horizon=3).fit(frame)
    row = pd.DataFrame({"unique_id": ["b"], "ds": [INDEXES["days"][30]], "y": [1.0]})
    with pytest.raises(
        ValueError, match="y of 'b' must follow the observations so far, which end at 2024-02-09"
    ):
        model.update(row)


def test_two_business_days_with_a_frequency():
    days = pd.bdate_range("2024-01-04", periods=4)
    model = pe.SmootherBank(horizon=2).fit(pd.Series(Y[:2], days[:2]))
    assert list(model.forecast().index) == list(days[2:])
    assert list(model.update(pd.Series(Y[2:3], days[2:3])).forecast(1).index) == list(days[3:])


def test_irregular_times_are_said_and_kept(rng):
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        np.sort(rng.uniform(0, 1e5, 40)).round(), unit="s"
    )
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[:40], times))
    assert "times of y are irregular (first " in model.notes_[0]
    assert "frequency averages them" in model.notes_[0]
    np.testing.assert_array_equal(
        model.forecast().to_numpy(), pe.SmootherBank(horizon=3).fit(Y[:40]).forecast()
    )
    assert list(model.anomalies().index) == list(times)


def test_rows_off_the_grid_make_times_irregular():
    """A third of the rows is late by ten minutes: steps are not counted where they are not whole."""
    times = pd.DatetimeIndex(list(INDEXES["hours"]))
    late = times + pd.to_timedelta(np.where(np.arange(60) % 6 == 3, 10, 0), unit="min")
    model = pe.SmootherBank(horizon=3).fit(pd.Series(Y[:60], late))
    assert "irregular (first 2024-01-01 02:00:00 to 2024-01-01 03:10:00)" in model.notes_[0]
    model.update(pd.Series([1.0], [late[-1] + pd.Timedelta(minutes=71)]))
    assert model.fitted_.ends.counts[0] == 61


def test_far_gaps_are_not_filled():
    times = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 1000])
    notes = []
    grid = on_grid(times, 10, "y", None, Index(), notes)
    assert grid.count == 10
    assert grid.clock.kind == "irregular"
    assert "gaps of 991 steps" in notes[0]


@pytest.mark.parametrize("frequency", ["D", "2h", "W", "MS", "QS", "YS", "90min"])
def test_averages_are_those_of_pandas(frequency, rng):
    times = pd.Timestamp("2023-12-27 10:20") + pd.to_timedelta(
        np.sort(rng.choice(60 * 24 * 400, 500, replace=False)), unit="min"
    )
    y = pd.Series(rng.normal(size=500), times)
    if frequency == "W":  # pandas' weeks that begin on Mondays
        expected = y.groupby(
            y.index.normalize() - pd.to_timedelta(y.index.weekday, unit="D")
        ).mean()
        expected = expected.asfreq("7D")
    else:
        expected = y.resample(
            frequency, **({"origin": "epoch"} if "h" in frequency or "min" in frequency else {})
        ).mean()
    model = pe.SmootherBank(horizon=2, frequency=frequency).fit(y)
    np.testing.assert_allclose(model.fitted_.memory.y, expected.to_numpy(), rtol=1e-12)
    assert list(model.anomalies().index) == list(expected.index)


def test_weeks_begin_on_mondays():
    times = pd.to_datetime(
        ["2024-01-01 00:00", "2024-01-07 23:59", "2024-01-08 00:00", "2024-01-14 00:00"]
    )
    model = pe.SmootherBank(horizon=2, frequency="W").fit(pd.Series([1.0, 3.0, 5.0, 7.0], times))
    assert model.fitted_.memory.y.tolist() == [2.0, 6.0]
    assert list(model.forecast().index) == [pd.Timestamp("2024-01-15"), pd.Timestamp("2024-01-22")]


@pytest.mark.parametrize("frequency", ["fortnight", "0D", "-1D", 5, ""])
def test_frequencies_that_are_none(frequency):
    with pytest.raises(ValueError, match="frequency must be a length of time such as '15min'"):
        pe.SmootherBank(frequency=frequency).fit(pd.Series(Y[:60], INDEXES["days"]))


def test_frequency_needs_dates():
    with pytest.raises(ValueError, match="frequency needs times: y has none"):
        pe.SmootherBank(frequency="D").fit(Y)
    with pytest.raises(ValueError, match="frequency='D' needs dates, got times that are numbers"):
        pe.SmootherBank(frequency="D").fit(pd.Series(Y))


def test_a_short_series_follows_the_clock_of_the_others():
    days = INDEXES["days"]
    frame = pd.concat([pd.DataFrame({"unique_id": "short", "ds": days[[0, 2]], "y": [1.0, 2.0]}),
                       pd.DataFrame({"unique_id": "long", "ds": days, "y": Y[:60]})])  # fmt: skip
    model = pe.SmootherBank(horizon=2).fit(frame)
    assert model.fitted_.ends.counts.tolist() == [3, 60]
    ahead = model.forecast()
    assert ahead["ds"].tolist() == [days[3], days[4], *pd.date_range(days[-1], periods=3)[1:]]


def test_the_usual_clock():
    daily, odd = Clock("dates", 86400e9), Clock("irregular", 1.0)
    grids = [on_grid(None, 5, "y", None, Index(), [])]
    assert usual_clock(grids) is None
    grids = [grids[0]._replace(clock=odd, count=100), grids[0]._replace(clock=daily, count=3)]
    assert usual_clock(grids) == daily
