"""One reservoir in a process of its own: peak memory, time, and whether it fits."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from paralesn.layers.operators import Dense, Identity
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.reservoirs import esn, structured
from paralesn.reservoirs import paralesn as diagonal

KINDS = {
    "ESN": esn.ESN,
    "SCR": structured.SCR,
    "StructuredRC": structured.StructuredRC,
    "ParalESN": diagonal.ParalESN,
}
SEARCHED = 4096  # most units of a matrix whose spectral radius is searched for
STEPS = 100  # of the run whose memory is measured
ROUND_SECONDS = 0.05  # a round of a time measurement is at least this long, or
ROUND_NUMBERS = 1 << 22  # its states hold this many numbers
BUDGET_SECONDS = 1.0  # after which no further round is begun


def available_bytes() -> int | None:
    """Memory that is free on the machine now; None where the system does not say."""
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def allowed_bytes(limit: int) -> int | None:
    """What a process may take: the limit, or what is free where that is less; None as above."""
    available = available_bytes()
    return None if available is None else min(limit, available)


def in_a_child(
    work: dict[str, Any], limit: int | None, x: np.ndarray | None = None
) -> dict[str, Any]:
    """Do `work` (see `main`) in a new process with `limit` bytes on top of what it starts with.

    Running out of memory is an outcome: ``{"out_of_memory": True}``. That is a MemoryError, or a
    system that killed the process. A batch of series `x` is handed over in a file.
    """
    with TemporaryDirectory() as folder:
        if x is not None:
            path = Path(folder) / "series.npy"
            np.save(path, x)
            work = work | {"series": str(path)}
        command = [sys.executable, "-m", __name__, json.dumps(work | {"limit": limit})]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        result: dict[str, Any] = json.loads(done.stdout)
        return result
    if os.name == "posix" and done.returncode == -Signals.SIGKILL:
        return {"out_of_memory": True}
    reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise RuntimeError(f"measuring {work} failed: {reason}")


def main(argument: str) -> None:
    """Print a measurement as JSON: of `bytes` that are allocated, or of a reservoir.

    The reservoir (kind, units, rounds) reads the `series` of a file, or what is drawn at random.
    """
    work = json.loads(argument)
    _volunteer()
    if "bytes" in work:
        outcome = _within(work["limit"], lambda: {"first": int(_allocated(work["bytes"])[0])})
        outcome.pop("first", None)
    else:
        outcome = _of_a_reservoir(work)
    print(json.dumps(outcome))


def _of_a_reservoir(work: dict[str, Any]) -> dict[str, Any]:
    """Compile, or load what was compiled; then measure within the limit."""
    kind, units, rounds = (work[name] for name in ("kind", "units", "rounds"))
    measure: Callable[[int | None], dict[str, Any]]
    if "series" in work:
        x = np.load(work["series"])
        drawn(kind, 8).last(x)
        measure = partial(_measured_on, x, kind, units, rounds)
    else:
        drawn(kind, 8).last(series(STEPS))
        drawn(kind, 8).run(series(STEPS))
        measure = partial(_measured, kind, units, rounds)
    base = _peak_bytes()
    return _within(work["limit"], lambda: measure(base))


def _within(limit: int | None, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Outcome of `work` with `limit` more bytes, or that they were not enough."""
    if limit is not None:
        import resource

        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + limit, mapped + limit))
    try:
        return work() | {"out_of_memory": False}
    except MemoryError:
        return {"out_of_memory": True}


def _volunteer() -> None:
    """Ask the system, should it have to kill a process, for this one."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        return


def _allocated(size: int) -> np.ndarray:
    """Memory that was not touched but for its first byte: quick, whatever its size."""
    memory = np.empty(size, np.uint8)
    memory[0] = 1
    return memory


def drawn(kind: str, units: int, layers: int = 1) -> Any:
    """A reservoir for one input.

    Searching for the spectral radius of a large matrix takes minutes, and changes neither the time
    of a step nor the size of the matrix: for large ones the circular law gives it, nearly.
    """
    if kind != "ESN" or units <= SEARCHED:
        return KINDS[kind](units=units, layers=layers).fit(np.zeros((1, 1)))
    rng = np.random.default_rng(0)
    matrix = rng.uniform(-1, 1, (units, units))
    matrix *= 0.9 * np.sqrt(3 / units)
    layer = RecurrentLayer(
        recurrent=Dense(matrix),
        w_in=rng.uniform(-1, 1, (units, 1)),
        bias=np.zeros(units),
        branch=Identity(units, 0.0),
        gain=1.0,
    )
    return esn.ESN.from_layers([layer])


def _measured(kind: str, units: int, rounds: int, base: int | None) -> dict[str, Any]:
    """Draw, run keeping the last states, then all states, then time runs that keep all states."""
    start = time.perf_counter()
    reservoir = drawn(kind, units)
    seconds_to_draw = time.perf_counter() - start
    reservoir.last(series(STEPS))
    peak = _peak_bytes()
    beyond = _recurrence_bytes(reservoir)
    steps, seconds = seconds_per_step(reservoir, units, rounds)
    return {
        "draw_seconds": seconds_to_draw,
        "peak_bytes": None if peak is None or base is None else peak - base,
        "process_bytes": base,
        "parameters": reservoir.n_parameters_,
        "parameter_bytes": sum(map(held_bytes, reservoir.layers_)),
        "recurrence_bytes": beyond,
        "round_steps": steps,
        "seconds_per_step": seconds,
    }


def _measured_on(
    x: np.ndarray, kind: str, units: int, rounds: int, base: int | None
) -> dict[str, Any]:
    """Draw, then time runs through a batch of series that keep the last states."""
    reservoir = drawn(kind, units)
    seconds = timed(partial(reservoir.last, x), rounds)
    peak = _peak_bytes()
    return {
        "peak_bytes": None if peak is None or base is None else peak - base,
        "process_bytes": base,
        "parameters": reservoir.n_parameters_,
        "parameter_bytes": sum(map(held_bytes, reservoir.layers_)),
        "seconds": seconds,
    }


def _recurrence_bytes(reservoir: Any) -> int | None:
    """Most memory that a run keeping all states takes beside parameters, inputs and outputs.

    A reservoir from the same layers, for the first run of one arranges its parameters anew. None
    where the system does not let the peak be forgotten.
    """
    fresh, x = type(reservoir).from_layers(reservoir.layers_), series(STEPS)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak becomes what is resident now
    except OSError:
        return None
    before = _peak_bytes()
    states, _ = fresh.run(x)
    after = _peak_bytes()
    return None if before is None or after is None else max(0, after - before - states.nbytes)


def series(steps: int) -> np.ndarray:
    """Inputs (steps, 1), uniform on [-1, 1]."""
    return np.random.default_rng(0).uniform(-1, 1, (steps, 1))


def seconds_per_step(reservoir: Any, units: int, rounds: int) -> tuple[int, list[float]]:
    """Steps in a round, enough to be measured, and seconds per step in each round."""
    steps = 8
    while True:
        x = series(steps)
        (once,) = timed(partial(reservoir.run, x), 1)
        if once >= ROUND_SECONDS or steps * units >= ROUND_NUMBERS:
            break
        steps *= 2
    return steps, [seconds / steps for seconds in timed(partial(reservoir.run, x), rounds)]


def timed(call: Callable[[], Any], rounds: int) -> list[float]:
    """Seconds of at most `rounds` calls; none begins after the budget is spent."""
    seconds: list[float] = []
    while len(seconds) < rounds and sum(seconds) < BUDGET_SECONDS:
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
        del result  # freeing memory is not timed
    return seconds


def held_bytes(layer: Any) -> int:
    """Bytes of the arrays that a drawn layer holds."""
    if isinstance(layer, np.ndarray):
        return layer.nbytes
    if is_dataclass(layer):
        return sum(held_bytes(getattr(layer, field.name)) for field in fields(layer))
    return 0


def _peak_bytes() -> int | None:
    """Peak resident memory; not ru_maxrss, which a child inherits from its parent."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


if __name__ == "__main__":
    main(sys.argv[1])
