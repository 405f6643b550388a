"""Many series in one long table."""

import numpy as np
import pandas as pd
import pytest

from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError
from paralesn.tables.reading import Reading


@pytest.fixture
def prices(rng):
    days = pd.bdate_range("2020-01-01", periods=30)
    frames = [
        pd.DataFrame({"day": days, "symbol": name, "close": rng.normal(size=30)}) for name in "BAC"
    ]
    return pd.concat(frames)


@pytest.fixture
def save(tmp_path):
    def save(frame):
        frame.to_csv(tmp_path / "data.csv", index=False)
        return tmp_path / "data.csv"

    return save


def test_series_come_in_the_order_of_the_file(prices, save):
    panel = read_panel(save(prices), ["symbol"])
    assert (panel.names, panel.targets, panel.time) == (("B", "A", "C"), ("close",), "day")
    assert (len(panel), str(panel.clock)) == (3, "every working day")
    for name, series in zip(panel.names, panel.series, strict=True):
        expected = prices[prices["symbol"] == name]
        np.testing.assert_array_equal(series.y.ravel(), expected["close"])
        np.testing.assert_array_equal(series.times, expected["day"])
    assert panel.notes == [
        "'day' is taken for the time of rows",
        "'close' is what is forecast",
        "3 series by 'symbol'",
    ]


def test_rows_may_be_in_any_order(prices, save, rng):
    tidy = read_panel(save(prices), ["symbol"])
    mixed = read_panel(save(prices.sample(frac=1, random_state=3)), ["symbol"])
    by_name = dict(zip(mixed.names, mixed.series, strict=True))
    for name, series in zip(tidy.names, tidy.series, strict=True):
        np.testing.assert_array_equal(by_name[name].values, series.values)


def test_notes_are_counted_not_repeated(prices, save):
    prices = prices.assign(close=prices["close"].where(prices.index != 5))
    prices = prices[(prices.index != 9) | (prices["symbol"] == "A")]
    panel = read_panel(save(prices), ["symbol"], ["close"])
    missing = [note for note in panel.notes if "missing, the first" in note]
    assert missing == [
        "3 of 3 series, the first 'B': 1 value of 'close' missing, the first in line 7: kept as missing"
    ]
    (gaps,) = [note for note in panel.notes if "gap" in note]
    assert gaps.startswith("2 of 3 series, the first 'B': 1 gap, 1 row missing (every working day)")


def test_several_columns_tell_series_apart(save):
    rows = [
        (s, i, d, k)
        for s in (1, 2)
        for i in "xy"
        for k, d in enumerate(pd.date_range("2020", periods=4))
    ]
    path = save(pd.DataFrame(rows, columns=["store", "item", "day", "sold"]))
    panel = read_panel(path, ["store", "item"], ["sold"])
    assert panel.names == ("1/x", "1/y", "2/x", "2/y")
    assert panel.keys[0] == ("1", "x")


def test_a_table_of_several_series_is_recognised(prices, save):
    path = save(prices.assign(volume=range(90)))
    with pytest.raises(TableError, match="`by='symbol'` reads a series for each symbol"):
        read_observations(path, ["close"])
    with pytest.raises(TableError, match="`by='symbol'`"):
        read_observations(path, ["close"], time="day")
    rows = [
        (s, i, d, k + s)
        for s in (1, 2)
        for i in "xy"
        for k, d in enumerate(pd.date_range("2020", periods=4))
    ]
    pairs = save(
        pd.DataFrame(rows, columns=["store", "item", "day", "sold"]).assign(sold=range(16))
    )
    with pytest.raises(TableError, match="`by='item'` and `by='store'` reads"):
        read_observations(pairs, ["sold"])
    with pytest.raises(TableError, match=r"series 'x': times that come again .*`by='store'`"):
        read_panel(pairs, ["item"], ["sold"])


def test_short_series_have_the_clock_of_the_others(prices, save):
    prices = prices[(prices["symbol"] != "A") | (prices.index < 1)]
    panel = read_panel(save(prices), ["symbol"])
    assert [series.rows for series in panel.series] == [30, 1, 30]
    assert {str(series.clock) for series in panel.series} == {"every working day"}


def test_what_is_wrong_is_said(prices, save):
    path = save(prices)
    with pytest.raises(TableError, match=r"no column 'ticker' \(`by`\)"):
        read_panel(path, ["ticker"])
    with pytest.raises(TableError, match="`by` must name"):
        read_panel(path, [])
    with pytest.raises(TableError, match="given twice among"):
        read_panel(path, ["symbol"], ["symbol"])
    empty = prices.assign(close=prices["close"].where(prices["symbol"] != "C"))
    with pytest.raises(TableError, match=r"series 'C': data.csv: close has no value at all"):
        read_panel(save(empty), ["symbol"], ["close"])
    nameless = prices.assign(symbol=prices["symbol"].where(prices.index != 3))
    with pytest.raises(TableError, match=r"line 5: 'symbol' \(`by`\) is missing"):
        read_panel(save(nameless), ["symbol"], ["close"])


def test_a_newer_file_is_read_the_same_way(prices, save):
    panel = read_panel(save(prices), ["symbol"], ["close"])
    reading = Reading.from_dict(panel.reading.to_dict())
    assert reading == panel.reading
    newer = read_panel(save(prices[prices.index > 10]), [], reading=reading)
    assert (newer.names, newer.by, newer.series[0].rows) == (("B", "A", "C"), ("symbol",), 19)
