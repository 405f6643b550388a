"""Features of thousands of series: time per unit and step, whole datasets, peak memory.

Needs the benchmark files (PARALESN_DATA). Every measurement has a process of its own:
``python -m benchmarks.features WORK THREADS`` prints its seconds and the peak of its memory.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Report
from paralesn import ParalESN, datasets

_FORD = 4921 * 500 * 1024  # series, steps, units
_ROUNDS = 3


def run() -> Report:
    """Measure features of FordA and of all MNIST digits."""
    report = Report("Features of whole datasets, 1 024 units, float32")
    if _absent("forda", "smnist"):
        report.note("all claims", "skipped: FordA and MNIST are not in PARALESN_DATA")
        return report
    one, two = (measure("forda", threads) for threads in (1, 2))
    nanoseconds = one["seconds"] / _FORD * 1e9
    claim = "FordA (4 921 x 500), mean and std, one thread: per unit and step"
    detail = f"{one['seconds']:.3g} s; two threads {two['seconds']:.3g} s; {_peak(one)}"
    report.value(claim, nanoseconds, "ns", 1.5, detail)
    last = measure("last", 2)
    claim = "MNIST (70 000 x 784), last states: matrix products, two threads"
    report.value(claim, last["seconds"], "s", 10.0, _peak(last))
    deep = measure("deep", 2)
    claim = "MNIST, last states of 5 layers, concatenated, two threads"
    report.value(claim, deep["seconds"] / 60, "min", 5.0, _peak(deep))
    worst = max(found["peak"] for found in (one, two, last, deep))
    report.value("peak memory of any of these", worst / 1e9, "GB", 4.0)
    return report


def _peak(found: dict[str, float]) -> str:
    return f"peak {found['peak'] / 1e9:.2f} GB, of which data and start {found['base'] / 1e9:.2f}"


def _absent(*names: str) -> bool:
    try:
        for name in names:
            datasets.load(name, download=False)
    except datasets.MissingFileError:
        return True
    return False


def measure(work: str, threads: int) -> dict[str, float]:
    """Do some work in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.features", work, str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _work(name: str, threads: int) -> tuple[Callable[[], Any], int]:
    """A call to be timed, and how often."""
    found: Any = datasets.load("forda" if name == "forda" else "smnist")
    X = np.concatenate([found.X_train, found.X_test]).astype(np.float32)
    layers: dict[str, Any] = {"layers": 5, "concat": True} if name == "deep" else {}
    reservoir = ParalESN(units=1024, rho=(0.5, 0.999), dtype="float32", n_jobs=threads, **layers)
    reservoir.fit(X[:1])
    if name == "forda":
        reservoir.pool(X[:64], ("mean", "std"))
        return lambda: reservoir.pool(X, ("mean", "std")), _ROUNDS
    reservoir.last(X[:64])
    return lambda: reservoir.last(X), 1 if name == "deep" else _ROUNDS


def main() -> None:
    """Measure the work named on the command line: the fastest of its rounds."""
    call, rounds = _work(sys.argv[1], int(sys.argv[2]))
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": min(seconds), "base": base, "peak": peak}))


if __name__ == "__main__":
    main()
