"""Series as filter banks hear them: centred, and in units of their spread or of a given one."""

from typing import NamedTuple

import numpy as np

from paralesn.engines.cpu.filter_layout import SMOOTH
from paralesn.runtime import threads
from paralesn.runtime.compiler import kernel

_EPS = float(np.finfo(np.float64).eps)


class NormalisedSeries(NamedTuple):
    """Series laid end to end, as the kernels read them.

    x (rows, channels)       values, the mean of each series zero, float32
    calm (series, channels)  what changes of changes are multiplied by: one over the spread of the
                             changes where series are normalised, so that rough series and smooth
                             ones are heard alike; float32
    starts, lengths (series,)
    """

    x: np.ndarray
    calm: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


@kernel
def _normalise(x, starts, lengths, first, stop, out, calm):
    """Series first .. stop in units of each channel's standard deviation; no spread becomes zero.

    Values are divided by the largest before they are squared, so that nothing overflows.
    """
    for i in range(first, stop):
        start, end = starts[i], starts[i] + lengths[i]
        for f in range(x.shape[1]):
            largest = 0.0
            for t in range(start, end):
                largest = max(largest, abs(x[t, f]))
            unit = largest if largest > 0 else 1.0
            origin, total, squares = x[start, f] / unit, 0.0, 0.0
            for t in range(start, end):
                total += x[t, f] / unit - origin
            mean = total / lengths[i]
            for t in range(start, end):
                d = x[t, f] / unit - origin - mean
                squares += d * d
            spread = np.sqrt(squares / lengths[i])
            inverse = 1.0 / spread if spread > 4 * _EPS else 0.0
            for t in range(start, end):
                out[t, f] = (x[t, f] / unit - origin - mean) * inverse
            slope, squares = 0.0, 0.0
            if lengths[i] > 1:
                slope = (x[end - 1, f] / unit - origin) / (lengths[i] - 1)
            for t in range(start + 1, end):
                d = x[t, f] / unit - x[t - 1, f] / unit - slope
                squares += d * d
            rough = np.sqrt(squares / max(lengths[i] - 1, 1)) * inverse
            calm[i, f] = 1.0 / rough if rough > SMOOTH else 0.0


def normalised(
    x: np.ndarray, starts: np.ndarray, lengths: np.ndarray, n_jobs: int | None
) -> NormalisedSeries:
    """Series in x (rows, channels), float64, each channel of each in units of its spread."""
    out = np.empty(x.shape, np.float32)
    calm = np.empty((starts.size, x.shape[1]), np.float32)
    size = max(1, -(-starts.size // 64))

    def work(first: int) -> None:
        _normalise(x, starts, lengths, first, min(first + size, starts.size), out, calm)

    threads.for_each(work, range(0, starts.size, size), threads.count(n_jobs))
    return NormalisedSeries(out, calm, starts, lengths)


def in_units(
    x: np.ndarray, starts: np.ndarray, lengths: np.ndarray, scale: np.ndarray
) -> NormalisedSeries:
    """The same series, centred, channels divided by their `scale`; infinite if that overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = x / scale
        scaled = scaled - scaled[starts].repeat(lengths, axis=0)
        means = np.add.reduceat(scaled, starts) / lengths[:, None]
        centred = (scaled - means.repeat(lengths, axis=0)).astype(np.float32)
    calm = np.ones((starts.size, x.shape[1]), np.float32)
    return NormalisedSeries(centred, calm, starts, lengths)
