"""One series or many, as people hold them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn import checks, series
from paralesn.estimators.forecaster.frames import (
    Index,
    backend_of,
    columns_of,
    is_frame,
    is_in_days,
    read_pandas_index,
    zone_of,
)
from paralesn.estimators.forecaster.grid import Grid, check_order, on_grid, usual_clock
from paralesn.estimators.forecaster.values import is_number, numbers, refuse_large, times_of
from paralesn.persistence import register
from paralesn.tables.clock import Clock, clock_of

MOST_NOTES = 5  # on how series were read
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
    index: Index = field(default_factory=Index)

    def __post_init__(self) -> None:
        checks.choice("kind of a layout", self.kind, (FLAT, TABLE, LIST, COLUMN, WIDE, LONG))
        backends = ("pandas", "polars", "pyarrow")
        checks.optional_choice("backend of a layout", self.backend, backends)
        is_frame = self.kind in (COLUMN, WIDE, LONG)
        if is_frame is (self.backend is None) or not self.names:
            raise ValueError("the form of the series does not fit together")


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
        return usual_clock(self.grids)


def read_panel(
    y: Any, names: LongNames, frequency: str | None = None, name: str = "y", least: int = 1,
    usual: Clock | None = None, is_local: bool | None = None, first: int | None = None,
) -> Panel:  # fmt: skip
    """Read one series, a table, a list of series, or a frame; NaN is a missing value.

    Parameters
    ----------
    y : array (time,) or (time, series), list of arrays, Series, wide frame or long frame
        A panel, which was read and checked before, stays as it is.
    frequency : str, optional
        Average rows over steps of this length.
    least : int
        Values that each series must have.
    usual, is_local : Clock and bool, optional
        Of earlier rows: how far apart they are, and whether times with a zone are taken as those
        of the clock on the wall. Default: what the times themselves suggest.
    first : int, optional
        Of a block of several series: the number of its first one, for messages.
    """
    if isinstance(y, Panel):
        return y
    backend = backend_of(y)
    notes: list[str] = []
    if backend is None:
        layout, values = _read_arrays(y, name)
        times: list[np.ndarray | None] = [None] * len(values)
    elif not is_frame(y):
        layout, values, times = _read_column(y, backend, name, is_local)
    else:
        layout, values, times = _read_frame(y, backend, names, name, notes, is_local)
    called = _called(layout, name, first)
    grids = _grids(layout, values, times, frequency, called, notes, usual)
    regular = []
    for who, array, grid in zip(called, values, grids, strict=True):
        array = grid.placed(array)
        infinite = np.isinf(array)
        if infinite.any():
            raise ValueError(
                f"{who} must be finite or NaN, got infinity at step {infinite.argmax()}"
            )
        refuse_large(array, who)
        count = int(np.isfinite(array).sum())
        if not array.size or count < least:
            what = f"{count} sample" if count == 1 else f"{count}"
            raise ValueError(f"{who} must hold at least {max(least, 1)} values, got {what}")
        regular.append(array)
    return Panel(layout, regular, grids, notes)


def _called(layout: Layout, name: str, first: int | None) -> list[str]:
    """What series are called in messages; in a list by their numbers, from `first` on."""
    several = len(layout.names) > 1 or first is not None
    if layout.kind == LIST and several:
        return [f"{name}[{(first or 0) + label}]" for label in layout.names]
    if layout.kind == LONG and several:
        return [f"{name}[{label!r}]" for label in layout.names]
    return [name] * len(layout.names)


def _grids(
    layout: Layout, values: Sequence[np.ndarray], times: Sequence[np.ndarray | None],
    frequency: str | None, called: Sequence[str], notes: list[str], usual: Clock | None,
) -> list[Grid]:  # fmt: skip
    """Where the rows of every series are in time. Short series follow the clock of the others."""
    for who, when in zip(called, times, strict=True):
        if when is not None:
            check_order(when, who)
    if layout.kind == LONG and len(values) > 1 and usual is None and frequency is None:
        usual = usual_clock(Grid(len(t), clock_of(t)) for t in times if t is not None)
    if layout.kind == WIDE:  # one index for all
        return [
            on_grid(times[0], len(values[0]), called[0], frequency, layout.index, notes, usual)
        ] * len(values)
    return [
        on_grid(when, len(array), who, frequency, layout.index, notes, usual)
        for who, array, when in zip(called, values, times, strict=True)
    ]


def counted_notes(notes: Sequence[str], count: int | None = None) -> list[str]:
    """Notes of many series: some of them, and how many more there are of `count`."""
    count = len(notes) if count is None else count
    if count <= MOST_NOTES:
        return list(notes)
    return [*notes[: MOST_NOTES - 1], f"and {count - MOST_NOTES + 1} more notes of this kind"]


def _read_arrays(y: Any, name: str) -> tuple[Layout, list[np.ndarray]]:
    checks.in_memory(name, y)
    if hasattr(y, "to_arrow_table"):  # a relation of DuckDB
        raise TypeError(
            f"{name} must be in memory, got a {type(y).__name__}: call to_arrow_table() on it first"
        )
    if series.is_collection(y) or (
        isinstance(y, (list, tuple)) and len(y) and all(backend_of(x) for x in y)
    ):
        arrays = [numbers(x, f"{name}[{i}]") for i, x in enumerate(y)]
        for i, array in enumerate(arrays):
            if array.ndim == 2 and array.shape[1] == 1:
                arrays[i] = array[:, 0]
            elif array.ndim != 1:
                raise ValueError(f"{name}[{i}] must be one series (time,), got shape {array.shape}")
        return Layout(LIST, list(range(len(arrays)))), arrays
    array = numbers(y, name)
    if array.ndim == 0 or array.ndim > 2 or 0 in array.shape:
        empty = f": 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        raise ValueError(
            f"{name} must be (time,), (time, series) or a list of series, and not empty, got shape "
            f"{array.shape}" + (empty if array.shape[1:] == (0,) else "")
        )
    if array.ndim == 1:
        return Layout(FLAT, [0]), [array]
    return Layout(TABLE, list(range(array.shape[1]))), list(np.ascontiguousarray(array.T))


def _read_column(
    y: Any, backend: str, name: str, is_local: bool | None
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:
    if backend != "pandas":
        label = getattr(y, "name", None)
        array = y.to_numpy() if backend == "polars" else y.to_numpy(zero_copy_only=False)
        return Layout(COLUMN, [label or "y"], backend), [numbers(array, name)], [None]
    times, index = read_pandas_index(y.index, name, is_local)
    label = "y" if y.name is None else str(y.name)
    array = y.to_numpy(dtype=float, na_value=np.nan) if is_number(y) else y.to_numpy()
    return Layout(COLUMN, [label], backend, index=index), [numbers(array, name)], [times]


def _read_frame(
    y: Any, backend: str, names: LongNames, name: str, notes: list[str], is_local: bool | None
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:
    local = is_local is None or is_local
    columns, zone = columns_of(y, name, local), None
    if names.time in columns:
        zone = zone_of(y, names.time)
    if zone is not None and is_local is None and not is_in_days(columns[names.time]):
        columns, local = columns_of(y, name, False), False
    index, times = Index(), None
    if names.time in columns:
        times, index = times_of(columns[names.time], names.time, name)
        index = replace(index, zone=zone, is_local=local)
    if names.target in columns and (names.time in columns or names.id in columns):
        return _read_long(columns, times, index, backend, names, name, notes)
    if times is not None:
        columns.pop(names.time)
    elif backend == "pandas":
        times, index = read_pandas_index(y.index, name, is_local)
    text = [label for label, column in columns.items() if column.dtype.kind not in "biufO"]
    if text or not columns:
        raise ValueError(
            f"{name} must be a frame of numbers, or a long frame with the columns {names.id!r}, "
            f"{names.time!r} and {names.target!r} (give id=, time= and target= for other names), "
            f"got {', '.join(map(repr, text)) or 'no columns'}"
        )
    values = [numbers(column, f"{name}[{label!r}]") for label, column in columns.items()]
    labels: list[Any] = list(columns)
    if backend == "pandas":  # numbers stay numbers
        own = {str(c): c for c in y.columns if isinstance(c, int | np.integer)}
        labels = [int(own[c]) if c in own else c for c in labels]
    return Layout(WIDE, labels, backend, index=index), values, [times] * len(values)


def _read_long(
    columns: dict[str, np.ndarray], times: np.ndarray | None, index: Index, backend: str,
    names: LongNames, name: str, notes: list[str],
) -> tuple[Layout, list[np.ndarray], list[np.ndarray | None]]:  # fmt: skip
    target = numbers(columns[names.target], f"{name}[{names.target!r}]")
    if not target.size:
        raise ValueError(f"{name} must not be empty, got a long frame without rows")
    ids = columns.get(names.id, np.zeros(len(target), int)).tolist()
    nameless = [row for row, label in enumerate(ids) if label is None or label != label]
    if nameless:
        raise ValueError(
            f"{name}[{names.id!r}] must name a series in every row, got none in row {nameless[0]}"
        )
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(label, len(places)) for label in ids])
    labels = list(places)  # as they first appear
    values: list[np.ndarray] = []
    whens: list[np.ndarray | None] = []
    by_series = np.argsort(codes, kind="stable")
    pieces = np.split(by_series, np.cumsum(np.bincount(codes, minlength=len(labels)))[:-1])
    is_unsorted = 0
    for rows in pieces:
        if times is not None:
            when = times[rows]
            if (when[1:] < when[:-1]).any():
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
    return Layout(LONG, labels, backend, kept, index), values, whens


__all__ = ["Grid", "Layout", "LongNames", "Panel", "clock_of", "counted_notes", "read_panel"]
