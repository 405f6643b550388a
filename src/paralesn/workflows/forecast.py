"""Forecast people's own series: tested on its last part, then made from all of it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.tables.observations import Observations
from paralesn.tables.reader import TableError
from paralesn.workflows.backtest import BacktestResult, Problem, backtest, interval_offsets
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.tune import Settings, TuningResult, make_forecaster, tune


@dataclass(frozen=True)
class ForecastRequest:
    """What a forecast should be like.

    Attributes
    ----------
    horizon : int
        Steps to forecast.
    test : float
        Share of the rows, at the end, to test on.
    season : int, optional
        Rows of a season. Default: as the time column suggests.
    interval : float
        Share of values that intervals should hold.
    search : float, optional
        Seconds to look for better settings than the defaults. Default: not at all.
    seed : int
        Of the reservoir and of the search.
    """

    horizon: int = 24
    test: float = 0.2
    season: int | None = None
    interval: float = 0.9
    search: float | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ForecastResult:
    """A forecast, how good its model was in the test, and the model.

    Attributes
    ----------
    observations, request
        What it was made from.
    model : StateForecaster
        Fitted to all rows.
    values, lower, upper : array (horizon, targets)
        The forecast and its interval; `lower` and `upper` are None where the series is too short.
    test : BacktestResult
        Of a model fitted to the rows before `test_start`.
    test_start : int
        First row of the test part.
    season : int or None
    known_in_advance : bool
        Whether exogenous columns were known in advance; otherwise they are read like targets.
    settings : dict
        Other settings than the defaults.
    search : TuningResult or None
    notes : tuple of str
        What to know about the data and the forecast.
    seconds : float
    """

    observations: Observations
    request: ForecastRequest
    model: StateForecaster
    values: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    test: BacktestResult
    test_start: int
    season: int | None
    known_in_advance: bool
    settings: Settings
    search: TuningResult | None
    notes: tuple[str, ...]
    seconds: float


def forecast(
    observations: Observations,
    request: ForecastRequest | None = None,
    *,
    progress: Progress = silent,
) -> ForecastResult:
    """Forecast a series: search where that is wanted, test, learn from everything, forecast.

    Parameters
    ----------
    observations : Observations
        As `paralesn.tables.observations.read_observations` reads them from a file.
    request : ForecastRequest, optional
    progress : function, optional
        Told what is being done.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from paralesn.tables.observations import read_observations
    >>> from paralesn.workflows.forecast import ForecastRequest, forecast
    >>> path = Path(tempfile.mkdtemp()) / "wave.csv"
    >>> _ = path.write_text("wave\\n" + "".join(f"{np.sin(t / 7):.6f}\\n" for t in range(500)))
    >>> result = forecast(read_observations(path), ForecastRequest(horizon=5))
    >>> result.test.beats_naive()
    True
    >>> result.values.ravel().round(2).tolist()
    [0.74, 0.63, 0.52, 0.39, 0.25]
    """
    start, request = time.monotonic(), request or ForecastRequest()
    notes = list(observations.notes)
    problem = state_problem(observations, request, notes)
    test_start = _test_start(problem, request)
    search = None
    if request.search is not None:
        search = tune(
            problem.between(0, test_start), request.search, share=request.test, seed=request.seed,
            progress=progress,
        )  # fmt: skip
    settings = {} if search is None else search.settings
    progress("testing", 0.0)
    tested = make_forecaster(problem, settings, seed=request.seed, rows=test_start)
    tested.fit(problem.y[:test_start], problem.inputs(0, test_start))
    test = backtest(tested, problem, test_start, request.interval)
    progress("forecasting", 0.0)
    model = make_forecaster(problem, settings, seed=request.seed)
    model.fit(*_named(problem, observations))
    values, lower, upper = _forecast_ahead(model, problem, request.interval, notes)
    return ForecastResult(
        observations, request, model, values, lower, upper, test, test_start, problem.season,
        problem.X is not None, settings, search, tuple(notes), time.monotonic() - start,
    )  # fmt: skip


def state_problem(
    observations: Observations, request: ForecastRequest, notes: list[str]
) -> Problem:
    """Decide on the season, and on what exogenous columns are.

    Where the table goes on after the last target for at least a horizon, exogenous columns are
    known in advance. Otherwise they are further series: read like the targets, not reported on.
    """
    season = request.season
    if season is None and observations.clock is not None:
        season = observations.clock.season(observations.rows)
    if season is None:
        notes.append("no season is known: `season` gives one to compare with")
    targets, names = len(observations.targets), ", ".join(observations.exog)
    if not observations.exog:
        return Problem(observations.y, targets, None, request.horizon, season)
    if observations.future >= request.horizon:
        notes.append(f"{names}: known in advance, as the file goes on after the last target")
        return Problem(observations.y, targets, observations.X, request.horizon, season)
    if observations.future:
        raise TableError(
            f"{names} is known for {observations.future} rows after the last target, which "
            f"`horizon={request.horizon}` exceeds: lower it, add rows, or leave out the rows "
            "without target",
            parameter="horizon",
        )
    notes.append(
        f"{names}: read as it comes, not known in advance, as the file ends with the last target"
    )
    y = observations.values[: observations.rows]
    return Problem(y, targets, None, request.horizon, season)


def _test_start(problem: Problem, request: ForecastRequest) -> int:
    """The first row of the test part, which must be at least as long as the horizon."""
    rows, h = len(problem.y), problem.horizon
    count = int(request.test * rows)
    if count < h:
        raise TableError(
            f"`test={request.test:g}` of {rows} rows is {count}, fewer than `horizon={h}`: give "
            "more rows, a larger share or a shorter horizon",
            parameter="test",
        )
    left = rows - count
    least = 2 * h + 20
    if left < least:
        raise TableError(
            f"{left} rows are left to learn from, expected at least {least} (2 `horizon` + 20): "
            "give more rows, a smaller `test` or a shorter `horizon`",
            parameter="test",
        )
    return left


def _named(problem: Problem, observations: Observations) -> tuple[Any, Any]:
    """Series and known inputs with the names of their columns, which the model remembers."""
    import pandas as pd

    names = [*observations.targets, *observations.exog][: problem.y.shape[1]]
    y = pd.DataFrame(problem.y, columns=names)
    X = problem.inputs(0, len(problem.y))
    return y, None if X is None else pd.DataFrame(X, columns=list(observations.exog))


def _forecast_ahead(
    model: StateForecaster, problem: Problem, interval: float, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Forecast the steps after the last row; values and bounds (horizon, targets)."""
    rows, h, d = len(problem.y), problem.horizon, problem.targets
    X = problem.inputs(rows, rows + h)
    values = model.forecast(X=X).reshape(h, -1)
    offsets = interval_offsets(model, X, interval)
    if offsets is None:
        notes.append(f"no intervals: the series is too short to learn {interval:.0%} ones")
        return values[:, :d], None, None
    lower, upper = ((values + offset)[:, :d] for offset in offsets)
    return values[:, :d], lower, upper
