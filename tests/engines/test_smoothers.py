"""Smoothers: kernels against plain NumPy, and both against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paralesn.engines import reference_smoothers as reference
from paralesn.engines.cpu import smoothers as cpu
from paralesn.layers.smoothers import LEVEL, SEASON, TREND, Origins, SmootherLayer, smoother_grid


def series(rng, n, missing, positive):
    y = np.cumsum(rng.normal(size=n))
    y = np.exp(0.1 * y) if positive else y
    return np.where(rng.random(n) < missing, np.nan, y)


def random_state(rng, layer):
    """Any state that can be, on the scale of logarithms."""
    return 0.1 * rng.normal(size=(layer.rows, layer.size))


CASES = {
    "seed": st.integers(0, 10_000),
    "n": st.integers(2, 40),
    "missing": st.sampled_from([0.0, 0.2, 0.9]),
    "horizon": st.integers(1, 15),
}


@given(**CASES, period=st.integers(1, 9), log=st.booleans())
def test_scores_agree_with_the_reference(seed, n, missing, horizon, period, log):
    rng = np.random.default_rng(seed)
    layer = smoother_grid(period, log)
    truth = series(rng, n, missing, positive=log)
    y = np.log(truth) if log else truth
    steps = np.flatnonzero(rng.random(n) < 0.4)
    origins = Origins(steps, rng.random(steps.size))
    state = random_state(rng, layer)
    before = state.copy()
    errors = cpu.score(layer, y, truth, state, origins, horizon)
    expected = reference.score(layer, y, truth, state, origins, horizon)
    np.testing.assert_allclose(errors, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(state, before)


def mixed_layer(rng):
    """Smoothers of several periods, of values and of logarithms."""
    layer = smoother_grid(1, False).and_also(smoother_grid(4, True))
    layer = layer.and_also(smoother_grid(7, False))
    return layer.part(rng.choice(layer.size, 12, replace=False))


@given(**CASES, first=st.integers(0, 30))
def test_forecasts_agree_with_the_reference(seed, n, missing, horizon, first):
    rng = np.random.default_rng(seed)
    layer = mixed_layer(rng)
    y = series(rng, n, missing, positive=True)
    weights, origins = rng.random(layer.size), np.flatnonzero(rng.random(n) < 0.4)
    start = random_state(rng, layer)
    states = [start, start.copy()]
    given_data = (layer, y, np.log(y), first)
    ahead, expected = (
        engine.follow(*given_data, state, origins, weights, horizon)
        for engine, state in zip((cpu, reference), states, strict=True)
    )
    np.testing.assert_allclose(ahead, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(*states, rtol=1e-10, atol=1e-10)
    after = (layer, states[0], first + n, weights, horizon)
    np.testing.assert_allclose(cpu.ahead(*after), reference.ahead(*after), rtol=1e-10, atol=1e-10)


@given(**CASES, cut=st.integers(1, 39))
def test_pieces_are_one_run(seed, n, missing, horizon, cut):
    rng = np.random.default_rng(seed)
    layer = mixed_layer(rng)
    y, cut = series(rng, n, missing, positive=True), min(cut, n)
    weights, origins, log_y = rng.random(layer.size), np.arange(n), np.log(y)
    whole = random_state(rng, layer)
    pieces = whole.copy()
    together = cpu.follow(layer, y, log_y, 0, whole, origins, weights, horizon)
    one, two = origins[:cut], origins[: n - cut]
    apart = [
        cpu.follow(layer, y[:cut], log_y[:cut], 0, pieces, one, weights, horizon),
        cpu.follow(layer, y[cut:], log_y[cut:], cut, pieces, two, weights, horizon),
    ]
    np.testing.assert_array_equal(np.concatenate(apart), together)
    np.testing.assert_array_equal(pieces, whole)
    end = cpu.ahead(layer, whole, n, weights, horizon)
    np.testing.assert_allclose(together[-1], end, rtol=1e-12, atol=1e-12)


def one_smoother(**gains):
    values = {"level": 0, "trend": 0, "damping": 0, "drift": 0, "season": 0, "log": 0, "period": 1}
    return SmootherLayer(*([value] for value in (values | gains).values()))


def forecast(layer, y, state, steps):
    state = state.copy()
    nothing = np.zeros(0, np.int64)
    cpu.follow(layer, y, y, 0, state, nothing, np.ones(1), 1)
    return cpu.ahead(layer, state, y.size, np.ones(1), steps)


def test_simple_exponential_smoothing(rng):
    y, alpha = rng.normal(size=50), 0.3
    level = 2.0
    for value in y:
        level = (1 - alpha) * level + alpha * value
    layer = one_smoother(level=alpha)
    state = np.zeros((layer.rows, 1))
    state[LEVEL] = 2.0
    np.testing.assert_allclose(forecast(layer, y, state, 4), level, rtol=1e-13)


def test_damped_trend_of_holt(rng):
    """The textbook's form: beta star of the change of level (Hyndman and Athanasopoulos, 8.2)."""
    y, alpha, beta_star, phi = np.cumsum(rng.normal(size=60)), 0.4, 0.2, 0.9
    level, trend = 1.0, 0.5
    for value in y:
        before = level
        level = alpha * value + (1 - alpha) * (before + phi * trend)
        trend = beta_star * (level - before) + (1 - beta_star) * phi * trend
    expected = [level + sum(phi**i for i in range(1, k + 1)) * trend for k in range(1, 8)]
    layer = one_smoother(level=alpha, trend=alpha * beta_star, damping=phi)
    state = np.zeros((layer.rows, 1))
    state[LEVEL], state[TREND] = 1.0, 0.5
    np.testing.assert_allclose(forecast(layer, y, state, 7), expected, rtol=1e-12)


def test_additive_season_of_holt_and_winters(rng):
    y, alpha, gamma, m = rng.normal(size=41), 0.3, 0.15, 4
    level, season = 0.0, list(np.arange(4.0))
    for t, value in enumerate(y):
        before = level
        level = alpha * (value - season[t % m]) + (1 - alpha) * before
        season[t % m] = gamma * (value - before) + (1 - gamma) * season[t % m]
    layer = one_smoother(level=alpha, season=gamma, period=m)
    state = np.zeros((layer.rows, 1))
    state[SEASON:, 0] = np.arange(4.0)
    expected = [level + season[(y.size + k) % m] for k in range(9)]
    np.testing.assert_allclose(forecast(layer, y, state, 9), expected, rtol=1e-12)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_drift_is_a_share_of_the_slope_of_the_line(share, rng):
    y = 3 + 0.7 * np.arange(30) + rng.normal(size=30)
    slope = np.polyfit(np.arange(30), y, 1)[0]
    layer = one_smoother(level=1.0, drift=share)
    ahead = forecast(layer, y, np.zeros((layer.rows, 1)), 5)
    np.testing.assert_allclose(ahead, y[-1] + share * slope * np.arange(1, 6), rtol=1e-11)


def test_a_missing_value_is_what_was_predicted(rng):
    """With the prediction in its place the error is zero: forecasts are the same."""
    y = rng.normal(size=30)
    for gains in ({"level": 0.3, "trend": 0.05, "damping": 0.9}, {"level": 0.4, "drift": 1.0}):
        layer = one_smoother(**gains)
        start = np.zeros((layer.rows, 1))
        predicted = forecast(layer, y[:20], start, 1)
        gap, filled = (np.concatenate([y[:20], [x], y[20:]]) for x in (np.nan, predicted[0]))
        ahead = [forecast(layer, x, start, 6) for x in (gap, filled)]
        np.testing.assert_allclose(*ahead, rtol=1e-11)


def test_exponentials_do_not_overflow():
    layer = one_smoother(level=1.0, trend=1.0, damping=1.0, log=True)
    state = np.zeros((layer.rows, 1))
    state[LEVEL], state[TREND] = 600.0, 90.0
    assert np.isfinite(cpu.ahead(layer, state, 5, np.ones(1), 50)).all()
    assert np.isfinite(reference.ahead(layer, state, 5, np.ones(1), 50)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"level": 1.2}, r"\[0, 1\]"),
        ({"trend": -0.1}, r"\[0, 1\]"),
        ({"damping": np.nan}, r"\[0, 1\]"),
        ({"period": 0}, "period of smoothers must be at least 1, got 0"),
    ],
)
def test_smoothers_that_cannot_be(change, words):
    with pytest.raises(ValueError, match=words):
        one_smoother(**change)


def test_arrays_of_smoothers_have_one_length():
    with pytest.raises(ValueError, match=r"trend of smoothers must be \(1,\), got \(2,\)"):
        SmootherLayer([0.5], [0.1, 0.2], [0.9], [0.0], [0.0], [False], [1])
