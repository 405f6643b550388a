"""The nearest neighbour by dynamic time warping: what a classifier of series has to beat."""

from collections.abc import Sequence

import numpy as np

from paralesn.runtime import threads
from paralesn.workflows.progress import Progress, silent

BUDGET = 1e10  # cells of warping tables, times channels: some ten seconds on two cores
_PAIRS = 2.5e7  # distances that are kept
_BAND = 0.1  # of the longer series: how far matched steps may be apart
_ROWS = 32  # series between two reports of progress
NAMES = {_BAND: "1-NN, DTW", 0.0: "1-NN, Euclidean"}
EXPLAINED = {
    _BAND: "the answer of the nearest training series by dynamic time warping, with a Sakoe-Chiba "
    "band of 10% and every channel of every series at unit variance",
    0.0: "the answer of the nearest training series by Euclidean distance (warping would take "
    f"more than {BUDGET:.0e} operations), every channel of every series at unit variance",
}


def affordable_band(
    lengths: Sequence[int], others: Sequence[int] | None, channels: int
) -> float | None:
    """The widest band whose distances are within the budget, or None where there is none.

    Parameters
    ----------
    lengths : sequence of int
        Of the series whose neighbours are looked for.
    others : sequence of int or None
        Of the series among which they are looked for; None: among themselves.

    Examples
    --------
    >>> from paralesn.workflows.nearest_neighbour import affordable_band
    >>> affordable_band([150] * 100, None, 1), affordable_band([500] * 3601, None, 1)
    (0.1, 0.0)
    >>> affordable_band([500] * 100_000, None, 1) is None
    True
    """
    pairs = len(lengths) * (len(lengths) / 2 if others is None else len(others))
    if others is None and len(lengths) ** 2 > _PAIRS:
        return None
    usual = float(np.mean(lengths))
    usual_other = usual if others is None else float(np.mean(others))
    longer = max(usual, usual_other)
    for band in NAMES:
        cells = min(usual, usual_other) * (2 * band * longer + abs(usual - usual_other) + 1)
        if pairs * cells * channels <= BUDGET:
            return band
    return None


def pairwise(series: Sequence[np.ndarray], band: float, progress: Progress = silent) -> np.ndarray:
    """Distances (n, n) between all series, each (time, channels), in single precision."""
    found = np.zeros((len(series), len(series)), np.float32)

    def measure(row: int, values: np.ndarray) -> None:
        found[row, row + 1 :] = values
        found[row + 1 :, row] = values

    _each(series, series, band, measure, progress, later_only=True)
    return found


def nearest(
    series: Sequence[np.ndarray],
    others: Sequence[np.ndarray],
    band: float,
    progress: Progress = silent,
) -> np.ndarray:
    """The number (n,) of the series among `others` that each of `series` is nearest to."""
    found = np.zeros(len(series), int)

    def choose(row: int, values: np.ndarray) -> None:
        found[row] = values.argmin()

    _each(series, others, band, choose, progress)
    return found


def _each(  # type: ignore[no-untyped-def]
    series, others, band, take, progress, later_only=False
) -> None:
    """Give the distances of every series to others, or to those after it, to `take`."""
    from paralesn.engines.cpu import warping  # compiles kernels, slow to import

    queries = [_normalised(values) for values in series]
    lengths = np.array([len(values) for values in others], np.int64)
    starts = np.r_[0, lengths.cumsum()[:-1]]
    backwards = [_normalised(values)[:, ::-1] for values in others]
    rows = np.ascontiguousarray(np.concatenate(backwards, axis=1))

    def measure(row: int) -> None:
        first = row + 1 if later_only else 0
        given = (rows, starts[first:], lengths[first:], band)
        take(row, warping.distances(queries[row], *given))

    count = len(queries)
    for first in range(0, count, _ROWS):
        share = first / count
        progress("comparing with nearest neighbours", 1 - (1 - share) ** 2 if later_only else share)
        chunk = range(first, min(first + _ROWS, count))
        threads.for_each(measure, chunk, threads.count(None))


def _normalised(values: np.ndarray) -> np.ndarray:
    """A series (time, channels) as (channels, time), each of mean 0 and variance 1 if it varies."""
    x = np.ascontiguousarray(np.asarray(values, float).T)
    x = x - x.mean(axis=1, keepdims=True)
    spread = x.std(axis=1, keepdims=True)
    return np.divide(x, spread, out=np.zeros_like(x), where=spread > 0)
