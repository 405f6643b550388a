"""Saved models on new data, from Python."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.tables.reader import TableError
from paralesn.workflows.predict import PredictionRequest, predict_file

pd = pytest.importorskip("pandas")


def test_a_forecaster_starts_from_zero_or_follows(frame, tmp_path):
    model = StateForecaster(pe.ParalESN(units=20), horizon=3).fit(frame[["load"]][:400])
    path = tmp_path / "new.csv"
    frame[400:440].to_csv(path, index=False)
    zero = predict_file(model, path)
    assert any(note.startswith("40 rows are few to begin from zero") for note in zero.notes)
    following = predict_file(model, path, PredictionRequest(steps=5, follow=True))
    other = StateForecaster(pe.ParalESN(units=20), horizon=3).fit(frame[["load"]][:400])
    expected = other.update(frame[["load"]][400:440]).forecast(5)
    np.testing.assert_array_equal(following.columns["load"], expected.ravel())
    assert following.columns["date"][0] == str(frame["date"][440])
    assert list(following.columns) == ["date", "load", "load_lower", "load_upper"]


def test_a_regressor_predicts_every_row(frame, data):
    X, Y = frame[["temp"]], frame[["load", "temp"]]
    model = pe.ReservoirRegressor(pe.ParalESN(units=20)).fit(X, Y)
    columns = predict_file(model, data).columns
    expected = model.predict(X)
    np.testing.assert_array_equal(columns["prediction_1"], expected[:, 0])
    np.testing.assert_array_equal(columns["prediction_2"], expected[:, 1])
    assert columns["row"][-1] == 500
    batch = X.to_numpy().reshape(2, 250, 1)
    several = pe.ReservoirRegressor(pe.ParalESN(units=20)).fit(batch, batch)
    path = data.with_name("temp.csv")
    X.to_csv(path, index=False)
    with pytest.raises(TableError, match="`follow` needs a model") as caught:
        predict_file(several, path, PredictionRequest(follow=True))
    assert caught.value.parameter == "follow"


def test_other_models_are_refused(data):
    with pytest.raises(TypeError, match=r"model must be one of .* got ParalESN"):
        predict_file(pe.ParalESN(), data)
    nameless = StateForecaster(pe.ParalESN(units=5)).fit(np.arange(200.0))
    with pytest.raises(TableError, match="does not know the names of its columns"):
        predict_file(nameless, data)
