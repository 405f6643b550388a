"""One series or many, as people hold them, and forecasts in the same form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn import series
from paralesn.estimators.forecaster.frames import (
    Index,
    backend_of,
    columns_of,
    continued,
    is_frame,
    make_frame,
    read_pandas_index,
)
from paralesn.estimators.forecaster.grid import Grid, on_grid
from paralesn.persistence import register
from paralesn.tables.clock import Clock, clock_of, format_times

FLAT, TABLE, LIST, COLUMN, WIDE, LONG = "flat", "table", "list", "column", "wide", "long"


class LongNames(NamedTuple):
    """Names of the columns of a long frame."""

    id: str = "unique_id"
    time: str = "ds"
    target: str = "y"


@register
@dataclass(frozen=True)
class Layout:
    """The form in which series came, and in which forecasts go.

    Attributes
    ----------
    kind : "flat" (time,), "table" (time, series), "list" of arrays, "column" of a frame, "wide" or
        "long" frame
    names : list
        Names of the series: columns of a wide frame, identifiers of a long one.
    backend : "pandas", "polars" or "pyarrow" for frames, else None
    columns : tuple of str
        Names of the columns of a long frame; without the first where it holds a single series.
    index : Index
        What times are like.
    """

    kind: str
    names: list[Any]
    backend: str | None = None
    columns: tuple[str, ...] = ()
    index: Index = Index()


class Panel(NamedTuple):
    """Series, the form they came in, and where their rows are in time.

    Attributes
    ----------
    layout : Layout
    values : list of (n,)
        NaN where a value is missing.
    grids : list of Grid
        Times of each series, and where its rows went where some were inserted or averaged.
    notes : list of str
        What to know about the data.
    """

    layout: Layout
    values: list[np.ndarray]
    grids: list[Grid]
    notes: list[str]

    @property
    def clock(self) -> Clock | None:
        """How far apart the steps are."""
        return next((grid.clock for grid in self.grids if grid.clock is not None), None)


def read_panel(
    y: Any, names: LongNames, frequency: str | None = None, name: str = "y", least: int = 1
) -> Panel:
    """Read one series, a table, a list of series, or a frame; NaN is a missing value.

    Parameters
    ----------
    y : array (time,) or (time, series), list of arrays, Series, wide frame or long frame
        A panel, which was read and checked before, stays as it is.
    frequency : str, optional
        Average rows over steps of this length.
    """
    if isinstance(y, Panel):
        return y
    backend = backend_of(y)
    notes: list[str] = []
    if backend is None:
        layout, values = _read_arrays(y, name)
        times: list[np.ndarray | None] = [None] * len(values)
    elif not is_frame(y):
        layout, values, times = _read_column(y, backend, name)
    else:
        layout, values, times = _read_frame(y, backend, names, name, notes)
    grids, regular = [], []
    for label, array, when in zip(layout.names, values, times, strict=True):
        who = f"{name}[{label!r}]" if layout.kind in (LIST, LONG) and len(values) > 1 else name
        grid = on_grid(when, len(array), who, frequency, layout.index.frequency, notes)
        grids.append(grid)
        array = grid.placed(array)
        infinite = np.isinf(array)
        if infinite.any():
            raise ValueError(
                f"{who} must be finite or NaN, got infinity at step {infinite.argmax()}"
            )
        if np.isfinite(array).sum() < least:
            count = int(np.isfinite(array).sum())
            raise ValueError(f"{who} must hold at least {least} values, got {count}")
        regular.append(array)
    return Panel(layout, regular, grids, _counted(notes))


def _counted(notes: list[str]) -> list[str]:
    """Notes of many series as one each, with how many more there are."""
    if len(notes) <= 5:
        return notes
    return [*notes[:4], f"and {len(notes) - 4} more notes of this kind"]


def _numbers(data: Any, name: str) -> np.ndarray:
    """An array of floats; None becomes NaN."""
    array = np.asarray(data)
    if array.dtype == object:
        try:
            array = array.astype(float)
        except (TypeError, ValueError):
            array = np.asarray(data)
    return series.numeric(array, name).astype(float)


def _read_arrays(y: Any, name: str) -> tuple[Layout, list[np.ndarray]]:
    if hasattr(y, "dask"):
        raise TypeError(f"{name} must be in memory, got a dask array: call compute() on it first")
    if series.is_collection(y) or (
        isinstance(y, (list, tuple)) and len(y) and all(backend_of(x) for x in y)
    ):
        arrays = [_numbers(x, f"{name}[{i}]") for i, x in enumerate(y)]
        for i, array in enumerate(arrays):
            if array.ndim == 2 and array.shape[1] == 1:
                arrays[i] = array[:, 0]
            elif array.ndim != 1:
                raise ValueError(f"{name}[{i}] must be one series (time,), got shape {array.shape}")
        return Layout(LIST, list(range(len(arrays)))), arrays
    array = _numbers(y, name)
    if array.ndim == 0 or array.ndim > 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must be (time,), (time, series) or a list of series, and not empty, got shape "
            f"{array.shape}"
        )
    if array.ndim == 1:
        return Layout(FLAT, [0]), [array]
    return Layout(TABLE, list(range(array.shape[1]))), list(np.ascontiguousarray(array.T))


def _read_column(
    y: Any, backend: str, name: str
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:
    if backend != "pandas":
        label = getattr(y, "name", None)
        return Layout(COLUMN, [label or "y"], backend), [_numbers(y.to_numpy(), name)], [None]
    times, index = read_pandas_index(y.index)
    label = "y" if y.name is None else str(y.name)
    values = _numbers(y.to_numpy(dtype=float, na_value=np.nan), name)
    return Layout(COLUMN, [label], backend, index=index), [values], [times]


def _read_frame(
    y: Any, backend: str, names: LongNames, name: str, notes: list[str]
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:
    columns = columns_of(y, name)
    if names.target in columns and (names.time in columns or names.id in columns):
        return _read_long(columns, y, backend, names, name, notes)
    index, times = Index(), None
    if names.time in columns:
        times, index = _times(columns.pop(names.time), names.time, name)
    elif backend == "pandas":
        times, index = read_pandas_index(y.index)
    text = [label for label, column in columns.items() if column.dtype.kind not in "biufO"]
    if text or not columns:
        raise ValueError(
            f"{name} must be a frame of numbers, or a long frame with the columns {names.id!r}, "
            f"{names.time!r} and {names.target!r} (give id=, time= and target= for other names), "
            f"got {', '.join(map(repr, text)) or 'no columns'}"
        )
    values = [_numbers(column, f"{name}[{label!r}]") for label, column in columns.items()]
    return Layout(WIDE, list(columns), backend, index=index), values, [times] * len(values)


def _times(column: np.ndarray, label: str, name: str) -> tuple[np.ndarray, Index]:
    """Times of a column: dates, numbers, or text that is ISO."""
    if column.dtype.kind == "M":
        if np.isnat(column).any():
            raise ValueError(f"{name}[{label!r}] must hold times, got none in row "
                             f"{int(np.isnat(column).argmax())}")  # fmt: skip
        return column, Index("dates", label)
    if column.dtype.kind in "biuf":
        numbers = column.astype(float)
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"{name}[{label!r}] must hold times, got {numbers[~np.isfinite(numbers)][0]}"
            )
        return numbers, Index("numbers", label, is_whole=bool((numbers == np.round(numbers)).all()))
    try:
        return np.array([np.datetime64(str(t)) for t in column], "M8[ns]"), Index("dates", label)
    except ValueError as error:
        raise ValueError(
            f"{name}[{label!r}] must hold dates, numbers or ISO text, got {column[0]!r}: {error}"
        ) from None


def _read_long(
    columns: dict[str, np.ndarray], y: Any, backend: str, names: LongNames, name: str,
    notes: list[str],
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:  # fmt: skip
    target = _numbers(columns[names.target], f"{name}[{names.target!r}]")
    times, index = None, Index()
    if names.time in columns:
        times, index = _times(columns[names.time], names.time, name)
        if backend == "pandas" and getattr(y[names.time].dtype, "tz", None) is not None:
            index = replace(index, zone=str(y[names.time].dtype.tz))
    ids = columns.get(names.id, np.zeros(len(target), int))
    labels, first_rows, codes = np.unique(ids.astype(object) if ids.dtype.kind == "O" else ids,
                                          return_index=True, return_inverse=True)  # fmt: skip
    order = np.argsort(first_rows, kind="stable")  # as they first appear
    values: list[np.ndarray] = []
    whens: list[np.ndarray | None] = []
    by_series = np.argsort(codes, kind="stable")
    pieces = np.split(by_series, np.cumsum(np.bincount(codes, minlength=len(labels)))[:-1])
    is_unsorted = 0
    for label in order:
        rows = pieces[label]
        if times is not None:
            when = times[rows]
            if (np.diff(when.astype(np.int64) if when.dtype.kind == "M" else when) < 0).any():
                is_unsorted += 1
                rows = rows[np.argsort(when, kind="stable")]
                when = times[rows]
            whens.append(when)
        else:
            whens.append(None)
        values.append(target[rows])
    if is_unsorted:
        notes.append(f"rows of {is_unsorted} series were not in the order of time: sorted")
    unused = [c for c in columns if c not in names]
    if unused:
        notes.append(f"columns not used as series: {', '.join(map(repr, unused))}")
    kept = tuple(n for n in names if n in columns)
    return Layout(LONG, [labels[i].item() if hasattr(labels[i], "item") else labels[i]
                         for i in order], backend, kept, index), values, whens  # fmt: skip


def times_ahead(layout: Layout, grid: Grid, count: int) -> Any:
    """The pandas index, or the array of times, of the steps after a series."""
    if layout.backend == "pandas" and layout.kind != LONG:
        return continued(layout.index, grid.clock, grid.last, count, grid.count)
    if grid.clock is None:
        return np.arange(grid.count, grid.count + count)
    if layout.backend == "pandas":
        index = continued(layout.index, grid.clock, grid.last, count, grid.count)
        return index.to_numpy() if layout.index.zone is None else index
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
    return make_frame(columns, layout.backend)


def _column(layout: Layout, values: np.ndarray) -> Any:
    if layout.backend == "polars":
        import polars as pl

        return pl.Series(layout.names[0], values)
    import pyarrow as pa

    return pa.array(values)


def _wide_columns(
    layout: Layout, values: Sequence[np.ndarray], extras: dict[str, Sequence[np.ndarray]]
) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for i, label in enumerate(layout.names):
        own = "yhat" if layout.kind == COLUMN else str(label)
        columns[own] = values[i]
        columns |= {f"{own}{suffix}": bound[i] for suffix, bound in extras.items()}
    return columns


def _long_frame(
    layout: Layout, grids: Sequence[Grid], values: Sequence[np.ndarray],
    extras: dict[str, Sequence[np.ndarray]],
) -> Any:  # fmt: skip
    steps = len(values[0]) if len(values) else 0
    columns: dict[str, Any] = {}
    names = list(layout.columns[:-1])
    if layout.index.kind == "none":
        time_name = None
    else:
        time_name = layout.index.name
    if names and names[0] != time_name:
        ids = np.array(layout.names)
        columns[names[0]] = np.repeat(ids.astype(object) if ids.dtype.kind == "U" else ids, steps)
    if time_name is not None:
        ahead = [times_ahead(layout, grid, steps) for grid in grids]
        if layout.index.zone is not None and layout.backend == "pandas":
            columns[time_name] = ahead[0].append(ahead[1:]) if len(ahead) > 1 else ahead[0]
        else:
            columns[time_name] = np.concatenate(ahead)
    columns["yhat"] = np.concatenate(list(values))
    columns |= {f"yhat{suffix}": np.concatenate(list(bound)) for suffix, bound in extras.items()}
    return make_frame(columns, layout.backend or "pandas")


def when(grid: Grid, step: int) -> str:
    """What to call a step of a series in messages: its time, or its number."""
    if grid.times is None:
        return f"step {step}"
    return format_times(grid.times[step : step + 1])[0]


__all__ = ["Grid", "Layout", "LongNames", "Panel", "clock_of", "read_panel", "shaped_like"]
