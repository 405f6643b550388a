"""Parts of series that were read once: what precedes an origin, and what follows it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster import exogenous as reading
from paralesn.estimators.forecaster.exogenous import Columns, PanelInputs, filled
from paralesn.estimators.forecaster.fitting import row_steps
from paralesn.estimators.forecaster.frames import columns_of
from paralesn.estimators.forecaster.grid import Grid
from paralesn.estimators.forecaster.panel import (
    FLAT,
    LIST,
    TABLE,
    Layout,
    LongNames,
    Panel,
    read_panel,
)


@dataclass(frozen=True)
class Material:
    """Series and their inputs, read and checked once, to be handed on in parts.

    Attributes
    ----------
    panel : Panel
        With the names of the series, in the form of a list of arrays.
    X, past : PanelInputs or None
        A row for each step; none of X is missing.
    static : as in `fit`
    """

    panel: Panel
    X: PanelInputs | None
    past: PanelInputs | None
    static: Any

    @property
    def counts(self) -> np.ndarray:
        """Steps of every series."""
        return np.array([len(v) for v in self.panel.values], np.int64)

    def part(self, first: np.ndarray, last: np.ndarray) -> "Material":
        """The steps first .. last - 1 (S,) of every series."""
        values = [v[a:b] for v, a, b in zip(self.panel.values, first, last, strict=True)]
        grids = [_grid_between(g, a, b) for g, a, b in
                 zip(self.panel.grids, first, last, strict=True)]  # fmt: skip
        X, past = (i and i.between(first, last) for i in (self.X, self.past))
        return replace(self, panel=Panel(self.panel.layout, values, grids, []), X=X, past=past)

    def as_table(self) -> "Material":
        """The same as a table (time, series) or one series (time,), where lengths are equal."""
        names = self.panel.layout.names
        if (self.counts != self.counts[0]).any():
            return self
        layout = Layout(FLAT if len(names) == 1 else TABLE, names)
        return replace(self, panel=self.panel._replace(layout=layout))


def read_material(
    y: Any, X: Any, past: Any, static: Any, names: LongNames, frequency: str | None
) -> tuple[Material, Layout]:
    """Read series and inputs in any form; and the form that the series came in."""
    panel = read_panel(y, names, frequency, least=2)
    known = _inputs(X, y, panel, names, "X")
    if known is not None:
        known = PanelInputs([_complete(own) for own in known.columns])
    others = _inputs(past, y, panel, names, "past")
    if isinstance(static, (list, tuple)) and static and all(isinstance(s, str) for s in static):
        static = _static_columns(static, y, panel.layout, names)
    layout = Layout(LIST, panel.layout.names)
    grids = [g._replace(rows=None) for g in panel.grids]  # values are on their grid now
    whole = Panel(layout, panel.values, grids, panel.notes)
    return Material(whole, known, others, static), panel.layout


def _inputs(X: Any, y: Any, panel: Panel, names: LongNames, name: str) -> PanelInputs | None:
    """Inputs of every series, a row for each of its steps, with gaps where there is none."""
    if X is None:
        return None
    every = reading.read_columns(X, y, panel.layout, row_steps(panel), names, name)
    return PanelInputs([{n: _on_grid(column, grid) for n, column in own.items()}
                        for own, grid in zip(every, panel.grids, strict=True)])  # fmt: skip


def _on_grid(column: np.ndarray, grid: Grid) -> np.ndarray:
    """A column on the steps of a series; of several texts in one step the last."""
    if grid.rows is None:
        return column
    if column.dtype.kind in "biuf":
        return grid.placed(column)
    out = np.full(grid.count, None, object)
    out[grid.rows] = column
    return out


def _complete(columns: Columns) -> Columns:
    """Columns without missing values: numbers interpolated as `fit` does, texts as before."""
    out = {}
    for name, column in columns.items():
        if column.dtype.kind in "biuf":
            numbers = column.astype(float)
            # Infinite ones stay for `fit` to name.
            out[name] = filled(numbers[:, None])[:, 0] if np.isnan(numbers).any() else column
            continue
        seen = np.array([v is not None and v == v for v in column], bool)
        at = np.maximum.accumulate(np.where(seen, np.arange(len(column)), seen.argmax()))
        out[name] = column[at]
    return out


def _static_columns(names_of: Sequence[str], y: Any, layout: Layout, names: LongNames) -> Any:
    """Columns of a long frame that hold one value for each series (series, columns)."""
    columns = columns_of(y, "y")
    unknown = [n for n in (*names_of, names.id) if n not in columns]
    if unknown:
        raise ValueError(f"static must name columns of y, got {unknown[0]!r}")
    ids = columns[names.id]
    first = [int(np.flatnonzero(ids == label)[0]) for label in layout.names]
    table = np.empty((len(first), len(names_of)), object)
    for k, n in enumerate(names_of):
        table[:, k] = columns[n][first]
    return table


def _grid_between(grid: Grid, first: int, last: int) -> Grid:
    """The grid of some steps; without times where these do not follow at once."""
    if grid.times is None or grid.clock is None:
        return Grid(last - first, grid.clock)
    joined = grid.times[max(first - 1, 0) : last]
    if first and len(joined) > 1 and not (grid.clock.steps(joined) == 1).all():
        return Grid(last - first)
    return Grid(last - first, grid.clock, grid.times[first:last])
