"""What a forecaster is fitted to: from what people gave to inputs, effects and seasons."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from paralesn.estimators.forecaster import exogenous as reading
from paralesn.estimators.forecaster.effects import Effects, measure_effect
from paralesn.estimators.forecaster.exogenous import Columns, Encoder, Steps, encoder_of, filled
from paralesn.estimators.forecaster.frames import columns_of, is_frame
from paralesn.estimators.forecaster.panel import LONG, Layout, LongNames, Panel
from paralesn.estimators.forecaster.seasons import seasons_of
from paralesn.moments import ColumnMoments
from paralesn.tables.clock import Clock


@dataclass(frozen=True)
class CopyOf:
    """Makes copies of a reservoir that was given, whatever the series are like."""

    given: Any

    def __call__(self, seasons: tuple[int, ...], length: int, inputs: int) -> Any:
        """A reservoir to fit."""
        return clone(self.given)


class Request(NamedTuple):
    """How to fit: parameters of a forecaster, checked."""

    horizon: int | None
    season: tuple[int, ...] | None
    calendar: Any
    frequency: str | None
    reservoir_for: Callable[[tuple[int, ...], int, int], Any] | None
    readout: Any
    n_jobs: int | None


def floor_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """What forecasts do not go below: 0 for series that never were negative."""
    return np.array([0.0 if np.nanmin(v) >= 0 else -np.inf for v in values])


def default_horizon(seasons: Sequence[tuple[int, ...]], lengths: Sequence[int]) -> int:
    """Two seasons, or 8 steps without one; at most a quarter of the series and 100 steps.

    Of several series the season is that of most.
    """
    (season, _), *_ = Counter(s[0] if s else 4 for s in seasons).most_common(1)
    return max(1, min(2 * season, int(np.median(lengths)) // 4, 100))


def read_inputs(
    X: Any, y: Any, panel: Panel, names: LongNames, name: str, encoder: Encoder | None = None
) -> tuple[Encoder, list[np.ndarray], int]:
    """Inputs of every series as numbers, on its grid, missing values filled, and their number."""
    if X is None:
        return Encoder([], {}), [np.zeros((len(v), 0)) for v in panel.values], 0
    columns: list[Columns] = reading.read_columns(X, y, panel.layout, row_steps(panel), names, name)
    encoder = encoder_of(columns, name) if encoder is None else encoder
    rows_of_each, missing = [], 0
    for i, (own, grid) in enumerate(zip(columns, panel.grids, strict=True)):
        rows = encoder.encode(own, name)
        if np.isinf(rows).any():
            raise ValueError(f"{name} must be finite or NaN, got infinity in series {i}")
        rows = grid.placed(rows)
        missing += int(np.isnan(rows).sum())
        rows_of_each.append(filled(rows))
    return encoder, rows_of_each, missing


def row_steps(panel: Panel) -> list[Steps]:
    """How many rows every series came with, and when they are."""
    return [Steps(grid.count if grid.rows is None else grid.rows.size, grid.row_times)
            for grid in panel.grids]  # fmt: skip


def read_static(
    static: Any, y: Any, layout: Layout, names: LongNames, encoder: Encoder | None = None
) -> tuple[Encoder, np.ndarray]:
    """What is known of series as a whole (S, static), as numbers; by an encoder if there is one."""
    count = len(layout.names)
    if static is None:
        return Encoder([], {}), np.zeros((count, 0))
    if isinstance(static, (list, tuple)) and static and all(isinstance(s, str) for s in static):
        if not (is_frame(y) and layout.kind == LONG):
            raise ValueError("static names columns of y, which must be a long frame then")
        columns = columns_of(y, "y")
        unknown = [n for n in static if n not in columns]
        if unknown:
            raise ValueError(f"static must name columns of y, got {unknown[0]!r}")
        first = [0]
        if names.id in columns:
            ids = columns[names.id]
            first = [int(np.flatnonzero(ids == label)[0]) for label in layout.names]
        table: Columns = {n: columns[n][first] for n in static}
    elif is_frame(static):
        table = columns_of(static, "static")
        if names.id in table:
            ids = table.pop(names.id)
            at = {label: row for row, label in enumerate(ids.tolist())}
            unknown = [label for label in layout.names if label not in at]
            if unknown:
                raise ValueError(
                    f"static must have a row for every series, got none for {unknown[0]!r}"
                )
            table = {
                n: column[[at[label] for label in layout.names]] for n, column in table.items()
            }
    else:
        array = np.asarray(static)
        if array.ndim not in (1, 2):
            raise ValueError(f"static must be (series, columns), got shape {array.shape}")
        array = array[:, None] if array.ndim == 1 else array
        table = {str(k): array[:, k] for k in range(array.shape[1])}
    if any(len(column) != count for column in table.values()):
        raise ValueError(f"static must have {count} rows, one for each series")
    encoder = encoder_of([table], "static") if encoder is None else encoder
    rows = encoder.encode(table, "static")
    if not np.isfinite(rows).all():
        raise ValueError("static must be finite, got a missing or infinite value")
    return encoder, rows


def seasons_of_panel(panel: Panel, given: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """Seasons of every series; those that share a clock share what it suggests."""
    pairs = zip(panel.values, panel.grids, strict=True)
    return [seasons_by_clock(values, grid.clock, given) for values, grid in pairs]


def seasons_by_clock(
    values: np.ndarray, clock: Clock | None, given: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Seasons of a series: those given, those that its clock suggests, or those of the data."""
    suggested: tuple[int, ...] = ()
    if given is None and clock is not None and clock.kind in ("dates", "months", "workdays"):
        suggested = clock.seasons(values.size)
    return seasons_of(values, given, suggested)


def effects_of(
    values: Sequence[np.ndarray], rows: Sequence[np.ndarray], seasons: Sequence[tuple[int, ...]]
) -> Effects:
    """What inputs known in advance add to every series."""
    inputs = rows[0].shape[1]
    if not inputs:
        none = np.zeros((len(values), 0))
        return Effects(none, none)
    pairs = [measure_effect(v, x, max(s, default=1)) for v, x, s in
             zip(values, rows, seasons, strict=True)]  # fmt: skip
    return Effects(np.stack([mean for mean, _ in pairs]), np.stack([c for _, c in pairs]))


def scaling_of(moments: ColumnMoments) -> np.ndarray:
    """Means and scales (2, columns)."""
    scale = moments.spread
    return np.stack([moments.mean, np.where(scale > 0, scale, 1.0)])


def scaled(rows: np.ndarray, scaling: np.ndarray) -> np.ndarray:
    """Rows with means and scales taken out."""
    return (rows - scaling[0]) / np.where(scaling[1] > 0, scaling[1], 1.0)
