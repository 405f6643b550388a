"""Tasks, models, search spaces and the paper's figures: data, read from TOML."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Task:
    """A task of the regression tables; a printed figure times `scale` is the metric."""

    name: str
    title: str
    group: str
    better: str
    scale: float

    def loss(self, value: float) -> float:
        """A metric as something to make small."""
        return -value if self.better == "higher" else value


@dataclass(frozen=True)
class Model:
    """A row of the tables: a reservoir, its search space, and what is fixed."""

    name: str
    reservoir: str
    space: str
    deep: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """A figure as the paper prints it, in the metric's own unit."""

    mean: float
    std: float


@cache
def read(name: str) -> dict[str, Any]:
    """A TOML file of this package."""
    return tomllib.loads(files("paralesn.experiments").joinpath("data", name).read_text())


@cache
def tasks() -> dict[str, Task]:
    """The regression tasks, in the paper's order."""
    return {name: Task(name, **entry) for name, entry in read("tasks.toml").items()}


@cache
def models() -> dict[str, Model]:
    """The models of the regression tables."""
    return {name: Model(name, **entry) for name, entry in read("models.toml").items()}


def published(task: str, model: str) -> Published | None:
    """What the paper prints for a model on a task, if it does."""
    cell = read("published.toml").get(model, {}).get(task)
    scale = tasks()[task].scale
    return None if cell is None else Published(cell[0] * scale, cell[1] * scale)


def chosen(wanted: Iterable[str] | None, known: Iterable[str], what: str) -> list[str]:
    """Names as they are spelled in the catalogue, in its order; all where None is wanted."""
    names = list(known)
    if wanted is None:
        return names
    by_lower = {name.lower(): name for name in names}
    found = set()
    for name in wanted:
        if name.lower() not in by_lower:
            near = get_close_matches(name.lower(), by_lower, n=3)
            hint = f"; did you mean {' or '.join(by_lower[n] for n in near)}?" if near else ""
            raise ValueError(f"{what} must be among {', '.join(names)}, got {name!r}{hint}")
        found.add(by_lower[name.lower()])
    return [name for name in names if name in found]
