"""Forecasts of own data from Python: what the command prints and writes, as objects."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError
from paralesn.workflows import forecast_report as reports
from paralesn.workflows.forecast import ForecastRequest, forecast

pd = pytest.importorskip("pandas")


@pytest.fixture
def observations(data):
    return read_observations(data, ["load"])


def test_the_workflow_is_the_command(data, observations, tmp_path):
    out = tmp_path / "out"
    arguments = ["forecast", data, "--target", "load", "--horizon", 6, "--out", out, "--json"]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    result = forecast(observations, ForecastRequest(horizon=6))
    table = pd.read_csv(out / "forecast.csv", float_precision="round_trip")
    for name, values in (("load", result.values), ("load_lower", result.lower)):
        np.testing.assert_array_equal(table[name], values.ravel())
    record = json.loads(done.stdout)
    assert record["test"] == reports.as_record(result)["test"]
    assert record["season"] == result.season == 24


def test_the_test_part_is_the_last_and_the_forecast_follows_all_rows(observations):
    seen = []
    result = forecast(
        observations, ForecastRequest(horizon=4, test=0.1), progress=lambda *said: seen.append(said)
    )
    assert result.test_start == 450
    assert result.test.origins == 50 - 4 + 1
    assert [activity for activity, _ in seen] == ["testing", "forecasting"]
    np.testing.assert_array_equal(result.model.forecast().ravel(), result.values.ravel())
    assert (result.lower < result.values).all()
    assert (result.values < result.upper).all()
    assert observations.notes == list(result.notes)  # nothing was added to what was read


@pytest.mark.parametrize(
    ("request_", "message", "parameter"),
    [
        ({"horizon": 200}, "`test=0.2` of 500 rows is 100, fewer than `horizon=200`", "test"),
        ({"horizon": 90, "test": 0.7}, r"150 rows are left .* at least 200 \(2 `horizon`", "test"),
    ],
)
def test_errors_name_parameters(observations, request_, message, parameter):
    with pytest.raises(TableError, match=message) as caught:
        forecast(observations, ForecastRequest(**request_))
    assert caught.value.parameter == parameter


def test_known_inputs_must_reach_over_the_horizon(data):
    observations = replace(read_observations(data, ["load"], ["temp"]), future=10)
    with pytest.raises(TableError, match=r"for 10 rows .* which `horizon=20` exceeds") as caught:
        forecast(observations, ForecastRequest(horizon=20))
    assert caught.value.parameter == "horizon"
    result = forecast(observations, ForecastRequest(horizon=10))
    assert result.known_in_advance
    assert result.model.n_known_ == 1


def test_a_model_that_does_not_beat_naive_forecasts_is_told_so(tmp_path, rng):
    path = tmp_path / "walk.csv"
    pd.DataFrame({"value": rng.normal(size=300).cumsum()}).to_csv(path, index=False)
    result = forecast(read_observations(path), ForecastRequest(horizon=10))
    assert "no season is known: `season` gives one to compare with" in result.notes
    if result.test.beats_naive():
        assert "beats the" in reports.verdict(result)
    else:
        assert reports.verdict(result).endswith("use that one, or try `search=60`.")
