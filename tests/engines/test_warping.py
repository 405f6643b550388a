"""Dynamic time warping beside a plain table, and beside aeon's."""

import numpy as np
import pytest

from paralesn.engines.cpu.warping import distances, window_of


def plain(x, y, window):
    """The table of warping, cell by cell: x (C, n), y (C, m)."""
    n, m = x.shape[1], y.shape[1]
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    for i in range(n):
        for j in range(max(0, i - window), min(m, i + window + 1)):
            before = min(table[i, j], table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = ((x[:, i] - y[:, j]) ** 2).sum() + before
    return table[n, m]


def packed(others):
    lengths = np.array([other.shape[1] for other in others])
    rows = np.ascontiguousarray(np.concatenate([other[:, ::-1] for other in others], axis=1))
    return rows, np.r_[0, lengths.cumsum()[:-1]], lengths


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 1.0])
def test_distances_are_those_of_the_plain_table(rng, channels, share):
    query = rng.normal(size=(channels, 23))
    others = [rng.normal(size=(channels, n)) for n in (1, 2, 5, 22, 23, 24, 39)]
    found = distances(query, *packed(others), share)
    expected = [plain(query, y, window_of(23, y.shape[1], share)) for y in others]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_one_step_and_no_band():
    query = np.array([[2.0]])
    np.testing.assert_allclose(distances(query, *packed([np.array([[1.0, 3.0, 2.0]])]), 0.0), [2.0])
    x, y = np.arange(5.0)[None], np.ones((1, 5))
    assert distances(x, *packed([y]), 0.0)[0] == ((x - y) ** 2).sum()  # squared, Euclidean


def test_distances_are_those_of_aeon(rng):
    aeon = pytest.importorskip("aeon.distances")
    x, others = rng.normal(size=(2, 40)), rng.normal(size=(5, 2, 40))
    found = distances(x, *packed(others), 0.1)
    np.testing.assert_allclose(found, [aeon.dtw_distance(x, y, window=0.1) for y in others])
