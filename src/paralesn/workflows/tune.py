"""Settings of a forecaster, tried on the last part of the training series while time lasts."""

import time
from collections.abc import Callable, Iterator
from math import pi
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators import defaults
from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.workflows.backtest import MODEL, Problem, backtest

Settings = dict[str, Any]

WASHOUT = 100
SEARCHED = 100_000  # newest steps that settings are tried on
_OF_THE_MODEL = ("difference", "shared")
_RAW = {"mixing": False, "theta": (0.0, pi), "phases": "even", "difference": "inputs",
        "alphas": (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)}  # fmt: skip
# Tried before chance decides: the defaults, and linear reservoirs that read changes.
_KNOWN: tuple[Settings, ...] = (
    {},
    {"difference": "inputs"},
    {"units": 128, "rho": (0.98, 0.999), **_RAW},
    {"units": 128, "rho": (0.9, 0.99), **_RAW},
    {"units": 256, "rho": (0.98, 0.999), **_RAW},
)


class Tuned(NamedTuple):
    """What a search found.

    `error` and `untuned` are those of the chosen settings and of the defaults on validation data.
    """

    settings: Settings
    error: float
    untuned: float
    trials: int
    seconds: float


def forecaster(
    settings: Settings, problem: Problem, seed: int, rows: int | None = None
) -> ReservoirForecaster:
    """A forecaster with these settings, the rest as by default, for a series of so many rows."""
    rows = len(problem.y) if rows is None else rows
    chosen = {name: value for name, value in settings.items() if name not in _OF_THE_MODEL}
    alphas = chosen.pop("alphas", None)
    reservoir: ParalESN = defaults.forecasting_reservoir()
    return ReservoirForecaster(
        reservoir.set_params(seed=seed, **chosen),
        defaults.forecasting_readout() if alphas is None else Ridge(alphas),
        horizon=problem.horizon,
        washout=min(WASHOUT, max(0, rows - problem.horizon) // 10),
        difference=settings.get("difference", True),
        shared=settings.get("shared", problem.targets == problem.y.shape[1] > 1),
        standardize=True,
    )


def tune(
    problem: Problem,
    share: float,
    seconds: float,
    seed: int = 0,
    report: Callable[[int, float], None] | None = None,
) -> Tuned:
    """Try settings for so many seconds; the last `share` of the series judges them.

    The defaults are always tried. `report` is told the number of trials and the seconds so far.
    """
    start = time.monotonic()
    recent = problem.part(max(0, len(problem.y) - SEARCHED), len(problem.y))
    first = len(recent.y) - max(problem.horizon, int(share * len(recent.y)))
    # Kernels are loaded, or compiled, before trials are timed.
    few = recent.part(0, min(first, 100 + 3 * problem.horizon))
    forecaster({}, few, seed).fit(few.y, few.X)
    best: Tuned | None = None
    slowest, width = 0.0, 1
    for trials, settings in enumerate(_candidates(problem, seed), 1):
        size = _states(settings)
        likely = slowest * max(1.0, (size / width) ** 2)
        before = time.monotonic() - start
        if best is not None and before + likely > seconds:
            if before + slowest > seconds:
                break
            continue  # something smaller may fit in
        model = forecaster(settings, problem, seed, first).fit(
            recent.y[:first], recent.known(0, first)
        )
        error = backtest(model, recent, first).overall(MODEL)
        now = time.monotonic() - start
        if now - before > slowest:
            slowest, width = now - before, size
        untuned = error if best is None else best.untuned
        if best is None or error < best.error:
            best = Tuned(settings, error, untuned, trials, now)
        best = best._replace(trials=trials, seconds=now)
        if report is not None:
            report(trials, now)
    assert best is not None
    return best


def _states(settings: Settings) -> int:
    return int(settings.get("units", 256)) * (1 if settings.get("mixing", True) else 2)


def _candidates(problem: Problem, seed: int) -> Iterator[Settings]:
    """Known settings, then random ones without end."""
    rng = np.random.default_rng(seed)
    shares = problem.targets == problem.y.shape[1] > 1
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
            settings["alphas"] = _RAW["alphas"]
        if shares:
            settings["shared"] = bool(rng.random() < 0.7)
        yield settings
