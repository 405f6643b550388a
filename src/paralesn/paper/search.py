"""The search for configurations, whichever way a protocol is searched.

Protocols with a `judging` have Optuna studies (see `bayesian`). Others list their candidates, which
are judged by runs on record.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from paralesn.paper import bayesian, protocols, runs, spaces, workers
from paralesn.paper.bayesian import Budget, Study
from paralesn.paper.catalogue import models
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol
from paralesn.paper.records import Record

__all__ = ["Budget", "Study", "outcome", "search"]


def outcome(
    protocol: Protocol, study: Study, storage: str | None, known: Iterable[Record] = ()
) -> Tuned | None:
    """What a search chose, in a study of `storage` or by trials among `known` runs, if it did."""
    if protocol.judging is None:
        return protocol.choose(study.task, known)
    return bayesian.tuned(*study, storage) if storage else None


def search(
    wanted: Iterable[tuple[str, str, str]],
    storage: str,
    budget: Budget,
    jobs: int,
    progress: Callable[[Study], Any] | None = None,
    records: Path | None = None,
) -> None:
    """Search for configurations with `jobs` processes; several to each study where jobs abound.

    Parameters
    ----------
    wanted : iterable of (task, model, space)
    storage : str
        A folder, or an Optuna storage URL.
    budget : Budget
        Of each study; protocols that list their candidates judge them all.
    jobs : int
    progress : function, optional
        Called with a study each time a worker is done with it.
    records : Path, optional
        The file of records for trials of protocols that list their candidates; by default
        `records.jsonl` in the folder `storage`.
    """
    every = [Study(*study) for study in wanted]
    listed = [study for study in every if protocols.of(*study[:2]).judging is None]
    for study in listed:
        _judge_candidates(study, records or Path(storage) / "records.jsonl", jobs)
        if progress is not None:
            progress(study)
    others = [study for study in every if study not in listed]
    if not others:
        return
    each = max(1, jobs // len(others))
    # Shallow models first, in the paper's space first: later studies begin with what they found.
    others.sort(key=lambda study: (spaces.SPACES.index(study.space), models()[study.model].deep))
    shared = [study for study in others for _ in range(each)]
    calls = [(*study, storage, budget) for study in shared]
    for number, _ in workers.each(bayesian.work, calls, jobs, protocols.share()):
        if progress is not None:
            progress(shared[number])


def _judge_candidates(study: Study, path: Path, jobs: int) -> None:
    """Do the trials that are not on record; what comes of them may ask for others."""
    protocol = protocols.of(study.task, study.model)
    while True:
        known = runs.known(path)
        trials = protocol.trials(study.task, known.values())
        missing = [run for run in trials if runs.identity(run) not in known]
        if not missing:
            return
        runs.run(missing, path, jobs)
