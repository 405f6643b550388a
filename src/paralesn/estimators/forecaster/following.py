"""A fitted forecaster on the move: forecasts ahead, new observations, series never seen."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster import inputs as reading
from paralesn.estimators.forecaster.calendar import calendar_columns
from paralesn.estimators.forecaster.ensemble import Learning, apply_ensemble, fit_ensemble
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster, Memory
from paralesn.estimators.forecaster.inputs import Columns, Encoder, Steps, filled
from paralesn.estimators.forecaster.learning import (
    Request,
    effects_of,
    floor_of,
    read_static,
    scaled,
    seasons_of_panel,
)
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
    wanted = [Steps(steps, fitted.ends.times_ahead(i, steps)) for i in range(fitted.count)]
    rows = _encoded(fitted, fitted.known, X, wanted, "X", None, complete=True)
    return _with_calendar(fitted, rows, [s.times for s in wanted])


def _with_calendar(
    fitted: FittedForecaster, rows: list[np.ndarray], times: list[np.ndarray | None]
) -> list[np.ndarray]:
    if not fitted.calendar:
        return rows
    return [np.hstack([r, calendar_columns(np.asarray(t), fitted.calendar)])
            for r, t in zip(rows, times, strict=True)]  # fmt: skip


def _encoded(
    fitted: FittedForecaster, encoder: Encoder, X: Any, wanted: list[Steps], name: str, y: Any,
    complete: bool,
) -> list[np.ndarray]:  # fmt: skip
    """Inputs of every series as numbers; `complete`: none may be missing."""
    if not encoder.names:
        if X is not None:
            raise ValueError(f"{name} must be None: the model was fitted without such inputs")
        return [np.zeros((s.count, 0)) for s in wanted]
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
    for own in columns:
        rows = encoder.encode(own, name)
        if complete and not np.isfinite(rows).all():
            step, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(
                f"{name} must be finite in the steps to come, got {rows[step, column]} in step "
                f"{step + 1}"
            )
        if np.isinf(rows).any():
            raise ValueError(f"{name} must be finite or NaN, got infinity")
        out.append(filled(rows))
    return out


# -- new observations ------------------------------------------------------------------------------


def _new_rows(fitted: FittedForecaster, y: Any) -> tuple[Panel, list[int]]:
    """New observations in the order of the series, checked to follow; and which series they are."""
    panel = read_panel(y, fitted.long_names, fitted.frequency, least=0)  # none but missing is fine
    layout = fitted.layout
    same = panel.layout.kind == layout.kind
    arrays = {panel.layout.kind, layout.kind} <= {FLAT, TABLE, "column", "wide"}
    if not (same or (arrays and len(panel.values) == len(layout.names))):
        raise ValueError(
            f"y must come in the form of fit ({layout.kind}, {len(layout.names)} series), got "
            f"{panel.layout.kind} with {len(panel.values)}"
        )
    if layout.kind == LONG:
        at = {label: i for i, label in enumerate(layout.names)}
        unknown = [label for label in panel.layout.names if label not in at]
        if unknown:
            raise ValueError(f"y must hold series of fit, got {unknown[0]!r}, which is new: give it "
                             "to forecast(y=...)")  # fmt: skip
        order = [at[label] for label in panel.layout.names]
    else:
        if len(panel.values) != len(layout.names):
            raise ValueError(f"y must hold {len(layout.names)} series, got {len(panel.values)}")
        if layout.kind == "wide" and panel.layout.names != layout.names:
            raise ValueError(f"y must have the columns {layout.names} as in fit, got "
                             f"{panel.layout.names}")  # fmt: skip
        order = list(range(len(layout.names)))
    _check_follows(fitted, panel, order)
    return panel, order


def _check_follows(fitted: FittedForecaster, panel: Panel, order: list[int]) -> None:
    """Raise for observations that were seen already, and for gaps."""
    ends = fitted.ends
    grids = ends.grids()
    for i, grid in zip(order, panel.grids, strict=True):
        if grid.times is None or not ends.kind:
            continue
        last = grids[i].last
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
        expected = clock.after(last, 1)[0]
        gap = clock.steps(np.array([last, grid.times[0]]))[0]
        if gap != 1:
            due = format_times(np.array([expected]))[0]
            raise ValueError(f"y{who} must go on at {due}, the next step ({clock}) after {end}, got "
                             f"{first}: give the rows between, NaN where nothing is known")  # fmt: skip


def advance(fitted: FittedForecaster, y: Any, X: Any, past: Any) -> FittedForecaster:
    """The forecaster after new observations."""
    return _follow(fitted, y, X, past, every=False)[1]


def from_every_step(fitted: FittedForecaster, y: Any, X: Any, past: Any) -> Any:
    """Forecasts (time, horizon) from every step of new observations."""
    forecasts, _, panel = _follow(fitted, y, X, past, every=True)
    if fitted.layout.kind in (LIST, LONG):
        return forecasts
    stacked = np.stack(forecasts, axis=-1)
    return stacked[..., 0] if panel.layout.kind in (FLAT, "column") else stacked


def one_step(
    fitted: FittedForecaster, y: Any, X: Any
) -> tuple[FittedForecaster, Panel, list[np.ndarray], list[np.ndarray]]:
    """One-step forecasts (n,) of new observations, and what inputs explain of them.

    The first is from the last step seen, so that each has one.
    """
    panel, order = _new_rows(fitted, y)
    part = fitted if order == list(range(fitted.count)) else part_of(fitted, order)
    wanted = [Steps(g.count, part.ends.times_ahead(i, g.count)) for i, g in enumerate(panel.grids)]
    source = y if fitted.layout.kind == LONG and X is None else None
    known = _encoded(part, part.known, X, wanted, "X", source, complete=False)
    known = _with_calendar(part, known, [s.times for s in wanted])
    explained = [part.effects.of(i, rows) for i, rows in enumerate(known)]
    new = [v - e for v, e in zip(panel.values, explained, strict=True)]
    others = [np.zeros((s.count, part.past_scaling.shape[1])) for s in wanted]
    origins = [np.arange(v.size - 1) for v in new]
    first = part.ensemble.forecast(part.remainders(), 1)
    forecasts, _ = part.ensemble.follow(part.remainders(), new, others, origins)
    ahead = [np.concatenate([f, later[:, 0]]) for f, later in zip(first, forecasts, strict=True)]
    return part, panel, ahead, explained


def _follow(
    fitted: FittedForecaster, y: Any, X: Any, past: Any, every: bool
) -> tuple[list[np.ndarray], FittedForecaster, Panel]:
    """Forecasts from every step of new observations, or from none, and the forecaster after them."""
    panel, order = _new_rows(fitted, y)
    horizon, more = fitted.ensemble.horizon, fitted.ensemble.horizon if every else 0
    part = fitted if order == list(range(fitted.count)) else part_of(fitted, order)
    wanted = []
    for i, grid in enumerate(panel.grids):
        times = part.ends.times_ahead(i, grid.count + more)
        wanted.append(Steps(grid.count + more, times))
    source = y if fitted.layout.kind == LONG else None
    complete = every
    known = _encoded(part, part.known, X, wanted, "X", source if X is None else None, complete)
    known = _with_calendar(part, known, [s.times for s in wanted])
    counts = [Steps(s.count - more, None if s.times is None else s.times[: s.count - more])
              for s in wanted]  # fmt: skip
    others = _encoded(
        part, part.past, past, counts, "past", source if past is None else None, False
    )
    others = [scaled(rows, part.past_scaling) for rows in others]
    explained = [part.effects.of(i, rows) for i, rows in enumerate(known)]
    new = [v - e[: v.size] for v, e in zip(panel.values, explained, strict=True)]
    origins = [np.arange(v.size if every else 0) for v in new]
    forecasts, ensemble = part.ensemble.follow(part.remainders(), new, others, origins)
    if every:
        steps = np.arange(1, horizon + 1)
        forecasts = [np.maximum(f + e[o[:, None] + steps], low) for f, e, o, low in
                     zip(forecasts, explained, origins, part.floor, strict=True)]  # fmt: skip
        return forecasts, fitted, panel
    added = Memory(
        np.concatenate(panel.values), np.concatenate([e[: v.size] for e, v in zip(explained, panel.values, strict=True)]),  # noqa: E501
        np.concatenate(known), np.concatenate(others),
    )  # fmt: skip
    return forecasts, _grown(fitted, order, ensemble, added, panel), panel


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
        return np.concatenate([part for i in range(fitted.count)
                               for part in (old[i], pieces.get(i)) if part is not None])  # fmt: skip

    memory = Memory(*(joined(name) for name in ("y", "explained", "known", "past")))
    ends = fitted.ends
    last = ends.last.copy()
    if ends.kind:
        for i in order:
            ahead_of = ends.times_ahead(i, int(new_counts[i]))
            assert ahead_of is not None
            last[i] = (
                ahead_of[-1].astype("M8[ns]").astype(np.int64) if ends.is_date else ahead_of[-1]
            )
        for i, grid in zip(order, panel.grids, strict=True):
            if grid.times is not None and (grid.times.dtype.kind == "M") == ends.is_date:
                last[i] = grid.last.astype("M8[ns]").astype(np.int64) if ends.is_date else grid.last
    if order != list(range(fitted.count)):
        ensemble = fitted.ensemble.replaced(order, ensemble)
    return replace(fitted, memory=memory, ensemble=ensemble,
                   ends=replace(ends, counts=ends.counts + new_counts, last=last))  # fmt: skip


def part_of(fitted: FittedForecaster, order: list[int]) -> FittedForecaster:
    """The forecaster of some of the series."""
    counts, memory = fitted.ends.counts, fitted.memory
    pieces = [np.concatenate([memory.split(getattr(memory, n), counts)[i] for i in order])
              for n in ("y", "explained", "known", "past")]  # fmt: skip
    ends = replace(fitted.ends, counts=counts[order], last=fitted.ends.last[order])
    effects = replace(fitted.effects, mean=fitted.effects.mean[order],
                      coefficients=fitted.effects.coefficients[order])  # fmt: skip
    layout = replace(fitted.layout, names=[fitted.layout.names[i] for i in order])
    return replace(
        fitted, layout=layout, ends=ends, memory=Memory(*pieces), effects=effects,
        ensemble=fitted.ensemble.part(order), floor=fitted.floor[order],
        seasons=tuple(fitted.seasons[i] for i in order),
    )  # fmt: skip


def refitted(fitted: FittedForecaster, request: Request) -> FittedForecaster:
    """Learn from everything observed again."""
    counts, memory = fitted.ends.counts, fitted.memory
    values = fitted.observed()
    known, others = (memory.split(a, counts) for a in (memory.known, memory.past))
    static = _static_rows(fitted)
    effects = effects_of(values, known, fitted.seasons)
    explained = [effects.of(i, rows) for i, rows in enumerate(known)]
    learnings = [Learning(v - e, s, o, f) for v, e, s, o, f in
                 zip(values, explained, fitted.seasons, others, static, strict=True)]  # fmt: skip
    ensemble = fit_ensemble(learnings, fitted.ensemble.horizon, request.reservoir_for,
                            request.readout, request.n_jobs)  # fmt: skip
    if effects.coefficients.shape[1]:
        ensemble = ensemble.without_floor()
    return replace(fitted, effects=effects, ensemble=ensemble, floor=floor_of(values),
                   memory=replace(memory, explained=np.concatenate(explained)))  # fmt: skip


def _static_rows(fitted: FittedForecaster) -> np.ndarray:
    """What the readouts know of each series as a whole."""
    rows = np.zeros((fitted.count, fitted.fixed_scaling.shape[1]))
    for member, series in zip(fitted.ensemble.shared, fitted.ensemble.of_shared, strict=True):
        rows[series] = member.static
    return rows


# -- series never seen -----------------------------------------------------------------------------


def of_new_series(
    fitted: FittedForecaster, y: Any, X: Any, past: Any, static: Any, steps: int
) -> tuple[FittedForecaster, Any]:
    """A forecaster of series never seen, and what is known of their steps to come."""
    panel = read_panel(y, fitted.long_names, fitted.frequency, least=2)
    if fitted.known.names:
        raise ValueError("forecasts of series never seen need a model without inputs known in "
                         "advance; calendar and past inputs work")  # fmt: skip
    if X is not None:
        raise ValueError("X must be None: the model was fitted without such inputs")
    blank = replace(fitted, layout=panel.layout)
    wanted = [Steps(grid.count, grid.times) for grid in panel.grids]
    others = _encoded(blank, fitted.past, past, wanted, "past", None, complete=False)
    others = [scaled(rows, fitted.past_scaling) for rows in others]
    known = _with_calendar(fitted, [np.zeros((s.count, 0)) for s in wanted],
                           [s.times for s in wanted])  # fmt: skip
    rows = np.zeros((len(panel.values), 0))
    if fitted.fixed.names:
        if static is None:
            raise ValueError(f"static must hold {', '.join(map(repr, fitted.fixed.names))} of every "
                             "series, as in fit, got None")  # fmt: skip
        _, rows = read_static(static, y, panel.layout, fitted.long_names)
        if rows.shape[1] != fitted.fixed.width:
            raise ValueError(f"static must have {fitted.fixed.width} columns as in fit, got "
                             f"{rows.shape[1]}")  # fmt: skip
    rows = scaled(rows, fitted.fixed_scaling)
    given = {m for s in fitted.seasons for m in s}
    seasons = seasons_of_panel(panel, tuple(sorted(given)) if given else None)
    effects = effects_of(panel.values, known, seasons)
    explained = [effects.of(i, k) for i, k in enumerate(known)]
    learnings = [Learning(v - e, s, o, f) for v, e, s, o, f in
                 zip(panel.values, explained, seasons, others, rows, strict=True)]  # fmt: skip
    ensemble = apply_ensemble(fitted.ensemble, learnings)
    memory = Memory(np.concatenate(panel.values), np.concatenate(explained), np.concatenate(known),
                    np.concatenate(others))  # fmt: skip
    if effects.coefficients.shape[1]:
        ensemble = ensemble.without_floor()
    floor = floor_of(panel.values)
    new = replace(fitted, layout=panel.layout, ends=Ends.of(panel.grids), memory=memory,
                  ensemble=ensemble, seasons=tuple(seasons), effects=effects, floor=floor,
                  notes=tuple(panel.notes))  # fmt: skip
    return new, None


def weights(fitted: FittedForecaster) -> list[dict[str, float]]:
    """What members count for every series."""
    names = ["reservoir of logarithms" if member.log else "reservoir"
             for member in fitted.ensemble.shared]  # fmt: skip
    out = []
    for row, bank in zip(fitted.ensemble.weights, fitted.ensemble.banks, strict=True):
        own = {
            "smoothers": bank.weights.sum() - bank.log_share,
            "smoothers of logarithms": bank.log_share,
            "seasonal naive": bank.naive_weights[bank.periods > 1].sum(),
            "last value": bank.naive_weights[bank.periods == 1].sum(),
            "intermittent demand": bank.flat_weights.sum(),
        }
        shares = {name: float(row[0] * share) for name, share in own.items()}
        shares |= {name: float(w) for name, w in zip(names, row[1:], strict=True)}
        out.append({name: round(share, 6) for name, share in shares.items() if share > 1e-9})
    return out
