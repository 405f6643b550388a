"""A layer of smoothers: linear recurrences whose poles are chosen instead of drawn."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Flags, Floats

LEVEL, TREND, SUM, MOMENT, SEASON = range(5)  # rows of a smoother's state; seasons from SEASON on


class Origins(NamedTuple):
    """Steps that forecasts are made from, in order, and how much each counts."""

    steps: np.ndarray  # (O,)
    weights: np.ndarray  # (O,)


@register
@dataclass(frozen=True, eq=False)
class SmootherLayer:
    r"""Exponential smoothers of a series, all of one period.

    Each is a linear recurrence in its level l, its trend b and its seasonal values s. With the
    one-step error :math:`e_t = y_t - (l + d + s_{t \bmod m})`, the step :math:`d = \phi b` or, for
    a smoother with drift, `drift` times the slope of the straight line through what was seen so
    far::

        l = l + d + level e        b = phi b + trend e        s[t mod m] = s[t mod m] + season e

    A missing value (NaN) has no error: the recurrence goes on as it predicted. The forecast k steps
    ahead is :math:`l + d_1 + \dots + d_k + s_{(t + k) \bmod m}`. Where `log` is true, a smoother
    reads logarithms, and its forecasts are their exponentials.

    Attributes
    ----------
    level, trend, damping, drift, season : (M,)
        Gains of level and trend, damping phi of the trend, share of the line's slope, and gain of
        the season. Without a trend, `trend` and `damping` are 0.
    log : (M,) bool
    period : (M,) int
        Steps m of the season; 1 where there is none. A gain of 0 keeps the first season.
    """

    level: Floats
    trend: Floats
    damping: Floats
    drift: Floats
    season: Floats
    log: Flags
    period: Counts

    def __post_init__(self) -> None:
        kinds = {"log": bool, "period": np.int64}
        count = np.size(self.level)
        for name in (field.name for field in fields(self)):
            array = np.array(getattr(self, name), kinds.get(name, float))
            if array.shape != (count,):
                raise ValueError(f"{name} of smoothers must be ({count},), got {array.shape}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        gains = np.stack([self.level, self.trend, self.damping, self.drift, self.season])
        if not (
            np.isfinite(gains).all() and gains.min(initial=0) >= 0 and gains.max(initial=0) <= 1
        ):
            raise ValueError("gains and damping of smoothers must lie in [0, 1]")
        if count and self.period.min() < 1:
            raise ValueError(f"period of smoothers must be at least 1, got {self.period.min()}")

    @property
    def size(self) -> int:
        """Number of smoothers M."""
        return int(self.level.size)

    @property
    def rows(self) -> int:
        """Rows of a state (rows, M): level, trend, two sums of the line, seasonal values."""
        return SEASON + int(self.period.max(initial=1))

    def part(self, selected: np.ndarray) -> "SmootherLayer":
        """Some of the smoothers."""
        return SmootherLayer(*(getattr(self, field.name)[selected] for field in fields(self)))

    def and_also(self, other: "SmootherLayer") -> "SmootherLayer":
        """These smoothers and others."""
        names = [field.name for field in fields(self)]
        return SmootherLayer(
            *(np.concatenate([getattr(self, n), getattr(other, n)]) for n in names)
        )


def smoother_grid(period: int, log: bool) -> SmootherLayer:
    """The smoothers of a bank that have a season of `period` steps or, with 1, none.

    Level, damped trend or drift, and season in all combinations. Where the level follows the series
    entirely (gain 1), nothing is left for a season to learn.
    """
    trends = [(0.0, 0.0, 0.0), (0.05, 0.9, 0.0), (0.1, 0.97, 0.0), (0.2, 0.9, 0.0),
              (0.2, 1.0, 0.0),              (0.0, 0.0, 0.5), (0.0, 0.0, 1.0)]  # fmt: skip
    rows = []
    for level in (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0):
        for gain in (0.0,) if period == 1 or level == 1 else (0.0, 0.05, 0.15, 0.3):
            for trend, damping, drift in trends:
                rows.append((level, trend * level, damping, drift, gain * (1 - level)))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    count = len(rows)
    columns += [np.full(count, log), np.full(count, period)]
    return SmootherLayer(*columns)
