"""Speed of whole fits, of pooling and of the closed loop."""

import time
from functools import partial

import numpy as np

from benchmarks.contestant import FITS, race
from benchmarks.timing import Report, medians
from paralesn import ParalESN
from paralesn.datasets import mackey_glass
from paralesn.estimators.state_forecaster.forecaster import StateForecaster


def run() -> Report:
    """Measure every claim about the estimators."""
    report = Report("Estimators, float64")
    whole_fit(report)
    pooling(report)
    closed_loop(report)
    return report


def whole_fit(report: Report) -> None:
    """Reservoir and readout with six penalties against the same with rivals."""
    seconds = race(FITS, units=128, steps=5000, rounds=9)
    for name, wanted in zip(FITS[1:], (10, 25), strict=True):
        claim = f"whole fit N=128 T=5000, six alphas, against {name}"
        report.ratio(claim, seconds["our fit"], seconds[name], wanted)


def pooling(report: Report) -> None:
    """Pooled features against pooling stored states."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 500, 1))
    res = ParalESN(units=512)

    def stored() -> np.ndarray:
        states = res.run(X)[0]
        return np.hstack([states.mean(axis=1), states.std(axis=1), (states > 0).mean(axis=1)])

    pools = ("mean", "std", "ppv")
    if np.abs(res.pool(X, pools) - stored()).max() > 1e-12:
        raise AssertionError("pooling computes something else")
    seconds = medians({"pooled": partial(res.pool, X, pools), "stored": stored}, rounds=5)
    claim = "mean, std and ppv of 200 x 500, N=512, against pooling stored states by NumPy"
    report.ratio(claim, seconds["pooled"], seconds["stored"])


def closed_loop(report: Report) -> None:
    """One step of a forecast, prediction fed back."""
    y = mackey_glass(3000)[:, 0]
    for units in (128, 1024):
        model = StateForecaster(ParalESN(units=units), difference=False, standardize=False).fit(y)
        model.forecast(10)
        rounds = []
        for _ in range(9):
            start = time.perf_counter()
            model.forecast(5000)
            rounds.append((time.perf_counter() - start) / 5000 * 1e6)
        wanted = 5 if units == 128 else None
        report.value(f"closed loop, one step, N={units}", float(np.median(rounds)), "us", wanted)
