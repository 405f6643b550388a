"""Distances between attractors and valid prediction times, against closed forms."""

from math import gamma, pi, sqrt

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from paralesn.datasets import lorenz63
from paralesn.theory import climate_distance, valid_prediction_time

# -- climate -----------------------------------------------------------------------------------


def test_shifted_gaussians_are_their_shift_apart(rng):
    truth = rng.normal(size=(40_000, 3)) * [1.0, 10.0, 0.1]
    shift = np.array([0.5, 0.0, -1.0])
    found = climate_distance(
        rng.normal(size=(30_000, 3)) * [1.0, 10.0, 0.1] + shift * [1, 1, 0.1], truth
    )
    assert found.distribution == pytest.approx(0.5, abs=0.02)  # the mean of 0.5, 0 and 1
    expected = np.linalg.norm(shift) * gamma(3 / 2) / (sqrt(pi) * gamma(2))
    few = truth[:5000]
    many = climate_distance(few + shift * [1, 1, 0.1], few, directions=2000)
    assert many.joint == pytest.approx(expected, rel=0.04)
    assert many.spectrum == pytest.approx(0.0, abs=1e-6)
    assert found.spectrum < 0.15


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_scaled_gaussians(scale, rng):
    """W1 of N(0, 1) and N(0, s^2) is |s - 1| sqrt(2 / pi)."""
    truth, generated = rng.normal(size=50_000), scale * rng.normal(size=40_000)
    found = climate_distance(generated, truth)
    assert found.distribution == pytest.approx(abs(scale - 1) * sqrt(2 / pi), abs=0.02)
    assert found.joint == found.distribution  # of a single component


@pytest.mark.parametrize("lengths", [(50, 50), (50, 51), (12, 40), (7, 1000)])
def test_the_distance_of_distributions_is_scipys(lengths, rng):
    a, b = (rng.standard_t(3, size=(n, 2)) for n in lengths)
    expected = [
        wasserstein_distance(x, y) for x, y in zip(a.T, b.T / b.std(axis=0)[:, None], strict=True)
    ]
    found = climate_distance(a * b.std(axis=0), b)
    assert found.distribution == pytest.approx(np.mean(expected), rel=1e-12)


def test_the_joint_distance_sees_what_components_do_not(rng):
    common = rng.normal(size=20_000)
    together, apart = np.stack([common, common], axis=1), rng.normal(size=(20_000, 2))
    found = climate_distance(together, apart)
    assert found.distribution < 0.03
    # Along the angle a the deviation is |cos a + sin a| instead of 1.
    angles = np.linspace(0, 2 * np.pi, 10_001)
    expected = np.abs(np.abs(np.cos(angles) + np.sin(angles)) - 1).mean() * sqrt(2 / pi)
    many = climate_distance(together, apart, directions=500)
    assert many.joint == pytest.approx(expected, rel=0.05)


def test_sinusoids_of_different_frequencies_have_nothing_in_common():
    t = np.arange(8192)
    slow, fast = np.sin(2 * np.pi * t / 64.3), np.sin(2 * np.pi * t / 16.7)
    found = climate_distance(fast, slow)
    assert found.spectrum > 0.99
    assert found.distribution < 0.05
    assert (
        climate_distance(np.cos(2 * np.pi * t / 64.3), slow).spectrum < 0.01
    )  # phases do not count


def test_the_spectral_distance_is_hellingers(rng):
    """Moving sums of white noise: known spectra of one component."""
    noise = rng.normal(size=(2, 400_001))
    f = np.arange(1, 33) / 64
    sharp, smooth = np.ones(32), np.abs(1 + np.exp(-2j * np.pi * f)) ** 2
    sharp[-1], smooth[-1] = 0.5 * sharp[-1], 0.5 * smooth[-1]  # one-sided: Nyquist counts once
    p, q = sharp / sharp.sum(), smooth / smooth.sum()
    found = climate_distance(noise[0, 1:] + noise[0, :-1], noise[1, 1:], segment=64)
    assert found.spectrum == pytest.approx(np.sqrt(1 - np.sqrt(p * q).sum()), abs=0.01)


def test_one_system_from_two_starts_is_close_and_another_is_not():
    truth = lorenz63(20_000, seed=0)
    same = climate_distance(lorenz63(12_000, seed=1), truth)
    assert same.spectrum < 0.12
    assert same.distribution < 0.06
    assert same.joint < 0.06
    mirrored = climate_distance(truth * [1, -1, 1], truth)  # the same marginals, nearly
    assert mirrored.distribution < 0.05
    assert mirrored.joint > 5 * same.joint
    noise = np.random.default_rng(0).permutation(truth)
    assert climate_distance(noise, truth).spectrum > 0.6
    assert climate_distance(noise, truth).joint == pytest.approx(0.0, abs=1e-12)


def test_a_loop_that_diverged_or_stands_still():
    truth = np.sin(np.arange(500) / 5)
    wild = truth.copy()
    wild[300:] = np.nan
    found = climate_distance(wild, truth)
    assert (found.spectrum, found.distribution, found.joint) == (1.0, np.inf, np.inf)
    assert climate_distance(1e200 * truth, truth).spectrum < 1e-6
    still = climate_distance(np.zeros(500), truth)
    assert still.spectrum == 1.0
    assert still.distribution == pytest.approx(np.abs(truth).mean() / truth.std())
    assert climate_distance(np.zeros(500), np.zeros(400)).spectrum == 0.0


def test_bad_series_are_named(rng):
    with pytest.raises(ValueError, match="generated must have 2 components as truth, got 3"):
        climate_distance(np.zeros((9, 3)), np.zeros((9, 2)))
    with pytest.raises(ValueError, match=r"truth must be one series, \(time, D\)"):
        climate_distance(np.zeros(9), np.zeros((2, 9, 2)))
    with pytest.raises(ValueError, match="truth must be finite"):
        climate_distance(np.zeros(9), np.full(9, np.nan))
    with pytest.raises(ValueError, match="segment must be a whole number from 2 to 9, got 10"):
        climate_distance(np.zeros(9), np.zeros(20), segment=10)


# -- valid prediction time ---------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.1, 0.4, 1.0])
def test_an_exponential_error_reaches_the_threshold_when_it_must(threshold):
    t, rate = np.arange(2000), 0.01
    truth = np.stack([np.sin(t / 9), 5 * np.cos(t / 9)], axis=1)
    predicted = truth + 1e-4 * np.exp(rate * t)[:, None] * truth.std(axis=0)
    found = valid_prediction_time(predicted, truth, threshold=threshold, lyapunov_time=100)
    exact = np.log(threshold / 1e-4)
    assert exact <= found <= exact + 0.01
    assert isinstance(found, float)


def test_the_error_is_a_root_mean_square_over_components():
    truth = np.zeros((10, 4))
    predicted = truth.copy()
    predicted[3:, 0] = 2.0  # root mean square 1
    assert valid_prediction_time(predicted, truth, threshold=1.0, scale=1.0) == 3
    assert valid_prediction_time(predicted, truth, threshold=1.01, scale=1.0) == 10
    assert valid_prediction_time(predicted, truth, threshold=0.25, scale=[4, 1, 1, 1]) == 3
    assert valid_prediction_time(predicted, truth, threshold=0.26, scale=[4, 1, 1, 1]) == 10


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_wrong(bad):
    truth = np.sin(np.arange(50.0))
    predicted = truth.copy()
    predicted[20] = bad
    assert valid_prediction_time(predicted, truth) == 20
    assert valid_prediction_time(truth, truth) == 50


def test_a_batch_has_a_time_for_each_series(rng):
    truth = rng.normal(size=(3, 40, 2))
    predicted = truth.copy()
    predicted[0, 7:] += 9
    predicted[2, 0, 1] = np.nan
    found = valid_prediction_time(predicted, truth, lyapunov_time=4)
    np.testing.assert_array_equal(found, [7 / 4, 10.0, 0.0])
    spread = truth.reshape(-1, 2).std(axis=0)
    single = valid_prediction_time(predicted[0], truth[0], scale=spread, lyapunov_time=4)
    assert single == 7 / 4


def test_bad_forecasts_are_named():
    x = np.zeros((5, 2))
    with pytest.raises(
        ValueError, match=r"predicted must have the shape of truth \(5, 2\), got \(4, 2\)"
    ):
        valid_prediction_time(x[:4], x)
    with pytest.raises(ValueError, match="truth must be finite"):
        valid_prediction_time(x, x + np.nan)
    with pytest.raises(ValueError, match=r"truth must be \(time,\)"):
        valid_prediction_time(1.0, 1.0)
    with pytest.raises(ValueError, match=r"scale must be a number or \(2,\), got shape \(3,\)"):
        valid_prediction_time(x, x, scale=[1, 2, 3])
    with pytest.raises(ValueError, match="scale must be finite and positive"):
        valid_prediction_time(x, x, scale=0.0)
    with pytest.raises(ValueError, match="threshold must be a finite number in"):
        valid_prediction_time(x, x, threshold=0)
