"""Forecasts of a held-out part, beside naive ones computed the long way."""

import itertools

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.workflows.backtest import LAST, MODEL, SEASONAL, Problem, backtest, forecast_origins
from paralesn.workflows.tune import make_forecaster, tune


@pytest.fixture
def y(rng):
    t = np.arange(400)
    return np.column_stack([np.sin(t * 2 * np.pi / 12), t / 50]) + 0.1 * rng.normal(size=(400, 2))


@pytest.mark.parametrize("horizon", [1, 5, 17])
@pytest.mark.parametrize("known", [False, True])
def test_errors_are_those_of_forecasts_one_by_one(y, horizon, known, monkeypatch):
    monkeypatch.setattr("paralesn.workflows.backtest._VALUES", 1 << 8)  # several blocks
    X = np.cos(np.arange(450.0) / 3)[:, None] if known else None
    problem, first = Problem(y, 2, X, horizon, 12), 340
    model = make_forecaster(problem, {"units": 20}, rows=first).fit(
        y[:first], problem.inputs(0, first)
    )
    fresh = make_forecaster(problem, {"units": 20}, rows=first).fit(
        y[:first], problem.inputs(0, first)
    )
    result = backtest(model, problem, first, 0.8)
    off = {name: [] for name in (MODEL, SEASONAL, LAST)}
    inside = []
    for t in range(first, len(y) - horizon + 1):
        if t > first:
            fresh.update(y[t - 1 : t], problem.inputs(t - 1, t))
        truth = y[t : t + horizon]
        ahead = fresh.forecast(X=problem.inputs(t, t + horizon), interval=0.8)
        off[MODEL].append(ahead.values - truth)
        inside.append((truth >= ahead.lower) & (truth <= ahead.upper))
        off[LAST].append(y[t - 1] - truth)
        back = [k - 12 * (k // 12 + 1) for k in range(horizon)]
        off[SEASONAL].append(y[[t + k for k in back]] - truth)
    assert result.origins == len(inside)
    scale = np.abs(y[12:first] - y[: first - 12]).mean(axis=0)
    for name, errors in off.items():
        errors = np.array(errors)
        mae = np.abs(errors).mean(axis=(0, 1))
        np.testing.assert_allclose(result.errors[name].mae, mae, rtol=1e-9)
        np.testing.assert_allclose(result.errors[name].mase, mae / scale, rtol=1e-9)
        rmse = np.sqrt((errors**2).mean(axis=(0, 1)))
        np.testing.assert_allclose(result.errors[name].rmse, rmse, rtol=1e-9)
    np.testing.assert_allclose(result.coverage, np.mean(inside, axis=(0, 1)))
    np.testing.assert_allclose(result.latest, off[MODEL][-1] + y[-horizon:], rtol=1e-9)


def test_who_cannot_beat_naive_forecasts_is_told_so(rng):
    walk = rng.normal(size=(600, 1)).cumsum(axis=0)
    problem = Problem(walk, 1, None, 10, None)
    model = make_forecaster(problem, {"units": 20, "difference": False}, rows=500).fit(walk[:500])
    result = backtest(model, problem, 500)
    assert list(result.errors) == [MODEL, LAST]
    assert result.best_naive() == LAST
    assert result.beats_naive() == (result.errors[MODEL].mae[0] < result.errors[LAST].mae[0])


def test_a_constant_has_no_mase():
    y = np.ones((300, 1))
    problem = Problem(y, 1, None, 3, 7)
    model = make_forecaster(problem, {"units": 5}, rows=250).fit(y[:250])
    result = backtest(model, problem, 250)
    assert np.isnan(result.errors[MODEL].mase).all()
    assert result.overall(LAST) == 0


def test_further_series_are_read_but_not_judged(y):
    problem, first = Problem(y, 1, None, 4, 12), 340
    model = StateForecaster(
        pe.ParalESN(units=10), horizon=4, difference=False, standardize=False
    ).fit(y[:first])
    assert backtest(model, problem, first).errors[MODEL].mae.shape == (1,)
    ((known, values), *_) = forecast_origins(model, problem, first)
    assert known.tolist() == [first]
    assert values.shape == (1, 4, 2)
    assert not make_forecaster(problem, {}).shared


@pytest.mark.slow
def test_a_search_is_reproducible_and_keeps_to_its_time(y, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("paralesn.workflows.tune.time.monotonic", lambda: 0.1 * next(ticks))
    problem, seen = Problem(y, 2, None, 3, 12), []
    tuned = tune(problem, 0.0, progress=lambda activity, share: seen.append(activity))
    assert (tuned.trials, tuned.settings, seen) == (
        1,
        {},
        ["searching, 1 trials"],
    )  # the defaults are always tried
    assert tuned.error == tuned.default_error
    longer = tune(problem, 1.5)
    assert longer.trials > 3
    assert longer.error <= tuned.error
    assert longer.seconds <= 1.5
    assert tune(problem, 1.5).settings == longer.settings
    model = make_forecaster(problem, longer.settings).fit(y)
    assert model.forecast().shape == (3, 2)
