"""Tasks, models, search spaces and the paper's figures: data, read from TOML."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

MAIN = ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)")  # the models of most tables


@dataclass(frozen=True)
class Task:
    """A task of the paper's tables; a printed figure times `scale` is the metric."""

    name: str
    title: str
    group: str
    better: str
    scale: float
    units: int = 128  # of every model
    note: str = ""  # to be said beside a table
    wanders: bool = False  # targets are later inputs, whose level differs from split to split
    like: str = ""  # the task that it is another reading of, with the same figures printed

    def loss(self, value: float) -> float:
        """A metric as something to make small."""
        return -value if self.better == "higher" else value


@dataclass(frozen=True)
class Model:
    """A row of the tables: a reservoir, or a model that is trained, and its search space."""

    name: str
    space: str
    reservoir: str = ""
    trained: bool = False  # by gradients; see `paralesn.baselines`
    deep: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    only: str = ""  # the only task that it is for
    units: int | None = None  # other than the task's
    pool: tuple[str, ...] = ()  # what is taken of states over time, where not the last one
    segments: int = 1
    spaces: tuple[str, ...] = ()  # the only ones in which it is searched, where not all
    like: str = ""  # the model that it is another reading of, with the same figures printed


@dataclass(frozen=True)
class Published:
    """A figure as the paper prints it, in the metric's own unit."""

    mean: float
    std: float | None  # where it prints one


@cache
def read(name: str) -> dict[str, Any]:
    """A TOML file of this package."""
    return tomllib.loads(files("paralesn.paper").joinpath("data", name).read_text())


@cache
def tasks() -> dict[str, Task]:
    """All tasks, in the paper's order: regression, classification, Long Range Arena."""
    entries = read("tasks.toml") | read("classification.toml")["tasks"] | read("lra.toml")["tasks"]
    return {name: Task(name, **entry) for name, entry in entries.items()}


@cache
def tasks_of(*groups: str) -> dict[str, Task]:
    """Tasks of some groups, in the catalogue's order."""
    return {name: task for name, task in tasks().items() if task.group in groups}


@cache
def models() -> dict[str, Model]:
    """The models of the tables."""
    return {
        name: Model(name, **entry | {n: tuple(entry.get(n, ())) for n in ("pool", "spaces")})
        for name, entry in read("models.toml").items()
    }


def published(task: str, model: str) -> Published | None:
    """What the paper prints for a model on a task, if it does."""
    scale = tasks()[task].scale
    for figures in (
        read("published.toml"),
        read("classification.toml")["published"],
        read("lra.toml")["published"],
    ):
        cell = figures.get(model, {}).get(task)
        if cell is not None:
            mean, std = cell if isinstance(cell, list) else (cell, None)
            return Published(mean * scale, None if std is None else std * scale)
    return None


def chosen(wanted: Iterable[str] | None, known: Iterable[str], what: str) -> list[str]:
    """Names as they are spelled in the catalogue, in its order; all where None is wanted."""
    names = list(known)
    if wanted is None:
        return names
    by_lower = {name.lower(): name for name in names}
    spelled = set()
    for name in wanted:
        if name.lower() not in by_lower:
            near = get_close_matches(name.lower(), by_lower, n=3)
            hint = f"; did you mean {' or '.join(by_lower[n] for n in near)}?" if near else ""
            raise ValueError(f"{what} must be among {', '.join(names)}, got {name!r}{hint}")
        spelled.add(by_lower[name.lower()])
    return [name for name in names if name in spelled]
