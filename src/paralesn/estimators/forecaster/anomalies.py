"""Observations that one-step forecasts did not expect."""

from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster import following
from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.estimators.forecaster.frames import make_frame
from paralesn.estimators.forecaster.panel import FLAT, LONG, TABLE, times_ahead


class Anomalies(NamedTuple):
    """One-step forecasts, the interval around them, and which observations lie outside.

    Each is (time,) or (time, series), or a list of (time,), as the series came. The first
    observation of a fit and missing ones are no anomalies.
    """

    is_anomaly: Any
    values: Any
    lower: Any
    upper: Any


def find(fitted: FittedForecaster, y: Any, X: Any, level: float) -> Any:
    """Compare observations with forecasts from the step before."""
    if y is None:
        memory, counts = fitted.memory, fitted.ends.counts
        observed, explained = fitted.observed(), memory.split(memory.explained, counts)
        others = memory.split(memory.past, counts)
        ahead, part = fitted.ensemble.one_step(fitted.remainders(), others), fitted
    else:
        part, panel, ahead, explained = following.one_step(fitted, y, X)
        observed = panel.values
    rows = []
    for i, (seen, expected, more) in enumerate(zip(observed, ahead, explained, strict=True)):
        bounds = part.ensemble.spread.one_step_bounds(i, expected, level)
        lower, upper = (np.maximum(bound + more, part.floor[i]) for bound in bounds)
        with np.errstate(invalid="ignore"):
            outside = (seen < lower) | (seen > upper)
        rows.append((outside, expected + more, lower, upper, seen))
    columns = [list(column) for column in zip(*rows, strict=True)]
    return _shaped(part, columns, new=y is not None)


def _shaped(fitted: FittedForecaster, columns: list[list[np.ndarray]], new: bool) -> Any:
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
    name = layout.columns[0] if layout.kind == LONG else "series"
    if len(layout.names) > 1 or layout.kind == LONG:
        labels = np.array(layout.names)
        table[name] = np.repeat(
            labels.astype(object) if labels.dtype.kind == "U" else labels, counts
        )
    label = layout.index.name or "ds"
    times = [times_of(fitted, i, count, new) for i, count in enumerate(counts)]
    if layout.index.kind != "none":
        table[label] = np.concatenate(times)
    table |= {
        "y": np.concatenate(seen), "yhat": np.concatenate(ahead), "lo": np.concatenate(lower),
        "hi": np.concatenate(upper), "anomaly": np.concatenate(outside),
    }  # fmt: skip
    frame = make_frame(table, layout.backend)
    if layout.backend == "pandas" and layout.kind != LONG and label in table and len(counts) == 1:
        frame = frame.set_index(label)
        frame.index.name = layout.index.name
    return frame


def times_of(fitted: FittedForecaster, i: int, count: int, new: bool) -> np.ndarray:
    """Times of the last `count` steps, or of the next."""
    ends = fitted.ends
    clock = ends.clock
    if clock is None:
        return np.arange(count)
    grid = ends.grids()[i]
    if new:
        return np.asarray(times_ahead(fitted.layout, grid, count))
    if clock.kind in ("dates", "numbers", "irregular"):
        back = np.arange(count - 1, -1, -1) * round(clock.step)
        return np.asarray(grid.last - (back.astype("m8[ns]") if ends.is_date else back))
    if clock.kind == "workdays":
        day = grid.last.astype("M8[D]")
        return np.busday_offset(day, -np.arange(count - 1, -1, -1)).astype("M8[ns]")
    months = grid.last.astype("M8[M]") - (np.arange(count - 1, -1, -1) * int(clock.step)).astype(
        "m8[M]"
    )
    if clock.at_end:
        return np.asarray(((months + 1).astype("M8[D]") - 1).astype("M8[ns]"))
    return np.asarray(months.astype("M8[ns]") + (grid.last - grid.last.astype("M8[M]")))
