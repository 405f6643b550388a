"""Observations that one-step forecasts did not expect."""

from typing import Any, Generic, NamedTuple

import numpy as np

from paralesn.estimators.forecaster import following
from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.estimators.forecaster.forms import Values
from paralesn.estimators.forecaster.frames import in_pandas, make_frame
from paralesn.estimators.forecaster.panel import FLAT, LONG, TABLE
from paralesn.tables.labels import free_name


class Anomalies(NamedTuple, Generic[Values]):
    """One-step forecasts, the interval around them, and which observations lie outside.

    Each is (time,) or (time, series), or a list of (time,), as the series came. The first
    observation of a fit and missing ones are no anomalies.
    """

    is_anomaly: Values
    values: Values
    lower: Values
    upper: Values


def find(fitted: FittedForecaster, y: Any, X: Any, past: Any, level: float) -> Any:
    """Compare observations with forecasts from the step before."""
    if y is None:
        memory, counts = fitted.memory, fitted.ends.counts
        observed, explained = fitted.observed(), memory.split(memory.explained, counts)
        others = memory.split(memory.past, counts)
        ahead, part = fitted.ensemble.one_step(fitted.remainders(), others), fitted
        times = [fitted.times(i) for i in range(fitted.count)]
    else:
        part, panel, ahead, explained = following.one_step(fitted, y, X, past)
        observed, times = panel.values, [grid.times for grid in panel.grids]
    rows = []
    for i, (seen, expected, more) in enumerate(zip(observed, ahead, explained, strict=True)):
        bounds = part.ensemble.spread.one_step_bounds(i, expected, level)
        lower, upper = (np.maximum(bound + more, part.floor[i]) for bound in bounds)
        with np.errstate(invalid="ignore"):
            outside = (seen < lower) | (seen > upper)
        rows.append((outside, expected + more, lower, upper, seen))
    columns = [list(column) for column in zip(*rows, strict=True)]
    return _shaped(part, columns, times)


def _shaped(
    fitted: FittedForecaster, columns: list[list[np.ndarray]], times: list[np.ndarray | None]
) -> Any:
    """Results in the form of the series."""
    layout = fitted.layout
    outside, ahead, lower, upper, seen = columns
    if layout.backend is None:
        if layout.kind == FLAT:
            return Anomalies(outside[0], ahead[0], lower[0], upper[0])
        if layout.kind == TABLE:
            parts = (outside, ahead, lower, upper)
            return Anomalies(*(np.stack(part, axis=1) for part in parts))
        return Anomalies(outside, ahead, lower, upper)
    table: dict[str, Any] = {}
    counts = [len(values) for values in seen]
    label = layout.index.name or "ds"
    name = layout.columns[0] if layout.kind == LONG else free_name("series", [label])
    if len(layout.names) > 1 or layout.kind == LONG:
        labels = np.array(layout.names)
        table[name] = np.repeat(
            labels.astype(object) if labels.dtype.kind == "U" else labels, counts
        )
    if layout.index.kind != "none":
        joined = np.concatenate([np.asarray(when) for when in times])
        is_whole = layout.index.kind == "numbers" and layout.index.is_whole
        table[label] = joined.astype(np.int64) if is_whole else joined
    results = {"y": seen, "yhat": ahead, "lo": lower, "hi": upper, "anomaly": outside}
    for own, arrays in results.items():
        table[free_name(own, table)] = np.concatenate(arrays)
    if layout.backend == "pandas" and label in table and layout.kind != LONG:
        when = in_pandas(layout.index, table.pop(label))
        if len(counts) == 1:
            return make_frame(table, "pandas").set_index(when)
        table = {name: table.pop(name), label: when, **table}
    return make_frame(table, layout.backend, layout.index)
