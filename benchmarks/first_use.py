"""What a user waits for at first use, when kernels are compiled, and in every process after it.

Machines compile at different speeds. So the first use is printed as a multiple of the time that
Numba takes, on the same machine and in the same run, to compile one fixed function (`_REFERENCE`).
Both are processor seconds of fresh processes with an empty cache, after the imports that nobody can
avoid (`_BASE`); the smallest of some rounds counts. `_USES` holds the multiples of an earlier
version (commit 96ee8df), measured by `cold_and_warm` with that version's `src` as PYTHONPATH:

=============================  ======
forecaster: fit and forecast   1.54
classifier: fit and predict    2.08
ESN: run                       2.64
regressor: fit                 1.71
=============================  ======

A third of each is wanted.
"""

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.timing import Report

_ROUNDS = 3
_BASE = "import numba, sklearn.base"
_USES = {  # what is done, and its multiple in the table above
    "forecaster: fit and forecast": ("pe.ReservoirForecaster().fit(y).forecast(24)", 1.54),
    "classifier: fit and predict": ("pe.ReservoirClassifier().fit(X, labels).predict(X)", 2.08),
    "ESN: run": ("pe.ESN().run(y)", 2.64),
    "regressor: fit": ("pe.ReservoirRegressor().fit(y[:-1, None], y[1:])", 1.71),
}
_PROGRAM = """
import time
import numpy as np
rng = np.random.default_rng(0)
y = np.sin(np.arange(400) / 9) + 0.1 * rng.normal(size=400)
X, labels = rng.normal(size=(30, 100)), np.arange(30) % 3
start = time.perf_counter()
{base}
based, begun = time.perf_counter(), time.process_time()
{work}
print(based - start, time.perf_counter() - based, time.process_time() - begun)
"""
_REFERENCE = """
import math

def run(x, weights, states):
    h = np.zeros(weights.shape[0])
    for t in range(x.shape[0]):
        drive = weights[:, 0] * x[t]
        for i in range(weights.shape[0]):
            total = drive[i]
            for j in range(weights.shape[1]):
                total += weights[i, j] * h[j]
            states[t, i] = math.tanh(total)
        h[:] = states[t]
    return states.sum()

numba.njit(run)(y, np.ones((8, 8)), np.ones((400, 8)))
"""


def run() -> Report:
    """Measure the first use and the second, each in processes of its own."""
    report = Report("First use: compilation, imports, help")
    cold_and_warm(report)
    import_and_run(report)
    show_help(report)
    return report


def cold_and_warm(report: Report) -> None:
    """With an empty cache of kernels, beside the reference, and with the cache that this filled."""
    reference, cold, warm = [], dict[str, list[float]](), dict[str, list[float]]()
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            reference.append(_seconds(_REFERENCE, folder)[2])
        for claim, (work, _) in _USES.items():
            work = "import paralesn as pe\n" + work
            with tempfile.TemporaryDirectory() as folder:
                cold.setdefault(claim, []).append(_seconds(work, folder)[2])
                warm.setdefault(claim, []).append(_seconds(work, folder)[2])
    unit = min(reference)
    for claim, (_, before) in _USES.items():
        first, second = min(cold[claim]), min(warm[claim])
        detail = f"{first:.2f} s against {unit:.2f} s; {second:.2f} s in a second process"
        below = round(before / 3, 2)
        report.value(
            f"{claim}, empty cache, against one function", first / unit, "x", below, detail
        )


def import_and_run(report: Report) -> None:
    """Import and first run with a filled cache, beside the imports that nobody can avoid."""
    ratios, details = [], []
    work = "import paralesn as pe\npe.ParalESN().run([0.0] * 10)"
    with tempfile.TemporaryDirectory() as folder:
        _seconds(work, folder)
        for _ in range(2 * _ROUNDS - 1):
            base, own, _ = _seconds(work, folder)
            ratios.append((base + own) / base)
            details.append((base, own))
    base, own = (statistics.median(part) for part in zip(*details, strict=True))
    report.value(
        f"import and first run in a second process, against {_BASE!r}",
        statistics.median(ratios), "x", 1.2, f"{base + own:.2f} s against {base:.2f} s",
    )  # fmt: skip


def show_help(report: Report) -> None:
    """`paralesn --help`, the interpreter included."""
    program = f"""
import subprocess, sys, time
start = time.perf_counter()
subprocess.run([{sys.executable!r}, "-m", "paralesn", "--help"], check=True, capture_output=True)
print(time.perf_counter() - start)
"""
    seconds = [float(_output(program, None)) for _ in range(2 * _ROUNDS - 1)]
    report.value("paralesn --help", statistics.median(seconds), "s")


def _seconds(work: str, folder: str) -> tuple[float, float, float]:
    """Seconds of the unavoidable imports and of `work` after them, and its processor seconds."""
    base, own, busy = _output(_PROGRAM.format(base=_BASE, work=work), folder).split()
    return float(base), float(own), float(busy)


def _output(program: str, folder: str | None) -> str:
    environment = dict(os.environ) if folder is None else os.environ | {"NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout
