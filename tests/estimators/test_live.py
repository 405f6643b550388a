"""Models that read one row at a time."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.live import Live
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
    found = model.reading(y[300:400]).forecast()
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
    found = model.reading(y[300:400], x[300:400, None]).forecast(X=x[400:405])
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


# -- forecasters whose members are weighed -------------------------------------------------------------


MEMBERS = {
    "one": (lambda y: pe.ReservoirForecaster(horizon=4).fit(y[:, 0]), 1),
    "two": (lambda y: pe.ReservoirForecaster(horizon=4).fit(y), 2),
    "positive": (lambda y: pe.ReservoirForecaster(horizon=4).fit(np.exp(y)), 2),
    "smoothers": (lambda y: pe.SmootherBank(horizon=4, season=44).fit(y), 2),
    "short": (lambda y: pe.ReservoirForecaster(horizon=2).fit(y[-12:]), 2),
    "intermittent": (lambda y: pe.ReservoirForecaster(horizon=2).fit(np.maximum(y, 0)), 2),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_live_members_forecast_as_after_update(kind):
    y = series(2)
    fit, width = MEMBERS[kind]
    model = fit(y[:600])
    live, new = Live(model), y[600:640, :width].copy()
    if kind in ("positive", "intermittent"):
        new = np.exp(new) if kind == "positive" else np.maximum(new, 0)
    new[5] = new[17, 0] = np.nan
    assert live.width == width
    for row in new:
        found = live.read(row)
        expected = model.update(row[None] if width > 1 else row).forecast()
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-7, atol=1e-9)


def test_live_members_know_the_calendar_and_inputs():
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2023-01-02", periods=230)
    x = np.random.default_rng(1).normal(size=230)
    y = 10 + 3.0 * (days.day_of_week >= 5) + np.roll(x, 1) + 0.01 * np.arange(230)
    frame = pd.DataFrame({"y": y}, index=days)
    past = pd.DataFrame({"x": x}, index=days)
    model = pe.ReservoirForecaster(horizon=3, season=1, calendar="weekend")
    model.fit(frame[:200], past=past[:200])
    live = Live(model)
    for t in range(200, 230):
        found = live.read(np.array([frame["y"].iloc[t], x[t]]))
        model.update(frame[t : t + 1], past=past[t : t + 1])
        np.testing.assert_allclose(found, model.forecast().to_numpy(), rtol=1e-7)


@pytest.mark.parametrize("kind", MEMBERS)
def test_live_members_resume_bit_identically(kind, tmp_path):
    y = series(2)
    fit, width = MEMBERS[kind]
    model = fit(y[:600])
    before = np.array(model.forecast())
    whole, first = Live(model), Live(model)
    rows = np.abs(y[600:620, :width])
    expected = [whole.read(row) for row in rows]
    for row in rows[:10]:
        first.read(row)
    pe.save(first.state, tmp_path / "state")
    pe.save(model, tmp_path / "model")
    second = Live(pe.load(tmp_path / "model"))
    second.state = pe.load(tmp_path / "state")
    for row, values in zip(rows[10:], expected[10:], strict=True):
        np.testing.assert_array_equal(second.read(row), values)
    np.testing.assert_array_equal(np.array(model.forecast()), before)  # the model stays as it is


def test_live_members_refuse_what_they_cannot_read():
    y = series(2)
    live = Live(pe.ReservoirForecaster(horizon=3).fit(y))
    before = live.state
    for row in ([np.inf, 1.0], [1.0]):
        with pytest.raises(ValueError, match="must hold 2 finite values or NaN"):
            live.read(np.array(row))
    assert live.state is before
    with pytest.raises(ValueError, match="cannot start from zero"):
        Live(live.model, fresh=True)
    with pytest.raises(ValueError, match="without inputs known in advance, got '0'"):
        Live(pe.ReservoirForecaster(horizon=3).fit(y[:, 0], y[:, 1:]))
    other = Live(StateForecaster(horizon=3).fit(y))
    with pytest.raises(ValueError, match="another kind of model"):
        other.state = before


def test_a_closed_loop_lives_as_its_reservoir():
    y = series(1)
    model = pe.ReservoirForecaster(horizon=3, strategy="closed-loop").fit(y[:600])
    live = Live(model)
    found = live.read(y[600])
    expected = model.update(y[600:601]).forecast()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


FLOAT32 = pe.ParalESN(units=50, dtype="float32", input_scale=10.0)
RAW = pe.ParalESN(units=20, mixing=False)
ANY_SIZE = {
    "forecaster": lambda y: pe.ReservoirForecaster(horizon=3).fit(y),
    "closed loop": lambda y: pe.ReservoirForecaster(FLOAT32, strategy="closed-loop").fit(y),
    "state forecaster": lambda y: StateForecaster(FLOAT32, horizon=2).fit(y),
    "smoothers": lambda y: pe.SmootherBank(horizon=3).fit(y),
    "regressor": lambda y: pe.ReservoirRegressor(FLOAT32).fit(y[:, None], y),
    "raw states": lambda y: pe.ReservoirRegressor(RAW).fit(y[:, None], 1e100 * y),
    "feedback": lambda y: pe.ReservoirRegressor(FLOAT32, feedback=True).fit(y[:, None], y),
}  # fmt: skip


@pytest.mark.parametrize("name", ANY_SIZE)
@pytest.mark.parametrize("learn", [False, True])
def test_a_row_too_large_for_the_states_changes_nothing(name, learn):
    """Answers are finite, or the row is refused, and what follows is as without it."""
    model = ANY_SIZE[name](series(1)[:, 0])
    if name == "feedback" and learn:
        pytest.skip("learns from blocks only")
    refused = 0
    for value in (1e30, 3.4e38, 1e200, 1e307, -1.7e308):
        live, other = Live(model, learn=learn), Live(model, learn=learn)
        live.read(np.array([0.1]))
        other.read(np.array([0.1]))
        before = live.state
        try:
            answer = live.read(np.array([value]))
        except ValueError:
            assert live.state is before
            expected = other.read(np.array([0.2]))
            np.testing.assert_array_equal(live.read(np.array([0.2])), expected)
            refused += 1
        else:
            assert np.isfinite(answer).all()
            assert np.isfinite(live.read(np.array([0.2]))).all()
    assert refused or name in ("forecaster", "smoothers")  # these take it for an outlier
