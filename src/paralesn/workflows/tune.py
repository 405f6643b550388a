"""Tune a forecaster: try settings on the last part of the training series while time lasts."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from paralesn.estimators import defaults
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.workflows.backtest import MODEL, Problem, backtest
from paralesn.workflows.progress import Progress, silent

Settings = dict[str, Any]

WASHOUT = 100
LONGEST = 100_000  # newest steps that settings are tried on
_OF_THE_ESTIMATOR = ("difference", "shared")  # the other settings are the reservoir's
_LINEAR: Settings = {
    "mixing": False, "theta": (0.0, pi), "phases": "even", "difference": "inputs",
    "alphas": (1.0, 10.0, 100.0, 1e3, 1e4, 1e5),
}  # fmt: skip
# Tried before random ones: the defaults, and linear reservoirs that read changes.
_KNOWN: tuple[Settings, ...] = (
    {},
    {"difference": "inputs"},
    {"units": 128, "rho": (0.98, 0.999), **_LINEAR},
    {"units": 128, "rho": (0.9, 0.99), **_LINEAR},
    {"units": 256, "rho": (0.98, 0.999), **_LINEAR},
)


@dataclass(frozen=True)
class TuningResult:
    """The best settings of a search.

    Attributes
    ----------
    settings : dict
        Empty where nothing was better than the defaults.
    error, default_error : float
        Errors of these settings and of the defaults on the validation part.
    trials : int
    seconds : float
    """

    settings: Settings
    error: float
    default_error: float
    trials: int
    seconds: float


def make_forecaster(
    problem: Problem, settings: Settings, *, seed: int = 0, rows: int | None = None
) -> StateForecaster:
    """An unfitted forecaster: the default one but for `settings`, and a washout for short series.

    `rows` is the length of the series it will be fitted to, that of the problem by default.
    """
    rows = len(problem.y) if rows is None else rows
    chosen = {name: value for name, value in settings.items() if name not in _OF_THE_ESTIMATOR}
    alphas = chosen.pop("alphas", None)
    reservoir: ParalESN = defaults.forecasting_reservoir()
    return StateForecaster(
        reservoir.set_params(seed=seed, **chosen),
        None if alphas is None else Ridge(alphas),
        horizon=problem.horizon,
        washout=min(WASHOUT, max(0, rows - problem.horizon) // 10),
        difference=settings.get("difference", True),
        shared=settings.get("shared", _can_share(problem)),
        standardize=True,
    )


def tune(
    problem: Problem,
    seconds: float,
    *,
    share: float = 0.2,
    seed: int = 0,
    progress: Progress = silent,
) -> TuningResult:
    """Try settings for so many seconds; the last `share` of the series judges them.

    The defaults are always tried first, whatever the time. Results depend on `seconds` and on the
    speed of the machine, only the order of the candidates on `seed`.

    Parameters
    ----------
    problem : Problem
        The training series: nothing of the test part.
    seconds : float
    share : float
        Share of the series, at its end, to validate on.
    seed : int
    progress : function, optional
        Told the number of trials, and the share of time that is used up.
    """
    start = time.monotonic()
    recent = problem.between(max(0, len(problem.y) - LONGEST), len(problem.y))
    first = len(recent.y) - max(problem.horizon, int(share * len(recent.y)))
    _compile(recent, first, seed)
    best: Settings = {}
    error = default_error = np.inf
    used = slowest = 0.0
    trials, largest = 0, 1  # states of the slowest trial
    for candidate, settings in enumerate(_candidates(problem, seed), 1):
        states = _states(settings)
        before = time.monotonic() - start
        if trials and before + slowest * max(1.0, (states / largest) ** 2) > seconds:
            if before + slowest > seconds:
                break
            continue  # a smaller one may fit into the time
        new_error = _validation_error(recent, settings, seed, first)
        used, trials = time.monotonic() - start, candidate
        if used - before > slowest:
            slowest, largest = used - before, states
        if candidate == 1:
            default_error = new_error
        if new_error < error or candidate == 1:
            best, error = settings, new_error
        progress(f"searching, {trials} trials", min(1.0, used / seconds) if seconds else 1.0)
    return TuningResult(best, error, default_error, trials, used)


def _compile(problem: Problem, first: int, seed: int) -> None:
    """Load or compile kernels before trials are timed."""
    few = problem.between(0, min(first, 100 + 3 * problem.horizon))
    make_forecaster(few, {}, seed=seed).fit(few.y, few.X)


def _validation_error(problem: Problem, settings: Settings, seed: int, first: int) -> float:
    """Error of settings from step `first` on."""
    model = make_forecaster(problem, settings, seed=seed, rows=first)
    model.fit(problem.y[:first], problem.inputs(0, first))
    return backtest(model, problem, first).overall(MODEL)


def _states(settings: Settings) -> int:
    return int(settings.get("units", 256)) * (1 if settings.get("mixing", True) else 2)


def _can_share(problem: Problem) -> bool:
    """Whether there are several series, all of them targets."""
    return problem.targets == problem.y.shape[1] > 1


def _candidates(problem: Problem, seed: int) -> Iterator[Settings]:
    """Known settings, then random ones without end."""
    rng = np.random.default_rng(seed)
    yield from _KNOWN
    while True:
        mixing = bool(rng.random() < 0.5)
        highest = 1.0 - 10.0 ** rng.uniform(-3.5, -0.7)
        settings: Settings = {
            "units": int(rng.choice([64, 128, 256, 512])),
            "rho": (float(highest * rng.choice([0.0, 0.6, 0.9, 0.98])), float(highest)),
            "theta": (0.0, float(rng.choice([pi / 4, pi / 2, pi]))),
            "phases": str(rng.choice(["random", "even"])),
            "mixing": mixing,
            "difference": [True, "inputs", False][int(rng.integers(3))],
        }
        if mixing:
            settings["input_scale"] = float(10.0 ** rng.uniform(-2.0, 0.5))
            settings["mix_scale"] = float(10.0 ** rng.uniform(-1.0, 0.7))
        else:
            settings["alphas"] = _LINEAR["alphas"]
        if _can_share(problem):
            settings["shared"] = bool(rng.random() < 0.7)
        yield settings
