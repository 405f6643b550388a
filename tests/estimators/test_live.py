"""Models that read one row at a time."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.live import Live, reading
from paralesn.estimators.state_forecaster.forecaster import StateForecaster


def series(targets, steps=700):
    t = np.arange(steps)
    return np.column_stack(
        [np.sin(t / (7 + 2 * k)) + 0.1 * k * np.cos(t / 40) for k in range(targets)]
    )


FORECASTERS = [
    {"horizon": 1},
    {"horizon": 5},
    {"horizon": 4, "only_last": True},
    {"horizon": 5, "difference": "inputs"},
    {"horizon": 5, "difference": "inputs", "shared": True},
    {"horizon": 3, "readout": pe.Ridge(), "reservoir": pe.ParalESN(units=30, dtype="float32"),
     "difference": False, "standardize": False},
]  # fmt: skip


@pytest.mark.parametrize("arguments", FORECASTERS)
@pytest.mark.parametrize("targets", [1, 2])
def test_live_forecasts_are_those_of_update(arguments, targets):
    y = series(targets)
    model = StateForecaster(**arguments).fit(y[:600])
    live = Live(model)
    for row in y[600:640]:
        found = live.read(row)
        expected = model.update(row[None]).forecast().reshape(found.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("arguments", FORECASTERS)
def test_reading_anew_is_predict_from_zero(arguments):
    y = series(2)
    model = StateForecaster(**arguments).fit(y[:600])
    before = model.forecast()
    expected = model.predict(y[300:400])[-1]
    found = reading(model, y[300:400], None).forecast()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-4, atol=1e-6)
    fresh = Live(model, fresh=True)
    for row in y[300:400]:
        last = fresh.read(row)
    np.testing.assert_allclose(last.reshape(expected.shape), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(model.forecast(), before)  # the model stays as it is


def test_reading_anew_with_inputs_known_in_advance():
    y, x = series(1), np.cos(np.arange(710) / 5)
    model = StateForecaster(horizon=5).fit(y[:600], x[:600])
    expected = model.predict(y[300:400], x[300:405])[-1]
    found = reading(model, y[300:400], x[300:400, None]).forecast(X=x[400:405])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="known in advance"):
        Live(model)


@pytest.mark.parametrize("fresh", [False, True])
def test_live_regression_is_predict(fresh):
    y = series(2)
    model = pe.ReservoirRegressor().fit(y[:599], y[1:600])
    live = Live(model, fresh)
    expected = model.predict(y[600:630], state=None if fresh else model.state_)
    found = np.vstack([live.read(row) for row in y[600:630]])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_regressor_of_many_series_begins_from_zero():
    y = series(1).ravel()
    model = pe.ReservoirRegressor().fit(y[None, :-1, None], y[None, 1:, None])
    assert Live(model).state.state is None


@pytest.mark.parametrize("arguments", FORECASTERS)
def test_a_saved_state_resumes_bit_identically(arguments, tmp_path):
    y = series(2)
    model = StateForecaster(**arguments).fit(y[:600])
    whole, first = Live(model), Live(model)
    expected = [whole.read(row) for row in y[600:620]]
    for row in y[600:610]:
        first.read(row)
    pe.save(first.state, tmp_path / "state")
    pe.save(model, tmp_path / "model")
    second = Live(pe.load(tmp_path / "model"))
    second.state = pe.load(tmp_path / "state")
    for row, value in zip(y[610:620], expected[10:], strict=True):
        np.testing.assert_array_equal(second.read(row), value)


def test_a_live_state_is_never_changed():
    y = series(1)
    live = Live(StateForecaster(horizon=3).fit(y[:600]))
    before = live.state
    copies = [h.copy() for h in before.state.layers]
    live.read(y[600])
    assert live.state is not before
    for h, copy in zip(before.state.layers, copies, strict=True):
        np.testing.assert_array_equal(h, copy)


@pytest.mark.parametrize("row", [[np.nan], [np.inf]])
def test_a_row_that_is_refused_changes_nothing(row):
    live = Live(StateForecaster(horizon=3).fit(series(1)[:600]))
    before = live.state
    with pytest.raises(ValueError, match="finite"):
        live.read(np.array(row))
    assert live.state is before


def test_a_classifier_does_not_live():
    with pytest.raises(TypeError, match="got a ReservoirClassifier"):
        Live(pe.ReservoirClassifier())


def test_a_live_state_is_checked():
    from paralesn.estimators.live import LiveState

    with pytest.raises(ValueError, match="LiveState do not fit"):
        LiveState(None, np.array([[np.nan]]))
