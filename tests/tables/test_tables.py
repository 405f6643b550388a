"""Tables that people bring, and the series in them."""

import gzip

import numpy as np
import pandas as pd
import pytest

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock, clock_of, format_times
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError, column_names, read_table


def hours(count, start="2020-01-01"):
    return np.datetime64(start, "h") + np.arange(count)


# -- reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "time,load\n2020-01-01,1.5\n2020-01-02,2\n2020-01-03,-3e1\n",
        "time,load\r\n2020-01-01,1.5\r\n2020-01-02,2\r\n2020-01-03,-3e1\r\n",
        "time;load\n2020-01-01;1.5\n2020-01-02;2\n2020-01-03;-3e1\n",
        "\ufefftime\tload\n2020-01-01\t1.5\n\n2020-01-02\t2\n2020-01-03\t-3e1\n\n",
        'time, "load"\n"2020-01-01", "1.5"\n"2020-01-02", 2\n"2020-01-03",-3e1',
    ],
)
def test_csv_as_it_comes(write, text):
    found = read_observations(write(text), ["load"], time="time")
    assert found.y.tolist() == [[1.5], [2.0], [-30.0]]
    assert format_times(found.times) == ["2020-01-01", "2020-01-02", "2020-01-03"]
    assert format_times(found.ahead(2)) == ["2020-01-04", "2020-01-05"]


def test_compressed_files(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    assert read_table(path, ["b"]).numbers("b").tolist() == [2, 4]


def test_parquet_gives_what_csv_gives(tmp_path, rng):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"when": hours(50), "load": rng.normal(size=50), "n": range(50)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.set_index("when").to_parquet(
        tmp_path / "data.parquet"
    )  # an index is a column like others
    csv, parquet = (
        read_observations(tmp_path / name, ["load"], ["n"]) for name in ("data.csv", "data.parquet")
    )
    np.testing.assert_array_equal(csv.values, parquet.values)
    np.testing.assert_array_equal(csv.times, parquet.times)
    assert parquet.time == "when"
    assert sorted(column_names(tmp_path / "data.parquet")) == ["load", "n", "when"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("date,load\n", "has a header (date, load) and no rows"),
        ("1,2\n3,4\n", "begins with numbers (1,2)"),
        ("date,OT\n2020-01-01,3\n", "no column 'load' (`targets`); its columns: date, OT"),
        ("load,load\n1,2\n", "2 columns named 'load'"),
        ("date,load\n2020-01-01,1\n\n2020-01-02,low\n", "line 4: column 'load' is 'low'"),
        ('date,load\n2020-01-01,"1,5x"\n', "line 2: column 'load' is '1,5x', expected a number"),
        ("date,load\n2020-01-01,1,5\n", "line 2 has 3 values where the header names 2 columns; numbers written like 5,82"),
        ("date,load\n2020-01-01,1\n2020-01-02\n", "line 3 has 1 value where"),
        ('a,load\n"x\ny",1\nz,no\n', "line 4: column 'load' is 'no'"),
        ('a,load\n"x\ny",1\nz\n', "line 4 has 1 value where"),
        ("date,load\n2020-01-01,1\n  \n2020-01-02,low\n", "line 4: column 'load' is 'low'"),
        ("date,load\n2020-01-01,inf\n", "line 2: column 'load' is infinite"),
        ("date,load\n2020-01-01,2020-01-01\n", "column 'load' is '2020-01-01', expected a number"),
        ("date,load\n2020-01-01,\n2020-01-02,\n", "load has no value at all"),
        ("PK\x03\x04\0\0", "data.csv is damaged"),
        ("\x7fELF\0\1\2load\0", "neither a text file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(write, text, words):
    with pytest.raises(TableError) as error:
        read_observations(write(text), ["load"])
    assert words in str(error.value)


def test_the_target_may_be_left_out_where_it_is_clear(write):
    found = read_observations(write("date,what,load\n2020-01-01,x,1\n2020-01-02,y,2\n"))
    assert (found.targets, found.time) == (("load",), "date")
    with pytest.raises(TableError, match="one of: a, b"):
        read_observations(write("a,b\n1,2\n"))
    with pytest.raises(TableError, match="given twice"):
        read_observations(write("a,b\n1,2\n"), ["a"], ["a"])


def test_columns_that_nobody_asks_for_may_have_any_name(write):
    found = read_observations(write(",,load,x,x\n0,1,2,3,4\n5,6,7,8,9\n"), time=None)
    assert (found.targets, found.y.ravel().tolist()) == (("load",), [2, 7])


def test_truth_values_are_numbers(write):
    found = read_observations(write("a,b\n1,True\n2,False\n"), ["a"], ["b"])
    assert found.X.tolist() == [[1.0], [0.0]]


# -- time --------------------------------------------------------------------------------------------


def test_rows_are_sorted_and_that_is_said(write):
    found = read_observations(write("t,a\n2020-01-03,3\n2020-01-01,1\n2020-01-02,2\n"), ["a"])
    assert found.y.ravel().tolist() == [1, 2, 3]
    assert any("2 rows came after a later one" in note for note in found.notes)


def test_duplicates(write):
    same = write("t,a\n2020-01-01,1\n2020-01-02,2\n2020-01-02,2\n", "same.csv")
    found = read_observations(same, ["a"])
    assert found.y.ravel().tolist() == [1, 2]
    assert any("identical rows dropped" in note for note in found.notes)
    other = write("t,a\n2020-01-01,1\n2020-01-02,2\n2020-01-02,4\n2020-01-03,5\n", "other.csv")
    with pytest.raises(
        TableError, match=r"other values: 1, the first 2020-01-02, other.csv, line 4"
    ):
        read_observations(other, ["a"])
    for kind, value in (("first", 2), ("last", 4), ("mean", 3)):
        found = read_observations(other, ["a"], cleaning=Cleaning(duplicates=kind))
        assert found.y.ravel().tolist() == [1, value, 5]


def test_gaps_are_reported_or_filled(write):
    times = [f"2020-01-01 {h:02}:00" for h in range(24) if h not in (5, 6, 9)]
    path = write("t,a\n" + "".join(f"{t},{int(t[11:13])}\n" for t in times))
    kept = read_observations(path, ["a"])
    assert kept.rows == 21
    (note,) = [note for note in kept.notes if "gap" in note]
    assert (
        "2 gaps, 3 rows missing (every hour), first 2020-01-01 04:00:00 to 2020-01-01 07:00" in note
    )
    for missing in ("error", "interpolate"):
        filled = read_observations(path, ["a"], cleaning=Cleaning(missing, "fill"))
        assert filled.y.ravel().tolist() == list(range(24))
        np.testing.assert_array_equal(filled.times, hours(24))
    kept = read_observations(path, ["a"], cleaning=Cleaning("keep", "fill"))
    assert np.flatnonzero(np.isnan(kept.y)).tolist() == [5, 6, 9]
    (said,) = [note for note in kept.notes if "missing" in note]  # once
    assert said.endswith(": put in, their values missing")
    path.write_text(path.read_text().replace("2020-01-01 03:00,3", "2020-01-01 03:00,"))
    kept = read_observations(path, ["a"], cleaning=Cleaning("keep", "fill"))
    assert any(note.startswith("4 values of 'a' missing, the first in 2020") for note in kept.notes)


def test_gaps_are_filled_where_that_can_be_done(write):
    auto = Cleaning(gaps="auto")
    path = write("t,a\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-06,6\n")
    filled = read_observations(path, ["a"], cleaning=auto)
    np.testing.assert_array_equal(filled.y.ravel(), [1, 2, 3, np.nan, np.nan, 6])
    far = write("t,a\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2021-01-06,6\n")
    kept = read_observations(far, ["a"], cleaning=auto)
    assert kept.rows == 4
    (note,) = [note for note in kept.notes if "gap" in note]
    assert note.endswith(": rows are taken as equal steps")
    odd = write("t,a\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-06 07:00,6\n")
    assert read_observations(odd, ["a"], cleaning=auto).rows == 4


def test_a_file_without_numbers_is_told_so(write):
    path = write("verse,poet\nthis is a poem,me\nit goes on,me\n")
    with pytest.raises(TableError, match="no column of numbers to forecast; its columns: verse, p"):
        read_observations(path)


def test_missing_values_need_a_decision(write):
    path = write("t,a,b\n2020-01-01,1,\n2020-01-02,,7\n2020-01-03,NA,8\n2020-01-04,4,9\n")
    with pytest.raises(TableError) as error:
        read_observations(path, ["a"], cleaning=Cleaning(missing="error"))
    assert str(error.value).startswith("2 values of 'a' missing, the first in line 3; `missing=")
    kept = read_observations(path, ["a"], ["b"])
    np.testing.assert_array_equal(kept.values.T, [[1, np.nan, np.nan, 4], [np.nan, 7, 8, 9]])
    assert "2 values of 'a' missing, the first in line 3: kept as missing" in kept.notes
    found = read_observations(path, ["a"], cleaning=Cleaning(missing="interpolate"))
    assert found.y.ravel().tolist() == [1, 2, 3, 4]
    assert any("at most 2 in a row" in note for note in found.notes)
    with pytest.raises(TableError, match=r"'b' missing, the first in line 2.*cut these rows off"):
        read_observations(path, ["a"], ["b"], cleaning=Cleaning(missing="interpolate"))


def test_rows_without_targets_at_the_end_are_the_time_to_come(write):
    found = read_observations(
        write("t,a,b\n2020-01-01,1,5\n2020-01-02,2,6\n2020-01-03,,7\n"), ["a"], ["b"]
    )
    assert (found.rows, found.future) == (2, 1)
    assert found.y.ravel().tolist() == [1, 2]
    assert found.X.ravel().tolist() == [5, 6, 7]
    assert format_times(found.ahead(2)) == ["2020-01-03", "2020-01-04"]


def test_missing_values_in_what_is_known_in_advance_are_an_error(write):
    path = write("t,a,b\n2020-01-01,1,\n2020-01-02,2,7\n2020-01-03,,8\n2020-01-04,,\n")
    with pytest.raises(TableError, match=r"1 value of 'b' missing, the first in line 5, after the"):
        read_observations(path, ["a"], ["b"])


def test_ambiguous_dates_are_not_guessed(write):
    path = write("t,a\n01/02/2020,1\n02/02/2020,2\n03/02/2020,3\n")
    words = (
        r"line 2: the time \('t'\) is '01/02/2020', which may be 2020-02-01 "
        r"\(`time_format='%d/%m/%Y'`\) or 2020-01-02 \(`time_format='%m/%d/%Y'`\)"
    )
    with pytest.raises(TableError, match=words) as error:
        read_observations(path, ["a"])
    assert error.value.parameter == "time_format"
    found = read_observations(path, ["a"], time="t", cleaning=Cleaning(time_format="%d/%m/%Y"))
    assert format_times(found.times)[-1] == "2020-02-03"
    with pytest.raises(TableError, match=r"the time \('t'\) is missing"):
        read_observations(write("t,a\n2020-01-01,1\n,2\n"), ["a"], time="t")


def test_offsets_from_utc(write):
    text = "t,a\n2020-10-25T02:00:00+02:00,1\n2020-10-25T02:00:00+01:00,2\n2020-10-25T03:00:00+01:00,3\n"
    found = read_observations(write(text), ["a"])
    assert format_times(found.times) == [f"2020-10-25 0{h}:00:00" for h in range(3)]


def test_numbers_as_times(write):
    found = read_observations(write("t,a\n0.5,1\n1.0,2\n1.5,3\n"), ["a"], time="t")
    assert format_times(found.ahead(2)) == ["2", "2.5"]
    assert found.clock.season(1000) is None


@pytest.mark.parametrize(
    ("times", "words", "season", "ahead"),
    [
        (
            pd.date_range("2020-01-01", periods=100, freq="h"),
            "every hour",
            24,
            "2020-01-05 04:00:00",
        ),
        (
            pd.date_range("2020-01-01", periods=999, freq="15min"),
            "every 15 minutes",
            96,
            "2020-01-11 09:45:00",
        ),
        (
            pd.date_range("2020-01-01", periods=300, freq="s"),
            "every second",
            60,
            "2020-01-01 00:05:00",
        ),
        (pd.date_range("2020-01-01", periods=50, freq="D"), "every day", 7, "2020-02-20"),
        (pd.bdate_range("2020-01-01", periods=50), "every working day", 5, "2020-03-11"),
        (pd.date_range("2020-01-01", periods=150, freq="W"), "every week", 52, "2022-11-20"),
        (pd.date_range("2020-01-01", periods=50, freq="MS"), "every month", 12, "2024-03-01"),
        (pd.date_range("2020-01-01", periods=50, freq="ME"), "every month", 12, "2024-03-31"),
        (pd.date_range("2020-01-01", periods=50, freq="QS"), "every quarter", 4, "2032-07-01"),
        (pd.date_range("2020-01-01", periods=50, freq="YS"), "every year", None, "2070-01-01"),
    ],
)
def test_clocks(times, words, season, ahead):
    times = times.to_numpy().astype("M8[ns]")
    clock = clock_of(times)
    assert str(clock) == words
    assert clock.season(len(times)) == season
    assert (clock.steps(times) == 1).all()
    assert format_times(clock.after(times[-1], 1).astype("M8[ns]")) == [ahead]


def test_holidays_are_gaps_of_working_days():
    times = pd.bdate_range("2020-01-01", periods=60).delete(20).to_numpy()
    steps = clock_of(times).steps(times)
    assert np.flatnonzero(steps != 1).tolist() == [19]
    assert steps[19] == 2


def test_irregular_times(rng):
    times = np.datetime64("2020-01-01", "ns") + rng.integers(1, 10**13, 99).cumsum()
    clock = clock_of(times)
    assert clock.kind == "irregular"
    assert clock.after(times[-1], 2)[0] > times[-1]
    assert Clock("months", 1.0).after(np.datetime64("2020-01-30", "ns"), 1) == np.datetime64(
        "2020-02-29"
    )
