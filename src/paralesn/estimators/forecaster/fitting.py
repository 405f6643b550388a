"""Fit a forecaster: from what people gave to series, inputs, effects, seasons and members."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster import exogenous as reading
from paralesn.estimators.forecaster.calendar import calendar_columns, check_calendar
from paralesn.estimators.forecaster.effects import Effects, measure_effect
from paralesn.estimators.forecaster.ensemble import Learning
from paralesn.estimators.forecaster.exogenous import Columns, Encoder, Steps, encoder_of, filled
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster, Memory
from paralesn.estimators.forecaster.frames import columns_of, is_frame
from paralesn.estimators.forecaster.panel import LONG, Layout, LongNames, Panel
from paralesn.estimators.forecaster.seasons import seasons_of
from paralesn.estimators.forecaster.spread import LITTLE_EVIDENCE
from paralesn.estimators.forecaster.weighing import fit_ensemble
from paralesn.tables.clock import Clock


class Request(NamedTuple):
    """How to fit: parameters of a forecaster, checked."""

    horizon: int | None
    season: tuple[int, ...] | None
    calendar: Any
    frequency: str | None
    reservoir_for: Callable[[tuple[int, ...], int, int], Any] | None
    readout: Any
    n_jobs: int | None


def fit_panel(
    panel: Panel, y: Any, X: Any, past: Any, static: Any, names: LongNames, request: Request
) -> FittedForecaster:
    """Fit a forecaster to series and their inputs."""
    notes = list(panel.notes)
    parts = check_calendar(request.calendar, panel.clock)
    known, known_rows = _read_inputs(X, y, panel, names, "X", notes)
    past_encoder, past_rows = _read_inputs(past, y, panel, names, "past", notes)
    fixed, fixed_rows = read_static(static, y, panel.layout, names)
    if parts:
        known_rows = [np.hstack([rows, calendar_columns(_times(grid), parts)])
                      for rows, grid in zip(known_rows, panel.grids, strict=True)]  # fmt: skip
    _note_missing(panel, notes)
    seasons = seasons_of_panel(panel, request.season)
    effects = effects_of(panel.values, known_rows, seasons)
    explained = [effects.of(i, rows) for i, rows in enumerate(known_rows)]
    if effects.coefficients.shape[1] and not effects.helps.all():
        without = int((~effects.helps).sum())
        notes.append(f"known inputs did not help with {without} of {len(panel.values)} series")
    past_scaling = _scaling(np.concatenate(past_rows))
    fixed_scaling = _scaling(fixed_rows)
    others = [scaled(rows, past_scaling) for rows in past_rows]
    whole = scaled(fixed_rows, fixed_scaling)
    horizon = request.horizon or default_horizon(seasons, [len(v) for v in panel.values])
    learnings = [
        Learning(v - e, s, o, f)
        for v, e, s, o, f in zip(panel.values, explained, seasons, others, whole, strict=True)
    ]
    ensemble = fit_ensemble(
        learnings, horizon, request.reservoir_for, request.readout, request.n_jobs
    )
    if effects.coefficients.shape[1]:
        ensemble = ensemble.without_floor()
    few = int((ensemble.spread.evidence < LITTLE_EVIDENCE).sum())
    if few:
        of = (
            "the series is"
            if len(panel.values) == 1
            else f"{few} of {len(panel.values)} series are"
        )
        notes.append(f"intervals rest on few forecasts, as {of} short for the horizon: they are "
                     "wide on purpose")  # fmt: skip
    memory = Memory.of(panel, explained, known_rows, others)
    return FittedForecaster(
        panel.layout, tuple(names), request.frequency, Ends.of(panel.grids), memory, ensemble,
        tuple(seasons), known, past_encoder, fixed, parts, effects, past_scaling, fixed_scaling,
        floor_of(panel.values), tuple(notes),
    )  # fmt: skip


def floor_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """What forecasts do not go below: 0 for series that never were negative."""
    return np.array([0.0 if np.nanmin(v) >= 0 else -np.inf for v in values])


def default_horizon(seasons: Sequence[tuple[int, ...]], lengths: Sequence[int]) -> int:
    """Two seasons, or 8 steps without one; at most a quarter of the series and 100 steps.

    Of several series the season is that of most.
    """
    (season, _), *_ = Counter(s[0] if s else 4 for s in seasons).most_common(1)
    return max(1, min(2 * season, int(np.median(lengths)) // 4, 100))


def _read_inputs(
    X: Any, y: Any, panel: Panel, names: LongNames, name: str, notes: list[str]
) -> tuple[Encoder, list[np.ndarray]]:
    """Inputs of every series as numbers, on its grid, with missing values filled."""
    if X is None:
        return Encoder([], {}), [np.zeros((len(v), 0)) for v in panel.values]
    columns: list[Columns] = reading.read_columns(X, y, panel.layout, row_steps(panel), names, name)
    encoder = encoder_of(columns, name)
    rows_of_each, missing = [], 0
    for i, (own, grid) in enumerate(zip(columns, panel.grids, strict=True)):
        rows = encoder.encode(own, name)
        if np.isinf(rows).any():
            raise ValueError(f"{name} must be finite or NaN, got infinity in series {i}")
        rows = grid.placed(rows)
        missing += int(np.isnan(rows).sum())
        rows_of_each.append(filled(rows))
    if missing:
        notes.append(f"{missing} values of {name} are missing: interpolated")
    return encoder, rows_of_each


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


def _times(grid: Any) -> np.ndarray:
    times: np.ndarray = grid.times
    return times


def _note_missing(panel: Panel, notes: list[str]) -> None:
    missing = sum(int(np.isnan(v).sum()) for v in panel.values)
    if missing:
        notes.append(
            f"{missing} values of y are missing: smoothers go on as they predicted, the reservoir "
            "reads them interpolated, and no error is counted there"
        )


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


def _scaling(rows: np.ndarray) -> np.ndarray:
    """Means and scales (2, columns)."""
    if not rows.size:
        return np.zeros((2, rows.shape[1]))
    scale = rows.std(axis=0)
    return np.stack([rows.mean(axis=0), np.where(scale > 0, scale, 1.0)])


def scaled(rows: np.ndarray, scaling: np.ndarray) -> np.ndarray:
    """Rows with means and scales taken out."""
    return (rows - scaling[0]) / np.where(scaling[1] > 0, scaling[1], 1.0)
