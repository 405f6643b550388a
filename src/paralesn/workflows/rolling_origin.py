"""Backtests: forecasts from several origins of series, beside methods that need no model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from paralesn import checks
from paralesn.estimators.forecaster.estimator import SmootherBank
from paralesn.estimators.forecaster.fitting import default_horizon, seasons_of_panel
from paralesn.estimators.forecaster.panel import LongNames, Panel
from paralesn.estimators.forecaster.parts import Material, read_material
from paralesn.estimators.forecaster.seasons import check_season
from paralesn.workflows.backtest_result import Backtest
from paralesn.workflows.followers import follower
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.scores import LEVELS, Paths, interval_crps, seasonal_scale
from paralesn.workflows.yardsticks import (
    MODEL,
    SEASONAL,
    SMOOTHERS,
    check_yardsticks,
    naive_forecast,
)

_SHARE = 5  # origins are in the last fifth of the series, or in as many horizons as there are
LEAST = 2  # values before the first origin


def backtest(
    model: Any,
    y: Any,
    X: Any = None,
    *,
    horizon: int | None = None,
    origins: int | Sequence[int] = 10,
    refit: bool = False,
    interval: float | None = 0.9,
    past: Any = None,
    static: Any = None,
    id: str = "unique_id",
    time: str = "ds",
    target: str = "y",
    yardsticks: bool | Sequence[str] = True,
    progress: Progress = silent,
) -> Backtest:
    """Judge a forecaster by forecasts from several origins, each made as if it were the present.

    Beside the model stand methods that any model should beat: ``"seasonal naive"`` (the value one
    season before; left out where no series has a season), ``"last value"``, ``"drift"`` (the line
    through the first and the last value), ``"mean"``, and ``"smoothers"``, a `SmootherBank` without
    inputs. Of series of different lengths, the origins lie equally far before their ends.

    Parameters
    ----------
    model : forecaster
        A `ReservoirForecaster`, a `SmootherBank`, or anything with ``fit(y)`` and
        ``forecast(steps)`` for arrays. A copy is fitted: what it has learnt before does not count.
    y, X, past, static, id, time, target : as in `ReservoirForecaster.fit`
        X has a row for each row of y.
    horizon : int, optional
        Steps to forecast. Default: the model's.
    origins : int or sequence of int
        How many, evenly spaced so that the last forecast ends with the data and at least half of
        each series precedes the first; fewer where there is no room. Or how many steps are known at
        each; negative ones count from the end.
    refit : bool
        Fit at every origin. Otherwise the model is fitted to what precedes the first, and reads on
        without learning.
    interval : float, optional
        Share of values that intervals should hold; None: no intervals.
    yardsticks : bool or list of str
        Which of the methods above to compare with.
    progress : function, optional
        Told what is being done, and the share that is done.

    Returns
    -------
    result : Backtest

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> t = np.arange(120)
    >>> y = 50 + t + 9 * np.sin(2 * np.pi * t / 12) + np.cos(t**2)
    >>> result = pe.backtest(pe.ReservoirForecaster(horizon=6), y, origins=4)
    >>> result.methods
    ['model', 'seasonal naive', 'last value', 'drift', 'mean', 'smoothers']
    >>> result.origins[:, 0]
    array([ 96, 102, 108, 114])
    >>> result.beats("seasonal naive")
    True
    """
    names = LongNames(id, time, target)
    frequency = getattr(model, "frequency", None)
    material, _ = read_material(y, X, past, static, names, frequency)
    return backtest_material(
        model, material, horizon=horizon, origins=origins, refit=refit, interval=interval,
        yardsticks=yardsticks, progress=progress,
    )  # fmt: skip


def backtest_material(
    model: Any, material: Material, *, horizon: int | None, origins: Any, refit: bool,
    interval: float | None, yardsticks: Any, progress: Progress = silent,
) -> Backtest:  # fmt: skip
    """The same with series that were read before."""
    if not (hasattr(model, "fit") and hasattr(model, "forecast")):
        raise checks.fail("model", model, "a forecaster, with fit and forecast", TypeError)
    checks.flag("refit", refit)
    if interval is not None:
        checks.number("interval", interval, 0, 1, open_left=True, open_right=True)
    others = check_yardsticks(yardsticks)
    horizon = check_horizon(model, horizon, material)
    at = check_origins(origins, horizon, material)
    before = material.part(np.zeros_like(at[0]), at[0]).panel
    given = check_season(getattr(model, "season", "auto"))
    season, scale = seasonal_units(before, given)
    if (season == 1).all():
        others = [name for name in others if name != SEASONAL]
    if isinstance(model, SmootherBank):
        others = [name for name in others if name != SMOOTHERS]
    run = _Run(material, at, horizon, interval, refit, progress, 1 + (SMOOTHERS in others))
    paths = {MODEL: run.lead(at_horizon(model, horizon), material)}
    for name in others:
        if name == SMOOTHERS:
            own_season = "auto" if given is None else (given or 1)
            n_jobs = getattr(model, "n_jobs", None)
            bank = SmootherBank(horizon=horizon, season=own_season, n_jobs=n_jobs)
            paths[name] = run.lead(bank, Material(material.panel, None, None, None), name)
        else:
            paths[name] = _naive(name, material, at, horizon, season)
    times = [grid.times for grid in material.panel.grids]
    return Backtest(
        list(material.panel.layout.names), material.panel.values, at, horizon, season, scale, paths,
        interval, refit, (*material.panel.notes, *run.notes),
        None if any(t is None for t in times) else [np.asarray(t) for t in times],
    )  # fmt: skip


def seasonal_units(before: Panel, given: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Season and mean absolute change over it (S,), of what precedes the first origin."""
    season = [s[0] if s else 1 for s in seasons_of_panel(before, given)]
    scale = [seasonal_scale(v, m) for v, m in zip(before.values, season, strict=True)]
    return np.array(season, np.int64), np.array(scale)


def check_horizon(model: Any, horizon: Any, material: Material) -> int:
    """Steps to forecast: those asked for, or the model's."""
    if horizon is not None:
        return checks.integer("horizon", horizon, 1)
    own = getattr(model, "horizon", None)
    if own is not None:
        return checks.integer("horizon", own, 1)
    given = check_season(getattr(model, "season", "auto"))
    return default_horizon(seasons_of_panel(material.panel, given), material.counts.tolist())


def at_horizon(model: Any, horizon: int) -> Any:
    """The model itself, or one whose horizon is that of the backtest where it has none."""
    is_loop = getattr(model, "strategy", "auto") == "closed-loop"
    if is_loop or getattr(model, "horizon", horizon) is not None:
        return model
    return clone(model).set_params(horizon=horizon)


def check_origins(origins: Any, horizon: int, material: Material) -> np.ndarray:
    """Steps known at each origin (O, S), growing."""
    counts = material.counts
    shortest = int(counts.min())
    if shortest < horizon + LEAST:
        name = material.panel.layout.names[int(counts.argmin())]
        raise ValueError(
            f"horizon must leave at least {LEAST} steps to learn from, got {horizon}, and the "
            f"series {name!r} has {shortest} steps"
        )
    if isinstance(origins, Sequence | np.ndarray) and not isinstance(origins, str):
        back = _positions(origins, horizon, counts)
    else:
        wanted = checks.integer("origins", origins, 1)
        span = min(max(wanted * horizon, shortest // _SHARE), shortest // 2)
        first = max(span, horizon)
        back = np.unique(np.linspace(horizon, first, wanted).round().astype(np.int64))[::-1]
    at = counts[None, :] - back[:, None]
    for i, values in enumerate(material.panel.values):
        known = int(np.isfinite(values[: at[0, i]]).sum())
        if known < LEAST:
            name = material.panel.layout.names[i]
            raise ValueError(
                f"origins must leave at least {LEAST} values before the first, got {known} in the "
                f"series {name!r}: give fewer or later ones"
            )
    return np.asarray(at)


def _positions(origins: Any, horizon: int, counts: np.ndarray) -> np.ndarray:
    """How far origins that were given lie before the end, falling."""
    given = [checks.integer(f"origins[{i}]", o, -int(counts.max())) for i, o in enumerate(origins)]
    if not given:
        raise checks.fail("origins", origins, "a number, or a sequence of at least one step")
    if (counts != counts[0]).any() and max(given) >= 0:
        raise ValueError(
            "origins must be negative, counted from the ends, as series have different lengths, "
            f"got {max(given)}"
        )
    back = np.unique([-o if o < 0 else int(counts[0]) - o for o in given])[::-1]
    least, most = horizon, int(counts.min()) - LEAST
    if back[-1] < least or back[0] > most:
        wrong = back[-1] if back[-1] < least else back[0]
        raise ValueError(
            f"origins must have at least {LEAST} steps before them and the horizon of {horizon} "
            f"after them, got one that is {wrong} steps before the end of {int(counts.min())}"
        )
    return np.asarray(back)


class _Run:
    """What all methods of a backtest have in common."""

    def __init__(
        self, material: Material, at: np.ndarray, horizon: int, interval: float | None, refit: bool,
        progress: Progress, methods: int,
    ) -> None:  # fmt: skip
        self._at, self._horizon, self._refit = at, horizon, refit
        self._interval, self._progress = interval, progress
        self.notes: list[str] = []
        self._done, self._total = 0, methods * len(at)
        values = material.panel.values
        self._truth = [
            np.stack([v[o : o + horizon] for v, o in zip(values, row, strict=True)]) for row in at
        ]

    def lead(self, model: Any, material: Material, name: str = MODEL) -> Paths:
        """Forecasts of a forecaster from every origin."""
        levels = [] if self._interval is None else [*LEVELS, self._interval]
        leader = follower(model, material, self._refit)
        values, lower, upper, crps = [], [], [], []
        for origin, truth in zip(self._at, self._truth, strict=True):
            self._progress(f"backtest of the {name}", self._done / self._total)
            leader.move(origin)
            found = leader.forecast(self._horizon, levels)
            if found.values.shape != truth.shape:
                raise ValueError(f"model must forecast {truth.shape[1]} steps of {truth.shape[0]} "
                                 f"series, got shape {found.values.shape[::-1]}")  # fmt: skip
            if not np.isfinite(found.values).all():
                i, step = np.argwhere(~np.isfinite(found.values))[0]
                raise ValueError(f"model must forecast finite numbers, got {found.values[i, step]} "
                                 f"{step + 1} steps after step {origin[i]}")  # fmt: skip
            values.append(found.values)
            if found.lower.shape[-1]:
                lower.append(found.lower[..., -1])
                upper.append(found.upper[..., -1])
                few = len(LEVELS)
                crps.append(interval_crps(truth, found.lower[..., :few], found.upper[..., :few]))
            self._done += 1
        self.notes += [] if name != MODEL else leader.notes
        if not lower:
            return Paths(np.stack(values))
        return Paths(np.stack(values), np.stack(lower), np.stack(upper), np.stack(crps))


def _naive(
    name: str, material: Material, at: np.ndarray, horizon: int, season: np.ndarray
) -> Paths:
    """Forecasts of a method without a model from every origin."""
    return Paths(np.stack([
        np.stack([naive_forecast(name, v[:o], horizon, m) for v, o, m in
                  zip(material.panel.values, row, season.tolist(), strict=True)])
        for row in at
    ]))  # fmt: skip
