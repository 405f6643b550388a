"""Forecasts of own data from Python: what the command prints and writes, as objects."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError
from paralesn.workflows import forecast_report as reports
from paralesn.workflows.forecast import ForecastRequest, forecast, naive_season

pd = pytest.importorskip("pandas")


@pytest.fixture
def observations(data):
    return read_observations(data, ["load"])


@pytest.fixture
def still(tmp_path, rng):
    """A series that stands still at last, where nothing beats the last value."""
    path = tmp_path / "still.csv"
    wave = 3 * np.sin(np.arange(200)) + rng.normal(size=200)
    pd.DataFrame({"value": [*wave, *np.full(100, 5.0)]}).to_csv(path, index=False)
    return path


def test_the_workflow_is_the_command(data, observations, tmp_path):
    out = tmp_path / "out"
    arguments = ["forecast", data, "--target", "load", "--horizon", 6, "--out", out, "--json"]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    result = forecast(observations, ForecastRequest(horizon=6))
    table = pd.read_csv(out / "forecast.csv", float_precision="round_trip")
    for name, values in (("load", result.values), ("load_lower", result.lower)):
        np.testing.assert_array_equal(table[name], values[0])
    record = json.loads(done.stdout)
    assert record["test"] == reports.as_record(result)["test"]
    assert record["season"] == result.season == 24
    assert record == json.loads((out / "report.json").read_text())


def test_the_test_part_is_the_last_and_the_forecast_follows_all_rows(observations):
    seen = []
    result = forecast(
        observations, ForecastRequest(horizon=4, test=0.1), progress=lambda *said: seen.append(said)
    )
    assert result.test.rows == 50
    assert result.test.result.origins[[0, -1], 0].tolist() == [450, 496]
    assert seen[0][0] == "learning"
    assert seen[-1][0] == "forecasting"
    np.testing.assert_array_equal(result.model.forecast()["load"], result.values[0])
    assert (result.lower < result.values).all()
    assert (result.values < result.upper).all()
    assert observations.notes == list(result.notes)  # nothing was added to what was read


def test_errors_are_those_of_forecasts_one_by_one(observations):
    result = forecast(observations, ForecastRequest(horizon=5, test=0.1))
    y = observations.y[:, 0]
    off = {"seasonal naive": [], "last value": []}
    for origin in result.test.result.origins[:, 0]:
        truth = y[origin : origin + 5]
        off["last value"].append(truth - y[origin - 1])
        off["seasonal naive"].append(truth - y[origin - 24 : origin - 19])
    scale = np.abs(y[24:450] - y[:426]).mean()
    for method, errors in off.items():
        assert result.test.error(method, "mae") == pytest.approx(np.abs(errors).mean())
        assert result.test.error(method, "mase") == pytest.approx(np.abs(errors).mean() / scale)
        np.testing.assert_allclose(
            result.test.by_step(method, [0]), np.abs(errors).mean(axis=0), rtol=1e-12
        )


def test_what_was_better_in_the_test_is_written(still, tmp_path):
    result = forecast(read_observations(still), ForecastRequest(horizon=10, season=1))
    y = read_observations(still).y[:, 0]
    assert result.test.error("last value", "mae") == 0 < result.test.error("model", "mae")
    assert result.methods == ("last value",)
    np.testing.assert_array_equal(result.values[0], np.full(10, y[-1]))
    assert (result.lower[0] < y[-1]).all()  # it moved before
    assert (np.diff(result.upper[0]) >= 0).all()
    first, second = reports.verdicts(result)
    assert first.startswith("The last value forecast is better than the model: MASE ")
    assert "the saved model is still the model" in second
    reports.write_csv(result, tmp_path / "forecast.csv")
    assert set(pd.read_csv(tmp_path / "forecast.csv")["value_by"]) == {"last value"}
    assert reports.as_record(result)["forecast_by"] == {"value": "last value"}
    assert not np.array_equal(result.model.forecast()["value"], result.values[0])


def test_known_inputs_must_reach_over_the_horizon(data):
    observations = replace(read_observations(data, ["load"], ["temp"]), future=10)
    with pytest.raises(TableError, match=r"for 10 rows .* which `horizon=20` exceeds") as caught:
        forecast(observations, ForecastRequest(horizon=20))
    assert caught.value.parameter == "horizon"
    result = forecast(observations, ForecastRequest())
    assert result.known_in_advance
    assert result.horizon == 10
    assert result.model.fitted_.known.names == ["temp"]


def test_inputs_known_in_advance_are_used(tmp_path, rng):
    x = rng.normal(size=230)
    y = 5 + 3 * x + 0.1 * rng.normal(size=230)
    frame = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=230), "y": y, "x": x})
    frame.loc[220:, "y"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    result = forecast(read_observations(tmp_path / "data.csv", ["y"], ["x"]))
    assert result.horizon == 10
    np.testing.assert_allclose(result.values[0], y[220:], atol=0.5)


def test_gaps_are_missing_values_or_equal_steps(tmp_path):
    days = pd.date_range("2023-01-01", periods=140)
    wave = 10 + np.array([0, 1, 3, 5, 4, 2, 0.0])[np.arange(140) % 7]
    frame = pd.DataFrame({"day": days, "sold": wave}).drop(index=[30, 31, 77])
    frame.to_csv(tmp_path / "data.csv", index=False)
    filled = read_observations(tmp_path / "data.csv", cleaning=Cleaning(gaps="auto"))
    result = forecast(filled, ForecastRequest(horizon=7))
    assert result.seasons == ((7,),)
    np.testing.assert_allclose(result.values[0], wave[:7], atol=0.5)
    kept = forecast(read_observations(tmp_path / "data.csv"), ForecastRequest(horizon=7))
    assert kept.model.fitted_.ends.counts.tolist() == [137]
    assert kept.series.when(kept.series.ahead(0, 1)) == ["2023-05-21"]


def test_series_of_a_panel_that_are_too_short_are_not_tested(tmp_path, rng):
    lengths = {"a": 60, "b": 50, "c": 5, "d": 60}
    rows = [
        pd.DataFrame({
            "id": name, "t": pd.date_range("2024-01-01", periods=n), "y": rng.normal(size=n) + 9,
        })
        for name, n in lengths.items()
    ]  # fmt: skip
    pd.concat(rows).to_csv(tmp_path / "data.csv", index=False)
    result = forecast(read_panel(tmp_path / "data.csv", ["id"]), ForecastRequest(horizon=4))
    assert result.test.series == (0, 1, 3)
    assert "1 of 4 series are too short to be tested" in result.notes
    assert result.values.shape == (4, 4)
    counts = reports.wins(result, "y")
    assert sum(counts.values()) == 3
    mean = result.test.result.errors["model"]["mase"].mean()
    assert result.test.error("model", "mase", "y") == pytest.approx(mean)


def test_each_target_is_forecast_by_what_was_better(still, tmp_path, rng):
    frame = pd.read_csv(still)
    frame["wave"] = 3 * np.sin(np.arange(300) * 2 * np.pi / 12) + rng.normal(size=300)
    frame.to_csv(tmp_path / "two.csv", index=False)
    observations = read_observations(tmp_path / "two.csv", ["value", "wave"])
    result = forecast(observations, ForecastRequest(horizon=10))
    assert result.methods[0] != "model" == result.methods[1]
    assert result.method_of(1) == result.methods[1]
    path = tmp_path / "forecast.csv"
    reports.write_csv(result, path)
    table = pd.read_csv(path)
    assert (table["value_by"][0], table["wave_by"][0]) == result.methods


def test_of_several_seasons_the_naive_forecast_repeats_the_best(rng):
    t = np.arange(24 * 7 * 4)
    y = np.sin(2 * np.pi * t / 24) + 3 * (t // 24 % 7 >= 5) + 0.1 * rng.normal(size=t.size)
    assert naive_season(y, (24, 168)) == 168
    assert naive_season(y[:100], (24, 168)) == 24
    assert naive_season(y, ()) == 1


@pytest.mark.slow
def test_a_search_sees_nothing_of_the_test(observations, monkeypatch):
    seen = []

    def tune(model, y, X, **options):
        seen.append((len(y), options["budget"]))
        return real(model, y, X, **{**options, "budget": 3, "origins": 3})

    from paralesn.workflows import forecast as module

    real = module.tune
    monkeypatch.setattr(module, "tune", tune)
    result = forecast(observations, ForecastRequest(horizon=6, search=5.0))
    assert seen == [(400, 5.0)]
    assert len(result.search.trials) == 3
    record = reports.as_record(result)["search"]
    assert record["error"] <= record["error_of_defaults"]
    assert reports.search_summary(result).startswith("Search: tried 3; error before the test ")


def test_numbers_that_are_too_large_are_refused(tmp_path):
    (tmp_path / "data.csv").write_text("y\n" + "1e200\n-1e200\n" * 20)
    with pytest.raises(TableError, match="too large to learn from"):
        forecast(read_observations(tmp_path / "data.csv"))
