"""Frames whose times nanoseconds or floats cannot hold."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import paralesn as pe

Y = np.sin(np.arange(40) / 3)
FAR = r"must be from 1678-01-01 to 2261-12-31, got 9990-01-01\S* in row 0"


def fitted(y):
    return pe.SmootherBank(horizon=3, season=1).fit(y)


def long(times, rows=40):
    return {"unique_id": ["a"] * rows, "ds": times, "y": Y[:rows]}


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_far_dates_of_an_index_are_refused(unit, zone):
    index = pd.date_range("9990-01-01", periods=40, unit=unit, tz=zone)
    with pytest.raises(ValueError, match="times of y " + FAR):
        fitted(pd.DataFrame({"y": Y}, index))
    with pytest.raises(ValueError, match=r"times of y\['ds'\] " + FAR):
        fitted(pd.DataFrame(long(index)))


def test_far_dates_of_other_frames_are_refused():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    days = [date(9990, 1, 1) + timedelta(k) for k in range(40)]
    times = [datetime(9990, 1, 1) + timedelta(k) for k in range(40)]
    for frame in (pl.DataFrame(long(days)), pl.DataFrame(long(times)), pa.table(long(times)),
                  pd.DataFrame(long(pd.Series(times, dtype=object))),
                  pd.DataFrame(long([f"{day}" for day in days]))):  # fmt: skip
        with pytest.raises(ValueError, match=r"times of y\['ds'\] " + FAR):
            fitted(frame)


def test_far_periods_are_refused():
    with pytest.raises(ValueError, match="times of y must be from 1678-01-01 to 2261-12-31"):
        fitted(pd.Series(Y, pd.period_range("9000-01", periods=40, freq="M")))


def test_a_far_date_in_a_column_without_a_role_does_no_harm():
    table = pd.DataFrame(long(pd.date_range("2024-01-01", periods=40)))
    table["valid_to"] = pd.Series([datetime(9999, 12, 31)] * 40).astype("M8[us]")
    assert fitted(table).forecast(2)["ds"].tolist() == [*pd.date_range("2024-02-10", periods=2)]


@pytest.mark.parametrize("has_frequency", [True, False])
@pytest.mark.parametrize("unit", ["ns", "us"])
def test_forecasts_end_where_nanoseconds_do(has_frequency, unit):
    end = "2262-04-09" if has_frequency and unit == "ns" else "2261-12-30"
    index = pd.date_range(end=end, periods=40, unit=unit)
    index = index if has_frequency else pd.DatetimeIndex(index.to_numpy())
    model = fitted(pd.DataFrame({"y": Y}, index))
    assert model.forecast(1).index.tolist() == [pd.Timestamp(end) + pd.Timedelta("1D")]
    with pytest.raises(ValueError, match=rf"after {end}.* go beyond"):
        model.forecast(200)


def test_dates_of_centuries_apart_are_in_order():
    index = pd.DatetimeIndex([*pd.date_range("1700-01-01", periods=39, unit="s"), "2100-01-01"])
    assert len(fitted(pd.DataFrame({"y": Y}, index)).forecast(3)) == 3


@pytest.mark.parametrize("first", [2**53, 2**62])
def test_whole_numbers_that_floats_merge_are_refused(first):
    numbers = first + np.arange(40)
    with pytest.raises(ValueError, match=r"times of y must be at most 2\*\*53 .* got \d+ in row"):
        fitted(pd.DataFrame({"y": Y}, pd.Index(numbers)))
    with pytest.raises(ValueError, match=r"times of y\['ds'\] must be at most 2\*\*53"):
        fitted(pd.DataFrame(long(numbers)))
