"""Which runs make which row of the tables: the rule, for runs to be done and for runs on record.

A model's own row is the configuration that did best on validation data, of all search spaces.
Where there are several spaces, a second row is the best of the paper's own. The same rule applies
to configurations that are about to be run and to records, which may hold runs of many
configurations.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from paralesn.paper import protocols, runs, search
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol
from paralesn.paper.records import Record
from paralesn.paper.results import Cells, Row

PAPER = "paper"
_SAME = ("configuration", "alpha", "units", "readout", "metric")
Choice = TypeVar("Choice")


def rows(
    protocol: Protocol,
    model: str,
    by_space: Mapping[str, Choice],
    loss: Callable[[Choice], float],
) -> dict[Row, Choice]:
    """The rule: rows of a model on a task, from the best of each search space."""
    if not by_space:
        return {}
    chosen = {Row(model): min(by_space.values(), key=loss)}
    if PAPER in by_space and len(protocol.spaces) > 1:
        chosen[Row(model, PAPER)] = by_space[PAPER]
    return chosen


def configurations(
    protocol: Protocol,
    task: str,
    model: str,
    storage: str | None = None,
    known: Iterable[Record] = (),
) -> dict[Row, Tuned]:
    """Rows of a model on a task, and the configuration of each that is to be run.

    The outcome of a complete search, in `storage` or among `known` runs, otherwise the
    configuration that comes with the package, or the best of those of other tasks.
    """
    by_space, known = {}, list(known)
    for space in protocol.spaces:
        chosen = _own(protocol, search.Study(task, model, space), storage, known)
        chosen = chosen or protocol.transferred(task, model, space, known)
        if chosen is not None:
            by_space[space] = chosen
    better = protocol.task(task).loss
    return rows(protocol, model, by_space, lambda tuned: better(tuned.validation))


def _own(
    protocol: Protocol, study: search.Study, storage: str | None, known: Iterable[Record]
) -> Tuned | None:
    """The configuration that was searched for the task itself."""
    return search.outcome(protocol, study, storage, known) or protocol.shipped(*study)


def transfers(
    protocol: Protocol, task: str, model: str, storage: str | None, known: Iterable[Record]
) -> list[Record]:
    """Trials that have to be on record before `configurations` knows all rows of a model."""
    studies = [search.Study(task, model, space) for space in protocol.spaces]
    known = list(known)
    return [
        trial
        for study in studies
        if (wanted := protocol.transfers(*study)) and not _own(protocol, study, storage, known)
        for trial in wanted
    ]


def recorded(records: Iterable[Record]) -> list[tuple[Row, Record]]:
    """Rows of the tables, and the runs on record that belong to them.

    Records have been checked by `runs.problem`.
    """
    whole = {}
    for run in records:
        protocol = protocols.of_kind(run["kind"])
        if protocol is not None and run["kind"] == protocol.name:  # and no trial of a search
            whole[runs.identity(run)] = run
    chosen = []
    for (kind, _, model), groups in _grouped(whole.values()).items():
        protocol = protocols.of_run({"kind": kind})
        by_space = {space: min(same, key=_loss) for space, same in groups.items()}
        for row, group in rows(protocol, model, by_space, _loss).items():
            chosen += [(row, run) for run in sorted(group, key=lambda run: run["seed"])]
    return chosen


def cells(results: Iterable[tuple[Row, Record]]) -> Cells:
    """Runs of each task and row summed up, in the catalogue's order."""
    grouped: dict[tuple[str, Row], list[Record]] = {}
    for row, run in results:
        grouped.setdefault((run["task"], row), []).append(run)
    order = [list(tasks()), list(models())]
    ordered = sorted(grouped, key=lambda key: _position(order, key[0], key[1].model))
    return {key: protocols.of_run(grouped[key][0]).cell(key[1], grouped[key]) for key in ordered}


def table_cells(records: Iterable[Record]) -> Cells:
    """Results of all runs on record."""
    return cells(recorded(records))


def _position(order: list[list[str]], *names: str) -> list[int]:
    """Positions of names in the catalogue; names that it lacks come last."""
    pairs = zip(order, names, strict=True)
    return [known.index(n) if n in known else len(known) for known, n in pairs]


Groups = dict[str, list[list[Record]]]  # runs of one configuration each, by space


def _grouped(whole: Iterable[Record]) -> dict[tuple[str, str, str], Groups]:
    """Runs of each kind, task and model by space and configuration, the latest first."""
    grouped: dict[tuple[str, str, str], dict[str, dict[str, list[Record]]]] = {}
    for run in reversed(list(whole)):
        if protocols.of_run(run).knows(run):
            same = json.dumps([run.get(name) for name in _SAME], sort_keys=True)
            spaces = grouped.setdefault((run["kind"], run["task"], run["model"]), {})
            spaces.setdefault(run.get("space", ""), {}).setdefault(same, []).append(run)
    return {
        key: {space: list(groups.values()) for space, groups in spaces.items()}
        for key, spaces in reversed(grouped.items())
    }


def _loss(group: list[Record]) -> float:
    """The loss on validation data, as recorded or as shipped with the configuration."""
    run = group[0]
    protocol, score = protocols.of_run(run), run.get("validation")
    if score is None:
        tuned = protocol.shipped(run["task"], run["model"], run.get("space", ""))
        if tuned is not None and tuned.configuration == run["configuration"]:
            score = tuned.validation
    return float("inf") if score is None else protocol.task(run["task"]).loss(score)
