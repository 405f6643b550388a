"""The bank of smoothers: fits anything, in any units, and goes on where it was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paralesn as pe
from paralesn.estimators.forecaster.bank import fit_bank, repeat_season, start
from paralesn.estimators.forecaster.intermittent import COUNT, flat_forecasts, is_intermittent
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.rolling import evidence, future_of, rolling_origins
from paralesn.layers.smoothers import LEVEL, SEASON, TREND, smoother_grid

T = np.arange(60)
NOISE = np.random.default_rng(5).normal(size=60)
NAN = np.nan


def gaps(y, *where):
    y = np.array(y, float)
    for part in where:
        y[part] = NAN
    return y


SERIES = {
    "two points": [1.0, 2.0],
    "three points": [1.0, 5.0, 2.0],
    "constant": np.full(20, 3.7),
    "all zero": np.zeros(15),
    "intermittent": np.random.default_rng(1).poisson(0.4, 60),
    "one demand": np.where(T == 40, 3.0, 0.0),
    "trending": 5 + 0.3 * T,
    "level shift": np.where(T > 30, 100.0, 1.0) + 0.1 * NOISE,
    "outlier": np.where(T == 30, 1e9, 1.0),
    "tiny": 1e-12 * NOISE,
    "huge": 1e12 * NOISE,
    "denormal": 1e-310 * np.abs(NOISE),
    "nearly overflowing": 1e150 * np.exp(NOISE),
    "integers": np.random.default_rng(2).integers(-5, 5, 40),
    "booleans": NOISE > 0,
    "a list of numbers of NumPy": list(NOISE),
    "float32": NOISE.astype(np.float32),
    "NaN first": gaps(NOISE, slice(0, 20)),
    "NaN in the middle": gaps(NOISE, slice(20, 40)),
    "NaN last": gaps(NOISE, slice(45, None)),
    "mostly NaN": gaps(NOISE, slice(1, 58)),
    "every other NaN": gaps(10 + NOISE, slice(None, None, 2)),
    "alternating": (-1.0) ** T,
    "season": 10 + np.sin(2 * np.pi * T / 6),
    "exponential": np.exp(0.3 * T),
}


@pytest.mark.parametrize("horizon", [None, 1, 40])
@pytest.mark.parametrize("name", SERIES)
def test_any_series_of_two_values_has_a_forecast_with_nested_intervals(name, horizon):
    y = np.asarray(SERIES[name])
    model = pe.SmootherBank(horizon=horizon).fit(y)
    levels = [0.2, 0.5, 0.9, 0.99]
    values, lower, upper = model.forecast(interval=levels)
    assert np.isfinite(values).all()
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()
    bounds = np.hstack([lower[:, ::-1], values[:, None], upper])  # from the lowest to the highest
    assert (np.diff(bounds, axis=1) >= 0).all()
    if np.nanmin(y.astype(float)) >= 0:
        assert lower.min() >= 0
    assert model.weights_
    assert sum(model.weights_.values()) == pytest.approx(1, abs=1e-5)


def test_what_is_constant_stays_and_what_is_straight_goes_on():
    np.testing.assert_allclose(pe.SmootherBank(horizon=5).fit(np.full(30, 3.7)).forecast(), 3.7)
    line = 5 + 0.3 * np.arange(65)
    ahead = pe.SmootherBank(horizon=5).fit(line[:60]).forecast()
    np.testing.assert_allclose(ahead, line[60:], atol=1e-6)


def test_a_repeated_season_goes_on():
    y = np.tile([3.0, -1.0, 4.0, 1.0, 5.0, -9.0], 8)
    ahead = pe.SmootherBank(horizon=9, season=6).fit(y).forecast()
    np.testing.assert_allclose(ahead, np.tile(y[:6], 2)[:9], atol=1e-6)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), power=st.floats(-9, 9), shift=st.floats(-1e3, 1e3))
def test_units_do_not_matter(seed, power, shift):
    """forecast(a y + b) = a forecast(y) + b where no logarithms are read; for b = 0 always."""
    rng = np.random.default_rng(seed)
    a, y = 10.0**power, np.cumsum(rng.normal(size=40))
    y -= y.min() - 1e-3 if seed % 2 else y.max() + 2e3  # positive, or negative whatever the shift
    values, lower, upper = pe.SmootherBank(horizon=4, season=5).fit(y).forecast(interval=0.8)
    scaled = pe.SmootherBank(horizon=4, season=5).fit(a * y).forecast(interval=0.8)
    size = np.abs(y).max()
    for got, expected in zip(scaled, (values, lower, upper), strict=True):
        np.testing.assert_allclose(got / a, expected, rtol=1e-7, atol=1e-9 * size)
    if seed % 2 == 0:
        moved = pe.SmootherBank(horizon=4, season=5).fit(a * y + a * shift).forecast()
        np.testing.assert_allclose(moved / a, values + shift, rtol=1e-7, atol=1e-9 * size)


def test_logarithms_are_read_only_where_all_values_are_positive(rng):
    y = np.exp(0.05 * T + 0.02 * NOISE)
    assert pe.SmootherBank(horizon=4).fit(y).weights_["smoothers of logarithms"] > 0.5
    y[3] = 0
    assert "smoothers of logarithms" not in pe.SmootherBank(horizon=4).fit(y).weights_


@pytest.mark.parametrize("name", ["season", "integers", "every other NaN", "intermittent"])
def test_steps_in_pieces_are_steps_at_once(name):
    y = np.asarray(SERIES[name], float)
    old, new = y[:-12], y[-12:]
    once = pe.SmootherBank(horizon=3).fit(old).update(new)
    pieces = pe.SmootherBank(horizon=3).fit(old)
    for part in np.split(new, [1, 2, 7]):
        pieces.update(part)
    for one, other in zip(once.forecast(20, interval=0.9), pieces.forecast(20, interval=0.9), strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["season", "integers", "NaN in the middle", "intermittent"])
def test_an_updated_bank_is_one_that_read_everything(name):
    y = np.asarray(SERIES[name], float)
    cut = len(y) - 10
    bank = fit_bank(y[:cut], (), 3, rolling_origins(cut, 3, 1))
    _, updated = bank.follow(y[cut:], np.zeros(0, int), 1, before=y[:cut])
    _, whole = bank.follow(y, np.zeros(0, int), 1)
    np.testing.assert_allclose(updated.state, whole.state, rtol=1e-12, atol=1e-12)
    assert updated.count == whole.count == len(y)
    np.testing.assert_allclose(updated.forecast(y, 5), whole.forecast(y, 5), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["season", "intermittent", "trending", "every other NaN"])
def test_forecasts_from_a_step_are_those_of_the_series_that_ends_there(name):
    """With the same weights, what comes later does not matter."""
    y = np.asarray(SERIES[name], float)
    bank = fit_bank(y, (6,), 4, rolling_origins(len(y), 4, 6))
    origins = np.array([30, 41, 58])
    ahead, _ = bank.follow(y, origins, 4)
    for row, origin in zip(ahead, origins, strict=True):
        part = y[: origin + 1]
        _, before = bank.follow(part, np.zeros(0, int), 1)
        np.testing.assert_allclose(row, before.forecast(part, 4), rtol=1e-11, atol=1e-12)


def test_refit_is_fit_to_everything(rng):
    y = np.cumsum(rng.normal(size=90))
    model = pe.SmootherBank(horizon=4).fit(y[:60]).update(y[60:], refit=True)
    expected = pe.SmootherBank(horizon=4).fit(y)
    for one, other in zip(model.forecast(interval=0.5), expected.forecast(interval=0.5), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_refit_looks_for_seasons_again(rng):
    y = 10 + np.tile([0, 0, 3, 0, 0, -2, 0], 30) + 0.1 * rng.normal(size=210)
    model = pe.SmootherBank(horizon=7).fit(y[:10])
    assert model.season_ == ()
    assert (
        model.update(y[10:], refit=True).season_
        == pe.SmootherBank(horizon=7).fit(y).season_
        == (7,)
    )


def test_bits_depend_neither_on_threads_nor_on_other_series(rng):
    ys = [np.cumsum(rng.normal(size=n)) for n in (30, 45, 60, 75)]
    every = pe.SmootherBank(horizon=5, n_jobs=1).fit(ys).forecast(interval=0.9)
    threads = pe.SmootherBank(horizon=5, n_jobs=2).fit(ys).forecast(interval=0.9)
    turned = pe.SmootherBank(horizon=5).fit(ys[::-1]).forecast(interval=0.9)
    alone = [pe.SmootherBank(horizon=5).fit(y).forecast(interval=0.9) for y in ys]
    for k in range(3):
        for i in range(4):
            np.testing.assert_array_equal(every[k][i], threads[k][i])
            np.testing.assert_array_equal(every[k][i], turned[k][3 - i])
            np.testing.assert_array_equal(every[k][i], alone[i][k])


def test_values_below_zero_that_come_later(rng):
    """Smoothers of logarithms read nothing then, and forecasts may be negative from then on."""
    y = 50 + np.cumsum(NOISE)
    model = pe.SmootherBank(horizon=3).fit(y)
    assert 0 < model.weights_["smoothers of logarithms"] < 0.9
    values, lower, upper = model.update(-np.arange(1.0, 30.0)).forecast(interval=0.9)
    assert (lower <= values).all()
    assert (values <= upper).all()
    assert lower.min() < 0
    found = model.anomalies()
    assert np.isfinite(found.values[1:]).all()
    assert found.is_anomaly[60]


def test_an_observation_that_is_missing_is_a_step(rng):
    y = np.tile([1.0, 5.0, 2.0, 8.0], 12) + 0.01 * rng.normal(size=48)
    model = pe.SmootherBank(horizon=4, season=4).fit(y)
    before = model.forecast(5)
    after = model.update([NAN]).forecast(4)
    np.testing.assert_allclose(after, before[1:], atol=0.5)


# -- parts of a bank -------------------------------------------------------------------------------


def test_the_start_is_the_line_and_the_season_of_the_beginning():
    season = np.array([2.0, -1.0, -1.0])
    y = 7 + 0.5 * np.arange(24) + np.tile(season, 8)
    layer = smoother_grid(3, False)
    state = start(layer, y, 24)
    np.testing.assert_allclose(state[LEVEL] + 0.5, 7, atol=1e-12)  # before the first step
    np.testing.assert_allclose(state[TREND][layer.damping > 0], 0.5, atol=1e-12)
    assert not state[TREND][layer.damping == 0].any()
    np.testing.assert_allclose(state[SEASON : SEASON + 3].T - season, 0, atol=1e-12)


def naive_by_hand(y, m, origin, k):
    """The value at the same place of the last season that was seen."""
    at = origin + k
    while at > origin:
        at -= m
    while at >= 0 and np.isnan(y[at]):
        at -= m
    return y[at] if at >= 0 else None


@given(seed=st.integers(0, 500), m=st.integers(1, 6), missing=st.sampled_from([0, 0.3]))
def test_seasonal_naive(seed, m, missing):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=20)
    y[rng.random(20) < missing] = NAN
    y[:m] = rng.normal(size=m)  # each place is seen once
    origins = np.arange(m, 19)
    ahead = repeat_season(y, m, origins, 9)
    expected = [[naive_by_hand(y, m, o, k) for k in range(1, 10)] for o in origins]
    np.testing.assert_array_equal(ahead, np.array(expected, float))


@given(n=st.integers(2, 400), horizon=st.integers(1, 50), season=st.integers(1, 60))
def test_something_follows_each_origin(n, horizon, season):
    steps, weights = rolling_origins(n, horizon, season)
    assert 1 <= steps.size <= 100
    assert (np.diff(steps) > 0).all()
    assert steps[0] >= 0
    assert steps[-1] == n - 2
    assert (np.diff(weights) > 0).all()
    assert evidence(steps, n, horizon) > 0
    y = np.arange(float(n))
    future = future_of(y, steps, horizon)
    after = steps[:, None] + np.arange(1, horizon + 1)
    np.testing.assert_array_equal(future, np.where(after < n, after, NAN))


def test_what_is_intermittent():
    assert is_intermittent(np.array([0, 0, 1.0, NAN]))
    assert not is_intermittent(np.array([0, 1, 1, 1.0]))
    assert not is_intermittent(np.array([0, 0, -1.0]))
    assert not is_intermittent(np.array([NAN]))


def test_flat_forecasts_by_hand():
    y = np.array([0, 0, 3, 0, 0, 1, 0, 2, 0, NAN, 0, 0], float)
    flat = flat_forecasts(y, np.array([len(y) - 1]))[0]
    assert flat.size == COUNT
    seen = y[np.isfinite(y)]
    level = seen[:6].mean()
    size, chance = seen[:6][seen[:6] > 0].mean(), (seen[:6] > 0).mean()
    for value in seen:
        level += 0.1 * (value - level)
        chance += 0.05 * ((value > 0) - chance)
        size += 0.1 * (value - size) * (value > 0)
    np.testing.assert_allclose(flat[2], level)
    np.testing.assert_allclose(flat[4], size * chance)
    assert flat[-3:].tolist() == [np.median(seen)] * 3


def test_an_intermittent_series_expects_its_median(rng):
    y = rng.poisson(0.3, 200).astype(float)
    assert (pe.SmootherBank(horizon=6).fit(y).forecast() < 0.5).all()
    demand = np.where(np.arange(200) % 3 == 0, 0.0, 7.0)
    rng.shuffle(demand)
    assert (pe.SmootherBank(horizon=6).fit(demand).forecast() > 4).all()


def test_packed_banks_are_the_banks(rng):
    ys = [np.cumsum(rng.normal(size=n)) for n in (10, 40)] + [rng.poisson(0.3, 30).astype(float)]
    banks = [fit_bank(y, (5,), 3, rolling_origins(len(y), 3, 5)) for y in ys]
    for before, after, y in zip(banks, PackedBanks.pack(banks), ys, strict=True):
        np.testing.assert_array_equal(before.forecast(y, 9), after.forecast(y, 9))
        assert before.count == after.count


@pytest.mark.parametrize("m", [1, 2, 5, 12])
def test_missing_values_are_those_of_the_season_before(m, rng):
    y = rng.normal(size=61)
    y[rng.random(61) < 0.3] = np.nan
    y[0] = 1.0
    origins = np.arange(2 * m, 60)
    ahead = repeat_season(y, m, origins, 15)
    checked = 0
    for row, origin in enumerate(origins):
        for step in range(1, 16):
            expected = naive_by_hand(y, m, origin, step)
            if expected is not None:
                assert ahead[row, step - 1] == expected
                checked += 1
    assert checked > 0.8 * ahead.size
