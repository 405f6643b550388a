"""What a user waits for at first use, when kernels are compiled, and in every process after it."""

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.timing import Report

_ROUNDS = 3
_BASE = "import numba, sklearn.base"
_USES = {  # what is done, and seconds it once took, on another day: a third is wanted
    "forecaster: fit and forecast": ("pe.ReservoirForecaster().fit(y).forecast(24)", 8.0),
    "classifier: fit and predict": ("pe.ReservoirClassifier().fit(X, labels).predict(X)", 8.6),
    "ESN: run": ("pe.ESN().run(y)", 11.5),
    "regressor: fit": ("pe.ReservoirRegressor().fit(y[:-1, None], y[1:])", None),
}
_PROGRAM = """
import time
import numpy as np
rng = np.random.default_rng(0)
y = np.sin(np.arange(400) / 9) + 0.1 * rng.normal(size=400)
X, labels = rng.normal(size=(30, 100)), np.arange(30) % 3
start = time.perf_counter()
{base}
based = time.perf_counter()
import paralesn as pe
{work}
print(based - start, time.perf_counter() - based)
"""


def run() -> Report:
    """Measure the first use and the second, each in processes of its own."""
    report = Report("First use: compilation, imports, help")
    for claim, (work, before) in _USES.items():
        cold_and_warm(report, claim, work, before)
    import_and_run(report)
    show_help(report)
    return report


def cold_and_warm(report: Report, claim: str, work: str, before: float | None) -> None:
    """With an empty cache of kernels, then with the one that this filled."""
    cold, warm = [], []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_seconds(work, folder)[1])
            warm.append(_seconds(work, folder)[1])
    first, second = statistics.median(cold), statistics.median(warm)
    below = None if before is None else round(before / 3, 2)
    detail = f"{second:.2f} s in a second process; both after {_BASE!r}"
    report.value(f"{claim}, empty cache", first, "s", below, detail)


def import_and_run(report: Report) -> None:
    """Import and first run with a filled cache, beside the imports that nobody can avoid."""
    ratios, details = [], []
    with tempfile.TemporaryDirectory() as folder:
        _seconds("pe.ParalESN().run([0.0] * 10)", folder)
        for _ in range(2 * _ROUNDS - 1):
            base, own = _seconds("pe.ParalESN().run([0.0] * 10)", folder)
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


def _seconds(work: str, folder: str) -> tuple[float, float]:
    """Seconds of the unavoidable imports, and of `import paralesn` and `work` after them."""
    base, own = _output(_PROGRAM.format(base=_BASE, work=work), folder).split()
    return float(base), float(own)


def _output(program: str, folder: str | None) -> str:
    environment = dict(os.environ) if folder is None else os.environ | {"NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout
