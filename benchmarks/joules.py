"""Joules of a piece of work: counted by the processor where it can be read, otherwise estimated.

In this order: the processor's own counters (RAPL), which count everything that runs on it;
CodeCarbon, where it is installed; or the process's CPU seconds times `WATTS` of a core.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from paralesn.paper import energy

WATTS = 10.0  # of a busy core, for estimates: a server's 100 to 300 W by its 16 to 64 cores or so
_COUNTERS = Path("/sys/class/powercap")
_LEAST_SECONDS = 2.0  # a counter moves every millisecond, CodeCarbon needs about a second


class Spent(NamedTuple):
    """Of one call."""

    joules: float
    seconds: float
    how: str


def measure(call: Callable[[], Any]) -> Spent:
    """Joules and seconds of a call, which is made again until it has taken long enough."""
    before, cpu, start, calls = _counted(), time.process_time(), time.perf_counter(), 0
    with energy.measured() as tracked:
        while calls == 0 or time.perf_counter() - start < _LEAST_SECONDS:
            call()
            calls += 1
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        after = _counted()
    if before and before.keys() == after.keys():
        joules = sum(_difference(name, before[name], after[name]) for name in before)
        how = "counted by the processor (RAPL), all that ran on it"
    elif tracked:
        joules = tracked["kwh"] * 3.6e6
        how = f"{tracked['by']}{', an estimate' * tracked['estimate']}"
    else:
        joules = cpu * WATTS
        how = f"an ESTIMATE: CPU seconds times {WATTS:g} W a core"
    return Spent(joules / calls, seconds / calls, how)


def _counted() -> dict[Path, int]:
    """Microjoules that every processor package has used, where they may be read."""
    try:
        return {
            folder: int((folder / "energy_uj").read_text())
            for folder in sorted(_COUNTERS.glob("intel-rapl:*"))
            if folder.name.count(":") == 1  # what is below a package is part of it
        }
    except OSError:  # not for everyone to read
        return {}


def _difference(folder: Path, before: int, after: int) -> float:
    """Joules between two readings of a counter, which begins anew at its end."""
    if after < before:
        after += int((folder / "max_energy_range_uj").read_text())
    return (after - before) / 1e6
