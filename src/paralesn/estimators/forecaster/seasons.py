"""Seasons of a series: looked for in its values, or suggested by its clock and tested there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import fft
from scipy.stats import f as f_distribution

from paralesn import checks

_DAYS = (24, 48, 96, 144, 288, 1440)  # steps of a day that has a week around it
_WEEKS_LEAST = 4  # weeks that must fit into the series
_CHANCE = 1e-3  # probability of as much seasonality by chance, for a season nobody suggested
_CHANCE_SUGGESTED = 0.05  # and for one that the clock suggests
_EXPLAINED = 0.3  # share of variance that an unusual season must explain
_LONGEST = 1 << 14  # steps of the end of a series that seasons are looked for in
_USUAL = (4, 5, 7, 12, 24, 48, 52, 96, 144, 168, 288, 336)


def check_season(season: Any) -> tuple[int, ...] | None:
    """Periods that were given, none of them 1; None for "auto"."""
    if isinstance(season, str):
        checks.choice("season", season, ("auto",))
        return None
    if isinstance(season, Sequence | np.ndarray):
        periods = tuple(checks.integer(f"season[{i}]", m, 1) for i, m in enumerate(season))
        if not periods:
            raise checks.fail("season", season, "'auto', a number of steps, or several of them")
    else:
        try:
            periods = (checks.integer("season", season, 1),)
        except TypeError:
            expected = "'auto', a number of steps, or several of them"
            raise checks.fail("season", season, expected, TypeError) from None
    return tuple(sorted({m for m in periods if m > 1}))


def seasons_of(
    y: np.ndarray, given: tuple[int, ...] | None, suggested: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """Seasons to consider for a series, short ones first; none is a possible answer.

    Parameters
    ----------
    y : (n,)
        NaN where a value is missing.
    given : tuple of int or None
        Periods that are known. Those that do not fit twice into the series are left out. A day is
        joined by its week where at least four weeks are there and the data support it.
    suggested : tuple of int
        What the times of the series suggest, tested against the data. Where the data support none
        of these, they alone decide.
    """
    n = y.size
    y = _near_one(y)
    if given is not None:
        periods = [m for m in given if 2 * m <= n]
    else:
        y = y[-_LONGEST:]
        known = [m for m in suggested if 2 * m <= y.size]
        periods = [m for m in known if is_seasonal(y, m, _CHANCE_SUGGESTED)]
        if not periods:
            periods = _most_telling(y, [m for m in _candidates(y) if is_seasonal(y, m)])
    if len(periods) == 1 and periods[0] in _DAYS and n >= _WEEKS_LEAST * 7 * periods[0]:
        week = 7 * periods[0]
        if is_seasonal(_without_season(y, periods[0]), week):
            periods.append(week)
    return tuple(periods)


def _near_one(y: np.ndarray) -> np.ndarray:
    """y in other units, so that squares of it neither overflow nor vanish."""
    largest = np.abs(y[np.isfinite(y)]).max(initial=0.0)
    return np.asarray(np.ldexp(y, -int(np.frexp(largest)[1])))


def is_seasonal(y: np.ndarray, period: int, chance: float = _CHANCE) -> bool:
    """Whether places in the season differ by more than chance, by an analysis of variance."""
    return _seasonality(y, period)[1] < chance


def _seasonality(y: np.ndarray, period: int) -> tuple[float, float]:
    """Share of variance that the season explains, beyond chance, and the probability of chance."""
    rest = _detrended(y, period)
    seen = np.isfinite(rest)
    if seen.sum() < period + 2:
        return 0.0, 1.0
    values, places = rest[seen], (np.arange(rest.size) % period)[seen]
    counts = np.bincount(places, minlength=period)
    means = np.bincount(places, values, period) / np.maximum(counts, 1)
    within = float(((values - means[places]) ** 2).sum())
    total = float(((values - values.mean()) ** 2).sum())
    free = values.size - int((counts > 0).sum())
    if total <= 0 or free < 1 or not np.isfinite(total):
        return 0.0, 1.0
    if within <= 1e-12 * total:
        return 1.0, 0.0
    between = max(int((counts > 0).sum()) - 1, 1)
    ratio = ((total - within) / between) / (within / free)
    explained = 1 - (within / free) / (total / (values.size - 1))
    share = _independent(values - means[places])
    return explained, float(f_distribution.sf(ratio, between * share, max(free * share, 1.0)))


def _independent(rest: np.ndarray) -> float:
    """Share of values that count as independent, by their correlation with the ones before."""
    correlation = float(rest[1:] @ rest[:-1] / (rest @ rest))
    return (1 - max(correlation, 0.0)) / (1 + max(correlation, 0.0))


def _detrended(y: np.ndarray, period: int) -> np.ndarray:
    """What is left of y without its moving mean over a season, NaN at both ends."""
    filled = np.interp(np.arange(y.size), np.flatnonzero(np.isfinite(y)), y[np.isfinite(y)])
    width = period + (period % 2 == 0)
    if filled.size <= width:
        return np.full(y.size, np.nan)
    kernel = np.full(width, 1.0 / period)
    if period % 2 == 0:
        kernel[[0, -1]] /= 2
    sums = np.convolve(filled, kernel, "valid") if width < 64 else _moving_mean(filled, kernel)
    rest = np.full(y.size, np.nan)
    half = width // 2
    rest[half : half + sums.size] = filled[half : half + sums.size] - sums
    return np.where(np.isfinite(y), rest, np.nan)


def _moving_mean(y: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolution by Fourier transforms, where the whole kernel overlaps."""
    size = fft.next_fast_len(y.size + kernel.size - 1, real=True)
    product = fft.rfft(y - y.mean(), size) * fft.rfft(kernel, size)
    return np.asarray(fft.irfft(product, size)[kernel.size - 1 : y.size] + y.mean())


def _without_season(y: np.ndarray, period: int) -> np.ndarray:
    """y without the mean of each place in the season."""
    places = np.arange(y.size) % period
    seen = np.isfinite(y)
    counts = np.bincount(places[seen], minlength=period)
    sums = np.bincount(places[seen], y[seen], period)
    return np.asarray(y - (sums / np.maximum(counts, 1))[places])


def _candidates(y: np.ndarray) -> list[int]:
    """Lags at which changes of a series resemble themselves most."""
    seen = np.flatnonzero(np.isfinite(y))
    if seen.size < 8:
        return []
    changes = np.diff(np.interp(np.arange(y.size), seen, y[seen]))
    scale = np.median(np.abs(changes - np.median(changes))) * 6 or changes.std() or 1.0
    changes = np.clip(changes - changes.mean(), -scale, scale)
    changes = changes - changes.mean()
    spectrum = np.abs(np.fft.rfft(changes, 2 * changes.size)) ** 2
    power = np.fft.irfft(spectrum)[: y.size // 2 + 1]
    if not power[0] > 0:
        return []
    correlation = power / power[0]
    peaks = _local_maxima(correlation[1:]) + 1
    peaks = peaks[correlation[peaks] >= 1.5 / np.sqrt(y.size)]
    best = sorted(peaks, key=lambda lag: -correlation[lag])[:4]
    usual = [m for m in _USUAL if 2 * m <= y.size and correlation[m] > 1 / np.sqrt(y.size)]
    return sorted({*usual, *(int(m) for m in best if 2 <= m <= y.size // 4)})


def _local_maxima(values: np.ndarray) -> np.ndarray:
    """Where values are larger than on both sides, the middle where several in a row are equal.

    As `scipy.signal.find_peaks` finds them, whose import takes longer than most forecasts.
    """
    ends = np.flatnonzero(np.diff(values))  # of runs of equal values, but for the last run
    heights = values[[*ends, -1]]
    rises, falls = heights[1:-1] > heights[:-2], heights[1:-1] > heights[2:]
    peaks = np.flatnonzero(rises & falls)
    return np.asarray((ends[peaks] + 1 + ends[peaks + 1]) // 2)


def _most_telling(y: np.ndarray, periods: list[int]) -> list[int]:
    """The shortest period that explains nearly as much as the best; usual ones need less.

    But not where a much shorter one explains more: three seasons of 17 steps look like one of 52.
    """
    explained = {m: _seasonality(y, m)[0] for m in periods}
    periods = [m for m in periods if m in _USUAL or explained[m] >= _EXPLAINED]
    if not periods:
        return []
    best = max(explained[m] for m in periods)
    usual = [
        m for m in periods
        if m in _USUAL and explained[m] >= 0.6 * best
        and not any(1.5 * p <= m and explained[p] > explained[m] for p in periods)
    ]  # fmt: skip
    return [min(usual or [m for m in periods if explained[m] >= 0.85 * best])]
