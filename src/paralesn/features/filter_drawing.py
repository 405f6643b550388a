"""Filters of a bank: drawn at random, then brought to unit power on a few training series."""

from math import pi
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.filter_layout import CHUNK, RUN, TAPS

_CHANNELS = 9  # of a combination, at most
_CYCLES = 2.0  # a filter turns at most this often while it forgets
# Every fifth run of filters remembers long and turns more often: it tells tones apart that others
# cannot, and other data are told apart as well as without.
_NARROW, _NARROW_CYCLES = 5, 24.0
_SAMPLE, _SAMPLED_STEPS, _PICKS = 32, 1 << 14, 2048  # what filters are calibrated on


class DrawnFilters(NamedTuple):
    """Filters (chunks, 64) and their mixing (chunks, TAPS), as they were drawn."""

    eigenvalues: np.ndarray
    weights: np.ndarray
    mix: np.ndarray


class FilterDraft(NamedTuple):
    """Filters as drawn, the numbers of the series to calibrate them on, and what draws the rest.

    `n_series` is how many there are to learn from.
    """

    combinations: np.ndarray
    drawn: DrawnFilters
    sample: list[int]
    rng: np.random.Generator
    n_series: int


def draw_combinations(channels: int, units: int, rng: np.random.Generator) -> np.ndarray:
    """Weights (chunks, runs, channels): a random few channels for every run of filters."""
    runs = units // RUN
    weights = np.zeros((runs, channels), np.float32)
    if channels == 1:
        weights[:] = 1.0
    else:  # one channel as often as two or three, or four to seven
        most = min(_CHANNELS, channels)
        sizes = 2 ** rng.uniform(0, np.log2(most + 1), runs)
        for row, size in zip(weights, sizes, strict=True):
            heard = rng.choice(channels, min(int(size), most), replace=False)
            drawn = rng.normal(size=heard.size)
            row[heard] = drawn / np.linalg.norm(drawn)
    return weights.reshape(units // CHUNK, CHUNK // RUN, channels)


def draw_filters(length: float, units: int, rng: np.random.Generator) -> DrawnFilters:
    """Filters whose time constants go from one step to half of `length`, the usual one."""
    count = units // CHUNK
    reach = np.log(max(length / 2, 2.0))
    tau = np.exp(rng.uniform(0, reach, count * CHUNK // RUN))
    cycles = np.full(tau.size, _CYCLES)
    narrow = slice(_NARROW - 1, None, _NARROW)
    tau[narrow] = np.exp(rng.uniform(reach / 2, reach, tau[narrow].size))
    cycles[narrow] = _NARROW_CYCLES
    tau, cycles = (each.reshape(count, -1).repeat(RUN, axis=1) for each in (tau, cycles))
    angle = rng.uniform(0, 2 * pi, tau.shape) * cycles / tau
    angle = np.where(angle > pi, rng.uniform(0, pi, tau.shape), angle)
    eigenvalues = np.exp(-1 / tau + 1j * angle)
    weights = np.exp(2j * pi * rng.uniform(size=tau.shape))
    mix = rng.uniform(-1, 1, (2, count, TAPS))
    return DrawnFilters(eigenvalues, weights, mix[0] + 1j * mix[1])


def draw_sample(count: int, length: float, rng: np.random.Generator) -> list[int]:
    """Numbers of the series, of `count`, that filters are calibrated on."""
    chosen = rng.permutation(count)[: max(2, min(_SAMPLE, 1 + int(_SAMPLED_STEPS // length)))]
    return [int(b) for b in chosen]


def calibrate(
    sample: Any,
    combinations: np.ndarray,
    drawn: DrawnFilters,
    levels: int,
    rng: np.random.Generator,
    n_jobs: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Filters and responses of unit power on a sample, and thresholds among the responses.

    `sample` is a `NormalisedSeries`. Returns the packed filters (chunks, ROWS, 64) and thresholds
    (chunks, levels, 64), float32.
    """
    from paralesn.engines.cpu import filters  # compiles kernels, slow to import

    eigenvalues, weights, mix = drawn
    data, ones = (sample, combinations), np.ones(weights.shape)
    packed = filters.pack(eigenvalues, weights, mix, ones)
    power, _, _ = filters.calibrate(*data, packed, np.zeros(0, np.int64), n_jobs)
    weights = weights * _inverse_root(power)
    steps = int(sample.lengths.sum())
    picks = np.arange(steps)
    if steps > _PICKS:
        picks = np.sort(rng.choice(steps, _PICKS, replace=False))
    packed = filters.pack(eigenvalues, weights, mix, ones)
    _, squares, picked = filters.calibrate(*data, packed, picks, n_jobs)
    scale = _inverse_root(squares)
    picked = np.sort(picked, axis=1)
    shares = np.arange(levels)[:, None] + rng.uniform(size=(len(mix), 1, CHUNK))
    ranks = np.minimum((shares / levels * picks.size).astype(int), picks.size - 1)
    thresholds = np.take_along_axis(picked, ranks, axis=1) * scale[:, None]
    return (
        filters.pack(eigenvalues, weights, mix, scale),
        np.ascontiguousarray(thresholds, np.float32),
    )


def _inverse_root(squares: np.ndarray) -> np.ndarray:
    """1 / sqrt, or one where nothing was heard."""
    return 1.0 / np.sqrt(np.where(squares > 1e-20, squares, 1.0))
