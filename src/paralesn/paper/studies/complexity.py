"""Time, memory and parameters of reservoirs by their size, and time by the length of a series.

The complexity analysis, both halves of the scaling figure and the count of parameters of the paper,
as measured. No process is given more memory than the limit of the settings.
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
from paralesn.paper.studies import complexity_digits, record_checks
from paralesn.paper.studies.complexity_child import (
    BUDGET_SECONDS,
    allowed_bytes,
    available_bytes,
    drawn,
    in_a_child,
    series,
    timed,
)
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS, ON_DIGITS, Model

COUNTED_UNITS = 1024  # of the reservoirs whose parameters are counted, as in the paper
LENGTH_UNITS = 128  # of the reservoirs that run series of many lengths, as in the paper
MOST_UNITS = 1 << 24  # of a matrix that is tried to be allocated
SHORT = 0.02  # seconds; calls shorter than that are repeated within a round
LONG = 5.0  # seconds; after a series that took longer, longer ones are left out
LONG_DIGITS = 300.0  # seconds; after digits that took longer, a size is tried only if it cannot fit
LIMIT = 8 << 30  # bytes that a process may take, unless another limit is asked for

Measurement = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What is measured, and how.

    Attributes
    ----------
    dense, structured, matrices : tuple of int
        Units of dense and of other reservoirs, and of mere matrices that are allocated.
    lengths : tuple of int
        Steps of series.
    digits : tuple of int
        Units of reservoirs that read a batch of digits; dense ones end where memory does.
    rounds : int
        Medians are over so many.
    limit : int
        Bytes that a process may take.
    series : str
        What the batch of digits is: one of `complexity_digits.SERIES`.
    """

    dense: tuple[int, ...]
    structured: tuple[int, ...]
    matrices: tuple[int, ...]
    lengths: tuple[int, ...]
    digits: tuple[int, ...]
    rounds: int
    limit: int = LIMIT
    series: str = complexity_digits.MNIST


def settings(
    largest_dense: int | None = None,
    largest: int | None = None,
    longest: int | None = None,
    rounds: int | None = None,
    quick: bool = False,
    limit: int = LIMIT,
    series: str | None = complexity_digits.MNIST,
) -> Settings:
    """Sizes and lengths up to the given ones; None is a default, smaller with `quick`.

    Without a `series` no digits are read.
    """
    dense = ladder(128, 2, largest_dense or (256 if quick else 16_384))
    first = MOST_UNITS if quick else 2 * dense[-1]
    return Settings(
        dense=dense,
        structured=ladder(512 if quick else 128, 4, largest or (512 if quick else 131_072)),
        matrices=ladder(first, 2, MOST_UNITS) if available_bytes() is not None else (),
        lengths=ladder(100, 10**0.5, longest or (1000 if quick else 1_000_000)),
        digits=() if series is None else ladder(128, 4, 512 if quick else 1 << 25),
        rounds=rounds or (3 if quick else 5),
        limit=limit,
        series=series or complexity_digits.MNIST,
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
        for name in dict.fromkeys((*BY_LENGTH, *BY_SIZE))
        for steps in wanted.lengths
    ]
    for name in BY_SIZE:
        sizes = wanted.dense if name == "ESN" else wanted.structured
        listed += [{"kind": "size", "model": name, "units": units} for units in sizes]
    listed += [{"kind": "matrix", "model": "ESN", "units": units} for units in wanted.matrices]
    listed += [
        {
            "kind": "digits",
            "model": name,
            "units": units,
            "series": wanted.series,
            "steps": complexity_digits.PIXELS,
        }
        for name in ON_DIGITS
        for units in wanted.digits
    ]
    return listed


def measure(task: Measurement, wanted: Settings) -> Measurement:
    """The measurement that `task` asks for."""
    model, units, rounds = MODELS[task["model"]], task["units"], wanted.rounds
    if task["kind"] == "digits":
        return complexity_digits.measure(model.kind, units, task["series"], rounds, wanted.limit)
    if task["kind"] in ("size", "matrix"):
        return _measure_apart(task, model, wanted)
    reservoir = drawn(model.kind, units, model.layers)
    if task["kind"] == "parameters":
        return {"parameters": reservoir.n_parameters_}
    return {"seconds": _seconds_of_series(reservoir, series(task["steps"]), rounds)}


def _measure_apart(task: Measurement, model: Model, wanted: Settings) -> Measurement:
    """Measure memory, and time per step, in a process of its own."""
    _compile(model.kind)
    units, limit = task["units"], allowed_bytes(wanted.limit)
    outcome = {"matrix_bytes": 8 * units**2} if model.kind == "ESN" else {}
    work = {"kind": model.kind, "units": units, "rounds": wanted.rounds}
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

    Measurements made with other versions, on another machine, with other rounds or another limit
    are replaced, those of other digits, too; those of sizes that are not wanted now are kept. No
    size is tried beyond the first that ran out of memory, and no length beyond the first that took
    `LONG`.

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
        "limit_bytes": wanted.limit,
        "series": wanted.series,
    }
    measurements: list[Measurement] = [] if fresh else _earlier(path, record)
    known = {_key(measurement) for measurement in measurements}
    record["measurements"], taken = measurements, len(measurements)
    todo = tasks(wanted)
    for done, task in enumerate(todo):
        if _key(task) in known or _pointless(task, measurements, wanted):
            continue
        steps = f", {task['steps']:,} steps" if "steps" in task else ""
        report(f"{task['kind']}: {task['model']}, {task['units']:,} units{steps}", done, len(todo))
        measurements.append(task | measure(task, wanted))
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
    names = ("versions", "machine", "rounds", "limit_bytes")
    if any(before.get(name) != record[name] for name in names):
        return []
    series = record["series"]
    return [m for m in before["measurements"] if m.get("series", series) == series]


def _key(task: Measurement) -> tuple[Any, ...]:
    return tuple(task.get(name) for name in ("kind", "model", "units", "steps"))


def _pointless(task: Measurement, measurements: Sequence[Measurement], wanted: Settings) -> bool:
    """Whether a smaller size already ran out of memory, or a smaller task took too long."""
    same = [known for known in measurements if known["model"] == task["model"]]
    if task["kind"] == "length":
        return any(min(known["seconds"]) > LONG for known in same if known["kind"] == "length")
    if task["kind"] == "digits":
        return complexity_digits.is_pointless(
            MODELS[task["model"]].kind, task["units"], same, wanted.limit, LONG_DIGITS
        )
    return task["kind"] in ("size", "matrix") and any(
        known.get("out_of_memory") and known["units"] <= task["units"]
        for known in same
        if known["kind"] in ("size", "matrix")
    )
