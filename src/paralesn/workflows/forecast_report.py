"""Show a forecast: a table, sentences, plain data, columns of a CSV file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.tables.labels import free_name
from paralesn.tables.notes import counted, shown
from paralesn.tables.writer import save_columns
from paralesn.workflows.describe import plain
from paralesn.workflows.file_series import FileSeries
from paralesn.workflows.forecast import ForecastResult
from paralesn.workflows.yardsticks import MODEL, SEASONAL

_METRICS = ("mae", "rmse", "mase")
_LISTED = 200  # series that reports list


def method_label(result: ForecastResult, method: str) -> str:
    """The name of a method, with the season where it has one that is the same for all series."""
    test = result.test.result
    if method != SEASONAL or test is None:
        return method
    seasons = {int(m) for m in test.season if m > 1}
    return f"{method} ({seasons.pop()})" if len(seasons) == 1 else method


def error_table(result: ForecastResult) -> Table | None:
    """Errors of the test by target, those of the model beside naive ones; None without a test."""
    test, series = result.test, result.series
    if test.result is None:
        return None
    forecasts = counted(len(test.result.origins), "forecast")
    of = f" of {counted(len(test.result.names), 'series')}".replace("seriess", "series")
    many = f"{forecasts}{of if series.is_long else ''} of {counted(result.horizon, 'step')}"
    title = f"Test on the last {test.rows} rows: {many}"
    table = Table(title=title, min_width=len(title))
    for name in ("target", "forecast by"):
        table.add_column(name)
    for name in (*map(str.upper, _METRICS), *(["best for"] if series.is_long else [])):
        table.add_column(name, justify="right")
    for target in series.targets:
        best = test.best(target)
        for method in test.methods:
            cells = [_short(test.error(method, metric, target)) for metric in _METRICS]
            if series.is_long:
                cells.append(f"{wins(result, target)[method]} series")
            style = "bold" if method == best else None
            names = (Text(shown(target)), method_label(result, method))
            table.add_row(*names, *cells, style=style)
        table.add_section()
    return table


def wins(result: ForecastResult, target: str) -> dict[str, int]:
    """For how many series of a target each method had the least error; the first of equal ones."""
    test = result.test
    assert test.result is not None
    rows = test.rows_of(target)
    errors = np.array([test.result.errors[method]["mae"][rows] for method in test.methods])
    best = np.nan_to_num(errors, nan=np.inf).argmin(axis=0)
    counts = np.bincount(best, minlength=len(test.methods)).tolist()
    return dict(zip(test.methods, counts, strict=True))


def _short(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "-"


# -- sentences -------------------------------------------------------------------------------------


def verdicts(result: ForecastResult) -> list[str]:
    """Sentences that say whether the model beats naive forecasts, and what is written."""
    test, series = result.test, result.series
    if test.result is None:
        return ["The forecast was not tested: there are too few rows for that."]
    every = [_verdict(result, target) for target in series.targets]
    naive = [target for target, method in zip(series.targets, result.methods, strict=True)
             if method != MODEL]  # fmt: skip
    if naive:
        which = "" if len(series.targets) == 1 else f" of {', '.join(naive)}"
        every.append(
            f"What is written{which} is therefore the naive forecast; the saved model is still the "
            "model."
        )
    return every


def _verdict(result: ForecastResult, target: str) -> str:
    test, several = result.test, len(result.series.targets) > 1
    measure, naive, best = test.measure(target), test.best_naive(target), test.best(target)
    error, other = (test.error(method, measure, target) for method in (MODEL, naive))
    of, label = f" of {target}" if several else "", method_label(result, naive)
    if best != MODEL:
        compared = f"{measure.upper()} {other:.4g} against {error:.4g}"
        return f"The {label} forecast{of} is better than the model: {compared}."
    compared = f"{measure.upper()} {error:.4g} against {other:.4g}"
    less = f" ({1 - error / other:.0%} less)" if other > 0 else ""
    beats = "beats" if error < other else "is as good as"
    return f"The model {beats} the {label} forecast{of}: {compared}{less}."


def search_summary(result: ForecastResult) -> str | None:
    """One sentence on the search for settings; None without one."""
    search = result.search
    if search is None:
        return None
    settings = ", ".join(f"{name} {value}" for name, value in search.settings.items())
    return (
        f"Search: tried {len(search.trials)}; error before the test {search.best_error:.4g}, that "
        f"of the defaults {search.default_error:.4g}; {settings or 'the defaults stay'}."
    )


def coverage_summary(result: ForecastResult) -> str | None:
    """One sentence on how many test values the intervals held; None without a test."""
    share, interval = result.test.coverage, result.request.interval
    if share is None:
        return None
    return f"The model's {interval:.0%} intervals held {share:.1%} of the test values."


# -- plain data ------------------------------------------------------------------------------------


def as_record(result: ForecastResult) -> dict[str, Any]:
    """Everything but the forecast itself, as JSON can hold it."""
    names, weights = result.series.names[:_LISTED], weights_of(result)[:_LISTED]
    return {
        "data": _data_record(result),
        "notes": [str(note) for note in result.notes],
        "horizon": result.horizon,
        "season": result.season,
        "seasons": {name: list(m) for name, m in zip(names, result.seasons, strict=False)},
        "forecast_by": dict(zip(result.series.targets, result.methods, strict=True)),
        "test": None if result.test.result is None else _test_record(result),
        "search": _search_record(result),
        "weights": dict(zip(names, weights, strict=False)),
        "interval": result.request.interval,
        "seed": result.request.seed,
        "seconds": round(result.seconds, 2),
    }


def weights_of(result: ForecastResult) -> list[dict[str, float]]:
    """What each member of the model counts, for every series; nothing of the closed loop."""
    if not isinstance(result.model.fitted_, FittedForecaster):
        return []
    weights = result.model.weights_
    return [weights] if isinstance(weights, dict) else weights


def _data_record(result: ForecastResult) -> dict[str, Any]:
    series = result.series
    record = {
        "file": series.path.name, "rows": int(series.rows.sum()),
        "future_rows": series.future, "targets": list(series.targets),
        "exog": list(series.exog), "exog_known_in_advance": result.known_in_advance,
        "time": series.time,
        "interval_of_rows": None if series.clock is None else str(series.clock),
    }  # fmt: skip
    return record | ({"by": list(series.by), "series": len(series)} if series.is_long else {})


def _test_record(result: ForecastResult) -> dict[str, Any]:
    test = result.test
    assert test.result is not None
    errors = {
        target: {
            method: {metric: _number(test.error(method, metric, target)) for metric in _METRICS}
            for method in test.methods
        }
        for target in result.series.targets
    }
    return {
        "rows": test.rows, "forecasts": len(test.result.origins), "errors": errors,
        "beats_naive": test.best() == MODEL, "best_naive": test.best_naive(),
        "share_inside": None if test.coverage is None else _number(test.coverage),
    }  # fmt: skip


def _search_record(result: ForecastResult) -> dict[str, Any] | None:
    search = result.search
    if search is None:
        return None
    return {
        "trials": len(search.trials), "error": _number(search.best_error),
        "error_of_defaults": _number(search.default_error), "settings": plain(search.settings),
        "importance": plain(search.importance),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    """A float, or None where JSON cannot hold it."""
    return float(value) if np.isfinite(value) else None


# -- columns ---------------------------------------------------------------------------------------


def forecast_columns(
    series: FileSeries, parts: Sequence[int], values: np.ndarray, lower: np.ndarray,
    upper: np.ndarray, methods: Sequence[str],
) -> dict[str, list[Any]]:  # fmt: skip
    """Forecasts (series, steps) as columns by name: keys, times, each target with its interval.

    Columns of the file keep their names. One that is added, such as ``y_lower``, and would have
    the name of another column, gets an underscore behind it.

    Parameters
    ----------
    parts : sequence of int
        The parts of the file that are wanted.
    methods : sequence of str
        What forecasts each target.
    """
    steps, width = values.shape[1], len(series.targets)
    columns: dict[str, list[Any]] = {
        name: [series.keys[j][k] for j in parts for _ in range(steps)]
        for k, name in enumerate(series.by)
    }
    taken = {*series.by, *series.targets, *([series.time] if series.time else [])}
    columns[series.time or free_name("step", taken)] = [
        text for j in parts for text in series.when(series.ahead(j * width, steps))
    ]
    for k, name in enumerate(series.targets):
        for suffix, bound in (("", values), ("_lower", lower), ("_upper", upper)):
            column = [float(value) for j in parts for value in bound[j * width + k]]
            own = name if not suffix else free_name(f"{name}{suffix}", {*taken, *columns})
            columns[own] = column
        by = free_name(f"{name}_by", {*taken, *columns})
        columns[by] = [methods[k]] * (len(parts) * steps)
    return columns


def write_csv(result: ForecastResult, path: Path) -> None:
    """Write the forecast, a row for each step."""
    every = range(len(result.series.parts))
    given = (result.values, result.lower, result.upper, result.methods)
    save_columns(path, forecast_columns(result.series, every, *given))
