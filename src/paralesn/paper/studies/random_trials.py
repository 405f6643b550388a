"""Uniformly random configurations of a space, judged on validation data by the same seeds each.

A search looks where errors are small, so its trials say little about the rest of the space. Here
every valid configuration is as likely as any other, and none is given up early. A trial is fixed by
the seed and its number: more trials add to those on record, whatever the number of processes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.paper import bayesian, protocols, records, spaces, workers
from paralesn.paper.bayesian import FIRST_SEED, Study
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.fields import COUNT, NUMBER, OBJECT, SURROUNDINGS, TEXT, Field, problem_of
from paralesn.paper.records import Ledger, Record
from paralesn.runtime import threads
from paralesn.runtime.blas import single_threaded_blas

KIND = "random-trial"
_IDENTITY = ("task", "model", "space", "seed", "trial", "seeds", "configuration")
_FIELDS: Mapping[str, Field] = {
    **dict.fromkeys(("task", "model", "space"), TEXT),
    **dict.fromkeys(("seed", "trial", "seeds"), COUNT),
    **dict.fromkeys(("alpha", "validation"), NUMBER),
    "configuration": OBJECT,
}


def plan(study: Study, trials: int, seed: int) -> list[Record]:
    """Trials of a study from the first on, without their results."""
    model, task = models()[study.model], tasks()[study.task]
    if not spaces.exists(model, study.space):
        raise ValueError(f"space must be one of {study.model}, got {study.space!r}")
    judged = {"seeds": bayesian.judging(study.task, study.model).seeds}
    return [
        {
            "kind": KIND, **study._asdict(), "seed": seed, "trial": trial, **judged,
            "configuration": spaces.suggest(_Draw(seed, trial), model, study.space, task),
        }
        for trial in range(trials)
    ]  # fmt: skip


class _Draw:
    """What `spaces.suggest` asks of a trial: each hyperparameter, drawn from its own values."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of a list."""
        return choices[int(self._rng.integers(len(choices)))]

    def suggest_float(self, name: str, low: float, high: float, log: bool = False) -> float:
        """A number from a range, or one whose logarithm is."""
        if log:
            return float(np.exp(self._rng.uniform(np.log(low), np.log(high))))
        return float(self._rng.uniform(low, high))


def judge(wanted: Record) -> Record:
    """Do a trial: the metric on validation data, a mean over seeds, of the best penalty.

    On one thread, so that it has the same bits beside however many others.
    """
    penalties = spaces.alphas(wanted["space"])
    losses = partial(
        bayesian.losses, wanted["task"], wanted["model"], wanted["configuration"], penalties
    )
    with single_threaded_blas(), threads.limited(1):
        total = sum(losses(FIRST_SEED + i) for i in range(wanted["seeds"]))
    best = int(np.argmin(total))
    loss = float(np.asarray(total)[best]) / wanted["seeds"]
    found = {"alpha": penalties[best], "validation": tasks()[wanted["task"]].loss(loss)}
    return wanted | found | records.surroundings()


def run(
    study: Study,
    trials: int,
    seed: int,
    path: Path,
    jobs: int,
    progress: Callable[[], Any] = lambda: None,
) -> list[Record]:
    """The first trials of a study, from the records where these have them.

    Parameters
    ----------
    study : Study
    trials : int
    seed : int
        Of the draws. Reservoirs and data have those of searches, the same for each trial.
    path : Path
        The file of records. What is done at an interruption is on record.
    jobs : int
        Processes.
    progress : function, optional
        Called for each trial that is on record or done.
    """
    wanted, ledger = plan(study, trials, seed), _ledger(path)
    missing = [one for one in wanted if identity(one) not in ledger.records]
    for _ in range(len(wanted) - len(missing)):
        progress()
    calls = [(one,) for one in missing]
    names = [f"{study}, random trial {one['trial']}" for one in missing]
    each = workers.each(judge, calls, 0 if jobs == 1 else jobs, protocols.share(), names=names)
    with closing(each) as results:  # processes end even where an error is held on to
        for _, done in results:
            ledger.add(done)
            progress()
    return [ledger.records[identity(one)] for one in wanted]


def known(path: Path, study: Study, seed: int) -> list[Record]:
    """Trials of a study that are on record, those of one seed, in order."""
    asked = (*study, seed)
    every = _ledger(path).records.values()
    mine = [one for one in every if asked == tuple(one[n] for n in (*study._fields, "seed"))]
    return sorted(mine, key=lambda one: one["trial"])


def file_of(study: Study, folder: Path) -> Path:
    """Where trials of a study are on record, in a folder of results."""
    return folder / "trials" / f"{name_of(study)}.jsonl"


def name_of(study: Study) -> str:
    """What files of a study are called."""
    model = study.model.replace(" (deep)", "-deep").replace(" ", "-")
    return f"{study.task}-{model}-{study.space}"


def identity(record: Record) -> str:
    """A text that is the same for records of the same trial."""
    return json.dumps([record[name] for name in _IDENTITY], sort_keys=True)


def problem(record: Record) -> str | None:
    """Why a record cannot be used, or None; records of other kinds are left alone."""
    if record.get("kind") != KIND:
        return None
    return problem_of(record, _FIELDS, {**_FIELDS, **SURROUNDINGS}, optional=())


def _ledger(path: Path) -> Ledger:
    return Ledger(path, lambda one: identity(one) if one.get("kind") == KIND else None, problem)
