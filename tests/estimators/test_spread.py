"""Intervals: of the right shape, and as often right as they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paralesn as pe
from paralesn.estimators.forecaster.spread import Errors, extended, measure

LEVELS = [0.5, 0.8, 0.95]


def ar(rng, n):
    y = rng.normal(size=n)
    for t in range(1, n):
        y[t] += 0.6 * y[t - 1]
    return y


SERIES = {
    "AR(1)": ar,
    "season": lambda rng, n: 10 * np.sin(2 * np.pi * np.arange(n) / 12) + rng.normal(size=n),
    "random walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
    "growth": lambda rng, n: np.exp(0.02 * np.arange(n) + 0.2 * rng.normal(size=n)),
    "multiplicative walk": lambda rng, n: np.exp(np.cumsum(0.05 * rng.normal(size=n))),
    "far from zero": lambda rng, n: 100 + rng.normal(size=n),
}


def coverage(make, model, n, horizon, count):
    """Share of values within intervals of `LEVELS`, over many series."""
    ys = [make(np.random.default_rng(s), n + horizon) for s in range(count)]
    inside = []
    for y in ys:
        _, lower, upper = model.fit(y[:n]).forecast(interval=LEVELS)
        future = y[n:, None]
        inside.append((future >= lower) & (future <= upper))
    return np.mean(inside, axis=(0, 1))


@pytest.mark.parametrize("name", SERIES)
def test_intervals_of_smoothers_hold_what_they_say(name):
    held = coverage(SERIES[name], pe.SmootherBank(horizon=6, n_jobs=1), 120, 6, 120)
    np.testing.assert_allclose(held, LEVELS, atol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AR(1)", "season", "growth"])
def test_intervals_with_a_reservoir_hold_what_they_say(name):
    held = coverage(SERIES[name], pe.ReservoirForecaster(horizon=6, n_jobs=1), 200, 6, 60)
    np.testing.assert_allclose(held, LEVELS, atol=0.08)


def errors_of(forecasts, truth, weights=None, **more):
    weights = np.ones(len(truth)) if weights is None else weights
    given = {"evidence": 1e9, "is_product": False, "floor": -np.inf} | more
    return Errors(forecasts, truth, weights, **given)


def test_quantiles_of_errors_become_bounds(rng):
    """With errors of one known distribution, bounds are its quantiles."""
    scale = np.array([1.0, 2.0, 3.0])
    off = rng.laplace(size=(20_000, 3)) * scale
    spread = measure([errors_of(np.zeros_like(off), off)], 3)
    lower, upper = spread.bounds(np.full((1, 3), 5.0), 0.9)
    reach = -np.log(0.1) * scale  # of a Laplace distribution
    np.testing.assert_allclose(upper[0], 5 + reach, rtol=0.03)
    np.testing.assert_allclose(lower[0], 5 - reach, rtol=0.06)


def test_relative_errors_are_factors(rng):
    level = np.exp(rng.normal(size=(5000, 1)))
    truth = level * np.exp(0.1 * rng.laplace(size=(5000, 2)))
    spread = measure([errors_of(np.repeat(level, 2, axis=1), truth)], 2)
    assert spread.multiplicative.tolist() == [True]
    lower, upper = spread.bounds(np.array([[2.0, 20.0]]), 0.8)
    factor = np.exp(-0.1 * np.log(0.2))
    np.testing.assert_allclose(upper[0], np.array([2.0, 20.0]) * factor, rtol=0.02)
    np.testing.assert_allclose(lower[0], np.array([2.0, 20.0]) / factor, rtol=0.02)


def test_equal_errors_are_not_relative(rng):
    level = np.exp(rng.normal(size=(3000, 1))) + 5
    truth = level + 0.1 * rng.laplace(size=(3000, 1))
    assert not measure([errors_of(level, truth)], 1).multiplicative[0]


def test_little_evidence_makes_intervals_wide(rng):
    off = rng.normal(size=(500, 1))
    bounds = [measure([errors_of(np.zeros((500, 1)), off, evidence=e)], 1).bounds(np.zeros((1, 1)), 0.9)[1]
              for e in (1.0, 3.0, 1e12)]  # fmt: skip
    np.testing.assert_allclose(bounds[0] / bounds[2], 2.0)
    np.testing.assert_allclose(bounds[1] / bounds[2], 4 / 3)


def test_scales_grow_with_the_root_of_the_step_beyond_the_horizon():
    scale = np.array([[1.0, 1.5, 2.0]])
    expected = [1.0, 1.5, 2.0, *(2 * np.sqrt(np.array([4, 5, 6]) / 3))]
    np.testing.assert_allclose(extended(scale, 6)[0], expected)
    np.testing.assert_array_equal(extended(scale, 2)[0], [1.0, 1.5])


def test_weights_and_missing_values_count(rng):
    off = np.concatenate([np.full((50, 1), 1.0), np.full((50, 1), 9.0)])
    off[10:20] = np.nan
    weights = np.repeat([1.0, 1e-12], 50)
    spread = measure([errors_of(np.zeros((100, 1)), off, weights)], 1)
    np.testing.assert_allclose(spread.bounds(np.zeros((1, 1)), 0.9)[1], 1.0, rtol=1e-6)


@given(
    seed=st.integers(0, 1000),
    level=st.floats(0.001, 0.999),
    power=st.integers(-12, 12),
    horizon=st.integers(1, 9),
)
def test_bounds_are_ordered_nested_and_above_the_floor(seed, level, power, horizon):
    rng = np.random.default_rng(seed)
    truth = 10.0**power * np.exp(rng.normal(size=(12, horizon)))
    truth[rng.random(truth.shape) < 0.2] = np.nan
    forecasts = 10.0**power * np.exp(rng.normal(size=(12, horizon)))
    floor = 0.0 if seed % 2 else -np.inf
    spread = measure(
        [errors_of(forecasts, truth, evidence=rng.uniform(0.1, 9), floor=floor)], horizon
    )
    values = forecasts[:1]
    lower, upper = spread.bounds(values, level)
    inner = spread.bounds(values, level / 2)
    assert (lower <= inner[0]).all()
    assert (inner[0] <= values).all()
    assert (values <= inner[1]).all()
    assert (inner[1] <= upper).all()
    assert lower.min() >= floor


def test_quantiles_are_ends_of_intervals(rng):
    model = pe.SmootherBank(horizon=4).fit(ar(rng, 80))
    quantiles = model.forecast(quantiles=[0.05, 0.25, 0.5, 0.75, 0.95])
    outer, inner = model.forecast(interval=0.9), model.forecast(interval=0.5)
    expected = [outer.lower, inner.lower, outer.values, inner.upper, outer.upper]
    np.testing.assert_allclose(quantiles, np.stack(expected, axis=1), rtol=1e-12)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    np.testing.assert_array_equal(model.forecast(quantiles=0.95), quantiles[:, -1])


def test_perfect_forecasts_have_intervals_without_width():
    values, lower, upper = pe.SmootherBank(horizon=3).fit(np.full(30, 2.0)).forecast(interval=0.99)
    np.testing.assert_allclose(lower, values)
    np.testing.assert_allclose(upper, values)


def test_intervals_of_a_horizon_never_seen_stay_of_the_size_of_the_series():
    y = np.arange(10.0) + np.random.default_rng(1).normal(size=10)
    values, lower, upper = pe.ReservoirForecaster(horizon=50).fit(y).forecast(interval=0.9)
    assert (lower <= values).all()
    assert (values <= upper).all()
    assert upper.max() < values.max() + 20 * np.ptp(y)
