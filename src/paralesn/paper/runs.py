"""Runs, one record each; those on record are not done again.

The `kind` of a run says which protocol does it, and how; the fields of `IDENTITY` tell runs apart.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

from paralesn.paper import protocols, records, workers
from paralesn.paper.configurations import Tuned
from paralesn.paper.dask_cluster import Cluster
from paralesn.paper.dask_worker import at_a_worker
from paralesn.paper.protocol import Protocol, Tell
from paralesn.paper.records import Ledger, Record
from paralesn.runtime import threads
from paralesn.runtime.blas import single_threaded_blas

IDENTITY = (
    "kind", "task", "model", "space", "seed", "configuration", "alpha", "units", "readout", "pool",
    "segments", "trial_cases",
)  # fmt: skip


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
    return _ledger(path).records


def _ledger(path: Path) -> Ledger:
    return Ledger(path, _key, problem)


def problem(record: Record) -> str | None:
    """Why a record of a run cannot be used, or None; records of unknown kinds are left alone."""
    if not isinstance(record.get("kind"), str):
        return "is without kind"
    protocol = protocols.of_kind(record["kind"])
    return None if protocol is None else protocol.problem(record)


def _key(record: Record) -> str | None:
    """The identity of a record of a run; None for others, which studies may have left there."""
    return None if protocols.of_kind(record["kind"]) is None else identity(record)


# -- runs that are not on record -------------------------------------------------------------------


def carry_out(wanted: Record, folder: Path, tell: Tell | None = None) -> Record:
    """Do a run; its record is returned, and for whoever asked for it to keep.

    BLAS computes on one thread, and kernels do where runs share the cores, so that results have the
    same bits wherever, and beside however many others, a run is done.

    Parameters
    ----------
    wanted : dict
        As planned.
    folder : Path
        Where a long run may keep what it resumes from.
    tell : function, optional
        Told how far a long run got.
    """
    protocol = protocols.of_run(wanted)
    work = protocol.kinds()[wanted["kind"]]
    cores = nullcontext() if protocol.uses_every_core else threads.limited(1)
    with single_threaded_blas(), cores:
        done = work(wanted, folder, tell)
    return wanted | done | records.surroundings()


def _at_a_worker(wanted: Record, folder: Path) -> Record:
    """Do a run on a worker of a cluster, in the folder if it has that, too."""
    with at_a_worker(folder, protocols.of_run(wanted).uses_every_core) as own:
        return carry_out(wanted, own)


def run(
    wanted: Iterable[Record],
    path: Path,
    jobs: int,
    progress: Callable[..., Any] | None = None,
    cluster: Cluster | None = None,
) -> list[Record]:
    """Results of all runs wanted, from the records where these have them.

    Workers return records, and only this process appends them: each run once, whoever else
    appends to the file. What is done when a run fails, or at an interruption, is on record.

    Parameters
    ----------
    wanted : iterable of dict
        As planned.
    path : Path
        The file of records.
    jobs : int
        Processes. Runs that use every core themselves are done one by one.
    progress : function, optional
        Called after each run that is done, and with a text during long ones.
    cluster : Cluster, optional
        Does the runs instead of `jobs` processes; see `dask_cluster`.
    """
    wanted, ledger = list(wanted), _ledger(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    missing = {identity(run): run for run in wanted if identity(run) not in ledger.records}
    for each in _batches(list(missing.values()), path.parent, jobs, progress, cluster):
        with closing(each) as results:  # processes end even where whoever holds the error does not
            for _, done in results:
                _keep(done, ledger)
                if progress is not None:
                    progress()
    return [ledger.records[identity(run)] for run in wanted]


def _keep(done: Record, ledger: Ledger) -> None:
    """Put a run on record, even if that is interrupted; then what it left behind can go."""
    try:
        ledger.add(done)
    except KeyboardInterrupt:
        ledger.add(done)
        raise
    protocols.of_run(done).clean_up(done, ledger.path.parent)


def _batches(
    missing: Sequence[Record],
    folder: Path,
    jobs: int,
    progress: Callable[..., Any] | None,
    cluster: Cluster | None,
) -> Iterator[Generator[tuple[int, Record]]]:
    """Runs as they are done: first those that share the cores, then those that take them all."""
    sharing: list[Record] = []
    taking_all: list[Record] = []
    for run in missing:
        (taking_all if protocols.of_run(run).uses_every_core else sharing).append(run)
    for batch in filter(None, (sharing, taking_all)):
        names, share = [name(run) for run in batch], protocols.share()
        calls = [(run, folder.absolute()) for run in batch]
        if cluster is not None:
            digests = [f"{n} ({digest(*call)})" for n, call in zip(names, calls, strict=True)]
            yield workers.each(_at_a_worker, calls, 0, share, cluster=cluster, names=digests)
        elif jobs == 1 or batch is taking_all:
            told = [(run, folder, progress) for run in batch]
            yield workers.each(carry_out, told, 0, names=names)
        else:
            yield workers.each(carry_out, calls, jobs, share, names=names)


def name(run: Record) -> str:
    """What people call a run."""
    said = [run["kind"], run["task"], run["model"], run.get("space"), f"seed {run.get('seed')}"]
    return ", ".join(text for text in said if text)


def digest(run: Record, folder: Path) -> str:
    """A text that is the same where the same is asked for, to the last field."""
    whole = json.dumps([run, str(folder), version("paralesn")], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
