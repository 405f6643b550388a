"""Configurations chosen for other tasks, for a task that no search has had the data of.

When such a task is first run, each of them is judged on cases of its training set that are held
out, as a trial of a search is; the best of each space runs. Trials are on record, and the record of
a run says whose configuration it is.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from paralesn.paper import configurations
from paralesn.paper.catalogue import read
from paralesn.paper.configurations import Tuned
from paralesn.paper.records import Record
from paralesn.paper.spaces import alphas

SEED = 1000  # of reservoirs and of the cases held out; runs that are reported begin at zero
FAILURES = (np.linalg.LinAlgError, FloatingPointError, ValueError)


def candidates(file: str, task: str, model: str, space: str) -> list[Tuned]:
    """What comes with the package for the tasks that a file of data names, without repetition."""
    found: list[Tuned] = []
    for source in read(file).get("transfer", {}).get(task, []):
        tuned = configurations.shipped(source, model, space)
        if tuned is not None and tuned.configuration not in [one.configuration for one in found]:
            found.append(tuned)
    return found


def trials(kind: str, task: str, given: Sequence[Tuned]) -> list[Record]:
    """Runs that judge candidates."""
    return [
        {
            "kind": kind,
            "task": task,
            "model": tuned.model,
            "space": tuned.space,
            "seed": SEED,
            "configuration": tuned.configuration,
            "transferred": tuned.task,
        }
        for tuned in given
    ]


def judge(run: Record, validate: Callable[..., np.ndarray]) -> Record:
    """The score of the best penalty by `validate`, as a protocol has it, the higher the better."""
    begin, penalties = time.perf_counter(), alphas(run["space"])
    scores = np.zeros(len(penalties))
    try:
        with np.errstate(all="ignore"):
            scores = validate(
                run["task"], run["model"], run["configuration"], penalties, run["seed"]
            )
    except FAILURES:  # states without variance, overflow: no better than nothing
        pass
    best = int(np.argmax(scores))
    return {
        "validation": float(scores[best]),
        "chosen": penalties[best],
        "seconds": time.perf_counter() - begin,
    }


def chosen(wanted: Sequence[Record], known: Iterable[Record]) -> Tuned | None:
    """The best of some trials, once all of them are known."""
    fields = ("kind", "task", "model", "space", "seed", "configuration")

    def same(run: Record) -> list[Any]:
        return [run.get(name) for name in fields]

    by = [(same(run), run) for run in known if wanted and run.get("kind") == wanted[0]["kind"]]
    judged = [next((run for key, run in by if key == same(trial)), None) for trial in wanted]
    every = [run for run in judged if run is not None]
    if not wanted or len(every) < len(wanted):
        return None
    best = max(every, key=lambda run: float(run["validation"]))
    return Tuned(
        task=best["task"],
        model=best["model"],
        space=best["space"],
        configuration=best["configuration"],
        alpha=best["chosen"],
        validation=best["validation"],
        trials=len(every),
        seconds=sum(run["seconds"] for run in every),
        seeds=1,
        transferred=best["transferred"],
    )
