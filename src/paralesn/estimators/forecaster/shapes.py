"""Forecasts in the form that the series came in."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.frames import (
    continued,
    make_frame,
)
from paralesn.estimators.forecaster.grid import Grid
from paralesn.estimators.forecaster.panel import COLUMN, FLAT, LIST, LONG, TABLE, Layout
from paralesn.tables.clock import format_times
from paralesn.tables.labels import free_name


def times_ahead(layout: Layout, grid: Grid, count: int) -> Any:
    """The pandas index, or the array of times, of the steps after a series."""
    if layout.backend == "pandas" and layout.kind != LONG:
        return continued(layout.index, grid.clock, grid.last, count, grid.count)
    if grid.clock is None:
        return np.arange(grid.count, grid.count + count)
    ahead = grid.clock.after(grid.last, count)
    is_whole = layout.index.kind == "numbers" and layout.index.is_whole
    return ahead.astype(np.int64) if is_whole and (ahead == np.round(ahead)).all() else ahead


def shaped_like(
    layout: Layout, grids: Sequence[Grid], values: Sequence[np.ndarray],
    extras: dict[str, Sequence[np.ndarray]],
) -> Any:  # fmt: skip
    """Forecasts of every series (steps,), and extra columns such as bounds, as the series came.

    Arrays have no extra columns: callers shape them.
    """
    steps = len(values[0]) if len(values) else 0
    if layout.kind in (FLAT, LIST, TABLE) or layout.backend is None:
        if layout.kind == FLAT:
            return values[0]
        return np.stack(list(values), axis=1) if layout.kind == TABLE else list(values)
    if layout.kind == LONG:
        return _long_frame(layout, grids, values, extras)
    if layout.backend == "pandas":
        import pandas as pd

        index = times_ahead(layout, grids[0], steps)
        if layout.kind == COLUMN and not extras:
            return pd.Series(values[0], index, name=layout.names[0])
        return pd.DataFrame(_wide_columns(layout, values, extras), index=index)
    if layout.kind == COLUMN and not extras:
        return _column(layout, values[0])
    columns = _wide_columns(layout, values, extras)
    if layout.index.kind != "none" and layout.index.name is not None:
        columns = {layout.index.name: times_ahead(layout, grids[0], steps), **columns}
    return make_frame(columns, layout.backend, layout.index)


def _column(layout: Layout, values: np.ndarray) -> Any:
    if layout.backend == "polars":
        import polars as pl

        return pl.Series(layout.names[0], values)
    import pyarrow as pa

    return pa.array(values)


def _wide_columns(
    layout: Layout, values: Sequence[np.ndarray], extras: dict[str, Sequence[np.ndarray]]
) -> dict[str, np.ndarray]:
    """Forecasts by their names; a column of bounds that would have one gets an underscore."""
    columns: dict[str, np.ndarray] = {}
    taken = {*map(str, layout.names), str(layout.index.name)}
    for i, label in enumerate(layout.names):
        own = "yhat" if layout.kind == COLUMN else label
        columns[own] = values[i]
        for suffix, bound in extras.items():
            columns[free_name(f"{own}{suffix}", {*taken, *map(str, columns)})] = bound[i]
    return columns


def _long_frame(
    layout: Layout, grids: Sequence[Grid], values: Sequence[np.ndarray],
    extras: dict[str, Sequence[np.ndarray]],
) -> Any:  # fmt: skip
    steps = len(values[0]) if len(values) else 0
    columns: dict[str, Any] = {}
    names = list(layout.columns[:-1])
    time_name = None if layout.index.kind == "none" else layout.index.name
    if names and names[0] != time_name:
        ids = np.array(layout.names)
        columns[names[0]] = np.repeat(ids.astype(object) if ids.dtype.kind == "U" else ids, steps)
    if time_name is not None:
        columns[time_name] = np.concatenate([times_ahead(layout, grid, steps) for grid in grids])
    columns[free_name("yhat", columns)] = np.concatenate(list(values))
    for suffix, bound in extras.items():
        columns[free_name(f"yhat{suffix}", columns)] = np.concatenate(list(bound))
    return make_frame(columns, layout.backend or "pandas", layout.index)


def when(grid: Grid, step: int) -> str:
    """What to call a step of a series in messages: its time, or its number."""
    if grid.times is None:
        return f"step {step}"
    return format_times(grid.times[step : step + 1])[0]
