"""A forecast of somebody's own series: tested on its last part, then made from all of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.tables.observations import Observed
from paralesn.tables.reader import TableError
from paralesn.workflows.backtest import Backtest, Problem, backtest, offsets
from paralesn.workflows.tune import Settings, Tuned, forecaster, tune

Report = Callable[[str, float], None]  # told what is going on, and which share of it is done


@dataclass(frozen=True)
class Wanted:
    """What a forecast should be like."""

    horizon: int = 24
    test: float = 0.2
    season: int | None = None
    interval: float = 0.9
    search: float | None = None  # seconds
    seed: int = 0


class Made(NamedTuple):
    """A forecast and what is known about it.

    Attributes
    ----------
    values, lower, upper : (horizon, targets); bounds are None where no interval could be had
    known : bool
        Whether exogenous columns were known in advance, or only read.
    """

    model: ReservoirForecaster
    values: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    test: Backtest
    first: int  # step of the test part
    season: int | None
    known: bool
    settings: Settings
    tuned: Tuned | None
    seconds: float


def problem_of(observed: Observed, wanted: Wanted, notes: list[str]) -> Problem:
    """Decide what exogenous columns are, and the season.

    Where rows follow on the last target for at least a horizon, exogenous columns are known in
    advance. Otherwise they are further series: read as they come, like the targets, but not
    reported on.
    """
    season = wanted.season
    if season is None and observed.clock is not None:
        season = observed.clock.season(observed.rows)
    if season is None:
        notes.append("no season is known: --season gives one to compare with")
    d, names = len(observed.targets), ", ".join(observed.exog)
    if not observed.exog:
        return Problem(observed.y, d, None, wanted.horizon, season)
    if observed.future >= wanted.horizon:
        notes.append(f"{names}: known in advance, as the file goes on after the last target")
        return Problem(observed.y, d, observed.X, wanted.horizon, season)
    if observed.future:
        raise TableError(
            f"{names} is known for {observed.future} rows after the last target, which --horizon "
            f"{wanted.horizon} exceeds: lower it, add rows, or leave out the rows without target"
        )
    notes.append(
        f"{names}: read as it comes, not known in advance, as the file ends with the last target"
    )
    y = observed.values[: observed.rows]
    return Problem(y, d, None, wanted.horizon, season)


def make(observed: Observed, wanted: Wanted, report: Report, notes: list[str]) -> Made:
    """Search where that is wanted, test, learn from everything, and forecast."""
    start = time.monotonic()
    problem = problem_of(observed, wanted, notes)
    first = _first_of_test(problem, wanted)
    tuned = None
    if wanted.search is not None:
        total = wanted.search
        tuned = tune(
            problem.part(0, first), wanted.test, total, wanted.seed,
            lambda trials, taken: report(f"searching, {trials} trials", min(1.0, taken / total)),
        )  # fmt: skip
    settings = {} if tuned is None else tuned.settings
    report("testing", 0.0)
    model = forecaster(settings, problem, wanted.seed, first)
    model.fit(problem.y[:first], problem.known(0, first))
    test = backtest(model, problem, first, wanted.interval)
    report("forecasting", 0.0)
    model = forecaster(settings, problem, wanted.seed)
    rows, h = len(problem.y), problem.horizon
    model.fit(_named(problem.y, observed), _named_known(problem, observed, rows))
    ahead = problem.known(rows, rows + h)
    values = model.forecast(X=ahead).reshape(h, -1)
    ends = offsets(model, ahead, wanted.interval)
    if ends is None:
        notes.append(f"no intervals: the series is too short to learn {wanted.interval:.0%} ones")
    d = problem.targets
    lower, upper = (None, None) if ends is None else ((values + end)[:, :d] for end in ends)
    return Made(
        model, values[:, :d], lower, upper, test, first, problem.season, problem.X is not None,
        settings, tuned, time.monotonic() - start,
    )  # fmt: skip


def _first_of_test(problem: Problem, wanted: Wanted) -> int:
    """The first step of the test part, which must be as long as the horizon."""
    rows, h = len(problem.y), problem.horizon
    count = int(wanted.test * rows)
    if count < h:
        raise TableError(
            f"--test {wanted.test:g} of {rows} rows is {count}, fewer than --horizon {h}: give "
            "more rows, a larger share or a shorter horizon"
        )
    left = rows - count
    least = 2 * h + 20
    if left < least:
        raise TableError(
            f"{left} rows are left to learn from, expected at least {least} (2 --horizon + 20): "
            "give more rows, a smaller --test or a shorter --horizon"
        )
    return left


def _named(y: np.ndarray, observed: Observed) -> Any:
    """Series with the names of their columns, which the model keeps."""
    import pandas as pd

    return pd.DataFrame(y, columns=[*observed.targets, *observed.exog][: y.shape[1]])


def _named_known(problem: Problem, observed: Observed, rows: int) -> Any:
    import pandas as pd

    if problem.X is None:
        return None
    return pd.DataFrame(problem.X[:rows], columns=list(observed.exog))
