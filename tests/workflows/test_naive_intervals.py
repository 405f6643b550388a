"""Intervals of naive forecasts."""

import numpy as np
import pytest

from paralesn.workflows.naive_intervals import naive_with_interval


def test_intervals_of_a_walk_grow_as_its_spread_does():
    level, held, widths = 0.9, [], []
    for seed in range(40):
        y = np.random.default_rng(seed).normal(size=420).cumsum()
        found = naive_with_interval("last value", y[:400], 16, 7, level)
        np.testing.assert_array_equal(found.values, np.full(16, y[399]))
        held.append((y[400:416] >= found.lower) & (y[400:416] <= found.upper))
        widths.append(found.upper - found.lower)
    assert 0.84 < np.mean(held) < 0.97
    # The spread of a walk k steps ahead is that of one step times the root of k.
    mean = np.mean(widths, axis=0)
    assert mean[15] / mean[0] == pytest.approx(4, rel=0.3)
    assert mean[0] == pytest.approx(2 * 1.645, rel=0.3)


def test_a_season_that_repeats_has_no_spread():
    y = np.tile([1.0, 4.0, 2.0], 20)
    found = naive_with_interval("seasonal naive", y, 5, 3, 0.9)
    for part in found:
        np.testing.assert_array_equal(part, [1, 4, 2, 1, 4])


def test_what_is_never_negative_stays_so():
    y = np.abs(np.random.default_rng(0).normal(size=60))
    assert (naive_with_interval("last value", y, 5, 1, 0.99).lower >= 0).all()


def test_other_methods_have_none():
    with pytest.raises(ValueError, match="method must be 'seasonal naive' or 'last value'"):
        naive_with_interval("drift", np.arange(9.0), 2, 1, 0.9)
