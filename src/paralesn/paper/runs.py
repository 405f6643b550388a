"""Runs, one record each; those on record are not done again.

What a run does is told by its `kind`; all else that makes it the run it is stands beside that.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from paralesn.paper import records, workers
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.protocols import classification, long_term, lra, regression, trained, ucr
from paralesn.paper.records import Record
from paralesn.paper.search import Tuned

IDENTITY = (
    "kind", "task", "model", "space", "seed", "configuration", "alpha", "units", "readout", "pool",
    "segments", "trial_cases",
)  # fmt: skip


def identity(record: Record) -> str:
    """What makes a run the same run."""
    return json.dumps([record.get(name) for name in IDENTITY], sort_keys=True)


def plan(chosen: Sequence[Tuned], seeds: int, country: str | None = None) -> list[Record]:
    """The runs wanted of chosen configurations, without their results.

    `country` is the one whose electricity is counted, where energy is measured.
    """
    wanted = []
    for one in chosen:
        kind, model = tasks()[one.task].kind, models()[one.model]
        run = {
            "kind": "trained" if model.trained else kind,
            "task": one.task,
            "model": one.model,
            "space": one.space,
            "units": model.units or tasks()[one.task].units,
            "configuration": one.configuration,
            "alpha": one.alpha,
            "validation": one.validation,  # by which reports tell configurations apart
        }
        if kind == "mnist":  # read out by a perceptron, which has no such penalty
            by = trained.settings() if model.trained else classification.settings(model, one.space)
            run |= {"alpha": None, "readout": by}
        if kind == "lra":
            run |= {"alpha": None, "readout": lra.settings(one.task)}
        if model.pool:
            run |= {"pool": list(model.pool), "segments": model.segments}
        if kind != "regression" and country is not None:
            run["country"] = country
        wanted += [run | {"seed": seed} for seed in range(seeds)]
    return wanted


def known(path: Path) -> dict[str, Record]:
    """Runs on record, by what they are; of several the last."""
    return {identity(one): one for one in records.read(path) if one.get("kind") in KINDS}


Tell = Callable[[str], Any]
Work = Callable[[Record, Path, Tell | None], Record]


def _short(function: Callable[[Record], Record]) -> Work:
    """A run that leaves nothing beside its record and has nothing to tell on its way."""
    return lambda wanted, folder, tell: function(wanted)


def _regression(wanted: Record) -> Record:
    """Train a model of the regression tables, and test it."""
    reservoir = regression.build(models()[wanted["model"]], wanted["configuration"], wanted["seed"])
    outcome = regression.measure(wanted["task"], reservoir, wanted["alpha"], wanted["seed"])
    return {
        "metric": outcome.metric,
        "metrics": outcome.metrics,
        "seconds": outcome.seconds,
        "parameters": reservoir.n_parameters_,
    }


KINDS: dict[str, Work] = {
    "regression": _short(_regression),
    "classification": _short(classification.measure),
    "mnist": _short(classification.measure),
    "trained": trained.measure,
    ucr.KIND: _short(ucr.measure),
    "lra": lambda wanted, folder, tell: lra.measure(wanted, tell),
    "lra trial": _short(lra.validate),
    "long-term": _short(long_term.measure),
    "long-term trial": _short(long_term.validate),
}
ON_ALL_CORES = ("lra", "trained")  # kinds whose runs use every core themselves


def carry_out(wanted: Record, path: Path, tell: Tell | None = None) -> Record:
    """Do one run and put it on record; `tell` hears how far a long one got."""
    found = KINDS[wanted["kind"]](wanted, path.parent, tell)
    done = wanted | found | records.surroundings()
    records.append(path, done)
    return done


def run(
    wanted: Iterable[Record], path: Path, jobs: int, progress: Callable[..., Any] | None = None
) -> list[Record]:
    """Results of all runs wanted, from the records where they are there.

    `progress` is called after each run that is done, and with a text while a long one goes on.
    """
    there = known(path)
    wanted = list(wanted)
    missing = [one for one in wanted if identity(one) not in there]
    calls = [(one, path) for one in missing]
    alone = ((i, carry_out(*call, progress)) for i, call in enumerate(calls))
    for _, done in workers.each(carry_out, calls, jobs) if missing and jobs > 1 else alone:
        there[identity(done)] = done
        if progress is not None:
            progress()
    return [there[identity(one)] for one in wanted]
