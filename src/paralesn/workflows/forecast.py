"""Forecast people's own series: tested on its last part, then made from all of it."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from paralesn.estimators.forecaster import following, watched_loop
from paralesn.estimators.forecaster.estimator import Forecaster, ReservoirForecaster
from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.tables.file_panel import Panel
from paralesn.tables.observations import Observations
from paralesn.tables.reader import TableError
from paralesn.workflows.file_series import FileSeries
from paralesn.workflows.held_out import LEAST, ForecastTest, HeldOut, plan_test, run_test
from paralesn.workflows.naive_intervals import naive_with_interval
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.tuning import Tuned, tune
from paralesn.workflows.yardsticks import MODEL

_LARGEST = 1e150  # value that can be learnt from
_MOST = 100  # steps that are forecast where nobody says how many


@dataclass(frozen=True)
class ForecastRequest:
    """What a forecast should be like.

    Attributes
    ----------
    horizon : int, optional
        Steps to forecast. Default: as many as extra inputs are known in advance for, at most 100;
        without such, two seasons, or 8 steps, at most a quarter of the rows.
    test : float
        Share of the rows, at the end, to test on: at least a horizon.
    season : "auto" or int
        Rows of a season; 1: none.
    interval : float
        Share of values that intervals should hold.
    calendar : str or sequence of str, optional
        Inputs from the times of rows, such as "weekday", or "auto".
    search : float, optional
        Seconds to look for better settings than the defaults. Default: not at all.
    seed : int
        Of the search.
    """

    horizon: int | None = None
    test: float = 0.2
    season: str | int = "auto"
    interval: float = 0.9
    calendar: Any = None
    search: float | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ForecastResult:
    """A forecast, how good it was in the test, and the model.

    Attributes
    ----------
    series : FileSeries
        What it was made from.
    request : ForecastRequest
    model : ReservoirForecaster or SmootherBank
        Fitted to all rows.
    seasons : tuple of tuples of int
        Considered for every series.
    known_in_advance : bool
        Whether extra inputs were known in advance; otherwise only up to now.
    test : ForecastTest
    search : Tuned or None
    methods : tuple of str
        What forecasts each target: "model", or the naive method that was better in the test.
    values, lower, upper : array (series, horizon)
        The forecast and its interval.
    notes : tuple of str
        What to know about the data and the forecast.
    seconds : float
    """

    series: FileSeries
    request: ForecastRequest
    model: Forecaster
    seasons: tuple[tuple[int, ...], ...]
    known_in_advance: bool
    test: ForecastTest
    search: Tuned | None
    methods: tuple[str, ...]
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    notes: tuple[str, ...]
    seconds: float

    @property
    def horizon(self) -> int:
        """Steps that are forecast."""
        return int(self.values.shape[1])

    def method_of(self, series: int) -> str:
        """What forecasts a series."""
        return self.methods[series % len(self.methods)]

    @property
    def season(self) -> int | None:
        """The season that most series have, or None."""
        counts = Counter(seasons[0] if seasons else None for seasons in self.seasons)
        return counts.most_common(1)[0][0]


def forecast(
    data: Observations | Panel,
    request: ForecastRequest | None = None,
    *,
    progress: Progress = silent,
) -> ForecastResult:
    """Forecast series: learn from everything, test, and write down what did best in the test.

    Parameters
    ----------
    data : Observations or Panel
        As `read_observations` or `read_panel` of `paralesn.tables` read them from a file.
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
    >>> result.methods, result.values.round(2).tolist()
    (('model',), [[0.74, 0.63, 0.52, 0.39, 0.25]])
    """
    start, request = time.monotonic(), request or ForecastRequest()
    series = FileSeries.of(data)
    _refuse_huge(series)
    notes = list(series.notes)
    horizon, known = _horizon_of_inputs(series, request, notes)
    progress("learning", 0.0)
    fresh: Forecaster = ReservoirForecaster(
        horizon=horizon, season=request.season, calendar=request.calendar
    )
    model = _fitted(series, fresh, known)
    horizon = model.horizon_
    for i in range(len(series)):
        series.ahead(i, horizon)  # times that cannot be held are known before the test
    seasons = seasons_of(model)
    plan, search = plan_test(series, horizon, request.test), None
    fresh.set_params(horizon=horizon)
    if request.search is not None:
        search = _searched(series, plan, fresh, known, request, notes, progress)
    if search is not None and search.settings:
        fresh = search.model
        progress("learning", 0.0)
        model = _fitted(series, clone(fresh), known)
    held_out = plan.back[0] if plan.parts else 0
    naive_seasons = [naive_season(y[: y.size - held_out], own) for y, own in
                     zip(series.values, seasons, strict=True)]  # fmt: skip
    test = run_test(
        series, plan, clone(fresh), horizon, known, naive_seasons, request.interval,
        progress=progress,
    )  # fmt: skip
    # Of times, those who read the file have said enough.
    more = [note for note in model.notes_ if not note.startswith("times of ")]
    notes += [note for note in (*more, *test.notes) if note not in notes]
    methods = tuple(test.best(target) for target in series.targets)
    progress("forecasting", 0.0)
    ahead = series.inputs_ahead(horizon) if known else None
    values, lower, upper = predict_series(model, ahead, horizon, request.interval)
    for i in range(len(series)):
        method = methods[i % len(methods)]
        if method != MODEL:
            own = series.values[i]
            naive = naive_with_interval(method, own, horizon, test.season_of(i), request.interval)
            values[i], lower[i], upper[i] = naive
    return ForecastResult(
        series, request, model, seasons, known, test, search, methods, values, lower, upper,
        tuple(notes), time.monotonic() - start,
    )  # fmt: skip


def _refuse_huge(series: FileSeries) -> None:
    """Raise for numbers whose squares are none any more."""
    for name, values in zip(series.names, series.values, strict=True):
        largest = float(np.nanmax(np.abs(values)))
        if largest > _LARGEST:
            raise TableError(
                f"{series.path.name}: {name!r} holds {largest:.3g}, too large to learn from: give "
                "it in other units"
            )


def _fitted(series: FileSeries, model: Forecaster, known: bool) -> Forecaster:
    """The forecaster, fitted to all rows."""
    given = series.fit_arguments(known)
    return model.fit(given.y, given.X, past=given.past, **given.names)


def _searched(
    series: FileSeries, plan: HeldOut, model: Forecaster, known: bool, request: ForecastRequest,
    notes: list[str], progress: Progress,
) -> Tuned | None:  # fmt: skip
    """Look for settings on what precedes the test; None where that is too short."""
    assert request.search is not None
    if not plan.parts or min(plan.training(series).rows) < (model.horizon or 1) + LEAST:
        notes.append("no settings were looked for: there are too few rows before the test")
        return None
    given = plan.training(series).fit_arguments(known)
    search = tune(
        clone(model), given.y, given.X, past=given.past, budget=float(request.search),
        seed=request.seed, progress=progress, **given.names,
    )  # fmt: skip
    if search.interrupted:  # the whole forecast, not the search alone
        raise KeyboardInterrupt
    return search


def naive_season(y: np.ndarray, seasons: Sequence[int]) -> int:
    """Of several seasons the one that a series y (n,) repeats best; 1 where there is none.

    A longer one must be better by a twentieth.
    """
    errors = {m: _mean(np.abs(y[m:] - y[:-m])) for m in sorted(seasons) if m < y.size}
    least = min(errors.values(), default=0.0)
    return next((m for m, error in errors.items() if error <= 1.05 * least), 1)


def _mean(values: np.ndarray) -> float:
    seen = values[np.isfinite(values)]
    return float(seen.mean()) if seen.size else float("inf")


def seasons_of(model: Forecaster) -> tuple[tuple[int, ...], ...]:
    """Seasons considered for every series; the closed loop considers none."""
    fitted = model.fitted_
    return fitted.seasons if isinstance(fitted, FittedForecaster) else ((),) * len(model.names_)


def predict_series(
    model: Forecaster, X: Any, steps: int, interval: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forecasts of a fitted model and their bounds, each (series, steps); NaN without bounds."""
    fitted = model.fitted_
    if isinstance(fitted, FittedForecaster):
        values, bounds = following.ahead(fitted, X, steps)
        return values, *bounds(interval)
    loop = fitted.loop
    values = np.asarray(loop.forecast(steps, X)).reshape(steps, -1)
    watched_loop.check_range(values, fitted.low, fitted.high)
    if not loop.has_intervals_:
        return values.T, np.full_like(values.T, np.nan), np.full_like(values.T, np.nan)
    found = loop.forecast(steps, X, interval)
    return values.T, found.lower.reshape(steps, -1).T, found.upper.reshape(steps, -1).T


def _horizon_of_inputs(
    series: FileSeries, request: ForecastRequest, notes: list[str]
) -> tuple[int | None, bool]:
    """The horizon as far as it is known yet, and whether extra inputs are known in advance.

    They are where the table goes on after the last target for at least a horizon. Otherwise they
    are known only up to now.
    """
    names, future, horizon = ", ".join(series.exog), series.future, request.horizon
    if not series.exog:
        return horizon, False
    longest = max(part.future for part in series.parts)
    if not longest:
        notes.append(
            f"{names}: read as it comes, not known in advance, as the file ends with the last "
            "target"
        )
        return horizon, False
    if not future:
        key = next(k for k, part in zip(series.keys, series.parts, strict=True) if not part.future)
        raise TableError(
            f"{names} is known after the last target of some series, but not of {'/'.join(key)!r}: "
            "add rows for it, or leave out all rows without target"
        )
    if horizon is not None and future < horizon:
        raise TableError(
            f"{names} is known for {future} rows after the last target, which `horizon={horizon}` "
            "exceeds: lower it, add rows, or leave out the rows without target",
            parameter="horizon",
        )
    notes.append(f"{names}: known in advance, as the file goes on after the last target")
    if horizon is None and future > _MOST:
        notes.append(
            f"{names} is known for {future} rows to come, of which {_MOST} are forecast; `horizon` "
            "forecasts more"
        )
    return horizon or min(future, _MOST), True
