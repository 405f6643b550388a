"""Real series to forecast, and how forecasts of them are scored.

A sample of 300 out of the 496 that ``forecasting/series.parquet`` marks as `bench`, ordered by
group and name: number i is taken where i * 300 / 496 passes an integer. So every group has its
share, to within one series, and its series are evenly spread over it.

The last `horizon` values of a series are the test. Errors and intervals are scaled by the mean
absolute seasonal difference of the values before; a season above 24, or not shorter than the
series, counts as 1 there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SIZE = 300
LEVEL = 0.9  # share of the values that an interval should hold
SHORT = 150  # series with fewer values are reported apart from the others
LONGEST_SEASON = 24  # of the scale, and of rivals with one season


@dataclass(frozen=True)
class Case:
    """A series: what is known (`past`) and what is to be forecast (`future`)."""

    uid: str
    group: str
    n: int
    season: int
    is_hourly: bool
    past: np.ndarray
    future: np.ndarray

    @property
    def horizon(self) -> int:
        """Number of values to forecast."""
        return len(self.future)

    @property
    def short_season(self) -> int:
        """The season where it is at most 24 and shorter than the series, else 1."""
        return self.season if self.season <= LONGEST_SEASON and self.season < len(self.past) else 1

    @property
    def scale(self) -> float:
        """Mean absolute seasonal difference; not a number where there is none."""
        m = self.short_season
        return float(np.abs(self.past[m:] - self.past[:-m]).mean()) or np.nan


@dataclass(frozen=True)
class Outcome:
    """A forecast with its interval, the seconds it took, or why there is none."""

    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    seconds: float
    refusal: str = ""


def refused(horizon: int, seconds: float, reason: str) -> Outcome:
    """What is kept of a method that did not forecast a series."""
    nothing = np.full(horizon, np.nan)
    return Outcome(nothing, nothing, nothing, seconds, reason)


def sample(path: Path) -> list[Case]:
    """The series to score, out of those marked `bench`."""
    import pandas as pd

    frame = pd.read_parquet(path)
    frame = frame[frame.bench].sort_values(["group", "uid"])
    passed = np.arange(len(frame) + 1) * SIZE // len(frame)
    return [_case(row) for row in frame[np.diff(passed) > 0].itertuples()]


def _case(row: Any) -> Case:
    y, horizon = np.asarray(row.y, float), int(row.horizon)
    past, future = y[:-horizon], y[-horizon:]
    is_hourly = row.freq == "h"
    return Case(row.uid, row.group, int(row.n), int(row.season), is_hourly, past, future)


def seasonal_naive(case: Case) -> Outcome:
    """The last season again and again; the last value where there are not two seasons."""
    season = case.season if 2 * case.season <= len(case.past) else 1
    values = np.resize(case.past[-season:], case.horizon)
    nothing = np.full(case.horizon, np.nan)
    return Outcome(values, nothing, nothing, 0.0)


def score(case: Case, outcome: Outcome) -> dict[str, Any]:
    r"""Scaled error, interval score and share held of a forecast.

    With scale s and :math:`\alpha = 0.1`, MASE is the mean of :math:`|y - \hat y| / s` and MSIS
    that of :math:`(u - l + 2 (l - y)_+ / \alpha + 2 (y - u)_+ / \alpha) / s`.
    """
    y, lower, upper = case.future, outcome.lower, outcome.upper
    missed = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    known = np.isfinite(lower) & np.isfinite(upper)
    return {
        "uid": case.uid,
        "mase": float(np.abs(outcome.values - y).mean() / case.scale),
        "msis": float((upper - lower + 2 / (1 - LEVEL) * missed).mean() / case.scale),
        "held": float(((lower <= y) & (y <= upper)).mean()) if known.all() else np.nan,
        "seconds": outcome.seconds,
        "refusal": outcome.refusal,
    }


def tables(cases: list[Case], outcomes: Mapping[str, list[Outcome]]) -> dict[str, Any]:
    """Scores of each method: a data frame with a row for each series, with its group and n."""
    import pandas as pd

    about = pd.DataFrame({"group": [c.group for c in cases], "n": [c.n for c in cases]})
    return {
        method: about.join(pd.DataFrame([score(c, o) for c, o in zip(cases, given, strict=True)]))
        for method, given in outcomes.items()
    }


def mean_of_groups(scores: Any) -> float:
    """The mean over groups of the mean MASE in a group."""
    return float(scores.groupby("group").mase.mean().mean())
