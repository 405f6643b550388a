"""Show a forecast: a table, sentences, plain data, a CSV file, a picture."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from paralesn.files import require, save_figure
from paralesn.tables.clock import format_times
from paralesn.tables.writer import save_columns
from paralesn.workflows.backtest import MODEL, SEASONAL
from paralesn.workflows.forecast import ForecastResult

_SHOWN = 6  # targets in a picture


def error_table(result: ForecastResult) -> Table:
    """Errors of the test by target, those of the model beside naive ones."""
    test = result.test
    forecasts = f"{test.origins} forecasts of {len(result.values)} steps"
    rows = result.observations.rows - result.test_start
    table = Table(title=f"Test on the last {rows} rows: {forecasts}")
    for name in ("target", "forecast by"):
        table.add_column(name)
    for name in ("MAE", "RMSE", "MASE"):
        table.add_column(name, justify="right")
    for k, target in enumerate(result.observations.targets):
        best = min(errors.mae[k] for errors in test.errors.values())
        for method, errors in test.errors.items():
            label = f"{method} ({result.season})" if method == SEASONAL else method
            cells = [f"{float(measure[k]):.4g}" for measure in errors]
            table.add_row(target, label, *cells, style="bold" if errors.mae[k] <= best else None)
        table.add_section()
    return table


def verdict(result: ForecastResult) -> str:
    """One sentence that says whether the model beats naive forecasts."""
    test, naive = result.test, result.test.best_naive()
    error, naive_error = test.overall(MODEL), test.overall(naive)
    measure = "MASE" if np.isfinite(test.errors[MODEL].mase).all() else "MAE"
    compared = f"{measure} {error:.4g} against {naive_error:.4g}"
    if test.beats_naive():
        less = f" ({1 - error / naive_error:.0%} less)" if naive_error > 0 else ""
        return f"The model beats the {naive} forecast: {compared}{less}."
    advice = "use that one" if result.search is not None else "use that one, or try `search=60`"
    return f"The model does NOT beat the {naive} forecast: {compared}; {advice}."


def search_summary(result: ForecastResult) -> str | None:
    """One sentence on the search for settings; None without one."""
    search = result.search
    if search is None:
        return None
    return (
        f"Search: tried {search.trials} in {search.seconds:.0f} s; error on validation data "
        f"{search.error:.4g}, that of the defaults {search.default_error:.4g}."
    )


def coverage_summary(result: ForecastResult) -> str | None:
    """One sentence on how many test values the intervals held; None without intervals."""
    if result.test.coverage is None:
        return None
    interval, share = result.request.interval, float(result.test.coverage.mean())
    return f"Intervals meant to hold {interval:.0%} held {share:.1%} of the test values."


def as_record(result: ForecastResult) -> dict[str, Any]:
    """Everything but the forecast itself, as JSON can hold it."""
    search = result.search
    return {
        "data": _data_record(result),
        "notes": list(result.notes),
        "horizon": result.request.horizon,
        "season": result.season,
        "test": _test_record(result),
        "search": None if search is None else {
            "trials": search.trials, "seconds": round(search.seconds, 2),
            "error": _number(search.error), "error_of_defaults": _number(search.default_error),
        },
        "settings": result.settings,
        "seed": result.request.seed,
        "seconds": round(result.seconds, 2),
    }  # fmt: skip


def _data_record(result: ForecastResult) -> dict[str, Any]:
    observations = result.observations
    return {
        "file": observations.path.name, "rows": observations.rows,
        "future_rows": observations.future, "targets": list(observations.targets),
        "exog": list(observations.exog), "exog_known_in_advance": result.known_in_advance,
        "time": observations.time,
        "interval_of_rows": None if observations.clock is None else str(observations.clock),
    }  # fmt: skip


def _test_record(result: ForecastResult) -> dict[str, Any]:
    test, observations = result.test, result.observations
    errors = {
        target: {
            method: {name: _number(values[k]) for name, values in errors._asdict().items()}
            for method, errors in test.errors.items()
        }
        for k, target in enumerate(observations.targets)
    }
    return {
        "rows": observations.rows - result.test_start, "forecasts": test.origins,
        "errors": errors,
        "beats_naive": test.beats_naive(), "best_naive": test.best_naive(),
        "interval": result.request.interval,
        "share_inside": None if test.coverage is None else _number(test.coverage.mean()),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    """A float, or None where JSON cannot hold it."""
    return float(value) if np.isfinite(value) else None


def forecast_columns(
    names: tuple[str, ...], values: Any, lower: Any = None, upper: Any = None
) -> dict[str, list[Any]]:
    """Forecasts (steps, targets) as columns by name: each target, then its interval."""
    columns: dict[str, list[Any]] = {}
    for k, name in enumerate(names):
        columns[name] = values[:, k].tolist()
        if lower is not None and upper is not None:
            columns[f"{name}_lower"] = lower[:, k].tolist()
            columns[f"{name}_upper"] = upper[:, k].tolist()
    return columns


def write_csv(result: ForecastResult, path: Path) -> None:
    """Write the forecast, a row for each step."""
    observations = result.observations
    when: dict[str, list[Any]] = {
        observations.time or "step": format_times(observations.ahead(len(result.values)))
    }
    columns = forecast_columns(observations.targets, result.values, result.lower, result.upper)
    save_columns(path, when | columns)


def plot(result: ForecastResult, path: Path) -> None:
    """Draw the end of the series, the forecast, and what the tested model said of the end."""
    require("matplotlib", "plot", purpose="a picture")
    from matplotlib.figure import Figure

    observations, h = result.observations, len(result.values)
    names = observations.targets[:_SHOWN]
    figure = Figure(figsize=(9, 1.2 + 2.4 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for k, axes in enumerate(grid):
        _plot_target(axes, result, k)
    if observations.time is None:
        grid[-1].set_xlabel("row")
    omitted = len(observations.targets) - len(names)
    more = f" (and {omitted} more)" if omitted else ""
    figure.suptitle(f"{', '.join(names)}{more}: {h} steps ahead")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    save_figure(figure, path)


def _plot_target(axes: Any, result: ForecastResult, k: int) -> None:
    """Draw one target."""
    h = len(result.values)
    before, after = _time_axis(result)
    marker = "." if h == 1 else None
    y = result.observations.y[-len(before) :, k]
    axes.plot(before, y, color="0.25", linewidth=1.1, label="observed")
    axes.plot(
        before[-h:], result.test.latest[:, k], color="tab:orange", linewidth=1.2,
        linestyle="--", label="test forecast of the last steps", marker=marker,
    )  # fmt: skip
    if result.lower is not None and result.upper is not None:
        axes.fill_between(
            after, result.lower[:, k], result.upper[:, k], color="tab:blue", alpha=0.18,
            linewidth=0, label=f"{result.request.interval:.0%} interval",
        )  # fmt: skip
    axes.plot(
        after, result.values[:, k], color="tab:blue", linewidth=1.6, label="forecast",
        marker=marker,
    )  # fmt: skip
    axes.set_ylabel(result.observations.targets[k])
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)


def _time_axis(result: ForecastResult) -> tuple[np.ndarray, np.ndarray]:
    """Times, or numbers, of the last rows that are drawn, and of the steps to come."""
    observations, h = result.observations, len(result.values)
    end = observations.rows
    shown = min(end, max(4 * h, 2 * (result.season or 1), 60))
    if observations.times is None:
        return np.arange(end - shown, end) + 1, np.arange(end, end + h) + 1
    return observations.times[end - shown : end], observations.ahead(h)
