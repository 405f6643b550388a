"""Dates in the notations that people write, against the calendar of pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock, format_times
from paralesn.tables.dates import AmbiguousDateError, parse_dates
from paralesn.tables.months import month_number
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError
from paralesn.tables.reading import Reading

MONTHS = pd.date_range("1949-01-01", periods=144, freq="MS")


def read(write, times, **options):
    """Read rows 0, 1, ... with the times given as text."""
    rows = "".join(f'"{time}",{k}\n' for k, time in enumerate(times))
    return read_observations(write("Month,Passengers\n" + rows), **options)


# -- one series in many notations ------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "%Y-%m-%d", "%Y-%m", "%Y/%m/%d", "%b-%y", "%b %Y", "%B %Y", "%b-%Y", "%Y-%b", "%Y %b", "%b '%y",
        "%d-%b-%y", "%d %B %Y", "%B %d, %Y", "%a %b %d %Y", "%m/%d/%Y", "%m/%d/%y", "%d/%m/%Y", "%d.%m.%Y",
        "%d.%m.%y", "%m/%Y", "%YM%m", "%Y%m", "%Y%m%d", "%Y-%m-%d %H:%M", "%m/%d/%Y %I:%M:%S %p",
        "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M",
    ],
)  # fmt: skip
def test_airline_passengers_in_any_notation(write, pattern):
    found = read(write, MONTHS.strftime(pattern))
    np.testing.assert_array_equal(found.times, MONTHS.to_numpy())
    assert (str(found.clock), found.time) == ("every month", "Month")
    assert found.y.ravel().tolist() == list(range(144))
    if "%y" in pattern:
        assert "years of two digits are read as 1949 to 1960" in found.notes
    again = read_observations(found.path, reading=found.reading)
    np.testing.assert_array_equal(again.times, found.times)


@pytest.mark.parametrize(
    "text", ["{y}Q{q}", "{y}-Q{q}", "{y} Q{q}", "Q{q} {y}", "Q{q}-{y}", "q{q}/{y}"]
)
def test_quarters(write, text):
    quarters = pd.period_range("1960Q1", periods=20, freq="Q")
    found = read(write, [text.format(y=one.year, q=one.quarter) for one in quarters])
    np.testing.assert_array_equal(found.times, quarters.to_timestamp().to_numpy())
    assert str(found.clock) == "every quarter"
    assert format_times(found.ahead(1)) == ["1965-01-01"]


@pytest.mark.parametrize("text", ["%G-W%V", "%GW%V", "%G-W%V-1"])
def test_weeks(write, text):
    mondays = pd.date_range("2009-11-02", periods=120, freq="W-MON")  # 2009 has 53 weeks
    found = read(write, mondays.strftime(text))
    np.testing.assert_array_equal(found.times, mondays.to_numpy())
    assert str(found.clock) == "every week"


def test_years(write):
    found = read_observations(
        write("year,a\n" + "".join(f"{y},{y % 7}\n" for y in range(1949, 1970)))
    )
    assert (str(found.clock), found.time, found.targets) == ("every year", "year", ("a",))
    assert format_times(found.ahead(1)) == ["1970-01-01"]
    called_x = read_observations(
        write("x,a\n" + "".join(f"{y},{y % 7}\n" for y in range(1949, 1970)))
    )
    assert called_x.time == "x"
    index = write("x,a\n" + "".join(f"{y},{y % 7}\n" for y in range(3, 30)))
    assert read_observations(index, ["a"]).time is None


def test_fractions_of_years_as_r_writes_them(write):
    rows = [f"{k},{1949 + k / 12:.4f},{k % 7}\n" for k in range(30)]
    found = read_observations(write("rownames,time,value\n" + "".join(rows)))
    np.testing.assert_array_equal(found.times, MONTHS[:30].to_numpy())
    assert found.targets == ("value",)
    assert "column not used: 'rownames'" in found.notes


@pytest.mark.parametrize(("unit", "ticks"), [("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9)])  # fmt: skip
def test_epochs(write, unit, ticks):
    rows = [f"{(1_577_836_800 + 60 * k) * ticks},{k}\n" for k in range(20)]
    found = read_observations(write("timestamp,a\n" + "".join(rows)))
    assert (format_times(found.times)[1], str(found.clock)) == (
        "2020-01-01 00:01:00",
        "every minute",
    )
    assert f"'timestamp' counts {unit} since 1970 (UTC)" in found.notes
    given = read_observations(write("x,a\n" + "".join(rows)), ["a"], time="x")
    np.testing.assert_array_equal(given.times, found.times)


def test_days_of_excel_that_lost_their_format(write):
    found = read_observations(write("date,a\n43831,1\n43832,2\n43833.5,3\n".replace(".5", "")))
    assert format_times(found.times)[0] == "2020-01-01"


def test_month_names_of_other_languages():
    names = {
        "März": 3,
        "Mrz": 3,
        "mai": 5,
        "août": 8,
        "juin": 6,
        "juil": 7,
        "dic": 12,
        "Okt": 10,
        "out": 10,
        "Sept": 9,
    }
    assert {name: month_number(name) for name in names} == names
    assert [month_number(word) for word in ("ju", "north", "marble", "ma")] == [0, 0, 0, 0]


# -- what the data decide --------------------------------------------------------------------------


@given(
    start=st.dates(pd.Timestamp("1960-01-01").date(), pd.Timestamp("2030-01-01").date()),
    count=st.integers(2, 60),
    freq=st.sampled_from(["D", "W", "MS", "h", "B"]),
    pattern=st.sampled_from(["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d-%m-%Y", "%m-%d-%Y"]),
    newest_first=st.booleans(),
)
def test_regular_dates_are_read_right_or_not_at_all(start, count, freq, pattern, newest_first):
    times = pd.date_range(start, periods=count, freq=freq)
    times = times if "%H" in pattern else times.normalize()
    times = times[::-1] if newest_first else times
    texts = list(times.strftime(pattern))
    try:
        found = parse_dates(texts)
    except AmbiguousDateError:
        assert times.day.max() <= 12
    else:
        np.testing.assert_array_equal(found.times, times.to_numpy())


@given(start=st.integers(1930, 2020), years=st.integers(1, 45), newest_first=st.booleans())
def test_years_of_two_digits_follow_each_other(start, years, newest_first):
    months = pd.date_range(f"{start}-01-01", f"{min(start + years, 2026)}-01-01", freq="MS")
    months = months[::-1] if newest_first else months
    found = parse_dates(list(months.strftime("%b-%y")))
    shift = (found.times.astype("M8[Y]") - months.to_numpy().astype("M8[Y]")).astype(int)
    assert set(shift % 100) == {0}  # the digits, and one century for all
    assert len(set(shift)) == 1
    if months.year.max() >= 1947:  # earlier years could as well be later ones
        assert set(shift) == {0}


def test_points_mean_the_day_first(write):
    found = read(write, ["01.02.2020", "02.02.2020"])
    assert format_times(found.times) == ["2020-02-01", "2020-02-02"]
    assert "dates are read with the day first: '01.02.2020' is 2020-02-01" in found.notes


def test_a_file_of_us_dates_that_runs_newest_first(write):
    days = pd.bdate_range("2012-01-02", periods=40)
    found = read(write, days[::-1].strftime("%m/%d/%Y"))
    np.testing.assert_array_equal(found.times, days.to_numpy())
    assert found.y.ravel().tolist() == list(range(39, -1, -1))
    assert "rows run newest first: put in order" in found.notes
    assert "dates are read with the month first" in found.notes


# -- zones and clocks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    ["%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M%z", "%d.%m.%Y %H:%M %Z", "%m/%d/%Y %I:%M %p %z"],
)
def test_zones_are_converted_to_utc_across_a_change_of_clocks(write, pattern):
    local = pd.date_range("2020-10-20", periods=300, freq="h", tz="Europe/Berlin")
    found = read(write, local.strftime(pattern))
    np.testing.assert_array_equal(found.times, local.tz_convert("UTC").tz_localize(None).to_numpy())
    assert any(note.startswith("times have a zone (") for note in found.notes)


@pytest.mark.parametrize("freq", ["h", "30min", "15min"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_local_times_across_changes_of_clocks(write, zone, freq):
    local = pd.date_range("2020-03-01", "2021-05-01", freq=freq, tz=zone)
    offset = local[0].utcoffset()
    for rows in (local, local[::-1]):
        found = read(write, rows.strftime("%Y-%m-%d %H:%M"))
        expected = local.tz_convert("UTC").tz_localize(None) + offset
        np.testing.assert_array_equal(found.times, expected.to_numpy())
        assert any("clocks are set back at 2020-1" in note for note in found.notes)


def test_repeated_times_that_are_no_change_of_clocks_stay_an_error(write):
    times = [f"2020-10-25 {hour:02}:00" for hour in (10, 11, 12, 12, 13, 14, 15)]
    with pytest.raises(TableError, match="come again"):
        read(write, times)


def test_a_time_of_day_in_a_column_of_its_own(write):
    text = "Date;Time;P\n16/12/2006;17:24:00;4.2\n16/12/2006;17:25:00;?\n16/12/2006;17:26:00;4.5\n"
    found = read_observations(write(text), ["P"])
    assert format_times(found.times)[0] == "2006-12-16 17:24:00"
    assert "'Time' is taken for the time of day of 'Date'" in found.notes
    assert "'?' (once) is taken as missing: P" in found.notes
    assert not any("not used" in note for note in found.notes)


# -- which column, and what is wrong ---------------------------------------------------------------


def test_a_format_without_a_column_is_looked_for(write):
    path = write("id;when;a\nx;2020|02|01;1\ny;2020|02|02;2\n")
    found = read_observations(path, ["a"], cleaning=Cleaning(time_format="%Y|%m|%d"))
    assert (found.time, found.reading.time_format) == ("when", "%Y|%m|%d")
    with pytest.raises(TableError, match=r"as `time_format='%d %m'`; tried: 'id' \('x'\), 'when'"):
        read_observations(path, ["a"], cleaning=Cleaning(time_format="%d %m"))
    with pytest.raises(TableError, match="`time_format='daily'` is no pattern of dates"):
        read_observations(path, ["a"], time="when", cleaning=Cleaning(time_format="daily"))


def test_a_format_may_be_given_by_name(write):
    path = write("t,a\n01/02/2020,1\n02/02/2020,2\n")
    for name, day in (("day first", "2020-02-01"), ("month first", "2020-01-02")):
        found = read_observations(path, reading=Reading(time_format=name))
        assert format_times(found.times)[0] == day


def test_text_that_is_no_time_is_listed(write):
    (note, *_) = read_observations(write("place,a\nnorth,1\nsouth,2\n")).notes
    assert note.startswith("no time column: 'place' ('north') holds no dates such as 2012-01-31")


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2020-01-01"] * 10 + ["2020-02-30"], r"line 12: the time \('Month'\) is '2020-02-30', expected a date"),
        ([f"{k + 1:02}/13/2020" for k in range(11)] + ["13/13/2020"], "line 13: .* is '13/13/2020'"),
        ([f"2020-01-01 0{k}:00" for k in range(9)] + ["2020-01-01 25:00"], "25:00"),
        (["0001-01-01", "0001-01-02"], "line 2: .* is '0001-01-01', expected .* from 1678 to 2261"),
        (["Jan-49", "Feb-49", "total"], "line 4: .* is 'total', expected a date .month names"),
        (["2020-01-01 10:00+01:00", "2020-01-01 11:00"], "with a zone, as other rows have"),
    ],
)  # fmt: skip
def test_a_wrong_date_is_named_with_its_line(write, times, words):
    with pytest.raises(TableError, match=words):
        read(write, times)


# -- seasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freq", "seasons"),
    [
        ("h", (24, 168)), ("30min", (48, 336)), ("5min", (288, 2016)), ("min", (60, 1440)), ("s", (60, 3600)),
        ("D", (7, 365)), ("B", (5, 260)), ("W", (52,)), ("MS", (12,)), ("QS", (4,)), ("YS", ()), ("6h", (4, 28)),
    ],
)  # fmt: skip
def test_seasons(freq, seasons):
    from paralesn.tables.clock import clock_of

    count = 100 if freq == "YS" else 900
    clock = clock_of(pd.date_range("1900-01-01", periods=count, freq=freq).to_numpy())
    assert clock.seasons(9000) == seasons
    assert all(2 * season <= 400 for season in clock.seasons(400))


def test_clocks_in_words():
    words = {
        1: "every month",
        3: "every quarter",
        6: "every 6 months",
        12: "every year",
        24: "every 2 years",
    }
    assert {step: str(Clock("months", float(step))) for step in words} == words


def test_dates_that_nanoseconds_cannot_hold_are_refused_not_wrapped(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"t": np.array(["0001-01-01", "0001-01-02"], "M8[us]"), "a": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(TableError, match=r"row 1: .* expected a year from 1678 to 2261"):
        read_observations(tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(TableError, match=r"line 2: .* expected a date as %Y-%m-%d"):
        read_observations(
            tmp_path / "data.csv", time="t", cleaning=Cleaning(time_format="%Y-%m-%d")
        )
