"""The test of a forecast: a forecaster on the last part of a file, beside naive forecasts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.bank import repeat_season
from paralesn.tables.notes import counted
from paralesn.tables.observations import Observations
from paralesn.workflows.backtest_result import Backtest
from paralesn.workflows.file_series import FileSeries
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.rolling_origin import backtest
from paralesn.workflows.scores import Paths
from paralesn.workflows.yardsticks import LAST, MODEL, SEASONAL

LEAST = 4  # rows to learn from
_ORIGINS = 20  # forecasts of a series, fewer of very many series
_FORECASTS = 20_000  # of all series together, about


@dataclass(frozen=True, eq=False)
class ForecastTest:
    """How good forecasts of the last part of a file were; of nothing, where it is too short.

    Attributes
    ----------
    result : Backtest or None
        Of a model fitted to the rows before the test part.
    series : tuple of int
        Numbers of the series it is of.
    targets : tuple of str
    rows : int
        Rows of the test part.
    notes : tuple of str
    """

    result: Backtest | None
    series: tuple[int, ...]
    targets: tuple[str, ...]
    rows: int
    notes: tuple[str, ...]

    @property
    def methods(self) -> list[str]:
        """Methods that were compared, the model first."""
        return [] if self.result is None else self.result.methods

    def rows_of(self, target: str) -> np.ndarray:
        """Rows of the result, in its order of series, that are of a target."""
        place = self.targets.index(target)
        of_target = [i % len(self.targets) == place for i in self.series]
        return np.flatnonzero(of_target)

    def error(self, method: str, metric: str, target: str | None = None) -> float:
        """An error of a method: its mean over the series of a target, or over all."""
        assert self.result is not None
        values = self.result.errors[method][metric]
        if target is not None:
            values = values[self.rows_of(target)]
        seen = values[np.isfinite(values)]
        return float(seen.mean()) if seen.size else float("nan")

    def measure(self, target: str | None = None) -> str:
        """What methods are compared by: MASE, or MAE where no series has one."""
        return "mase" if np.isfinite(self.error(MODEL, "mase", target)) else "mae"

    def best(self, target: str | None = None) -> str:
        """The method with the least error; the model where nothing was better, or not tested.

        One method for all series of a target: the test of one series is too short to choose by.
        """
        if self.result is None:
            return MODEL
        measure = self.measure(target)
        return min(self.methods, key=lambda name: _last_if_nan(self.error(name, measure, target)))

    def best_naive(self, target: str | None = None) -> str:
        """The better of the naive methods."""
        measure = self.measure(target)
        naive = [method for method in self.methods if method != MODEL]
        return min(naive, key=lambda name: _last_if_nan(self.error(name, measure, target)))

    def season_of(self, series: int) -> int:
        """The season of the seasonal naive forecast of a series; 1: none."""
        if self.result is None:
            return 1
        at = self.row_of.get(series)
        if at is not None:
            return int(self.result.season[at])
        seasons, counts = np.unique(self.result.season, return_counts=True)
        return int(seasons[counts.argmax()])

    @cached_property
    def row_of(self) -> dict[int, int]:
        """Rows of the result by the number of the series."""
        return {number: row for row, number in enumerate(self.series)}

    def by_step(self, method: str, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Mean absolute error (horizon,) of a method by step, over some series of the result."""
        assert self.result is not None
        off = np.abs(self.result.paths[method].values - self.result.truth)[:, rows]
        seen = np.isfinite(off)
        sums = np.where(seen, off, 0.0).sum(axis=(0, 1))
        count = seen.sum(axis=(0, 1))
        return np.where(count > 0, sums / np.maximum(count, 1), np.nan)

    @property
    def coverage(self) -> float | None:
        """Share of values inside the model's intervals."""
        if self.result is None:
            return None
        share = self.error(MODEL, "coverage")
        return share if np.isfinite(share) else None


def _last_if_nan(error: float) -> float:
    return error if np.isfinite(error) else np.inf


class HeldOut(NamedTuple):
    """What a forecaster is tested on: parts of a file, and how far before their ends.

    Attributes
    ----------
    parts : list of int
        Those that are long enough; none where no part is.
    back : list of int
        Rows from each origin to the end, falling.
    """

    parts: list[int]
    back: list[int]

    def training(self, series: FileSeries) -> FileSeries:
        """What precedes the test."""
        return series.subset(self.parts).without_last(self.back[0])


def plan_test(series: FileSeries, horizon: int, share: float) -> HeldOut:
    """Plan a test on the last share of the rows, a horizon at least; one forecast is a test.

    Parts that are too short for that, or shorter than half of most, are left out.
    """
    rows = series.rows
    enough = np.flatnonzero(rows >= max(horizon + LEAST, int(np.median(rows)) // 2))
    if not enough.size:
        return HeldOut([], [])
    shortest = int(rows[enough].min())
    span = min(max(int(share * shortest), horizon), shortest - LEAST)
    parts = [int(j) for j in enough if _has_values(series.parts[j], span)]
    count = min(_ORIGINS, _FORECASTS // max(1, len(parts) * len(series.targets)))
    back = np.unique(np.linspace(horizon, span, max(1, count)).round().astype(int))[::-1]
    return HeldOut(parts, back.tolist() if parts else [])


def _has_values(part: Observations, span: int) -> bool:
    """Whether every target has values before the test part."""
    known = part.y[: part.rows - span]
    return bool((np.isfinite(known).sum(axis=0) >= 2).all())


def run_test(
    series: FileSeries, plan: HeldOut, model: Any, horizon: int, known: bool,
    seasons: Sequence[int], interval: float, *, progress: Progress = silent,
) -> ForecastTest:  # fmt: skip
    """Test a forecaster as planned.

    `seasons` are those of the seasonal naive forecast of every series, 1 where there is none.
    """
    targets, rows = series.targets, series.rows
    if not plan.parts:
        note = (
            f"not tested: {counted(int(rows.max()), 'row')} are too few to hold out {horizon} for "
            f"a test and learn from {LEAST}"
        )
        return ForecastTest(None, (), targets, 0, (note,))
    given = series.subset(plan.parts).fit_arguments(known)
    result = backtest(
        model, given.y, given.X, past=given.past, horizon=horizon,
        origins=[-rows for rows in plan.back], interval=interval, yardsticks=[LAST],
        progress=progress, **given.names,
    )  # fmt: skip
    left_out = len(rows) - len(plan.parts)
    notes = (f"{left_out} of {len(rows)} series are too short to be tested",) if left_out else ()
    tested = tuple(j * len(targets) + k for j in plan.parts for k in range(len(targets)))
    result = _with_seasons(result, np.array([seasons[i] for i in tested], np.int64))
    return ForecastTest(result, tested, targets, plan.back[0], notes)


def _with_seasons(result: Backtest, season: np.ndarray) -> Backtest:
    """The result with seasonal naive forecasts, of the seasons that all rows together have."""
    if (season == 1).all():
        return replace(result, season=season)
    every = np.stack([repeat_season(y, m, at - 1, result.horizon) for y, m, at in
                      zip(result.y, season.tolist(), result.origins.T, strict=True)],
                     axis=1)  # fmt: skip
    model, *others = result.paths.items()
    return replace(result, season=season, paths=dict([model, (SEASONAL, Paths(every)), *others]))
