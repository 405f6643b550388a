"""Seasons: found where there are some, and hardly ever where there are none."""

import numpy as np
import pytest
from scipy.signal import fftconvolve, find_peaks

import paralesn as pe
from paralesn.estimators.forecaster import seasons as private
from paralesn.estimators.forecaster.seasons import check_season, is_seasonal, seasons_of

NAN = np.nan


def seasonal(rng, n, period, noise=0.3):
    """A sine and its second harmonic of any phases, with noise."""
    t = 2 * np.pi * np.arange(n) / period
    a, b = rng.uniform(0, 2 * np.pi, 2)
    return np.sin(t + a) + 0.5 * np.sin(2 * t + b) + noise * rng.normal(size=n)


def autoregressive(rng, n, memory):
    y = rng.normal(size=n)
    for t in range(1, n):
        y[t] += memory * y[t - 1]
    return y


@pytest.mark.parametrize("period", [5, 7, 9, 12, 17, 24, 52])
def test_a_season_is_found(period):
    rngs = [np.random.default_rng(s) for s in range(20)]
    found = [seasons_of(seasonal(rng, 10 * period, period, 1.5 / period), None) for rng in rngs]
    assert sum(seasons == (period,) for seasons in found) >= 18


@pytest.mark.parametrize("change", ["trend", "walk", "units", "missing", "growing"])
def test_a_season_is_found_in_other_company(change, rng):
    y = seasonal(rng, 144, 12, 0.1)
    if change == "trend":
        y = y + 0.3 * np.arange(144)
    elif change == "walk":
        y = y + 0.2 * np.cumsum(rng.normal(size=144))
    elif change == "units":
        y = 1e200 * y
    elif change == "missing":
        y = np.where(rng.random(144) < 0.2, NAN, y)
    else:
        y = np.exp(0.02 * np.arange(144) + 0.2 * y)
    assert seasons_of(y, None) == (12,)


@pytest.mark.parametrize("n", [30, 60, 150, 500])
@pytest.mark.parametrize("memory", [0.0, 0.8, 1.0], ids=["white noise", "AR(1)", "random walk"])
def test_no_season_is_found_in_noise(memory, n):
    """Without the correction for correlated values it would be found in a fifth of random walks."""
    seeds = range(200)
    found = [seasons_of(autoregressive(np.random.default_rng(s), n, memory), None) for s in seeds]
    assert sum(bool(seasons) for seasons in found) <= 10


@pytest.mark.parametrize("memory", [0.0, 1.0], ids=["white noise", "random walk"])
def test_what_a_clock_suggests_is_tested(memory):
    """The level of the test is 5 %; seasons nobody suggested come on top."""
    seeds = range(200)
    found = [seasons_of(autoregressive(np.random.default_rng(s), 200, memory), None, (7,)) for s in seeds]  # fmt: skip
    assert sum(bool(seasons) for seasons in found) <= 30


def test_the_level_of_the_test_is_kept():
    p = [is_seasonal(np.random.default_rng(s).normal(size=120), 7, 0.05) for s in range(400)]
    assert 0.02 < np.mean(p) < 0.1


@pytest.mark.parametrize(
    "y", [np.ones(50), np.zeros(50), np.arange(50.0), [1.0, 2.0], np.full(30, NAN), [NAN, 1.0] * 20]
)
def test_what_does_not_vary_has_no_season(y):
    y = np.array(y)
    y[0] = 1.0
    assert seasons_of(y, None) == ()


def test_given_seasons_are_used_as_far_as_they_fit(rng):
    y = rng.normal(size=40)
    assert pe.SmootherBank(horizon=2, season=9).fit(y).season_ == (9,)
    assert pe.SmootherBank(horizon=2, season=(9, 4)).fit(y).season_ == (4, 9)
    assert pe.SmootherBank(horizon=2, season=[4, 21]).fit(y).season_ == (4,)
    assert pe.SmootherBank(horizon=2, season=1).fit(y).season_ == ()


def test_a_given_season_is_learnt(rng):
    pattern = rng.normal(size=9)
    y = np.tile(pattern, 7)
    ahead = pe.SmootherBank(horizon=9, season=9).fit(y).forecast()
    np.testing.assert_allclose(ahead, pattern, atol=1e-6)
    assert np.abs(pe.SmootherBank(horizon=9, season=1).fit(y).forecast() - pattern).max() > 0.5


def test_a_week_joins_a_day(rng):
    hours = np.arange(24 * 7 * 6)
    y = np.sin(2 * np.pi * hours / 24) * np.where(hours // 24 % 7 > 4, 0.2, 1.0)
    y = y + 0.1 * rng.normal(size=hours.size)
    assert seasons_of(y, None) == (24, 168)
    assert seasons_of(y, (24,)) == (24, 168)
    assert seasons_of(y[: 24 * 7 * 3], (24,)) == (24,)  # too few weeks
    every_day = np.sin(2 * np.pi * hours / 24) + 0.1 * rng.normal(size=hours.size)
    assert seasons_of(every_day, (24,)) == (24,)


def test_the_clock_suggests(rng):
    pd = pytest.importorskip("pandas")
    y = seasonal(rng, 96, 12)
    months = pd.Series(y, pd.date_range("2015-01-01", periods=96, freq="MS"))
    assert pe.SmootherBank(horizon=2).fit(months).season_ == (12,)
    days = pd.Series(seasonal(rng, 96, 7), pd.date_range("2015-01-01", periods=96))
    assert pe.SmootherBank(horizon=2).fit(days).season_ == (7,)
    odd = pd.Series(seasonal(rng, 180, 9), pd.date_range("2015-01-01", periods=180))
    assert pe.SmootherBank(horizon=2).fit(odd).season_ == (9,)  # the data decide


@pytest.mark.parametrize(
    ("season", "error"),
    [(0, ValueError), ("yearly", ValueError), ([], ValueError), (2.5, TypeError), (None, TypeError), ([2, "x"], TypeError), (True, TypeError)],
)  # fmt: skip
def test_seasons_that_are_none(season, error):
    with pytest.raises(error, match=r"season(\[1\])? must be .*, got "):
        check_season(season)


def test_local_maxima_are_scipys(rng):
    for n in range(1, 30):
        for _ in range(20):
            values = rng.integers(0, 4, n).astype(float)  # with many plateaus
            np.testing.assert_array_equal(private._local_maxima(values), find_peaks(values)[0])


@pytest.mark.parametrize("n", [200, 401, 5003])
def test_a_moving_mean_is_scipys_convolution(rng, n):
    y, kernel = rng.normal(size=n) + 5, rng.random(65)
    truth = fftconvolve(y - y.mean(), kernel, "valid") + y.mean()
    np.testing.assert_allclose(private._moving_mean(y, kernel), truth, rtol=1e-13)
