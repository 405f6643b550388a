"""Dynamic time warping between many pairs of series, within a Sakoe-Chiba band."""

import numpy as np

from paralesn.runtime.compiler import called, kernel


def window_of(length: int, other: int, share: float) -> int:
    """How far matched steps may be apart: a share of the longer series, or all it takes to meet."""
    return max(round(share * max(length, other)), abs(length - other))


def distances(
    query: np.ndarray, rows: np.ndarray, starts: np.ndarray, lengths: np.ndarray, share: float
) -> np.ndarray:
    """Distances (R,) of a series to others.

    Parameters
    ----------
    query : (channels, time)
    rows : (channels, all steps)
        The other series behind one another, each backwards in time.
    starts, lengths : (R,)
        Where they begin in `rows`, and how long they are.
    share : float
        Of the longer series: how far matched steps may be apart.
    """
    windows = np.array([window_of(query.shape[1], int(n), share) for n in lengths], np.int64)
    found = np.empty(len(starts))
    _distances(query, rows, starts, lengths, windows, found)
    return found


@kernel
def _distances(query, rows, starts, lengths, windows, found):
    scratch = np.empty((4, query.shape[1] + 3))
    for r in range(starts.size):
        other = rows[:, starts[r] : starts[r] + lengths[r]]
        found[r] = _distance(query, other, windows[r], scratch)


@called
def _distance(x, y, window, scratch):
    """Least sum of squared differences over all warpings of x (C, n) onto y (C, m), backwards.

    Cells (i, j) with the same i + j do not depend on one another: the table is filled along these
    diagonals, which lie in `scratch` by i + 1, with infinity beside them.
    """
    n, m = x.shape[1], y.shape[1]
    scratch[:] = np.inf
    scratch[0, 0] = 0.0  # before both series begin: cell (-1, -1), on diagonal -2
    local = scratch[3]
    for d in range(n + m - 1):
        # Diagonals d - 2, d - 1 and d; that before the first is -2.
        before, last, here = scratch[d % 3], scratch[(d + 1) % 3], scratch[(d + 2) % 3]
        low = max(0, d - m + 1, (d - window + 1) // 2)
        high = min(n - 1, d, (d + window) // 2)
        shift = m - 1 - d  # y is backwards: step j = d - i lies at shift + i
        local[low : high + 1] = 0.0
        for c in range(x.shape[0]):
            for i in range(low, high + 1):
                off = x[c, i] - y[c, shift + i]
                local[i] += off * off
        for i in range(low, high + 1):
            best = last[i] if last[i] < last[i + 1] else last[i + 1]
            best = best if best < before[i] else before[i]
            here[i + 1] = local[i] + best
        here[low] = np.inf
        here[high + 2] = np.inf
    return scratch[(n + m) % 3, n]
