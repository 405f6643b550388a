"""The page of a forecast of own data, and its charts over time."""

import re

import numpy as np
import pytest

from paralesn.report.own_forecast import made
from paralesn.report.own_forecast_checks import autocorrelation
from paralesn.report.time_axis import TimeAxis, date_ticks
from paralesn.report.time_charts import thinned
from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.workflows.forecast import ForecastRequest, forecast

pd = pytest.importorskip("pandas")


def page_of(result, folder):
    (folder / "report.html").write_text(made(result, str.upper), "utf-8")
    return (folder / "report.html").read_text()


def test_a_page_of_one_series(data, tmp_path):
    result = forecast(read_observations(data, ["load"]), ForecastRequest(horizon=12))
    page = page_of(result, tmp_path)
    for heading in ("Forecast", "Test", "Residuals", "What was chosen"):
        assert re.search(rf"<h2[^>]*>{heading}</h2>", page)
    assert "All series" not in page
    assert "IS TAKEN FOR THE TIME OF ROWS" in page  # words are those of the caller
    assert page.count("<polygon") == 2  # the interval, for wide pages and for phones
    assert "load, the end" not in page


def test_a_short_forecast_is_drawn_anew(data, tmp_path):
    result = forecast(read_observations(data, ["load"]), ForecastRequest(horizon=2))
    page = page_of(result, tmp_path)
    assert "load, the end" in page
    assert page.count("<polygon") == 4


def test_a_page_of_many_series_lists_them(tmp_path, rng):
    days = pd.date_range("2024-01-01", periods=40)
    rows = [pd.DataFrame({"day": days, "shop": f"<{k}>", "sold": rng.normal(size=40) + 9})
            for k in range(210)]  # fmt: skip
    pd.concat(rows).to_csv(tmp_path / "data.csv", index=False)
    result = forecast(read_panel(tmp_path / "data.csv", ["shop"]), ForecastRequest(horizon=3))
    page = page_of(result, tmp_path)
    listed = re.findall(r'<th scope="row">&lt;(\d+)&gt;</th>', page)
    assert listed == [str(k) for k in range(200)]
    assert "10 more series are in forecast.csv" in page
    assert "206 more are in forecast.csv" in page


def test_what_was_not_tested_is_said(tmp_path):
    (tmp_path / "data.csv").write_text("y\n1\n4\n2\n5\n3\n")
    result = forecast(read_observations(tmp_path / "data.csv"), ForecastRequest(horizon=4))
    page = page_of(result, tmp_path)
    assert "The forecast was not tested" in page
    assert "5 rows are too few to hold out 4" in page


def seconds(text):
    return float(np.datetime64(text, "s").astype(int))


@pytest.mark.parametrize(
    ("low", "high", "most", "labels"),
    [
        ("1949-01-01", "1961-01-01", 6, ["1950", "1952", "1954", "1956", "1958", "1960"]),
        ("1700-01-01", "2009-01-01", 4, ["1700", "1800", "1900", "2000"]),
        ("2023-01-15", "2023-06-20", 6, ["Feb 2023", "Mar 2023", "Apr 2023", "May 2023",
                                         "Jun 2023"]),
        ("2024-01-01", "2024-01-03T12", 6, ["1 Jan", "12:00", "2 Jan", "12:00", "3 Jan", "12:00"]),
        ("2024-01-01T00:00:10", "2024-01-01T00:01:00", 4, ["00:00:15", "00:00:30", "00:00:45",
                                                           "00:01"]),
    ],
)  # fmt: skip
def test_ticks_are_round_dates(low, high, most, labels):
    found = date_ticks(seconds(low), seconds(high), most)
    assert [label[: len(want)] for (_, label), want in zip(found, labels, strict=True)] == labels
    times = [float(time.astype("M8[s]").astype(int)) for time, _ in found]
    assert all(seconds(low) <= time <= seconds(high) for time in times)


def test_times_are_drawn_in_proportion():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-05"], "M8[ns]")
    places = TimeAxis.over(days, 0, 102)(days)
    assert (places[1] - places[0]) * 3 == pytest.approx(places[2] - places[1])


def test_a_thinned_line_keeps_its_extremes(rng):
    y = rng.normal(size=50_000)
    y[[7, 30_000]] = [90, -90]
    y[10_000:10_200] = np.nan
    times, values = thinned(np.arange(50_000.0), y)
    assert len(values) < 2000
    np.testing.assert_array_equal(values, y[times.astype(int)])
    assert np.nanmax(values) == 90
    assert np.nanmin(values) == -90
    assert np.isnan(values).any()


def test_autocorrelations_are_those_of_numpy(rng):
    y = rng.normal(size=400).cumsum()
    found = autocorrelation(y, 5)
    off = y - y.mean()
    expected = [(off[k:] * off[:-k]).mean() / (off**2).mean() for k in range(1, 6)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert autocorrelation(np.ones(9), 3).tolist() == [0, 0, 0]
