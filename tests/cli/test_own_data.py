"""The command line on data that people bring."""

import json
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

HOURS = pd.date_range("2020-01-01", periods=500, freq="h")


def call(*arguments, code=0, stdin=None):
    done = CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


# -- forecast ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_forecast_writes_everything_and_says_how_good_it_is(data, tmp_path):
    out = tmp_path / "out"
    done = call("forecast", data, "--target", "load", "--horizon", 12, "--out", out)
    assert "seasonal naive (24)" in done.stdout
    assert "The model beats the" in done.stdout
    assert "The model's 90% intervals held" in done.stdout
    assert "'date' is taken for the time of rows" in done.stderr
    names = {"forecast.csv", "forecast.png", "model.safetensors", "report.html", "report.json"}
    assert {path.name for path in out.iterdir()} - {"forecast.png"} == names - {"forecast.png"}
    table = pd.read_csv(out / "forecast.csv", float_precision="round_trip")
    assert list(table) == ["date", "load", "load_lower", "load_upper", "load_by"]
    assert set(table["load_by"]) == {"model"}
    assert table["date"].tolist()[0] == "2020-01-21 20:00:00"
    assert (table["load_lower"] < table["load_upper"]).all()
    truth = 10 + np.sin(np.arange(500, 512) * 2 * np.pi / 24)
    assert np.abs(table["load"] - truth).max() < 0.2
    model = pe.load(out / "model.safetensors")
    ahead = model.forecast(interval=0.9)
    np.testing.assert_array_equal(ahead["load"], table["load"])
    np.testing.assert_array_equal(ahead["load-lo-90"], table["load_lower"])
    assert ahead.index.astype(str).tolist() == table["date"].tolist()
    report = json.loads((out / "report.json").read_text())
    assert report["test"]["beats_naive"] is True


@pytest.mark.slow
def test_forecast_as_json_prints_nothing_else_and_is_reproducible(data, tmp_path):
    arguments = ("forecast", data, "--target", "load", "--target", "temp", "--horizon", 6, "--json")
    first, second = (
        json.loads(call(*arguments, "--seed", 3, "--out", tmp_path / name).stdout)
        for name in ("a", "b")
    )
    assert first["test"] == second["test"]
    assert set(first["test"]["errors"]) == {"load", "temp"}
    assert (tmp_path / "a/forecast.csv").read_bytes() == (tmp_path / "b/forecast.csv").read_bytes()


def test_exogenous_columns(frame, tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "out"
    arguments = ("forecast", path, "--target", "load", "--exog", "temp", "--out", out, "--json")
    frame.to_csv(path, index=False)
    observed = json.loads(call(*arguments, "--horizon", 6).stdout)
    assert observed["data"]["exog_known_in_advance"] is False
    assert any("read as it comes" in note for note in observed["notes"])
    columns = ["date", "load", "load_lower", "load_upper", "load_by"]
    assert list(pd.read_csv(out / "forecast.csv")) == columns
    frame.assign(load=frame["load"].where(frame.index < 490)).to_csv(path, index=False)
    known = json.loads(call(*arguments, "--horizon", 6).stdout)
    assert known["data"]["exog_known_in_advance"] is True
    assert known["data"]["rows"] == 490
    assert json.loads(call(*arguments).stdout)["horizon"] == 10  # as far as temp is known
    known = json.loads(call(*arguments, "--horizon", 6).stdout)
    assert pd.read_csv(out / "forecast.csv")["date"][0] == str(HOURS[490])
    again = json.loads(call("predict", out / "model.safetensors", path, "--json").stdout)
    assert [row["load"] for row in again["predictions"]] == pytest.approx(
        pd.read_csv(out / "forecast.csv")["load"].tolist(), rel=1e-12
    )
    done = call(*arguments, "--horizon", 20, code=3)
    assert (
        "temp is known for 10 rows after the last target, which --horizon 20 exceeds" in done.stderr
    )


@pytest.mark.slow
def test_a_search_keeps_to_its_time(data, tmp_path):
    start = time.monotonic()
    arguments = ("--target", "load", "--horizon", 3, "--search", "1s", "--out", tmp_path / "out")
    done = call("forecast", data, *arguments)
    assert "Search: tried " in done.stdout
    assert time.monotonic() - start < 60


def test_noise_is_not_forecast_and_that_is_said(tmp_path, rng):
    walk = pd.DataFrame({"value": rng.normal(size=300).cumsum()})
    walk.to_csv(tmp_path / "walk.csv", index=False)
    arguments = ("--horizon", 10, "--season", 7, "--out", tmp_path / "out")
    done = call("forecast", tmp_path / "walk.csv", *arguments)
    report = json.loads((tmp_path / "out/report.json").read_text())
    by = report["forecast_by"]["value"]
    assert ("What is written is therefore the naive forecast" in done.stdout) == (by != "model")
    assert (by == "model") == report["test"]["beats_naive"]
    assert f"(by the {by})" in done.stdout
    assert pd.read_csv(tmp_path / "out/forecast.csv")["step"].tolist() == list(range(1, 11))


def test_a_short_monthly_series(tmp_path):
    t = np.arange(100)
    months = pd.date_range("2001-01-31", periods=100, freq="ME")
    frame = pd.DataFrame({"month": months, "sold": 50 + t + 5 * np.sin(t * np.pi / 6)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    call("forecast", tmp_path / "data.csv", "--out", tmp_path / "out")
    table = pd.read_csv(tmp_path / "out/forecast.csv")
    assert table["month"].tolist()[:2] == ["2009-05-31", "2009-06-30"]
    assert len(table) == 24
    truth = 50 + np.arange(100, 124) + 5 * np.sin(np.arange(100, 124) * np.pi / 6)
    assert np.abs(table["sold"] - truth).max() < 1
    assert (table["sold_lower"] <= table["sold_upper"]).all()


@pytest.mark.parametrize(("horizon", "forecasts"), [((), 1), (("--horizon", 8), 1)])
def test_twelve_rows_are_enough(tmp_path, horizon, forecasts):
    rows = [12, 15, 14, 18, 21, 19, 25, 24, 28, 30, 29, 33]
    (tmp_path / "data.csv").write_text("sold\n" + "".join(f"{row}\n" for row in rows))
    done = call("forecast", tmp_path / "data.csv", *horizon, "--out", tmp_path / "out", "--json")
    record = json.loads(done.stdout)
    assert record["test"]["forecasts"] == forecasts
    assert record["horizon"] == (8 if horizon else 3)
    assert len(pd.read_csv(tmp_path / "out/forecast.csv")) == record["horizon"]
    done = call("forecast", tmp_path / "data.csv", "--horizon", 12, "--out", tmp_path / "out")
    assert "The forecast was not tested" in done.stdout
    assert "12 rows are too few to hold out 12 for a test" in done.stderr
    assert len(pd.read_csv(tmp_path / "out/forecast.csv")) == 12


def test_many_series_of_a_long_table(tmp_path, rng):
    days = pd.date_range("2021-01-04", periods=120)
    rows = [
        pd.DataFrame({"day": days, "shop": f"s{k}", "sold": 20 * k + 30 + rng.normal(size=120)})
        for k in range(4)
    ]
    path, out = tmp_path / "shops.csv", tmp_path / "out"
    pd.concat(rows).sort_values("day").to_csv(path, index=False)
    done = call("forecast", path, "--by", "shop", "--horizon", 5, "--out", out)
    assert "4 series by 'shop'" in done.stderr
    assert "forecasts of 4 series of 5 steps" in " ".join(done.stdout.split())
    table = pd.read_csv(out / "forecast.csv")
    assert list(table) == ["shop", "day", "sold", "sold_lower", "sold_upper", "sold_by"]
    assert table["shop"].value_counts().to_dict() == {f"s{k}": 5 for k in range(4)}
    ahead = pd.date_range(days[-1], periods=6)[1:].strftime("%Y-%m-%d")
    assert table["day"].tolist() == [*ahead] * 4
    means = table.groupby("shop")["sold"].mean()
    np.testing.assert_allclose(means, 20 * np.arange(4) + 30, atol=2)
    again = call("predict", out / "model.safetensors", path)
    assert again.stdout == (out / "forecast.csv").read_text()


def test_a_file_as_excel_writes_it_in_german(tmp_path):
    days = pd.date_range("2020-01-01", periods=120)
    frame = pd.DataFrame({"Datum": days.strftime("%d.%m.%Y"), "Größe": np.sin(np.arange(120) / 5)})
    frame["Ort"] = "Köln"
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    done = call("forecast", path, "--horizon", 3, "--out", tmp_path / "out")
    said = " ".join(done.stderr.split())
    for words in ("read as cp1252", "separated by ';'", "decimal commas: Größe", "not used: 'Ort'"):
        assert words in said
    assert pd.read_csv(tmp_path / "out/forecast.csv")["Datum"][0] == "2020-04-30"
    done = call("forecast", path, "--sep", ";;", code=2)
    assert "--sep is ';;', expected one character" in " ".join(done.stderr.split())
    frame.assign(Ort=["Köln", "Trier"] * 60, Datum=np.repeat(days[:60], 2)).to_csv(
        path, index=False
    )
    done = call("forecast", path, "--horizon", 3, code=3)
    assert "--by Ort reads a series for each Ort" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--target", "lod"], 3, "no column 'lod' (--target); its columns: date, load, temp"),
        ([], 3, "--target must say which column to forecast, one of: load, temp"),
        (["--target", "load", "--missing", "zero"], 2, "expected keep, error or interpolate"),
        (["--target", "load", "--search", "long"], 2, "expected a time above zero such as 60s"),
        (["--target", "load", "--search", "0s"], 2, "a time above zero such as 60s, 2m or 90"),
        (["--target", "load", "--search", "0.00min"], 2, "expected a time above zero"),
        (["--target", "load", "--search", "9" * 400], 2, "expected a time above zero"),
        (["--target", "load", "--search", "-1s"], 2, "expected a time above zero"),
        (["--target", "load", "--search", ""], 2, "expected a time above zero"),
        (["--target", "load", "--horizon", "0"], 2, "--horizon"),
        (["--target", "load", "--season", "weekly"], 2, "expected auto or a number of rows"),
        (["--target", "load", "--calendar", "moon"], 3, "calendar"),
        (["--target", "load", "--gaps", "mend"], 2, "expected keep, fill or auto"),
        (["--target", "load", "--out", "no/such/place"], 2, "does not exist"),
    ],
)  # fmt: skip
def test_wrong_calls(data, arguments, code, words, monkeypatch):
    monkeypatch.chdir(data.parent)
    done = call("forecast", data, *arguments, code=code)
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert [path.name for path in data.parent.iterdir()] == ["data.csv"]


def test_numbers_too_large_to_learn_from_are_no_traceback(tmp_path):
    values = "".join(f"{(-1) ** k}.7e308\n" for k in range(100))
    (tmp_path / "data.csv").write_text("load\n" + values)
    out = ("--out", tmp_path / "out")
    done = call("forecast", tmp_path / "data.csv", "--horizon", 3, *out, code=3)
    assert "Error: data.csv: 'load' holds 1.7e+308, too large to learn from" in done.stderr


def test_what_the_report_says_is_on_one_page(data, tmp_path):
    frame = pd.read_csv(data)
    path = tmp_path / "odd.csv"
    frame.rename(columns={"load": "<b>load</b>"}).to_csv(path, index=False)
    target = ("--target", "<b>load</b>")
    call("forecast", path, *target, "--horizon", 6, "--out", tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()
    for words in ("Forecast of", "tested on", "Error by step", "Autocorrelation", "What members"):
        assert words in page
    assert "<b>load</b>" not in page
    assert "&lt;b&gt;load&lt;/b&gt;" in page
    for outside in ("http://", "https://", "src=", "@import"):
        assert outside not in page.replace("http://www.w3.org/2000/svg", "")


def test_without_pandas_it_is_said_what_to_install(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    done = call("forecast", data, "--target", "load", code=1)
    assert "pip install 'paralesn[tables]'" in done.stderr


# -- classify, predict, inspect ------------------------------------------------------------------------


@pytest.fixture
def tones(tmp_path, rng):
    """A training and a test file, as UCR's format and as a long table."""
    t = np.arange(60)
    for name, count in (("train", 20), ("test", 10)):
        labels = ["slow", "fast"] * (count // 2)
        waves = [np.sin(t / {"slow": 9, "fast": 5}[one] + rng.uniform(0, 6)) for one in labels]
        lines = [
            "\t".join([one, *map(repr, w.tolist())]) for one, w in zip(labels, waves, strict=True)
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
        rows = [
            {"case": f"c{k}", "time": int(s), "value": w[s], "label": one}
            for k, (one, w) in enumerate(zip(labels, waves, strict=True))
            for s in t
        ]
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_classify_and_predict(tones, kind):
    out = tones / "out"
    train, test = tones / f"train.{kind}", tones / f"test.{kind}"
    found = json.loads(call("classify", train, test, "--out", out, "--json").stdout)
    assert found["test"]["accuracy"] == 1
    assert found["test"]["accuracy_of_most_frequent_class"] == 0.5
    table = pd.read_csv(out / "predictions.csv")
    assert (table["predicted"] == table["label"]).all()
    assert table["case"].tolist()[0] == ("c0" if kind == "csv" else 1)
    done = call("predict", out / "model.safetensors", test)
    lines = done.stdout.splitlines()
    assert lines[0] == "case,predicted,label,probability_fast,probability_slow"
    assert lines[1].startswith(f"{table['case'][0]},slow,slow,0.")
    assert "On 10 cases: accuracy 100.0%, balanced accuracy 100.0%, mean F1 100.0%." in done.stderr


def test_classify_without_labels_and_with_wrong_files(tones):
    test = tones / "unlabelled.csv"
    pd.read_csv(tones / "test.csv").drop(columns="label").to_csv(test, index=False)
    done = call("classify", tones / "train.csv", test, "--out", tones / "out")
    assert "Evaluation: 20 cases, 10-fold cross-validation" in done.stdout
    names = ["case", "predicted", "probability_fast", "probability_slow"]
    assert list(pd.read_csv(tones / "out/predictions.csv")) == names
    done = call("classify", test, test, "--out", tones / "out", code=3)
    assert "has no column 'label' (--label) to learn from" in done.stderr
    done = call(
        "classify", tones / "train.csv", test, "--case", "id", "--out", tones / "out", code=3
    )
    assert "no column 'id' (--case); its columns: case, time, value, label" in done.stderr
    two = tones / "two.csv"
    pd.read_csv(test).assign(other=1).to_csv(two, index=False)
    arguments = (tones / "out/model.safetensors", two, "--value", "value", "--value", "other")
    assert "have 2 channels, those learnt from had 1" in call("predict", *arguments, code=3).stderr


def test_predict_follows_on_a_table(forecaster, data, frame):
    done = call("predict", forecaster, data)
    table = [line.split(",") for line in done.stdout.splitlines()]
    assert table[0] == ["date", "load", "load_lower", "load_upper"]
    expected = pe.load(forecaster).forecast().ravel()
    assert [float(row[1]) for row in table[1:]] == pytest.approx(expected.tolist(), rel=1e-6)
    new = data.with_name("new.csv")
    frame[100:140].to_csv(new, index=False)
    out = data.with_name("predicted.csv")
    done = call("predict", forecaster, new, "--follow", "--steps", 5, "--out", out)
    assert done.stdout == ""
    expected = pe.load(forecaster).update(frame[["load"]][100:140]).forecast(5).ravel()
    table = pd.read_csv(out, float_precision="round_trip")
    np.testing.assert_array_equal(table["load"], expected)
    assert table["date"][0] == str(HOURS[140])
    assert "rows are few" in call("predict", forecaster, new).stderr
    done = call("predict", forecaster, new.with_name("data.csv"), "--time", "day", code=3)
    assert "no column 'day' (--time)" in done.stderr


def test_predict_remembers_how_the_file_was_read(frame, tmp_path):
    path, out = tmp_path / "old.csv", tmp_path / "out"
    german = frame.assign(
        date=frame["date"].dt.strftime("%d.%m.%Y %H:%M"),
        load=[f"{value:.4f}".replace(".", ",") for value in frame["load"]],
    )
    german[:400].to_csv(path, index=False, sep=";")
    call("forecast", path, "--target", "load", "--horizon", 4, "--out", out)
    new = tmp_path / "new.csv"
    german[380:450].to_csv(new, index=False, sep=";")
    done = call("predict", out / "model.safetensors", new)
    assert "20 rows up to 2020-01-17 15:00:00, where training ended: left out" in done.stderr
    table = [line.split(",") for line in done.stdout.splitlines()]
    assert table[0] == ["date", "load", "load_lower", "load_upper", "load_by"]
    assert table[1][0] == str(HOURS[450])
    model = pe.load(out / "model.safetensors")
    newer = frame.set_index("date")[["load"]].round(4)[400:450]
    expected = model.update(newer).forecast()["load"]
    assert [float(row[1]) for row in table[1:]] == pytest.approx(expected.tolist(), rel=1e-9)
    german[410:450].to_csv(new, index=False, sep=";")
    done = call("predict", out / "model.safetensors", new, "--json")
    words = "10 rows missing (every hour) between 2020-01-17 15:00:00 and 2020-01-18 02:00:00"
    assert words in done.stderr
    assert len(json.loads(done.stdout)["predictions"]) == 4


def test_predict_rows_with_a_regressor(frame, data, tmp_path):
    model = pe.ReservoirRegressor(pe.ParalESN(units=20), standardize=False).fit(
        frame[["temp"]], frame["load"]
    )
    pe.save(model, tmp_path / "regressor")
    found = json.loads(call("predict", tmp_path / "regressor", data, "--json").stdout)
    expected = model.predict(frame[["temp"]])
    assert [row["prediction"] for row in found["predictions"]] == expected.tolist()


def test_inspect_tells_what_is_inside(forecaster, tmp_path):
    picture = tmp_path / "eigenvalues.png"
    found = json.loads(call("inspect", forecaster, "--json").stdout)
    assert found["kind"] == "StateForecaster"
    assert found["reservoir"]["layers"][0]["units"] == 20
    assert found["learnt"]["columns"] == ["load"]
    assert found["readout"]["coefficients"] == 60
    radius = max(abs(pe.load(forecaster).reservoir_.layers_[0].eigenvalues))
    assert found["reservoir"]["layers"][0]["radii"]["largest"] == pytest.approx(radius)
    pytest.importorskip("matplotlib")
    done = call("inspect", forecaster, "--plot", picture)
    assert "reservoir: units" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    pe.save(pe.ParalESN(units=7), tmp_path / "bare")
    assert json.loads(call("inspect", tmp_path / "bare", "--json").stdout)["settings"]["units"] == 7


def test_files_that_are_no_models(data, forecaster, tmp_path):
    assert "not a model file" in call("inspect", data, code=3).stderr
    pe.save(pe.ParalESN(units=7), tmp_path / "bare")
    done = call("predict", tmp_path / "bare", data, code=3)
    assert "holds a ParalESN, expected a ReservoirForecaster or" in done.stderr
    call("stream", tmp_path / "none", code=2)


# -- stream --------------------------------------------------------------------------------------------


def test_stream_answers_every_good_line(forecaster):
    done = call("stream", forecaster, stdin="10.1\nx\n10.2 10.3\n\n 10.4\nnan\n1,5\n10.5", code=4)
    model = pe.load(forecaster)
    expected = [model.update([[v]]).forecast().ravel() for v in (10.1, 10.4, 10.5)]
    found = [[float(v) for v in line.split(",")] for line in done.stdout.splitlines()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    said = done.stderr.splitlines()
    assert [line.split(":")[0] for line in said] == [f"line {n}" for n in (2, 3, 4, 6, 7)]
    assert said[0] == "line 2: expected 1 number (load), got 'x'; skipped"
    lines = [
        json.loads(x)
        for x in call("stream", forecaster, "--json", stdin="1\n2\n").stdout.split("\n")[:2]
    ]
    assert [one["line"] for one in lines] == [1, 2]
    assert np.shape(lines[0]["prediction"]) == (3, 1)


def test_stream_goes_on_from_a_forecast_of_a_file(data, frame, tmp_path):
    out = tmp_path / "out"
    call("forecast", data, "--target", "load", "--horizon", 3, "--out", out)
    model = out / "model.safetensors"
    done = call("stream", model, stdin="10.1\nx\nnan\ninf\n10.4\n", code=4)
    assert "line 2: expected 1 number (load), got 'x'; skipped" in done.stderr
    assert "line 4: expected finite numbers, got 'inf'; skipped" in done.stderr
    fitted, expected = pe.load(model), []
    for k, value in enumerate((10.1, np.nan, 10.4)):
        index = pd.DatetimeIndex([HOURS[-1] + pd.Timedelta(hours=k + 1)], name="date")
        fitted.update(pd.DataFrame({"load": [value]}, index=index))
        expected.append(fitted.forecast()["load"].to_numpy())
    found = [[float(v) for v in line.split(",")] for line in done.stdout.splitlines()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    state = ("--resume", tmp_path / "state")
    first = call("stream", model, *state, stdin="10.1\n")
    second = call("stream", model, *state, stdin="nan\n10.4\n")
    assert first.stdout + second.stdout == done.stdout
    assert "cannot start from zero" in call("stream", model, "--fresh", stdin="1\n", code=3).stderr


@pytest.mark.parametrize("every", [0, 1])
def test_a_resumed_stream_is_the_uninterrupted_one_to_the_bit(forecaster, tmp_path, every):
    values = [f"{10 + np.sin(k / 4)}\n" for k in range(30)]
    whole = call("stream", forecaster, stdin="".join(values)).stdout
    arguments = ("stream", forecaster, "--resume", tmp_path / "state", "--save-every", every)
    first = call(*arguments, stdin="".join(values[:11]))
    second = call(*arguments, stdin="".join(values[11:]))
    assert first.stdout + second.stdout == whole
    assert "Resumed after line 11." in second.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "state"]
    assert json.loads(call("inspect", tmp_path / "state", "--json").stdout)["lines"] == 30


def test_a_state_belongs_to_its_model(forecaster, tmp_path):
    state = tmp_path / "state"
    call("stream", forecaster, "--resume", state, stdin="1\n")
    other = tmp_path / "other"
    pe.save(
        StateForecaster(pe.ParalESN(units=20), difference=False, standardize=False).fit(
            np.arange(200.0)
        ),
        other,
    )
    done = call("stream", other, "--resume", state, stdin="1\n", code=3)
    assert "belongs to another model" in done.stderr
    done = call("stream", other, "--resume", other, stdin="1\n", code=3)
    assert "expected a LiveState" in done.stderr
    assert (
        "--fresh"
        in call("stream", forecaster, "--resume", state, "--fresh", stdin="", code=2).stderr
    )


# -- as a process of its own ---------------------------------------------------------------------------


def test_completion_is_offered():
    done = CliRunner().invoke(app, ["--help"])
    assert "--install-completion" in done.output
    assert "Exit codes" in done.output
