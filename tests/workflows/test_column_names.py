"""Names of columns that people give and names that we add: none is lost."""

import numpy as np
import pandas as pd
import pytest

import paralesn as pe
from paralesn.tables.errors import TableError
from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.workflows.forecast import ForecastRequest, forecast
from paralesn.workflows.forecast_report import write_csv

TARGETS = ["y", "y_lower", "y_upper_", "y_upper", "y_by", "step", "time"]


def waves(names, rows=80):
    t = np.arange(rows)
    return {name: np.round(np.sin(t / (3 + k)) + k, 4) for k, name in enumerate(names)}


@pytest.mark.parametrize("time", [None, "y_by"])
def test_a_forecast_has_every_column(tmp_path, time):
    targets = [name for name in TARGETS if name != time]
    table = pd.DataFrame(waves(targets))
    if time:
        table.insert(0, time, pd.date_range("2024-01-01", periods=80).strftime("%Y-%m-%d"))
    table.to_csv(tmp_path / "data.csv", index=False)
    observations = read_observations(tmp_path / "data.csv", targets, time=time)
    result = forecast(observations, ForecastRequest(horizon=2, season=1))
    write_csv(result, tmp_path / "forecast.csv")
    written = pd.read_csv(tmp_path / "forecast.csv", float_precision="round_trip")
    assert written.columns.is_unique
    assert len(written.columns) == 1 + 4 * len(targets)
    assert written.columns[0] == (time or "step_")
    for k, name in enumerate(targets):
        np.testing.assert_array_equal(written[name], result.values[k])
    np.testing.assert_array_equal(written["y_lower_"], result.lower[0])
    np.testing.assert_array_equal(written["y_upper__"], result.upper[0])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_bounds_in_frames_do_not_replace_forecasts(kind):
    table = pd.DataFrame(waves(["y", "y-lo-90", "y-hi-90_", "y-hi-90"]))
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(table.to_dict("list"))
    model = pe.SmootherBank(horizon=2, season=1).fit(table)
    plain, found = model.forecast(2), model.forecast(2, interval=0.9)
    assert len(found.columns) == len(set(found.columns)) == 12
    for name in table.columns:
        assert list(found[name]) == list(plain[name])
    assert (np.array(found["y-lo-90_"]) <= np.array(found["y"])).all()
    assert (np.array(found["y-hi-90__"]) >= np.array(found["y"])).all()


def test_columns_of_long_frames_may_be_called_like_results():
    days = pd.date_range("2024-01-01", periods=60)
    table = pd.DataFrame({"yhat": "a", "yhat-lo-90": days, **waves(["sold"], 60)})
    model = pe.SmootherBank(horizon=2, season=1)
    model.fit(table, id="yhat", time="yhat-lo-90", target="sold")
    found = model.forecast(2, interval=0.9)
    assert list(found.columns) == ["yhat", "yhat-lo-90", "yhat_", "yhat-lo-90_", "yhat-hi-90"]
    assert found["yhat"].tolist() == ["a", "a"]


def test_series_whose_names_would_be_the_same_are_refused(tmp_path):
    days = pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")
    parts = [pd.DataFrame({"a": a, "b": b, "day": days, **waves(["y"], 60)})
             for a, b in (("x/y", "z"), ("x", "y/z"))]  # fmt: skip
    pd.concat(parts).to_csv(tmp_path / "data.csv", index=False)
    panel = read_panel(tmp_path / "data.csv", ["a", "b"], ["y"])
    with pytest.raises(TableError, match=r"data\.csv: two series are called 'x/y/z'"):
        forecast(panel, ForecastRequest(horizon=2))
