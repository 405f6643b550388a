"""Nearest neighbours beside brute force, and what can be afforded."""

import numpy as np
import pytest

from paralesn.engines.cpu.warping import window_of
from paralesn.workflows.nearest_neighbour import BUDGET, affordable_band, nearest, pairwise


def scaled(values):
    return (values - values.mean(axis=0)) / np.where(values.std(axis=0) > 0, values.std(axis=0), 1)


def warped(x, y, window):
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0
    for i in range(len(x)):
        for j in range(max(0, i - window), min(len(y), i + window + 1)):
            best = min(table[i, j], table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = ((x[i] - y[j]) ** 2).sum() + best
    return table[-1, -1]


@pytest.mark.parametrize("band", [0.0, 0.1])
def test_neighbours_are_those_of_brute_force(rng, band):
    series = [rng.normal(3, 5, size=(int(n), 2)) for n in rng.integers(10, 20, 40)]
    series[3][:, 1] = 7.0  # a channel that does not vary
    told = []
    found = pairwise(series, band, lambda activity, share: told.append(share))
    expected = [
        [warped(scaled(x), scaled(y), window_of(len(x), len(y), band)) for y in series]
        for x in series
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert told == sorted(told)
    assert len(told) == 2
    others = np.array(expected)[:5, 5:]
    assert nearest(series[:5], series[5:], band).tolist() == others.argmin(axis=1).tolist()


def test_the_band_is_the_widest_within_the_budget():
    for cases, length in ((10, 50), (500, 300), (2000, 400), (3601, 500)):
        band = affordable_band([length] * cases, None, 1)
        costs = {b: cases**2 / 2 * length * (2 * b * length + 1) for b in (0.1, 0.0)}
        assert band == next(b for b, cost in costs.items() if cost <= BUDGET)
    assert affordable_band([100] * 1000, [100] * 1000, 1) == 0.1
    assert affordable_band([10**6] * 200, [10**6] * 200, 3) is None
    assert affordable_band([10] * 6000, None, 1) is None  # too many distances to keep
