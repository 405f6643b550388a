"""What is to be reproduced: tasks and models that names stand for, and what is lacking here."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from paralesn.paper import protocols
from paralesn.paper.catalogue import chosen
from paralesn.paper.protocol import Protocol

ALL = "all"
DEFAULT = ("regression", "long-term")  # what is reproduced unless something is named


class Wanted(NamedTuple):
    """A model on a task, by a protocol."""

    protocol: Protocol
    task: str
    model: str


@dataclass(frozen=True)
class Absent:
    """What could not be run.

    Attributes
    ----------
    task : str
    model : str
        Empty where no model could be.
    why : str
    lacks : str
        "data", "configuration", or "record": of a slow model that was not asked for by name.
    """

    task: str
    model: str
    why: str
    lacks: str

    @property
    def key(self) -> str:
        """Task and model."""
        return f"{self.task}, {self.model}" if self.model else self.task


def names() -> list[str]:
    """Everything that can be asked for: tasks, tables, protocols and groups of tasks."""
    known = [ALL]
    for protocol in protocols.protocols():
        known += [*protocol.groups(), *_tasks_by_name(protocol)]
    return list(dict.fromkeys(known))


def _tasks_by_name(protocol: Protocol) -> list[str]:
    return list(protocol.tasks()) if protocol.by_name() else []


def resolve(what: Sequence[str] | None, models: Sequence[str] | None = None) -> list[Wanted]:
    """Tasks and models that names stand for.

    Parameters
    ----------
    what : sequence of str or None
        Names of tasks, tables, protocols or groups of tasks; `DEFAULT` if None.
    models : sequence of str or None
        Models; by default those of a table where one is named, otherwise all that are not run on
        request only.
    """
    asked = chosen(what or DEFAULT, names(), "what to reproduce")
    every = protocols.protocols()
    named = None
    if models:
        known = dict.fromkeys(model for protocol in every for model in protocol.every_model())
        named = chosen(models, known, "models")
    return [
        Wanted(protocol, task, model)
        for protocol in every
        for task, by in _meant(protocol, asked).items()
        for model in _models(protocol, task, by, named)
    ]


def _meant(protocol: Protocol, asked: Sequence[str]) -> dict[str, list[str]]:
    """Tasks of a protocol that were asked for, in its order, and the names that stand for each.

    A protocol none of whose names was asked for is not asked for its tasks: to list them, it may
    have to look for files.
    """
    groups, by_name = protocol.groups(), _tasks_by_name(protocol)
    members: dict[str, Collection[str]] = {}
    for name in asked:
        if name == ALL:
            members[name] = protocol.tasks()
        elif name in groups:
            members[name] = protocol.members(name)
        elif name in by_name:
            members[name] = (name,)
    meant = list(dict.fromkeys(task for tasks in members.values() for task in tasks))
    if len(members) > 1:
        meant = [task for task in protocol.tasks() if task in meant]
    return {task: [name for name, tasks in members.items() if task in tasks] for task in meant}


def _models(
    protocol: Protocol, task: str, by: Iterable[str], named: Sequence[str] | None
) -> list[str]:
    """Models to run on a task that was meant `by` some names."""
    every = protocol.models(task)
    if named is not None:
        return [model for model in every if model in named]
    if protocol.on_request:
        return []
    of_tables = protocol.models_of_tables()
    if not all(name in of_tables for name in by):
        return every
    return [model for model in every if any(model in of_tables[name] for name in by)]


def unavailable(wanted: Sequence[Wanted], what: Sequence[str] | None = None) -> list[Absent]:
    """Tasks that cannot be run here, and why."""
    absent: dict[str, Absent] = {}
    for protocol, task, _ in wanted:
        if task not in absent and (why := protocol.missing(task)) is not None:
            absent[task] = Absent(task, "", why, "data")
    met = {id(entry.protocol) for entry in wanted}
    for protocol in protocols.protocols():
        if not protocol.nothing or id(protocol) in met:
            continue
        if set(what or DEFAULT) & {ALL, *protocol.groups()} and not protocol.tasks():
            absent[protocol.name] = Absent(protocol.name, "", protocol.nothing, "data")
    return list(absent.values())
