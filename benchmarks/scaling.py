"""What steps, units, series and input features cost as they grow, beside what the machine allows.

Every point is measured in a process of its own: the least time of some calls, and the most memory
it ever had. Limits of time are those of `benchmarks.limits`, measured with as many threads: the
bytes that have to be moved, or the arithmetic that has to be done, whichever takes longer. The
limit of memory is what the process had before, and its inputs and states. The figure goes to
``scaling.png`` in the folder that PARALESN_FIGURES names, or in the current one.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import limits, scaling_figure
from benchmarks.timing import Report
from paralesn import ParalESN

UNITS, STEPS = 128, 100  # of all curves but the one of units; of each of many series
SIZES = {
    "steps": [10**n for n in range(3, 9)],
    "units": [10**n for n in range(2, 7)],
    "series": [10**n for n in range(6)],
    "features": [10**n for n in range(4)],
}
TITLES = {
    "steps": "steps of one series, streamed",
    "units": "units, all states of one series",
    "series": f"series of {STEPS} steps, last states",
    "features": "input features, all states of one series",
}
_BLOCK = 1_000_000  # steps that a stream is handed at once
_STREAMED = 4096  # steps of a block of states
_STATES = 10**7  # of the curve of units
_LONG = 10_000  # steps of the curve of features
_LONG_ENOUGH = 10**10  # unit-steps that are run only once
_LEAST_SECONDS = 0.4  # of the calls of a point together


class Work(NamedTuple):
    """A call to measure."""

    call: Callable[[], Any]
    unit_steps: int
    bytes: int  # of its inputs and of its states


class Point(NamedTuple):
    """What was measured for a size, and what the machine allows."""

    cost: float  # nanoseconds for a step of a unit
    megabytes: float  # peak memory
    least_megabytes: float
    limit: float  # nanoseconds
    limited_by: str


def run() -> Report:
    """Measure every curve."""
    report = Report("Nanoseconds for a step of a unit as a job grows, float64, all cores")
    allowed = limits.measure()
    measured = {name: [_measure(name, size) for size in sizes] for name, sizes in SIZES.items()}
    allowed = allowed.least(limits.measure())  # a busy moment must not make a limit
    copied, cached = (f"{n:.3g} GB/s" for n in (16 / allowed.copy, 8 / allowed.write_cached))
    detail = f"{8 / allowed.write:.3g} GB/s; copying {copied}; writing to a block in use {cached}"
    report.value("limit: writing a float64 to memory", allowed.write, "ns", detail=detail)
    detail = f"{1 / allowed.multiply_add:.3g} thousand million a second"
    report.value("limit: multiply-add in registers", allowed.multiply_add, "ns", detail=detail)
    report.value("limit: step of a unit in registers, mixing and tanh", allowed.unit_step, "ns")
    curves = {
        name: {
            size: Point(*found, *_limit(name, size, allowed))
            for size, found in zip(sizes, measured[name], strict=True)
        }
        for name, sizes in SIZES.items()
    }
    for name, curve in curves.items():
        report.note(TITLES[name], "")
        for size, point in curve.items():
            share = f"{point.limit / point.cost:.0%} of what {point.limited_by} allows"
            memory = f"peak {point.megabytes:.0f} MB, of which {point.least_megabytes:.0f} needed"
            report.value(f"  {size:,}", point.cost, "ns", detail=f"{share}; {memory}")
    scaling_figure.draw({TITLES[name]: curve for name, curve in curves.items()})
    return report


# -- the work --------------------------------------------------------------------------------------


def work(name: str, size: int) -> Work:
    """The call of a curve at a size."""
    makers = {"steps": _stream, "units": _all_units, "series": _last, "features": _features}
    return makers[name](size)


def _stream(steps: int) -> Work:
    reservoir, x = ParalESN(units=UNITS), _uniform(min(steps, _BLOCK), 1)

    def stream() -> None:
        for _ in reservoir.stream(iter([x] * (steps // len(x)))):
            pass

    held = x.nbytes + min(steps, _STREAMED) * UNITS * 8
    return Work(stream, steps * UNITS, held)


def _all_units(units: int) -> Work:
    x = _uniform(_STATES // units, 1)
    reservoir = ParalESN(units=units).fit(x)
    return Work(lambda: reservoir.run(x), _STATES, x.nbytes + _STATES * 8)


def _last(series: int) -> Work:
    reservoir, X = ParalESN(units=UNITS), _uniform(series, STEPS, 1)
    return Work(lambda: reservoir.last(X), X.size * UNITS, X.nbytes + series * UNITS * 8)


def _features(features: int) -> Work:
    x = _uniform(_LONG, features)
    reservoir = ParalESN(units=UNITS).fit(x)
    return Work(lambda: reservoir.run(x), _LONG * UNITS, x.nbytes + _LONG * UNITS * 8)


def _limit(name: str, size: int, allowed: limits.Limits) -> tuple[float, str]:
    """The least nanoseconds for a step of a unit, and what takes them."""
    features = size if name == "features" else 1
    if name == "steps":  # blocks of states may stay in a cache
        memory, arithmetic = allowed.write_cached, allowed.unit_step
    elif name == "series":  # a weighted sum of the inputs: one multiply-add for each
        memory, arithmetic = allowed.write / STEPS, allowed.multiply_add
    else:  # two more multiply-adds for each feature but the first
        memory = allowed.write
        arithmetic = allowed.unit_step + 2 * (features - 1) * allowed.multiply_add
    return (memory, "memory") if memory > arithmetic else (arithmetic, "arithmetic")


# -- measuring -------------------------------------------------------------------------------------


def _measure(name: str, size: int) -> tuple[float, float, float]:
    """Nanoseconds, peak megabytes and those needed, of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling", name, str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["nanoseconds"], found["peak"], found["before"] + found["needed"]


def main() -> None:
    """Measure the curve and the size named on the command line."""
    for _ in range(2):  # loads what was compiled
        ParalESN(units=UNITS).run(_uniform(_STREAMED, 1))
    before = _peak()
    job = work(sys.argv[1], int(sys.argv[2]))
    if job.unit_steps < _LONG_ENOUGH:
        job.call()  # compiles what it needs
    seconds = [_timed(job.call)]
    if job.unit_steps < _LONG_ENOUGH:
        seconds += [_timed(job.call) for _ in range(2)]
    while sum(seconds) < _LEAST_SECONDS:
        seconds.append(_timed(job.call))
    print(json.dumps({"nanoseconds": min(seconds) / job.unit_steps * 1e9, "before": before,
                      "peak": _peak(), "needed": job.bytes / 1e6}))  # fmt: skip


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    result = call()
    taken = time.perf_counter() - start
    del result  # giving memory back is nobody's work here
    return taken


def _peak() -> float:
    """The most megabytes this process ever had; not ru_maxrss, which a child inherits."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def _uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, shape)


if __name__ == "__main__":
    main()
