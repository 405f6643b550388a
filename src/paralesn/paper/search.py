"""The search for configurations, whichever way a protocol is searched.

Protocols with a `judging` have Optuna studies (see `bayesian`). Others list their candidates, which
are judged by runs on record.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paralesn.paper import bayesian, protocols, runs, spaces, workers
from paralesn.paper.bayesian import Budget, NoTrialError, Study
from paralesn.paper.catalogue import models
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol
from paralesn.paper.records import Record
from paralesn.workflows import study_storage

_GLANCE = 1.0  # seconds between looks at the trials of all workers

__all__ = ["Budget", "NoTrialError", "Study", "outcome", "search"]


def outcome(
    protocol: Protocol, study: Study, storage: str | None, known: Iterable[Record] = ()
) -> Tuned | None:
    """What a search chose, in a study of `storage` or by trials among `known` runs, if it did."""
    if protocol.judging is None:
        return protocol.choose(study.task, known, study.model)
    return bayesian.tuned(*study, storage) if storage else None


def search(
    wanted: Iterable[tuple[str, str, str]],
    storage: str,
    budget: Budget,
    jobs: int,
    progress: Callable[[Study], Any] | None = None,
    records: Path | None = None,
    watch: Callable[[Study, int], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
) -> None:
    """Search for configurations with `jobs` processes; several to each study where jobs abound.

    Others may search in the same storage at the same time, on this machine or another: a study is
    then shared.

    Parameters
    ----------
    wanted : iterable of (task, model, space)
    storage : str
        A folder, or a URL that begins with sqlite:///, postgresql://, mysql://, redis:// or
        grpc://.
    budget : Budget
        Of each study, whoever works on it; seconds are those of a worker. Protocols that list their
        candidates judge them all.
    jobs : int
    progress : function, optional
        Called with a study each time a worker is done with it.
    records : Path, optional
        The file of records for trials of protocols that list their candidates; by default
        `records.jsonl` in the folder `storage`.
    watch : function, optional
        Called with a study and the number of its finished trials, of all workers everywhere, when
        that has changed.
    tell : function, optional
        Told how far a long trial of a listed candidate got, where one process does them all.
    """
    every = [Study(*study) for study in wanted]
    listed = [study for study in every if protocols.of(*study[:2]).judging is None]
    for study in listed:
        _judge_candidates(study, records or Path(storage) / "records.jsonl", jobs, tell)
        if progress is not None:
            progress(study)
    others = [study for study in every if study not in listed]
    if not others:
        return
    if study_storage.is_url(storage):
        study_storage.opened(storage, "")  # what is wrong with it is said here, by one process
    each = max(1, jobs // len(others))
    # Shallow models first, in the paper's space first: later studies begin with what they found.
    others.sort(key=lambda study: (spaces.SPACES.index(study.space), models()[study.model].deep))
    shared = [study for study in others for _ in range(each)]
    calls = [(*study, storage, budget) for study in shared]
    with _watched(others, storage, budget.trials, watch):
        for number, _ in workers.each(_work, calls, jobs, protocols.share()):
            if progress is not None:
                progress(shared[number])


_interrupted = threading.Event()  # in this process, whose queue may hold another study


def _work(task: str, model: str, space: str, storage: str, budget: Budget) -> None:
    """Work on a study in a process of the pool; after Ctrl-C on none."""
    try:
        if not _interrupted.is_set():
            bayesian.work(task, model, space, storage, budget)
    except KeyboardInterrupt:
        _interrupted.set()
        raise


@contextmanager
def _watched(
    studies: Sequence[Study], storage: str, most: int, tell: Callable[[Study, int], Any] | None
) -> Iterator[None]:
    """Look from a thread at the trials of studies, and tell their number, in the block."""
    stop, counts = threading.Event(), dict.fromkeys(studies, 0)
    opened: dict[Study, Any] = {}

    def look(study: Study) -> None:
        opened[study] = opened.get(study) or bayesian.existing_study(*study, storage)
        count = bayesian.finished(opened[study]) if opened[study] is not None else 0
        if count != counts[study] and tell is not None:
            counts[study] = count
            tell(study, count)

    def look_around() -> None:
        while not stop.wait(_GLANCE):
            for study in studies:
                if counts[study] < most and not stop.is_set():
                    try:
                        look(study)
                    except Exception:  # a server that is away: workers say so if it stays away
                        break

    thread = threading.Thread(target=look_around, daemon=True, name="progress")
    if tell is not None:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if tell is not None:
            thread.join()


def _texts_only(tell: Callable[[str], Any] | None) -> Callable[..., None] | None:
    """What runs report to: their texts are passed on, that one is done is not."""
    if tell is None:
        return None

    def report(text: str | None = None) -> None:
        if text is not None:
            tell(text)

    return report


def _judge_candidates(
    study: Study, path: Path, jobs: int, tell: Callable[[str], Any] | None
) -> None:
    """Do the trials that are not on record; what comes of them may ask for others."""
    protocol = protocols.of(study.task, study.model)
    while True:
        known = runs.known(path)
        trials = protocol.trials(study.task, known.values(), study.model)
        missing = [run for run in trials if runs.identity(run) not in known]
        if not missing:
            return
        runs.run(missing, path, jobs, _texts_only(tell))
