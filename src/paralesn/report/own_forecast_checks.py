"""The page of a forecast: how good it was in the test, and what one-step forecasts left over."""

import numpy as np

from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.estimators.forecaster.residuals import residuals as residuals_of
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.elements import Element, Entry, Figure, Look, Section, Table
from paralesn.report.time_charts import Line, correlations, histogram, timeline
from paralesn.workflows.forecast import ForecastResult
from paralesn.workflows.forecast_report import coverage_summary, method_label
from paralesn.workflows.yardsticks import LAST, MODEL, SEASONAL

LOOKS = {MODEL: Look(1), SEASONAL: Look(4, "triangle"), LAST: Look(0, "square")}
_METRICS = {"mae": "MAE", "rmse": "RMSE", "mase": "MASE", "smape": "sMAPE %"}
_STEPS = 60  # marks of a line by step
_LAGS = 40


def test(result: ForecastResult) -> Section:
    """Errors beside those of naive forecasts, in all and by step."""
    found = result.test.result
    if found is None:
        return Section("test", "Test", missing=str(result.test.notes[0]))
    of_all = " of every series" if result.series.is_long else ""
    lead = (
        f"A model that had learnt only from what precedes the last {result.test.rows:,} rows"
        f"{of_all} forecast them from {len(found.origins)} origins, {result.horizon} steps each. "
        f"{coverage_summary(result) or ''}"
    )
    content: list[Element] = [_table(result)]
    content += [_by_step(result, target) for target in result.series.targets[:4]]
    return Section("test", "Test", lead, content)


def _table(result: ForecastResult) -> Table:
    rows = []
    for target in result.series.targets:
        best = result.test.best(target)
        for method in result.test.methods:
            errors = [result.test.error(method, metric, target) for metric in _METRICS]
            cells = [Entry(f"{error:.4g}" if np.isfinite(error) else "-", best=method == best)
                     for error in errors]  # fmt: skip
            label = method_label(result, method)
            several = len(result.series.targets) > 1
            rows.append([f"{target}: {label}" if several else label, *cells])
    note = (
        "MASE: mean absolute error in units of the mean absolute change over a season before the "
        "test; below 1 is better than repeating the season there was."
    )
    return Table("Errors in the test", ["forecast by", *_METRICS.values()], rows, note)


def _by_step(result: ForecastResult, target: str) -> Figure:
    rows = result.test.rows_of(target)
    every = max(1, -(-result.horizon // _STEPS))
    steps = np.arange(0, result.horizon, every)
    lines, numbers = [], []
    for method in result.test.methods:
        errors = result.test.by_step(method, rows)
        points = [(k + 1.0, float(errors[k])) for k in steps if np.isfinite(errors[k])]
        tips = [f"{method}, step {int(x)}: {y:.4g}" for x, y in points]
        lines.append(Series(method, points, tips, look=LOOKS[method]))
        numbers.append(errors)
    title = f"Error by step: {target}" if len(result.series.targets) > 1 else "Error by step"
    table = Table(title, ["step", *result.test.methods],
                  [[k + 1, *(f"{e[k]:.4g}" for e in numbers)] for k in steps.tolist()])  # fmt: skip
    drawing = xy(title, Axis("step of the forecast"), Axis("mean absolute error"), lines)
    caption = "Over all origins" + (" and series." if result.series.is_long else ".")
    return Figure(title, drawing, caption, result.test.methods, LOOKS, table)


def residuals(result: ForecastResult, most: int) -> Section | None:
    """What one-step forecasts of the fitted model left over, of the first series."""
    fitted = result.model.fitted_
    if not isinstance(fitted, FittedForecaster):
        return None
    content: list[Element] = []
    for i in range(min(most, fitted.count, 1 if result.series.is_long else most)):
        off = residuals_of(fitted, i)
        if np.isfinite(off).sum() >= 8:
            content += _of_series(result, i, off)
    if not content:
        return None
    lead = (
        "Observed minus forecast one step ahead, by the model that has learnt from all rows. What "
        "is left should have no pattern: correlations between the dotted lines may be chance."
    )
    return Section("residuals", "Residuals", lead, content)


def _of_series(result: ForecastResult, i: int, off: np.ndarray) -> list[Element]:
    part, name = result.series.part_of(i), result.series.names[i]
    when = np.arange(1.0, part.rows + 1) if part.times is None else part.times[: part.rows]
    line = Line("residual", when[-off.size :], off, Look(1))
    seen = off[np.isfinite(off)]
    correlation = autocorrelation(off, min(_LAGS, seen.size // 3))
    spread = f"Standard deviation {seen.std():.4g}, mean {seen.mean():.2g}."
    return [
        Figure(f"Residuals: {name}", timeline(f"Residuals of {name}", [line], height=200), spread,
               wide=True),
        Figure("How large", histogram(f"Residuals of {name}", seen, "residual"),
               f"{seen.size:,} residuals."),
        Figure("Autocorrelation",
               correlations(f"Autocorrelation of residuals of {name}", correlation,
                            1.96 / np.sqrt(seen.size), "lag in steps"),
               "Dotted: 95% of correlations of white noise."),
    ]  # fmt: skip


def autocorrelation(values: np.ndarray, lags: int) -> np.ndarray:
    """Correlations (lags,) of values with those 1, 2, … steps before; missing ones left out."""
    off = values - np.nanmean(values)
    seen = np.isfinite(off)
    off = np.where(seen, off, 0.0)
    power = float(off @ off) / max(int(seen.sum()), 1)
    if not power > 0:
        return np.zeros(lags)
    every = []
    for k in range(1, lags + 1):
        both = int((seen[k:] & seen[:-k]).sum())
        every.append(float(off[k:] @ off[:-k]) / max(both, 1) / power)
    return np.array(every)
