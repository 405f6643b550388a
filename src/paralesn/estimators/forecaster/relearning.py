"""A fitted forecaster that learns again, or that forecasts series never seen."""

from dataclasses import replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.ensemble import Learning
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster, Memory
from paralesn.estimators.forecaster.fitting import (
    Request,
    effects_of,
    floor_of,
    read_static,
    row_steps,
    scaled,
    seasons_by_clock,
    seasons_of_panel,
)
from paralesn.estimators.forecaster.following import encoded, with_calendar
from paralesn.estimators.forecaster.panel import LONG, counted_notes, read_panel
from paralesn.estimators.forecaster.weighing import apply_ensemble, fit_ensemble


def refitted(fitted: FittedForecaster, request: Request) -> FittedForecaster:
    """Learn from everything observed again."""
    counts, memory = fitted.ends.counts, fitted.memory
    values = fitted.observed()
    known, others = (memory.split(a, counts) for a in (memory.known, memory.past))
    static = _static_rows(fitted)
    seasons = tuple(seasons_by_clock(v, fitted.ends.clock, request.season) for v in values)
    effects = effects_of(values, known, seasons)
    explained = [effects.of(i, rows) for i, rows in enumerate(known)]
    learnings = [Learning(v - e, s, o, f) for v, e, s, o, f in
                 zip(values, explained, seasons, others, static, strict=True)]  # fmt: skip
    ensemble = fit_ensemble(learnings, fitted.ensemble.horizon, request.reservoir_for,
                            request.readout, request.n_jobs)  # fmt: skip
    if effects.coefficients.shape[1]:
        ensemble = ensemble.without_floor()
    return replace(
        fitted, effects=effects, ensemble=ensemble, seasons=seasons, floor=floor_of(values),
        memory=replace(memory, explained=np.concatenate(explained)),
    )  # fmt: skip


def _static_rows(fitted: FittedForecaster) -> np.ndarray:
    """What the readouts know of each series as a whole."""
    rows = np.zeros((fitted.count, fitted.fixed_scaling.shape[1]))
    for member, series in zip(fitted.ensemble.shared, fitted.ensemble.of_shared, strict=True):
        rows[series] = member.static
    return rows


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
    named = y if panel.layout.kind == LONG and past is None else None
    rows = row_steps(panel)
    others = encoded(blank, fitted.past, past, rows, "past", named, False, panel.grids)
    others = [scaled(rows, fitted.past_scaling) for rows in others]
    known = with_calendar(fitted, [np.zeros((grid.count, 0)) for grid in panel.grids],
                           [grid.times for grid in panel.grids])  # fmt: skip
    fixed = np.zeros((len(panel.values), 0))
    if fitted.fixed.names:
        if static is None:
            raise ValueError(f"static must hold {', '.join(map(repr, fitted.fixed.names))} of "
                             "every series, as in fit, got None")  # fmt: skip
        given = (static, y, panel.layout, fitted.long_names, fitted.fixed)
        fixed = read_static(*given)[1]
    fixed = scaled(fixed, fitted.fixed_scaling)
    seen = {m for s in fitted.seasons for m in s}
    seasons = seasons_of_panel(panel, tuple(sorted(seen)) if seen else None)
    effects = effects_of(panel.values, known, seasons)
    explained = [effects.of(i, k) for i, k in enumerate(known)]
    learnings = [Learning(v - e, s, o, f) for v, e, s, o, f in
                 zip(panel.values, explained, seasons, others, fixed, strict=True)]  # fmt: skip
    ensemble = apply_ensemble(fitted.ensemble, learnings)
    memory = Memory.of(panel, explained, known, others)
    if effects.coefficients.shape[1]:
        ensemble = ensemble.without_floor()
    floor = floor_of(panel.values)
    new = replace(fitted, layout=panel.layout, ends=Ends.of(panel.grids), memory=memory,
                  ensemble=ensemble, seasons=tuple(seasons), effects=effects, floor=floor,
                  notes=tuple(counted_notes(panel.notes)))  # fmt: skip
    return new, None
