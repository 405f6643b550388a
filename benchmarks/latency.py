"""How long small jobs of forecasters take: a forecast, its intervals, a fit to 3 000 points."""

from functools import partial

import numpy as np

from benchmarks.timing import Report, medians
from paralesn import ParalESN, ReservoirForecaster, Ridge
from paralesn.datasets import mackey_glass

_LOOP = "closed-loop"


def run() -> Report:
    """Measure every claim about latency."""
    report = Report("Latency of forecasters, Mackey-Glass, 3 000 points")
    y = mackey_glass(3000)[:, 0]
    forecasts(report, y)
    fits(report, y)
    return report


def forecasts(report: Report, y: np.ndarray) -> None:
    """Fifty steps, with and without intervals."""
    for name, model in (
        ("closed loop", ReservoirForecaster(strategy=_LOOP)),
        ("horizon 24", ReservoirForecaster(horizon=24)),
    ):
        model = model.fit(y)
        contestants = {
            "": partial(model.forecast, 50),
            ", with intervals": partial(model.forecast, 50, interval=0.9),
        }
        seconds = medians(contestants, rounds=30)
        for what, wanted in (("", None), (", with intervals", 2)):
            claim = f"forecast of 50 steps, {name}{what}"
            report.value(claim, 1e3 * seconds[what], "ms", wanted)


def fits(report: Report, y: np.ndarray) -> None:
    """Fits with nothing given and with everything given.

    A closed loop chooses whether it predicts changes or values whatever is given.
    """
    reservoir = ParalESN(units=256, rho=(0.6, 0.95), theta=(0.0, np.pi / 2), input_scale=0.1)
    contestants = {
        "closed loop, default": ReservoirForecaster(strategy=_LOOP),
        "closed loop, all given": ReservoirForecaster(reservoir, Ridge([1e-8]), strategy=_LOOP),
        "horizon 24, default": ReservoirForecaster(horizon=24),
        "horizon 24, season given": ReservoirForecaster(horizon=24, season=1),
    }
    seconds = medians({name: partial(m.fit, y) for name, m in contestants.items()}, rounds=9)
    for name in contestants:
        wanted = 20 if name.startswith("closed") else 40
        report.value(f"fit, {name}", 1e3 * seconds[name], "ms", wanted)
