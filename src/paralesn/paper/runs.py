"""Runs, one record each; those on record are not done again.

The `kind` of a run says which protocol does it, and how; the fields of `IDENTITY` tell runs apart.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from paralesn.paper import protocols, records, workers
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol, Tell
from paralesn.paper.records import Record

IDENTITY = (
    "kind", "task", "model", "space", "seed", "configuration", "alpha", "units", "readout", "pool",
    "segments", "trial_cases",
)  # fmt: skip
SHIPPED = "classification-records.jsonl"


def identity(record: Record) -> str:
    """A text that is the same for records of the same run."""
    return json.dumps([record.get(name) for name in IDENTITY], sort_keys=True)


def plan(protocol: Protocol, tuned: Tuned, seeds: int, country: str | None = None) -> list[Record]:
    """The runs wanted of a chosen configuration, one for each seed, without their results.

    `country` is the one whose electricity is counted, where energy is measured.
    """
    counted = protocol.measures_energy and country is not None
    energy = {"country": country} if counted else {}
    return [protocol.plan(tuned, seed) | energy for seed in range(seeds)]


def known(path: Path) -> dict[str, Record]:
    """Runs on record, by identity; the last record of each."""
    runs = (run for run in records.read(path) if isinstance(run.get("kind"), str))
    return {identity(run): run for run in runs if protocols.of_kind(run["kind"]) is not None}


@cache
def shipped() -> dict[str, Record]:
    """Runs that come with the package, by identity."""
    file = files("paralesn.paper").joinpath("data", SHIPPED)
    with as_file(file) as path:
        return {key: run | {"shipped": True} for key, run in known(path).items()}


def carry_out(wanted: Record, path: Path, tell: Tell | None = None) -> Record:
    """Do a run and put it on record; `tell` is told how far a long run got."""
    work = protocols.of_run(wanted).kinds()[wanted["kind"]]
    done = wanted | work(wanted, path.parent, tell) | records.surroundings()
    records.append(path, done)
    return done


def run(
    wanted: Iterable[Record], path: Path, jobs: int, progress: Callable[..., Any] | None = None
) -> list[Record]:
    """Results of all runs wanted, from the records where these have them.

    Runs that use every core themselves are done one by one. `progress` is called after each run
    that is done, and with a text during long ones.
    """
    recorded = known(path)
    wanted = list(wanted)
    missing = [run for run in wanted if identity(run) not in recorded]
    alone = [run for run in missing if jobs == 1 or protocols.of_run(run).uses_every_core]
    beside = [(run, path) for run in missing if run not in alone]
    for done in _each(beside, jobs, [(run, path, progress) for run in alone]):
        recorded[identity(done)] = done
        if progress is not None:
            progress()
    return [recorded[identity(run)] for run in wanted]


def _each(
    beside: Sequence[tuple[Any, ...]], jobs: int, alone: Sequence[tuple[Any, ...]]
) -> Iterable[Record]:
    """Runs as they are done: first those that share the cores, then those that take them all."""
    if beside:
        for _, done in workers.each(carry_out, beside, jobs, protocols.share()):
            yield done
    for call in alone:
        yield carry_out(*call)
