"""The horizontal axis of charts over time: dates or numbers to places, and where ticks go."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paralesn.report.scales import Scale, short

_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400)
_DAY = 86_400
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY, 2 * _DAY,
            7 * _DAY, 14 * _DAY)  # fmt: skip
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class TimeAxis:
    """Times from `low` to `high`, in seconds since 1970 where they are dates, drawn on a scale."""

    scale: Scale
    is_date: bool

    @classmethod
    def over(cls, times: np.ndarray, start: float, end: float) -> "TimeAxis":
        """An axis that shows all times."""
        values = numbers(times)
        low, high = float(values.min()), float(values.max())
        room = 0.01 * (high - low) or 1.0
        return cls(Scale(low - room, high + room, start, end), times.dtype.kind == "M")

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Where times are drawn."""
        s = self.scale
        share = (numbers(times) - s.low) / (s.high - s.low)
        return np.asarray(s.start + share * (s.end - s.start))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Places and labels of at most about so many ticks."""
        s = self.scale
        if not self.is_date:
            return [(s(value), short(value)) for value in s.ticks(most)]
        return [(s(float(numbers(np.array([time]))[0])), label) for time, label in
                date_ticks(s.low, s.high, most)]  # fmt: skip


def numbers(times: np.ndarray) -> np.ndarray:
    """Times as floats: dates in seconds since 1970."""
    if times.dtype.kind == "M":
        return times.astype("M8[ns]").astype(np.int64) / 1e9
    return times.astype(float)


def date_ticks(low: float, high: float, most: int) -> list[tuple[np.datetime64, str]]:
    """Round dates between two times, in seconds since 1970, with their labels.

    Examples
    --------
    >>> from paralesn.report.time_axis import date_ticks
    >>> year = 365.25 * 86_400
    >>> [label for _, label in date_ticks(-21 * year, -9 * year, 6)]
    ['1950', '1952', '1954', '1956', '1958', '1960']
    """
    span = (high - low) / max(most, 1)
    steps = [step for step in _SECONDS if step >= span]
    if steps and span < 20 * _DAY:
        return list(_even(low, high, steps[0]))
    months = next((m for m in _MONTHS if m * 31 * _DAY >= span), _MONTHS[-1])
    return list(_by_month(low, high, months))


def _even(low: float, high: float, step: int) -> Iterator[tuple[np.datetime64, str]]:
    """Ticks a fixed time apart; weeks begin on Mondays."""
    offset = 4 * _DAY if step % (7 * _DAY) == 0 else 0
    first = int(np.ceil((low - offset) / step))
    for k in range(first, int(np.floor((high - offset) / step)) + 1):
        seconds = k * step + offset
        time = np.datetime64(seconds, "s")
        day = f"{int(str(time)[8:10])} {_NAMES[int(str(time)[5:7]) - 1]}"
        if seconds % _DAY == 0:
            yield time, day
        else:
            yield time, str(time)[11:19] if step < 60 else str(time)[11:16]


def _by_month(low: float, high: float, step: int) -> Iterator[tuple[np.datetime64, str]]:
    """Ticks at the beginning of months or years."""
    # In years since 0, so that steps of decades begin at round years.
    first, last = (int(np.datetime64(int(s), "s").astype("M8[M]").astype(int)) + 1970 * 12
                   for s in (low, high))  # fmt: skip
    for k in range(-(-first // step), last // step + 1):
        time = np.datetime64(k * step - 1970 * 12, "M")
        if float(time.astype("M8[s]").astype(int)) < low:
            continue
        year, month = str(time)[:-3], int(str(time)[-2:])
        yield time, year if month == 1 and step >= 12 else f"{_NAMES[month - 1]} {year}"
