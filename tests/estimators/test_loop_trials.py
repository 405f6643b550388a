"""Trial loops that choose a penalty, and errors that are kept for intervals."""

from dataclasses import replace

import numpy as np
import pytest

import paralesn as pe
from paralesn.datasets import chaotic_system
from paralesn.estimators.state_forecaster import calibration as intervals
from paralesn.estimators.state_forecaster import penalty_by_loop
from paralesn.estimators.state_forecaster.closed_loop import linear_loop
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.estimators.state_forecaster.penalty_by_loop import Loops, loop_scores
from paralesn.layers.state import State

RESERVOIRS = {
    "shallow": pe.ParalESN(units=80, rho=(0.0, 0.3), input_scale=0.3, bias_scale=0.5),
    "deep": pe.ParalESN(units=60, layers=2, rho=(0.0, 0.3), bias_scale=0.5),
    "ESN": pe.ESN(units=60),
    "local": pe.LocalReservoirs(pe.ParalESN(units=30, bias_scale=0.5), size=1, overlap=1),
}


@pytest.fixture(scope="module")
def series() -> np.ndarray:
    """A chaotic system of three variables."""
    return chaotic_system("lorenz63").generate(900, seed=1)


def begun(reservoir, y, difference=True, **options):
    model = StateForecaster(reservoir, pe.Ridge([1e-9, 1e-6, 1e-3, 1.0]), difference=difference,
                            by_loop=True, **options)  # fmt: skip
    return model.begin(y).training


def loops_of(training):
    starts = (training.state, training.panel, training.inputs, training.origins)
    return Loops(training.windows, training.reservoir, *starts)


def plain_score(loops, coef, intercept):
    """The definition: one readout's loops over all steps, lost ones included."""
    layers, newest, known, truth = loops.start
    state = State(layers, loops.reservoir.fingerprint_)
    weights, steps = np.ascontiguousarray(coef.T), truth.shape[1]
    call = (weights, intercept, state, newest, known, steps)
    predicted = linear_loop(loops.windows, loops.reservoir, *call)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.sqrt((((predicted - truth) / loops.spread) ** 2).mean(axis=2))
    logs = []
    for own, ended in zip(errors, np.isnan(truth[:, :, 0]), strict=True):
        is_lost = False
        for error, is_over in zip(own, ended, strict=True):
            if not is_over:
                is_lost = is_lost or not error < 1.0
                logs.append(0.0 if is_lost else np.log(max(error, 1e-12)))
    return np.mean(logs)


@pytest.mark.parametrize("difference", [True, False, "inputs"])
@pytest.mark.parametrize("name", RESERVOIRS)
def test_scores_are_those_of_whole_loops(name, difference, series, monkeypatch):
    monkeypatch.setattr(penalty_by_loop, "_FAR_BEHIND", np.inf)
    training = begun(RESERVOIRS[name], series, difference)
    loops, path = loops_of(training), training.judge.path_
    found = loop_scores(loops, path).values
    expected = [plain_score(loops, *pair) for pair in zip(path.coefs, path.intercepts, strict=True)]
    tried = np.isfinite(found)
    assert tried.sum() >= 3
    np.testing.assert_allclose(found[tried], np.array(expected)[tried], rtol=1e-6, atol=1e-8)


def test_penalties_far_behind_are_given_up_and_the_best_one_stays(series, monkeypatch):
    training = begun(RESERVOIRS["shallow"], series, False)
    loops, path = loops_of(training), training.judge.path_
    found = loop_scores(loops, path)
    monkeypatch.setattr(penalty_by_loop, "_FAR_BEHIND", np.inf)
    every = loop_scores(loops, path)
    assert np.isinf(found.values).sum() > np.isinf(every.values).sum()
    assert found.values.argmin() == every.values.argmin()
    assert found.values.min() == every.values.min()
    assert found.best_so_far[-1] == found.values.min()
    monkeypatch.undo()
    beaten = loop_scores(loops, path, found.best_so_far - 10)
    assert np.isinf(beaten.values).all()


def test_loops_of_several_readouts_and_their_states(series):
    """Every engine's loop of several readouts is theirs one by one, and goes on where it ended."""
    rng = np.random.default_rng(0)
    for engine in ("cpu", "reference"):
        res = pe.ParalESN(units=20, layers=2, engine=engine).fit(series)
        _, state = res.run(series[None, :50].repeat(5, axis=0))
        weights, intercept = 0.1 * rng.normal(size=(2, 3, 20)), rng.normal(size=(2, 3))
        which, inputs = np.array([0, 1, 1, 0, 1]), np.zeros((9, 5, 3))
        inputs[0] = series[50]
        together, _ = res.close_loops(inputs, state, weights, intercept, which, True)
        for r in (0, 1):
            alone = res.close_loop(inputs, state, weights[r], intercept[r], True)
            own = which == r
            assert np.abs(together[:, own] - alone[:, own]).max() < 1e-12
        first, middle = res.close_loops(inputs[:5], state, weights, intercept, which, True)
        rest = np.zeros((4, 5, 3))
        rest[0] = first[-1]
        second, _ = res.close_loops(rest, middle, weights, intercept, which, True)
        assert np.abs(np.concatenate([first, second]) - together).max() < 1e-12


@pytest.mark.parametrize("horizon", [1, 3])
def test_errors_are_kept_with_the_calibration(horizon, series, tmp_path, monkeypatch):
    model = StateForecaster(RESERVOIRS["shallow"], horizon=horizon).fit(series[:800])
    fresh = StateForecaster(RESERVOIRS["shallow"], horizon=horizon).fit(series[:800])
    long = model.forecast(12, interval=0.8)
    short = fresh.forecast(6, interval=0.8)
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.fitted_.calibration.errors, model.fitted_.calibration.errors
    )

    def fails(*_: object) -> None:
        raise AssertionError("errors were computed again")

    monkeypatch.setattr(intervals.Calibration, "_residuals", fails)
    for again in (model, loaded, model.reading(series[:800])):
        np.testing.assert_array_equal(again.forecast(12, interval=0.8).lower.shape, (12, 3))
    for kept, expected in zip(loaded.forecast(12, interval=0.8), long, strict=True):
        np.testing.assert_array_equal(kept, expected)
    for kept, expected in zip(model.forecast(6, interval=0.8), short, strict=True):
        np.testing.assert_array_equal(kept, expected)  # the first steps of longer forecasts
    updated = model.update(series[800:850], refit=True).forecast(6, interval=0.8)
    widths = updated.upper - updated.lower
    np.testing.assert_allclose(widths, short.upper - short.lower)  # what it was calibrated on stays


def test_errors_of_a_file_must_fit(series):
    model = StateForecaster(RESERVOIRS["shallow"]).fit(series[:400])
    wrong = replace(model.fitted_.calibration, errors=np.zeros((3, 2, 1)))
    with pytest.raises(ValueError, match="does not fit together"):
        replace(model.fitted_, calibration=wrong).check()


@pytest.mark.parametrize("name", ["shallow", "deep", "ESN", "local"])
def test_states_after_some_steps_are_those_of_runs(name, series):
    res = RESERVOIRS[name].fit(series)
    for x in (series[:60], series[:120].reshape(2, 60, 3)):
        for stop, state in zip((1, 7, 8, 60), res.states_after(x, [1, 7, 8, 60]), strict=True):
            _, expected = res.run(x[..., :stop, :])
            pairs = zip(state.layers, expected.layers, strict=True)
            assert all((a == b).all() for a, b in pairs)
