"""Speed of the echo state network, and of ParalESN against it."""

from functools import partial

import numpy as np

from benchmarks.contestant import race
from benchmarks.timing import Report, medians
from paralesn import (
    ES2N,
    ESN,
    NVAR,
    SCR,
    ContinuousESN,
    ParalESN,
    PlasticESN,
    ResESN,
    StructuredRC,
)


def run() -> Report:
    """Measure every claim about the other reservoirs."""
    report = Report("Recurrent reservoirs, one input feature, float64")
    against_reservoirpy(report)
    against_esn(report)
    threads(report)
    others(report)
    structured(report)
    return report


def against_reservoirpy(report: Report) -> None:
    """Our ESN against reservoirpy's: dense, and with the density that it has by default."""
    for density in (1.0, 0.1):
        for units, series, steps in (
            (128, 1, 5000),
            (1024, 1, 500),
            (128, 64, 500),
            (1024, 64, 50),
        ):
            names = ("our ESN", "their ESN")
            seconds = race(names, units, steps, rounds=3, series=series, density=density)
            shape = f"{series} series of {steps} steps" if series > 1 else f"{steps} steps"
            claim = f"ESN N={units}, {shape}, density {density:g}, against reservoirpy"
            wanted = 5 if units == 128 and series == 1 else None
            report.ratio(claim, seconds["our ESN"], seconds["their ESN"], wanted)


def against_esn(report: Report) -> None:
    """ParalESN against our own ESN."""
    cases = ((128, 1, 5000), (128, 64, 500), (1024, 1, 1000), (1024, 64, 100), (8192, 1, 50))
    for units, series, steps in cases:
        seconds = race(("our ParalESN", "our ESN"), units, steps, rounds=5, series=series)
        shape = f"{series} series of {steps} steps" if series > 1 else f"{steps} steps"
        claim = f"ParalESN N={units}, {shape}, against our own ESN"
        report.ratio(claim, seconds["our ParalESN"], seconds["our ESN"])


def others(report: Report) -> None:
    """NVAR, ES2N and the plastic ESN against reservoirpy's, one series of three features."""
    for kind, units, size in (
        ("NVAR", 2, "2 delays"), ("NVAR", 10, "10 delays"), ("ES2N", 128, "N=128"),
        ("ES2N", 1024, "N=1024"), ("PlasticESN", 128, "N=128"), ("PlasticESN", 1024, "N=1024"),
    ):  # fmt: skip
        steps = 500 if units == 1024 else 5000
        seconds = race((f"our {kind}", f"their {kind}"), units, steps, rounds=3)
        claim = f"{kind} {size}, {steps} steps, against reservoirpy"
        report.ratio(claim, seconds[f"our {kind}"], seconds[f"their {kind}"])


def threads(report: Report) -> None:
    """Two threads against one."""
    rng = np.random.default_rng(0)
    for units, series, steps in ((128, 64, 500), (1024, 64, 50), (1024, 1, 500)):
        X = rng.uniform(-1, 1, (series, steps, 1))
        contestants = {
            name: partial(ESN(units=units, n_jobs=n).fit(X).run, X)
            for name, n in (("one", 1), ("two", 2))
        }
        seconds = medians(contestants, rounds=9)
        claim = f"ESN N={units}, {series} series: two threads against one"
        report.ratio(claim, seconds["two"], seconds["one"])


def structured(report: Report) -> None:
    """Time of a step of the others, on one thread, and of a hundred thousand units."""
    x = np.random.default_rng(0).uniform(-1, 1, (2000, 1))
    makers = {"ParalESN": ParalESN, "SCR": SCR, "StructuredRC": StructuredRC, "ESN": ESN,
              "ResESN": ResESN, "ES2N": ES2N, "ContinuousESN": ContinuousESN,
              "PlasticESN": PlasticESN}  # fmt: skip
    for units in (128, 1024):
        runs = {
            name: partial(make(units=units, n_jobs=1).fit(x).run, x)
            for name, make in makers.items()
        }
        for name, seconds in medians(runs, rounds=5).items():
            report.value(f"one step of {name}, N={units}, one thread", seconds / len(x) * 1e6, "us")
    for delays in (2, 20):
        nvar = NVAR(delays, n_jobs=1).fit(x)
        seconds = medians({"nvar": partial(nvar.run, x)}, rounds=5)["nvar"]
        claim = f"one step of NVAR, {nvar.n_features_out_} products, one thread"
        report.value(claim, seconds / len(x) * 1e6, "us")
    large = StructuredRC(units=100_000).fit(x)
    seconds = medians({"large": partial(large.last, x[:50])}, rounds=5)["large"]
    report.value("one step of StructuredRC, N=100000", seconds / 50 * 1e3, "ms")
