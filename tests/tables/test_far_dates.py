"""Dates that nanoseconds cannot hold, or of which the century is not written."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock, clock_of
from paralesn.tables.errors import TableError
from paralesn.tables.observations import read_observations


def read(write, texts, time_format=None, name="day", **more):
    rows = "".join(f"{text},{k}\n" for k, text in enumerate(texts))
    cleaning = Cleaning(time_format=time_format, **more)
    return read_observations(write(f"{name},y\n{rows}"), ["y"], time=name, cleaning=cleaning)


@pytest.mark.parametrize(
    ("texts", "time_format"),
    [
        (["2020-01-01", "2020-01-02", "9999-12-31"], None),
        (["2020-01-01", "2020-01-02", "9999-12-31"], "%Y-%m-%d"),
        (["2020-01-01", "2020-01-02", "2262-01-01"], None),
        (["2020-01-01", "2020-01-02", "0012-01-01"], None),
        (["01.01.2020", "13.01.2020", "31.12.9999"], None),
        (["2020", "2021", "3000"], "years"),
        (["2020.0", "2020.5", "3000.0"], "decimal years"),
        (["20200101", "20200102", "30200101"], "yyyymmdd"),
        (["20200101", "20200102", "20201301"], "yyyymmdd"),
        (["20200101", "20200102", "20200231"], "yyyymmdd"),
        (["202001", "202002", "302001"], "yyyymm"),
        (["50000", "50001", "3000000"], "Excel days"),
        (["50000", "50001", "1e300"], "Excel days"),
        (["1e9", "1.1e9", "1e10"], "epoch seconds"),
        (["1e9", "1.1e9", "1e300"], "epoch seconds"),
        (["1000000000", "1000000001", "9300000000000000000"], "epoch seconds"),
    ],
)
def test_a_date_that_cannot_be_held_is_named(write, texts, time_format):
    shown = {"1e300": "1e[+]300", "1e10": "10000000000.0"}.get(texts[2], texts[2])
    with pytest.raises(
        TableError, match=rf"data\.csv, line 4: the time \('day'\) is '?{shown}'?, "
    ):
        read(write, texts, time_format)


def test_the_column_of_a_far_date_is_found_by_its_first_rows(write):
    path = write("y,day\n1,2020-01-01\n2,2020-01-02\n3,9999-12-31\n")
    with pytest.raises(TableError, match=r"line 4: the time \('day'\) is '9999-12-31'"):
        read_observations(path, ["y"], cleaning=Cleaning(time_format="%Y-%m-%d"))


def test_nanoseconds_since_1970_keep_all_their_digits(write):
    ticks = [10**18 + 100 * k for k in (0, 1, 2, 3, 7, 8, 9)]
    found = read(write, ticks, name="epoch")
    assert found.times.astype(np.int64).tolist() == ticks
    assert "(every 100 nanoseconds)" in found.notes[-1]
    filled = read(write, ticks, name="epoch", gaps="fill")
    assert filled.times.astype(np.int64).tolist() == [10**18 + 100 * k for k in range(10)]


def test_whole_numbers_that_floats_merge_are_refused(write):
    with pytest.raises(TableError, match=r"line 3: the time \('n'\) is 9007199254740993, expected"):
        read(write, [2**53, 2**53 + 1], name="n")


def test_years_further_apart_than_nanoseconds_count(write):
    found = read(write, [f"{year}-01-01" for year in (1700, 1701, 1702, 2020, 2021)])
    assert found.times.astype("M8[Y]").astype(int).tolist() == [-270, -269, -268, 50, 51]
    assert found.clock == Clock("months", 12.0)
    mixed = read(write, [f"{year}-01-01" for year in (2021, 1700, 2020)])
    assert mixed.y.ravel().tolist() == [1, 2, 0]
    assert clock_of(np.array(["1700-01-01", "2020-01-02"], "M8[ns]")).step > 0


# -- times to come ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "clock", "within"),
    [
        ("2261-12-29", Clock("dates", 86_400e9), 2),
        ("2261-12-27", Clock("workdays", 1.0), 2),
        ("2261-10-31", Clock("months", 1.0, True), 2),
        ("2261-10-15", Clock("months", 1.0), 2),
        ("2249-01-01", Clock("months", 12.0), 12),
        ("2261-12-31T23:59:59.999999", Clock("dates", 1.0), 999),
    ],
)
def test_steps_end_where_nanoseconds_do(last, clock, within):
    last = np.datetime64(last, "ns")
    ahead = clock.after(last, within)
    assert (np.diff(np.r_[last, ahead].astype(np.int64)) > 0).all()
    assert ahead[-1] < np.datetime64("2262-01-01")
    with pytest.raises(TableError, match="go beyond 2261-12-31"):
        clock.after(last, within + 1)


def test_steps_of_numbers_that_floats_cannot_tell_apart():
    assert Clock("numbers", 1.0).after(5.0, 2).tolist() == [6, 7]
    for last in (2.0**53, 1e300):
        with pytest.raises(TableError, match="cannot be told apart"):
            Clock("numbers", 1.0).after(last, 3)


def test_steps_of_another_clock_are_no_steps_of_zero():
    """Rows would be put into the places of others."""
    hours = np.array(["2024-01-01", "2024-01-01T01", "2024-01-01T02"], "M8[ns]")
    for clock in (Clock("workdays", 1.0), Clock("months", 1.0), Clock("dates", 86_400e12)):
        assert np.isnan(clock.steps(hours)).all()
    quarters = np.array(["2024-01-01", "2024-04-01", "2024-05-01"], "M8[ns]")
    np.testing.assert_array_equal(Clock("months", 3.0).steps(quarters), [1, np.nan])


# -- years of two digits ---------------------------------------------------------------------------


def months(first, last, step=1):
    return [f"{date(1900, 1 + k % 12, 1):%b}-{k // 12 % 100:02}" for k in range(first, last, step)]


@pytest.mark.parametrize(
    ("texts", "years"),
    [
        (months(12 * 1949, 12 * 1951), (1949, 1950)),
        (months(12 * 1998, 12 * 2003), (1998, 2002)),
        (months(12 * 1998, 12 * 2003)[::-1], (1998, 2002)),
        (months(12 * 1930, 12 * 2020), (1930, 2019)),
        (months(12 * 2010, 12 * 2013) * 2, (2010, 2012)),  # two series below each other
    ],
)
def test_centuries_that_are_clear(write, texts, years):
    found = read(write, texts, duplicates="first")
    assert f"years of two digits are read as {years[0]} to {years[1]}" in found.notes


@pytest.mark.parametrize(
    "texts",
    [
        ["Jan-49", "Feb-50", "Mar-12"],
        ["Jan-20", "Jan-80", "Jan-50", "Jan-20"],
        months(12 * 1930, 12 * 2020) * 2,
    ],
)
def test_centuries_that_are_not(write, texts):
    with pytest.raises(TableError, match=r"line \d+: .* a year of four digits"):
        read(write, texts, duplicates="first")


def test_a_pattern_of_short_years_is_read_by_the_same_rule(write):
    days = [date(1968, 12, 25) + timedelta(k) for k in range(20)]
    found = read(write, [f"{day:%d.%m.%y}" for day in days], "%d.%m.%y")
    assert found.times.astype("M8[D]").tolist() == days  # strptime: 2068, then 1969
    assert "years of two digits are read as 1968 to 1969" in found.notes
    with pytest.raises(TableError, match=r"data\.csv: years of 'day' have two digits and may be"):
        read(write, ["01.02.68", "01.02.69", "01.02.20", "01.02.68"], "%d.%m.%y")
    with pytest.raises(TableError, match="the 29th of February of 1900"):
        read(write, ["28.02.99", "29.02.00", "01.03.40", "01.03.60"], "%d.%m.%y")


def test_a_short_year_may_come_first(write):
    days = list(pd.date_range("2020-01-29", periods=40).date)
    with pytest.raises(TableError, match=r"2001-01-20 .*%d-%m-%y.* or 2020-01-01 .*%y-%m-%d"):
        read(write, ["20-01-01", "20-01-02", "20-01-03"])
    assert read(write, [f"{d:%y-%m-%d}" for d in days]).times.astype("M8[D]").tolist() == days
    assert read(write, [f"{d:%d-%m-%y}" for d in days]).times.astype("M8[D]").tolist() == days
    given = read(write, ["20-01-01", "20-01-02", "20-01-03"], "%y-%m-%d")
    assert given.times.astype("M8[D]").astype(str).tolist()[-1] == "2020-01-03"


def test_a_row_off_the_grid_is_not_put_in_the_place_of_another(write):
    start, second = np.datetime64("2024-01-01", "ns"), 10**9
    offsets = [0, second, 2 * second, 3 * second, 3 * second + 1, 4 * second, 6 * second]
    texts = [str(start + offset) for offset in offsets]
    assert read(write, texts).y.ravel().tolist() == list(range(7))
    with pytest.raises(TableError, match=r"`gaps='fill'` needs times on a grid: 2 times not every"):
        read(write, texts, gaps="fill")
