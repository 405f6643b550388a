"""Saved forecasters on newer files."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.errors import TableError
from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.workflows.forecast import ForecastRequest, forecast
from paralesn.workflows.predict import PredictionRequest, predict_file
from paralesn.workflows.trained_file import load_training, save_forecaster

pd = pytest.importorskip("pandas")


@pytest.fixture
def months(rng):
    t = np.arange(150)
    y = 50 + 0.3 * t + 5 * np.sin(t * np.pi / 6) + 0.2 * rng.normal(size=150)
    return pd.DataFrame({"month": pd.date_range("2001-01-01", periods=150, freq="MS"), "sold": y})


@pytest.fixture
def learnt(months, tmp_path):
    """A model of the first 120 months, in a file."""
    months[:120].to_csv(tmp_path / "old.csv", index=False)
    return train(tmp_path / "old.csv", tmp_path / "model", ForecastRequest(horizon=6))


def train(path, out, request=None, by=None, **columns):
    cleaning = Cleaning(gaps="auto")
    read = read_panel if by else read_observations
    data = read(path, *([by] if by else []), cleaning=cleaning, **columns)
    save_forecaster(forecast(data, request), cleaning, out)
    return out


def predict(model, path, **request):
    return predict_file(
        pe.load(model), path, PredictionRequest(**request), training=load_training(model)
    )


def expected(model, frame, steps=None):
    fitted = pe.load(model)
    if len(frame):
        fitted.update(frame.set_index("month"))
    return fitted.forecast(steps)["sold"].to_numpy()


@pytest.mark.parametrize("first", [0, 100, 120])
def test_only_rows_that_are_new_are_read(learnt, months, tmp_path, first):
    months[first:].to_csv(tmp_path / "new.csv", index=False)
    found = predict(learnt, tmp_path / "new.csv")
    np.testing.assert_allclose(found.columns["sold"], expected(learnt, months[120:]), rtol=1e-12)
    assert found.columns["month"][0] == "2013-07-01"
    left_out = [note for note in found.notes if "left out" in note]
    assert len(left_out) == (first < 120)
    assert all(note.startswith(f"{120 - first} rows up to 2010-12-01") for note in left_out)


def test_rows_that_are_missing_between_are_put_in(learnt, months, tmp_path):
    months[123:].to_csv(tmp_path / "new.csv", index=False)
    found = predict(learnt, tmp_path / "new.csv", steps=3)
    gap = months[120:].assign(sold=months["sold"][120:].where(months.index[120:] >= 123))
    np.testing.assert_allclose(found.columns["sold"], expected(learnt, gap, 3), rtol=1e-12)
    words = "3 rows missing (every month) between 2010-12-01 and 2011-04-01: put in"
    assert any(words in note for note in found.notes)


def test_a_file_without_news_gives_the_forecast_of_training(learnt, months, tmp_path):
    months[:90].to_csv(tmp_path / "older.csv", index=False)
    found = predict(learnt, tmp_path / "older.csv")
    np.testing.assert_allclose(found.columns["sold"], expected(learnt, months[:0]), rtol=1e-12)
    assert found.columns["month"][0] == "2011-01-01"
    assert found.notes[-1] == "no row after 2010-12-01: the forecast is that of training"


def test_times_that_do_not_fit_are_refused(learnt, months, tmp_path):
    path = tmp_path / "new.csv"
    (tmp_path / "numbers.csv").write_text("month,sold\n1,2\n2,3\n3,4\n")
    with pytest.raises(TableError, match="no times like those of training, which end at 2010-12"):
        predict(learnt, tmp_path / "numbers.csv")
    late = months[120:].assign(month=months["month"][120:] + pd.DateOffset(years=300 // 2))
    late.to_csv(path, index=False)
    with pytest.raises(TableError, match="too many to go on from training; `fresh`") as caught:
        predict(learnt, path)
    assert caught.value.parameter == "fresh"
    found = predict(learnt, path, fresh=True)
    assert found.columns["month"][0] == "2163-07-01"
    own = pe.load(learnt).forecast(y=late.set_index("month"))["sold"]
    np.testing.assert_allclose(found.columns["sold"], own, rtol=1e-12)


def test_without_times_rows_follow_when_that_is_said(tmp_path, rng):
    y = 9 + rng.normal(size=90)
    pd.DataFrame({"y": y[:70]}).to_csv(tmp_path / "old.csv", index=False)
    pd.DataFrame({"y": y[70:]}).to_csv(tmp_path / "new.csv", index=False)
    model = train(tmp_path / "old.csv", tmp_path / "model", ForecastRequest(horizon=3))
    found = predict(model, tmp_path / "new.csv", follow=True)
    after = pe.load(model).update(pd.DataFrame({"y": y}).iloc[70:]).forecast()
    assert found.columns["step"] == ["1", "2", "3"]
    assert found.columns["y_by"][0] == "model"
    np.testing.assert_allclose(found.columns["y"], np.ravel(after), rtol=1e-12)
    alone = predict(model, tmp_path / "new.csv")
    assert any("`follow` continues" in note for note in alone.notes)
    own = pe.load(model).forecast(y=pd.DataFrame({"y": y[70:]}))["y"]
    np.testing.assert_allclose(alone.columns["y"], own, rtol=1e-12)


def test_the_better_method_goes_on_being_used(tmp_path):
    wave = 3 * np.sin(np.arange(200)) + np.random.default_rng(3).normal(size=200)
    y = np.concatenate([wave, np.full(100, 5.0)])
    y[280:] = 7.0
    days = pd.date_range("2023-01-01", periods=300)
    frame = pd.DataFrame({"day": days, "price": y})
    frame[:280].to_csv(tmp_path / "old.csv", index=False)
    frame[280:].to_csv(tmp_path / "new.csv", index=False)
    request = ForecastRequest(horizon=10, season=1)
    model = train(tmp_path / "old.csv", tmp_path / "model", request)
    assert load_training(model).methods == ("last value",)
    found = predict(model, tmp_path / "new.csv")
    assert set(found.columns["price_by"]) == {"last value"}
    np.testing.assert_allclose(found.columns["price"], np.full(10, 7.0), rtol=1e-12)


def test_series_of_a_panel_are_known_by_their_names(tmp_path, rng):
    days = pd.date_range("2024-01-01", periods=80)
    rows = {k: pd.DataFrame({"day": days, "shop": k, "sold": 9.0 * n + rng.normal(size=80)})
            for n, k in enumerate("abcd", 1)}  # fmt: skip
    old = pd.concat([rows[k][:70] for k in "abc"])
    old.to_csv(tmp_path / "old.csv", index=False)
    model = train(tmp_path / "old.csv", tmp_path / "model", ForecastRequest(horizon=4), ["shop"])
    new = pd.concat([rows["d"], rows["b"][60:], rows["a"][:70]])
    new.to_csv(tmp_path / "new.csv", index=False)
    found = predict(model, tmp_path / "new.csv")
    table = pd.DataFrame(found.columns)
    assert table["shop"].tolist() == ["b"] * 4 + ["a"] * 4 + ["d"] * 4
    first = table.groupby("shop")["day"].first().to_dict()
    assert first == {"a": "2024-03-11", "b": "2024-03-21", "d": "2024-03-21"}
    fitted = pe.load(model).update(rows["b"][70:])
    own = fitted.forecast().set_index("shop").loc["b", "yhat"]
    np.testing.assert_allclose(table[table["shop"] == "b"]["sold"], own, rtol=1e-12)
    assert "1 of 3 series are new to the model" in found.notes
    assert any("not in the file" in note for note in found.notes)


def test_inputs_known_in_advance_must_be_there(tmp_path, rng):
    x = rng.normal(size=240)
    frame = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=240), "y": 3 * x, "x": x})
    part = frame[:206].assign(y=frame["y"].where(frame.index < 200))
    part.to_csv(tmp_path / "old.csv", index=False)
    model = train(tmp_path / "old.csv", tmp_path / "model", targets=["y"], exog=["x"])
    newer = frame[:236].assign(y=frame["y"].where(frame.index < 230))
    newer.to_csv(tmp_path / "new.csv", index=False)
    found = predict(model, tmp_path / "new.csv")
    np.testing.assert_allclose(found.columns["y"], 3 * x[230:236], atol=0.5)
    frame[:230].to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(TableError, match="x must be known for 6 rows after the last target, got 0"):
        predict(model, tmp_path / "new.csv")


def test_a_model_of_frames_knows_its_columns_by_itself(months, tmp_path):
    model = pe.ReservoirForecaster(horizon=3).fit(months[:120].set_index("month"))
    months.to_csv(tmp_path / "new.csv", index=False)
    found = predict_file(model, tmp_path / "new.csv")
    after = model.update(months[120:].set_index("month")).forecast()["sold"]
    np.testing.assert_allclose(found.columns["sold"], after, rtol=1e-12)
    long = months.assign(shop=7)
    model = pe.ReservoirForecaster(horizon=3)
    model.fit(long[:120], id="shop", time="month", target="sold")
    long.to_csv(tmp_path / "long.csv", index=False)
    found = predict_file(model, tmp_path / "long.csv")
    after = model.update(long[120:]).forecast()["yhat"]
    np.testing.assert_allclose(found.columns["sold"], after, rtol=1e-12)
    with pytest.raises(TableError, match="does not know the names of its columns"):
        predict_file(pe.ReservoirForecaster().fit(months["sold"].to_numpy()), tmp_path / "new.csv")


def test_the_closed_loop_goes_on_too(months, tmp_path):
    table = months.set_index("month")
    model = pe.ReservoirForecaster(horizon=3, strategy="closed-loop").fit(table[:120])
    months.to_csv(tmp_path / "new.csv", index=False)
    found = predict_file(model, tmp_path / "new.csv", PredictionRequest(steps=4))
    after = model.update(table[120:]).forecast(4)["sold"]
    np.testing.assert_allclose(found.columns["sold"], after, rtol=1e-9)


def test_damaged_memories_are_refused(learnt, tmp_path):
    record = load_training(learnt).to_dict()
    assert type(load_training(learnt)).from_dict(record).to_dict() == record
    pe.save(pe.load(learnt), tmp_path / "bad", metadata={"training": {"reading": {}}})
    with pytest.raises(ValueError, match="remembers of training is damaged"):
        load_training(tmp_path / "bad")
    pe.save(pe.load(learnt), tmp_path / "plain")
    assert load_training(tmp_path / "plain") is None
