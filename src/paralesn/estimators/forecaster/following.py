"""A fitted forecaster on the move: forecasts ahead, new observations, series never seen."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster import exogenous as reading
from paralesn.estimators.forecaster import online_members
from paralesn.estimators.forecaster.calendar import calendar_columns
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.exogenous import Columns, Encoder, Steps, filled
from paralesn.estimators.forecaster.fitted import FittedForecaster, FittedLoop, Memory
from paralesn.estimators.forecaster.fitting import (
    row_steps,
    scaled,
)
from paralesn.estimators.forecaster.grid import Grid
from paralesn.estimators.forecaster.panel import FLAT, LIST, LONG, TABLE, Panel, read_panel
from paralesn.tables.clock import format_times


def ahead(
    fitted: FittedForecaster, X: Any, steps: int
) -> tuple[np.ndarray, Callable[[float], tuple[np.ndarray, np.ndarray]]]:
    """Forecasts (S, steps), and their bounds as a function of the level."""
    known = _known_ahead(fitted, X, steps)
    explained = np.stack([fitted.effects.of(i, rows) for i, rows in enumerate(known)])
    values = fitted.ensemble.forecast(fitted.remainders(), steps)

    def bounds(level: float) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = fitted.ensemble.spread.bounds(values, level)
        low = fitted.floor[:, None]
        return np.maximum(lower + explained, low), np.maximum(upper + explained, low)

    return np.maximum(values + explained, fitted.floor[:, None]), bounds


def _known_ahead(fitted: FittedForecaster, X: Any, steps: int) -> list[np.ndarray]:
    """Known inputs and calendar (steps, inputs) of the steps to come, of every series."""
    wanted = [Steps(steps, fitted.times_ahead(i, steps)) for i in range(fitted.count)]
    rows = encoded(fitted, fitted.known, X, wanted, "X", None, complete=True)
    return with_calendar(fitted, rows, [s.times for s in wanted])


def with_calendar(
    fitted: FittedForecaster, rows: list[np.ndarray], times: list[np.ndarray | None]
) -> list[np.ndarray]:
    """Inputs of every series, and those from its times."""
    if not fitted.calendar:
        return rows
    return [np.hstack([r, calendar_columns(np.asarray(t), fitted.calendar)])
            for r, t in zip(rows, times, strict=True)]  # fmt: skip


def encoded(
    fitted: FittedForecaster, encoder: Encoder, X: Any, wanted: list[Steps], name: str, y: Any,
    complete: bool, grids: Sequence[Grid] | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """Inputs of every series as numbers, on `grids`; `complete`: none may be missing."""
    grids = [Grid(s.count) for s in wanted] if grids is None else grids
    if not encoder.names:
        if X is not None:
            raise ValueError(f"{name} must be None: the model was fitted without such inputs")
        return [np.zeros((grid.count, 0)) for grid in grids]
    if X is None and y is None:
        raise ValueError(
            f"{name} must hold {', '.join(map(repr, encoder.names))} of {wanted[0].count} steps to "
            "come, as the model was fitted with these inputs; got None"
        )
    given = encoder.names if X is None else X
    columns: list[Columns] = reading.read_columns(
        given, y, fitted.layout, wanted, fitted.long_names, name
    )
    out = []
    for own, grid in zip(columns, grids, strict=True):
        rows = encoder.encode(own, name)
        if complete and not np.isfinite(rows).all():
            step, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(
                f"{name} must be finite in the steps to come, got {rows[step, column]} in step "
                f"{step + 1}"
            )
        if np.isinf(rows).any():
            raise ValueError(f"{name} must be finite or NaN, got infinity")
        out.append(filled(grid.placed(rows)))
    return out


# -- new observations ------------------------------------------------------------------------------


def _new_rows(fitted: FittedForecaster, y: Any) -> tuple[Panel, list[int]]:
    """New observations in the order of the series, checked to follow; and which series they are."""
    panel = read_panel(
        y, fitted.long_names, fitted.frequency, least=0, usual=fitted.ends.clock,
        is_local=fitted.layout.index.is_local,
    )  # fmt: skip
    layout = fitted.layout
    same = panel.layout.kind == layout.kind
    arrays = {panel.layout.kind, layout.kind} <= {FLAT, TABLE, "column", "wide"}
    if not (same or (arrays and len(panel.values) == len(layout.names))):
        raise ValueError(
            f"y must come in the form of fit ({layout.kind}, {len(layout.names)} series), got "
            f"{panel.layout.kind} with {len(panel.values)}. Reshape your data"
        )
    if layout.kind == LONG:
        at = {label: i for i, label in enumerate(layout.names)}
        unknown = [label for label in panel.layout.names if label not in at]
        if unknown:
            raise ValueError(f"y must hold series of fit, got {unknown[0]!r}, which is new: give "
                             "it to forecast(y=...)")  # fmt: skip
        order = [at[label] for label in panel.layout.names]
    else:
        if len(panel.values) != len(layout.names):
            raise ValueError(f"y must hold {len(layout.names)} series, got {len(panel.values)}")
        if layout.kind == "wide" and panel.layout.names != layout.names:
            raise ValueError(f"y must have the columns {layout.names} as in fit, got "
                             f"{panel.layout.names}")  # fmt: skip
        order = list(range(len(layout.names)))
    check_follows(fitted, panel, order)
    return panel, order


def check_follows(fitted: FittedForecaster | FittedLoop, panel: Panel, order: list[int]) -> None:
    """Raise for observations that were seen already, and for gaps."""
    ends = fitted.ends
    for i, grid in zip(order, panel.grids, strict=True):
        if grid.times is None or not ends.kind:
            continue
        last = ends.grid(i).last
        if (grid.times.dtype.kind == "M") != ends.is_date:
            continue  # an index that only counts rows
        who = f" of {fitted.layout.names[i]!r}" if len(fitted.layout.names) > 1 else ""
        first, end = format_times(grid.times[:1])[0], format_times(np.array([last]))[0]
        if grid.times[0] <= last:
            raise ValueError(f"y{who} must follow the observations so far, which end at {end}, got "
                             f"{first}, which was seen already")  # fmt: skip
        clock = ends.clock
        if clock is None or clock.kind == "irregular":
            continue
        gaps = clock.steps(np.concatenate([[last], grid.times]))
        if np.isnan(gaps).any():
            pair = format_times(np.concatenate([[last], grid.times])[np.isnan(gaps).argmax() :][:2])
            raise ValueError(
                f"y{who} must have times that are whole steps ({clock}) apart, got {pair[0]} and "
                f"{pair[1]}"
            )
        if gaps[0] != 1:
            due = format_times(clock.after(last, 1))[0]
            raise ValueError(
                f"y{who} must go on at {due}, the next step ({clock}) after {end}, got {first}: "
                "give the rows between, NaN where nothing is known"
            )


def advance(fitted: FittedForecaster, y: Any, X: Any, past: Any) -> FittedForecaster:
    """The forecaster after new observations."""
    return _follow(fitted, y, X, past, every=False)[1]


def learner(fitted: FittedForecaster) -> FittedEnsemble:
    """The ensemble after everything seen, ready to learn on."""
    pasts = fitted.memory.split(fitted.memory.past, fitted.ends.counts)
    return online_members.begin(fitted.ensemble, fitted.remainders(), pasts)


def learn_on(fitted: FittedForecaster, y: Any, X: Any, past: Any) -> FittedForecaster:
    """The forecaster after it learnt from new observations, one by one."""
    panel, order = _new_rows(fitted, y)
    part = fitted if order == list(range(fitted.count)) else part_of(fitted, order)
    known, others = _new_inputs(part, panel, y, X, past, 0)
    explained = [part.effects.of(i, rows) for i, rows in enumerate(known)]
    new = [np.zeros(0) for _ in range(fitted.count)]
    inputs = [np.zeros((0, fitted.memory.past.shape[1])) for _ in new]
    for i, v, e, o in zip(order, panel.values, explained, others, strict=True):
        new[i], inputs[i] = v - e, o
    call = (fitted.remainders(), new, inputs)
    _, ensemble = online_members.learn_rows(learner(fitted), *call)
    added = Memory.of(_timed(part, panel), explained, known, others)
    return _grown(fitted, order, ensemble, added, panel)


def from_every_step(fitted: FittedForecaster, y: Any, X: Any, past: Any) -> Any:
    """Forecasts (time, horizon) from every step of new observations."""
    forecasts, _, panel = _follow(fitted, y, X, past, every=True)
    if fitted.layout.kind in (LIST, LONG):
        return forecasts
    stacked = np.stack(forecasts, axis=-1)
    return stacked[..., 0] if panel.layout.kind in (FLAT, "column") else stacked


def one_step(
    fitted: FittedForecaster, y: Any, X: Any, past: Any
) -> tuple[FittedForecaster, Panel, list[np.ndarray], list[np.ndarray]]:
    """One-step forecasts (n,) of new observations, and what inputs explain of them.

    The first is from the last step seen, so that each has one.
    """
    panel, order = _new_rows(fitted, y)
    part = fitted if order == list(range(fitted.count)) else part_of(fitted, order)
    known, others = _new_inputs(part, panel, y, X, past, 0)
    explained = [part.effects.of(i, rows) for i, rows in enumerate(known)]
    new = [v - e for v, e in zip(panel.values, explained, strict=True)]
    origins = [np.arange(v.size - 1) for v in new]
    first = part.ensemble.forecast(part.remainders(), 1)
    forecasts, _ = part.ensemble.follow(part.remainders(), new, others, origins)
    ahead = [np.concatenate([f, later[:, 0]]) for f, later in zip(first, forecasts, strict=True)]
    return part, _timed(part, panel), ahead, explained


def _follow(
    fitted: FittedForecaster, y: Any, X: Any, past: Any, every: bool
) -> tuple[list[np.ndarray], FittedForecaster, Panel]:
    """Forecasts from every step of new observations or from none, and the forecaster after them."""
    panel, order = _new_rows(fitted, y)
    horizon, more = fitted.ensemble.horizon, fitted.ensemble.horizon if every else 0
    part = fitted if order == list(range(fitted.count)) else part_of(fitted, order)
    known, others = _new_inputs(part, panel, y, X, past, more)
    explained = [part.effects.of(i, rows) for i, rows in enumerate(known)]
    new = [v - e[: v.size] for v, e in zip(panel.values, explained, strict=True)]
    origins = [np.arange(v.size if every else 0) for v in new]
    forecasts, ensemble = part.ensemble.follow(part.remainders(), new, others, origins)
    if every:
        steps = np.arange(1, horizon + 1)
        forecasts = [np.maximum(f + e[o[:, None] + steps], low) for f, e, o, low in
                     zip(forecasts, explained, origins, part.floor, strict=True)]  # fmt: skip
        return forecasts, fitted, panel
    parts = [e[: v.size] for e, v in zip(explained, panel.values, strict=True)]
    added = Memory.of(_timed(part, panel), parts, known, others)
    return forecasts, _grown(fitted, order, ensemble, added, panel), panel


def _new_inputs(
    fitted: FittedForecaster, panel: Panel, y: Any, X: Any, past: Any, more: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs of new rows: known in advance (for `more` steps after them, too), and up to now."""
    timed = _timed(fitted, panel)
    source = y if fitted.layout.kind == LONG else None
    rows, grids = row_steps(timed), timed.grids
    named = source if X is None else None
    if more:
        counts = [grid.count + more for grid in grids]
        wanted = [Steps(n, fitted.times_ahead(i, n)) for i, n in enumerate(counts)]
        known = encoded(fitted, fitted.known, X, wanted, "X", named, complete=True)
        times = [s.times for s in wanted]
    else:
        known = encoded(fitted, fitted.known, X, rows, "X", named, False, grids)
        times = [grid.times for grid in grids]
    named = source if past is None else None
    others = encoded(fitted, fitted.past, past, rows, "past", named, False, grids)
    others = [scaled(values, fitted.past_scaling) for values in others]
    return with_calendar(fitted, known, times), others


def _timed(fitted: FittedForecaster, panel: Panel) -> Panel:
    """New rows with times: their own, or those that follow."""
    if not fitted.ends.kind:
        return panel._replace(grids=[grid._replace(times=None) for grid in panel.grids])
    grids = []
    for i, grid in enumerate(panel.grids):
        is_date = grid.times is not None and grid.times.dtype.kind == "M"
        if grid.times is None or is_date != fitted.ends.is_date:
            grid = grid._replace(times=fitted.times_ahead(i, grid.count))
        grids.append(grid)
    return panel._replace(grids=grids)


def _grown(
    fitted: FittedForecaster, order: list[int], ensemble: Any, added: Memory, panel: Panel
) -> FittedForecaster:
    """The forecaster with new steps of some series behind those it has."""
    new_counts = np.zeros(fitted.count, np.int64)
    new_counts[order] = [len(v) for v in panel.values]

    def joined(name: str) -> np.ndarray:
        old = fitted.memory.split(getattr(fitted.memory, name), fitted.ends.counts)
        pieces = dict(zip(order, np.split(getattr(added, name), np.cumsum(new_counts[order])[:-1]),
                          strict=True))  # fmt: skip
        both = [part for i in range(fitted.count) for part in (old[i], pieces.get(i))]
        return np.concatenate([part for part in both if part is not None])

    names = ["y", "explained", "known", "past", *(["times"] if fitted.ends.kind else [])]
    memory = replace(fitted.memory, **{name: joined(name) for name in names})
    ends = fitted.ends
    counts, last = ends.counts + new_counts, ends.last
    if ends.kind:
        last = memory.times[np.cumsum(counts) - 1]
    if len(ensemble.banks) < fitted.count:
        ensemble = fitted.ensemble.replaced(order, ensemble)
    floor = fitted.floor.copy()
    for i, values in zip(order, panel.values, strict=True):
        if np.nanmin(values, initial=0.0) < 0:
            floor[i] = -np.inf
    lowest = np.minimum(ensemble.spread.floor, floor)
    ensemble = replace(ensemble, spread=replace(ensemble.spread, floor=lowest))
    return replace(fitted, memory=memory, ensemble=ensemble, floor=floor,
                   ends=replace(ends, counts=counts, last=last))  # fmt: skip


def part_of(fitted: FittedForecaster, order: list[int]) -> FittedForecaster:
    """The forecaster of some of the series."""
    counts, memory = fitted.ends.counts, fitted.memory
    names = ["y", "explained", "known", "past", *(["times"] if fitted.ends.kind else [])]
    pieces = {n: np.concatenate([memory.split(getattr(memory, n), counts)[i] for i in order])
              for n in names}  # fmt: skip
    ends = replace(fitted.ends, counts=counts[order], last=fitted.ends.last[order])
    effects = replace(fitted.effects, mean=fitted.effects.mean[order],
                      coefficients=fitted.effects.coefficients[order])  # fmt: skip
    layout = replace(fitted.layout, names=[fitted.layout.names[i] for i in order])
    return replace(
        fitted, layout=layout, ends=ends, memory=replace(memory, **pieces), effects=effects,
        ensemble=fitted.ensemble.part(order), floor=fitted.floor[order],
        seasons=tuple(fitted.seasons[i] for i in order),
    )  # fmt: skip
