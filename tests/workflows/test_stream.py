"""Lines of numbers to predictions, and the state on disk."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.workflows.stream import LineReader, StateSaver, resume, start


@pytest.fixture
def live(forecaster):
    return start(pe.load(forecaster), forecaster)


@pytest.mark.parametrize("line", [b"10.5\n", b"  10.5", b"10.5 \r\n"])
def test_a_line_is_read_however_it_ends(live, forecaster, line):
    predicted = LineReader(live).read(line, 1)
    expected = pe.load(forecaster).update([[10.5]]).forecast()
    np.testing.assert_allclose(predicted.ravel(), expected.ravel(), rtol=1e-9)
    assert live.state.lines == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x", r"expected 1 number \(load\), got 'x'"),
        (b"1,5", r"expected 1 number \(load\), got '1,5'"),
        (b"", r"expected 1 number \(load\), got ''"),
        (b"nan", "expected finite numbers, got 'nan'"),
        (b"infinity", "expected finite numbers, got 'infinity'"),
        (b"1e999", "expected finite numbers, got '1e999'"),
        (b"1_0", r"expected 1 number \(load\), got '1_0'"),
        ("\uff11".encode(), r"expected 1 number \(load\), got '\uff11'"),
        (b"\xff", "expected 1 number"),
    ],
)
def test_a_wrong_line_is_counted_and_changes_nothing_else(live, line, message):
    state = live.state.state
    with pytest.raises(ValueError, match=message):
        LineReader(live).read(line, 7)
    assert live.state.lines == 7
    assert live.state.state is state


def test_states_are_saved_at_the_end_and_belong_to_their_model(live, forecaster, tmp_path):
    path, reader = tmp_path / "state", LineReader(live)
    with StateSaver(live, path, 60, on_error=pytest.fail) as saver:
        for number in range(1, 4):
            reader.read(b"10", number)
            saver.answered()
        assert pe.load(path).lines == 0  # that of the start
    state = pe.load(path)
    assert state.lines == 3
    again = start(pe.load(forecaster), forecaster)
    resume(again, state, path)
    expected = reader.read(b"10.2", 4)
    np.testing.assert_array_equal(LineReader(again).read(b"10.2", 4), expected)
    other = tmp_path / "other"
    pe.save(StateForecaster(pe.ParalESN(units=20)).fit(np.arange(200.0)), other)
    with pytest.raises(ValueError, match="belongs to another model"):
        resume(start(pe.load(other), other), state, path)


def test_with_no_seconds_between_every_line_is_saved(live, tmp_path):
    path, reader = tmp_path / "state", LineReader(live)
    with StateSaver(live, path, 0, on_error=pytest.fail) as saver:
        for number in (1, 2):
            reader.read(b"10", number)
            saver.answered()
            assert pe.load(path).lines == number


def test_a_line_that_no_finite_prediction_follows_is_counted_and_changes_nothing_else(tmp_path):
    y = np.sin(np.arange(200.0) / 9)
    reservoir = pe.ParalESN(units=50, dtype="float32", input_scale=10.0)
    model = pe.ReservoirRegressor(reservoir, standardize=False).fit(y[:-1], y[1:])
    pe.save(model, tmp_path / "model")
    live = start(model, tmp_path / "model")
    reader = LineReader(live)
    reader.read(b"0.1", 1)
    state = live.state.state
    with pytest.raises(ValueError, match=r"states in float32, got values up to 3\.4e\+38"):
        reader.read(b"3.4e38", 2)
    assert live.state.lines == 2
    assert live.state.state is state
    again = LineReader(start(model, tmp_path / "model"))
    again.read(b"0.1", 1)
    np.testing.assert_array_equal(reader.read(b"0.2", 3), again.read(b"0.2", 2))
