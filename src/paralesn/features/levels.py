"""Level and size of series: sixteen numbers for every channel, in the data's own units."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Floats
from paralesn.series import Series

QUARTERS = 4
STATISTICS = 8 + 2 * QUARTERS
SHARE = 0.1  # of the levels' variance in that of a filter bank, all features taken together


def statistics(series: Series) -> np.ndarray:
    """Statistics (batch, 16 * channels) of every channel, a statistic after the other.

    Mean, standard deviation, least and largest value, first and last one, the mean of x_t t with t
    from -1 to 1 (which way it goes), the root mean square of changes; then means and standard
    deviations of the quarters.
    """
    rows, lengths = np.asarray(series.rows, float), np.asarray(series.lengths)
    starts = np.asarray(series.starts())
    last = starts + lengths - 1
    mean, spread = _moments(rows, starts, lengths)
    way = np.concatenate([np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in lengths])
    changes = np.diff(rows, axis=0, prepend=rows[:1])
    changes[starts] = 0.0
    columns = [
        mean,
        spread,
        np.minimum.reduceat(rows, starts),
        np.maximum.reduceat(rows, starts),
        rows[starts],
        rows[last],
        np.add.reduceat(way[:, None] * rows, starts) / lengths[:, None],
        np.sqrt(np.add.reduceat(changes**2, starts) / lengths[:, None]),
    ]
    edges = starts[:, None] + lengths[:, None] * np.arange(QUARTERS + 1) // QUARTERS
    for first, end in zip(edges.T[:-1], edges.T[1:], strict=True):
        first = np.minimum(first, last)  # a series of fewer steps than quarters has some again
        columns += _parts(rows, first, np.maximum(end, first + 1))
    return np.concatenate(columns, axis=1)


def _parts(rows: np.ndarray, first: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
    """Means and standard deviations of the rows from `first` to before `end`, of each series."""
    lengths = end - first
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    numbers = np.arange(lengths.sum()) + np.repeat(first - starts, lengths)
    return list(_moments(rows[numbers], starts, lengths))


def _moments(
    rows: np.ndarray, starts: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every series."""
    mean = np.add.reduceat(rows, starts) / lengths[:, None]
    centred = rows - mean.repeat(lengths, axis=0)
    return mean, np.sqrt(np.add.reduceat(centred**2, starts) / lengths[:, None])


@register
@dataclass(frozen=True, eq=False)
class LevelScale:
    """Median and usual spread (columns,) of statistics over the training series."""

    centre: Floats
    width: Floats

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Statistics in units of the spread; logarithmic far away, so that outliers stay near."""
        return np.arcsinh((values - self.centre) / self.width).astype(np.float32)

    def fits(self, columns: int) -> bool:
        """Whether the arrays are of this size."""
        right = self.centre.shape == self.width.shape == (columns,)
        return right and bool((self.width > 0).all())


def measure(groups: Iterable[Series]) -> LevelScale:
    """Median and spread of the statistics of training series."""
    return scale_of(np.concatenate([statistics(series) for series in groups]))


def scale_of(values: np.ndarray) -> LevelScale:
    """Median and spread of statistics (series, columns)."""
    low, centre, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    width, deviation = (high - low) / 1.349, values.std(axis=0)
    width = np.where(width > 1e-9 * deviation, width, deviation)  # most series may be alike
    return LevelScale(centre, np.where(width > 1e-12 * np.abs(centre), width, 1.0))
