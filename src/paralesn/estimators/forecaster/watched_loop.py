"""The closed loop of a forecaster: one reservoir reads all series together, and is watched."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators import defaults
from paralesn.estimators.forecaster.fitted import Ends, FittedLoop
from paralesn.estimators.forecaster.following import check_follows
from paralesn.estimators.forecaster.output import assemble, check_levels, check_quantiles
from paralesn.estimators.forecaster.panel import (
    LIST,
    LONG,
    LongNames,
    Panel,
    counted_notes,
    read_panel,
)
from paralesn.estimators.state_forecaster.forecaster import Begun, StateForecaster

_LEAST = 200  # steps from which on closed loops choose
_LOST_AT_ONCE = -0.25  # mean logarithm of the error of loops that say nothing to choose by
RANGES = 3.0  # a forecast may leave the range of what was seen by so many times that range


def fit(
    panel: Panel, X: Any, names: LongNames, frequency: str | None, reservoir: Any, readout: Any,
    horizon: int, noise: float, spin_up: int | None,
) -> FittedLoop:  # fmt: skip
    """Fit a reservoir that reads all columns together."""
    y = _table(panel)
    washout = min(100, len(y) // 5) if spin_up is None else spin_up
    if len(y) <= washout + horizon:
        least = f"spin_up + horizon ({washout} + {horizon})"
        raise ValueError(f"y must be longer than {least} time steps, got {len(y)}")
    # Few steps hold too short loops to choose by, and inputs of a new kind make some run away.
    by_loop = len(y) >= _LEAST and X is None
    candidates = defaults.loop_candidates(reservoir)
    options = {"horizon": horizon, "washout": washout, "noise": noise}
    loop: StateForecaster | None = None
    if by_loop:
        chosen = defaults.loop_readout() if readout is None else readout
        loop = _best_of(candidates, chosen, options | {"by_loop": True}, y, X)
        if (loop.loop_score_ or 0.0) > _LOST_AT_ONCE:
            loop = None
    if loop is None:
        loop = _best_of(candidates[:1], readout, options, y, X)
    notes = counted_notes(panel.notes)
    if not loop.has_intervals_:
        notes.append("the series is too short for intervals")
    return FittedLoop(
        panel.layout, tuple(names), frequency, Ends.of(panel.grids), loop, y.min(axis=0),
        y.max(axis=0), tuple(notes),
    )  # fmt: skip


def _best_of(
    candidates: Sequence[tuple[Any, bool]], readout: Any, options: Mapping[str, Any], y: Any, X: Any
) -> StateForecaster:
    """The candidate whose closed loops into the held-out part of y are best.

    A candidate is a reservoir and whether differences are predicted. The first one is taken where
    no loops can be run: the series is too short, or several steps are predicted at once.
    """
    best: tuple[float, StateForecaster, Begun] | None = None
    for reservoir, difference in candidates:
        model = StateForecaster(reservoir, readout, difference=difference, **options)
        beat = None if best is None else best[2].training.best_so_far
        begun = model.begin(y, X, beat)
        score = begun.training.loop_score
        if score is None:
            return model.finish(begun)
        if best is None or score < best[0]:
            best = score, model, begun
    assert best is not None
    _, model, begun = best
    return model.finish(begun)


def _table(panel: Panel) -> np.ndarray:
    """The series as a table (time, series) without missing values."""
    if panel.layout.kind in (LIST, LONG) and len(panel.values) > 1:
        raise ValueError(
            "strategy='closed-loop' needs one series, or several in one table (time, series), got "
            f"{len(panel.values)} series of their own"
        )
    table = np.stack(panel.values, axis=1)
    if np.isnan(table).any():
        step, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(
            f"y must be complete with strategy='closed-loop', got NaN at step {step} of "
            f"{panel.layout.names[column]!r}"
        )
    return table


def check_inputs(past: Any, static: Any = None) -> None:
    """Raise for inputs that a closed loop does not read."""
    if past is not None or static is not None:
        raise ValueError("past and static need strategy='auto'")


def _check_series(fitted: FittedLoop, panel: Panel) -> None:
    """Raise for other series than those of `fit`, or another order of them."""
    names, came = fitted.layout.names, panel.layout.names
    if len(came) != len(names):
        raise ValueError(f"y must hold {len(names)} series, got {len(came)}")
    if fitted.layout.kind == panel.layout.kind == "wide" and came != names:
        raise ValueError(f"y must have the columns {names} as in fit, got {came}")


def update(fitted: FittedLoop, y: Any, X: Any, refit: bool) -> FittedLoop:
    """Continue from new observations."""
    panel = read_panel(y, fitted.long_names, fitted.frequency, usual=fitted.ends.clock)
    _check_series(fitted, panel)
    names, came = fitted.layout.names, panel.layout.names
    if fitted.layout.kind == panel.layout.kind == LONG and came != names:
        raise ValueError(f"y must hold the series {names[0]!r} of fit, got {came[0]!r}: give it to "
                         "forecast(y=...)")  # fmt: skip
    check_follows(fitted, panel, list(range(len(panel.values))))
    new = _table(panel)
    loop = copy(fitted.loop).update(new, X, refit=refit)
    ends = fitted.ends
    last = ends.last
    if ends.kind:
        ahead = ends.times_ahead(0, len(new))
        assert ahead is not None
        end = ahead[-1].astype("M8[ns]").astype(np.int64) if ends.is_date else ahead[-1]
        last = np.full_like(last, end)
    return replace(
        fitted, loop=loop, ends=replace(ends, counts=ends.counts + len(new), last=last),
        low=np.minimum(fitted.low, new.min(axis=0)), high=np.maximum(fitted.high, new.max(axis=0)),
    )  # fmt: skip


def spun_up(fitted: FittedLoop, y: Any) -> FittedLoop:
    """The loop after reading another stretch of the same system, from zero on."""
    if fitted.loop.n_known_:
        raise ValueError("y must be None for a loop with inputs known in advance: use update")
    panel = read_panel(y, fitted.long_names, fitted.frequency, least=2)
    _check_series(fitted, panel)
    new = _table(panel)
    return replace(
        fitted, loop=fitted.loop.reading(new), ends=Ends.of(panel.grids), layout=panel.layout,
        low=np.minimum(fitted.low, new.min(axis=0)), high=np.maximum(fitted.high, new.max(axis=0)),
    )  # fmt: skip


def forecast(fitted: FittedLoop, steps: Any, X: Any, interval: Any, quantiles: Any) -> Any:
    """Forecast in closed loop; one that runs away is an error."""
    loop = fitted.loop
    steps = loop.horizon_ if steps is None else checks.integer("steps", steps, 1)
    values = np.asarray(loop.forecast(steps, X)).reshape(steps, -1)
    low, high = fitted.low, fitted.high
    if loop.fitted_.windows.patches is not None:  # one law everywhere, so one range
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    check_range(values, low, high)
    if (check_levels(interval) or check_quantiles(quantiles)) and not loop.has_intervals_:
        raise ValueError("interval needs a longer series with strategy='closed-loop'")

    def bounds(level: float) -> tuple[np.ndarray, np.ndarray]:
        found = loop.forecast(steps, X, level)
        return found.lower.reshape(steps, -1).T, found.upper.reshape(steps, -1).T

    grids = fitted.ends.grids()
    return assemble(fitted.layout, grids, values.T, bounds, interval, quantiles)


def check_range(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Raise where forecasts (steps, targets) leave the range seen by more than `RANGES` ranges."""
    reach = RANGES * np.where(high > low, high - low, 1.0)
    away = ~((values <= high + reach) & (values >= low - reach))  # NaN is away, too
    if away.any():
        step, target = np.argwhere(away)[0]
        raise ValueError(
            f"the closed loop ran away: at step {step + 1} it is at {values[step, target]:.6g}, "
            f"more than {RANGES:g} ranges outside of what was seen ({low[target]:.6g} to "
            f"{high[target]:.6g}). Forecast fewer steps, or use strategy='auto'"
        )
