"""Time, memory and parameters of reservoirs by their size, and time by the length of a series.

The complexity analysis, scaling figure and count of parameters of the paper, as measured.
Each finished measurement is written to a JSON file at once, from which a later run continues.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import machine, save_json, versions
from paralesn.paper import records, strict_json
from paralesn.paper.studies import record_checks
from paralesn.paper.studies.complexity_child import (
    BUDGET_SECONDS,
    available_bytes,
    drawn,
    in_a_child,
    series,
    timed,
)

COUNTED_UNITS = 1024  # of the reservoirs whose parameters are counted, as in the paper
LENGTH_UNITS = 128  # of the reservoirs that run series of many lengths, as in the paper
MOST_UNITS = 1 << 24  # of a matrix that is tried to be allocated
SHORT = 0.02  # seconds; calls shorter than that are repeated within a round
LONG = 5.0  # seconds; after a series that took longer, longer ones are left out

Measurement = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A reservoir and what the paper says of it.

    Attributes
    ----------
    kind : str
        One of `complexity_child.KINDS`.
    layers : int
    parameters : str
        Parameters of the recurrence, 1 024 units and one input; empty where the paper is silent.
    step : str
        Time of a step in the number N of units.
    cost : function of N
        What `step` says, as a formula.
    sequence : str
        Time in the number T of steps.
    """

    kind: str
    layers: int
    parameters: str
    step: str
    cost: Callable[[np.ndarray], np.ndarray]
    sequence: str


MODELS = {
    "ESN": Model("ESN", 1, "1.1 M", "O(N^2)", lambda n: n**2, "O(T)"),
    "ESN (deep)": Model("ESN", 5, "9.4 M", "O(N^2)", lambda n: n**2, "O(T)"),
    "SCR": Model("SCR", 1, "", "O(N)", lambda n: n, "O(T)"),
    "Structured RC": Model(
        "StructuredRC", 1, "", "O(N log N)", lambda n: n * np.log(n), "O(T)"
    ),
    "ParalESN": Model("ParalESN", 1, "2.1 K", "O(N)", lambda n: n, "O(log T)"),
    "ParalESN (deep)": Model("ParalESN", 5, "10.2 K", "O(N)", lambda n: n, "O(log T)"),
}  # fmt: skip
BY_SIZE = ("ESN", "SCR", "Structured RC", "ParalESN")
BY_LENGTH = ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)")


@dataclass(frozen=True)
class Settings:
    """What is measured: sizes of dense and other reservoirs, of mere matrices, lengths, rounds."""

    dense: tuple[int, ...]
    structured: tuple[int, ...]
    matrices: tuple[int, ...]
    lengths: tuple[int, ...]
    rounds: int


def settings(
    largest_dense: int | None = None,
    largest: int | None = None,
    longest: int | None = None,
    rounds: int | None = None,
    quick: bool = False,
) -> Settings:
    """Sizes and lengths up to the given ones; None is a default, smaller with `quick`."""
    dense = ladder(128, 2, largest_dense or (256 if quick else 16_384))
    first = MOST_UNITS if quick else 2 * dense[-1]
    return Settings(
        dense=dense,
        structured=ladder(512 if quick else 128, 4, largest or (512 if quick else 131_072)),
        matrices=ladder(first, 2, MOST_UNITS) if available_bytes() is not None else (),
        lengths=ladder(100, 10**0.5, longest or (1000 if quick else 1_000_000)),
        rounds=rounds or (3 if quick else 5),
    )


def ladder(first: int, factor: float, last: int) -> tuple[int, ...]:
    """`first` and its multiples by powers of `factor` up to `last`; at least one of them."""
    if last <= first:
        return (last,)
    count = int(np.log(last / first) / np.log(factor) + 1e-9) + 1
    return tuple(round(first * factor**i) for i in range(count))


def tasks(wanted: Settings) -> list[Measurement]:
    """Everything to measure, the quick things first."""
    listed: list[Measurement] = [
        {"kind": "parameters", "model": name, "units": COUNTED_UNITS} for name in MODELS
    ]
    listed += [
        {"kind": "length", "model": name, "units": LENGTH_UNITS, "steps": steps}
        for name in BY_LENGTH
        for steps in wanted.lengths
    ]
    for name in BY_SIZE:
        sizes = wanted.dense if name == "ESN" else wanted.structured
        listed += [{"kind": "size", "model": name, "units": units} for units in sizes]
    listed += [{"kind": "matrix", "model": "ESN", "units": units} for units in wanted.matrices]
    return listed


def measure(task: Measurement, rounds: int) -> Measurement:
    """The measurement that `task` asks for."""
    model, units = MODELS[task["model"]], task["units"]
    if task["kind"] in ("size", "matrix"):
        return _measure_apart(task, model, rounds)
    reservoir = drawn(model.kind, units, model.layers)
    if task["kind"] == "parameters":
        return {"parameters": reservoir.n_parameters_}
    return {"seconds": _seconds_of_series(reservoir, series(task["steps"]), rounds)}


def _measure_apart(task: Measurement, model: Model, rounds: int) -> Measurement:
    """Measure memory, and time per step, in a process of its own."""
    _compile(model.kind)
    units, limit = task["units"], available_bytes()
    outcome = {"matrix_bytes": 8 * units**2} if model.kind == "ESN" else {}
    work = {"kind": model.kind, "units": units, "rounds": rounds}
    if task["kind"] == "matrix":
        work = {"bytes": outcome["matrix_bytes"]}
    return outcome | {"limit_bytes": limit} | in_a_child(work, limit)


def _seconds_of_series(reservoir: Any, x: np.ndarray, rounds: int) -> list[float]:
    """Seconds of a run through the series, one for each round; short runs are repeated."""

    def run(calls: int) -> None:
        for _ in range(calls):
            for _ in reservoir.stream(x):  # all states, block by block
                pass

    reservoir.run(x[:100])  # compile
    (once,) = timed(partial(run, 1), 1)
    if once > BUDGET_SECONDS:
        return [once]
    calls = max(1, round(SHORT / once))
    return [total / calls for total in timed(partial(run, calls), rounds)]


@cache
def _compile(kind: str) -> None:
    """Compile here, not in child processes: the compiler's memory is not the reservoir's."""
    drawn(kind, 512).last(series(100))
    drawn(kind, 512).run(series(100))


def collect(
    wanted: Settings,
    path: Path,
    fresh: bool = False,
    report: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> tuple[dict[str, Any], int]:
    """Measure what `path` does not hold yet; the record, and how many measurements are older.

    Measurements made with other versions, on another machine or with other rounds are replaced;
    those of sizes that are not wanted now are kept. No size is tried beyond the first that ran out
    of memory, and no length beyond the first that took `LONG`.

    Parameters
    ----------
    wanted : Settings
    path : Path
        The JSON file, rewritten after every measurement.
    fresh : bool
        Measure everything anew.
    report : function (what, done, total)
        Called before each measurement.
    """
    record: dict[str, Any] = {
        "experiment": "complexity",
        "versions": versions(),
        "machine": machine(),
        "rounds": wanted.rounds,
    }
    measurements: list[Measurement] = [] if fresh else _earlier(path, record)
    known = {_key(measurement) for measurement in measurements}
    record["measurements"], taken = measurements, len(measurements)
    todo = tasks(wanted)
    for done, task in enumerate(todo):
        if _key(task) in known or _pointless(task, measurements):
            continue
        steps = f", {task['steps']:,} steps" if "steps" in task else ""
        report(f"{task['kind']}: {task['model']}, {task['units']:,} units{steps}", done, len(todo))
        measurements.append(task | measure(task, wanted.rounds))
        save_json(record, path)
    report("done", len(todo), len(todo))
    return record, taken


def read(path: Path) -> dict[str, Any]:
    """The record in a file, checked to be one; damaged measurements are passed over."""
    intact: dict[str, Any] | None = None
    reasons: list[str] = []
    with suppress(ValueError, KeyError, TypeError):
        record = strict_json.parse(path.read_bytes())
        if record["experiment"] == "complexity":
            intact, reasons = record_checks.experiment(record)
    if intact is None:
        raise ValueError(": ".join([f"{path} does not hold measurements of complexity", *reasons]))
    if reasons:
        records.warn_of(path, reasons)
    return intact


def _earlier(path: Path, record: dict[str, Any]) -> list[Measurement]:
    """Measurements in the file that were made as those of `record` would be."""
    if not path.exists():
        return []
    before = read(path)
    same = all(before.get(name) == record[name] for name in ("versions", "machine", "rounds"))
    return list(before["measurements"]) if same else []


def _key(task: Measurement) -> tuple[Any, ...]:
    return tuple(task.get(name) for name in ("kind", "model", "units", "steps"))


def _pointless(task: Measurement, measurements: Sequence[Measurement]) -> bool:
    """Whether a smaller size already ran out of memory, or a shorter series took too long."""
    same = [known for known in measurements if known["model"] == task["model"]]
    if task["kind"] == "length":
        return any(min(known["seconds"]) > LONG for known in same if known["kind"] == "length")
    return task["kind"] in ("size", "matrix") and any(
        known.get("out_of_memory") and known["units"] <= task["units"] for known in same
    )


# -- what follows from the measurements --------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """An exponent, and the range of x it holds for."""

    exponent: float
    low: int
    high: int


def fit_exponent(x: Sequence[float], y: Sequence[float]) -> Fit | None:
    """Slope of log y over log x by least squares, in the larger half of x, at least two of them.

    In the smaller half the fixed cost of a call may hide the trend.
    """
    order = np.argsort(x)[len(x) // 2 - (len(x) == 2) :]
    if order.size < 2:
        return None
    log_x, log_y = np.log(np.take(x, order)), np.log(np.take(y, order))
    slope = float(np.polyfit(log_x, log_y, 1)[0])
    return Fit(slope, int(np.take(x, order[0])), int(np.take(x, order[-1])))


def curve(record: dict[str, Any], kind: str, model: str, x: str, y: str) -> dict[int, float]:
    """Values `y` (the median, of rounds) by `x`, ascending, of one model."""
    values = {
        measured[x]: measured[y]
        for measured in record["measurements"]
        if (measured["kind"], measured["model"]) == (kind, model) and measured.get(y) is not None
    }
    return {at: float(np.median(values[at])) for at in sorted(values)}


def out_of_memory(record: dict[str, Any], model: str = "ESN") -> Measurement | None:
    """The smallest size that did not fit."""
    failed = [
        measured
        for measured in record["measurements"]
        if measured["model"] == model and measured.get("out_of_memory")
    ]
    return min(failed, key=lambda measured: measured["units"]) if failed else None
