"""Chosen configurations: shipped with the package as TOML, or the outcome of a search."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paralesn.files import require, save_text
from paralesn.paper.catalogue import models, read, tasks

FILES = ("tuned.toml", "tuned-classification.toml", "tuned-small-mnist.toml")
_HEAD = """\
# Configurations chosen on validation data, and the search that chose each: trials, seconds of one
# core, seeds of data and reservoirs that judged the finalists.
"""


@dataclass(frozen=True)
class Tuned:
    """A configuration chosen for a model on a task, and how the search went that chose it."""

    task: str
    model: str
    space: str
    configuration: dict[str, Any]
    alpha: float | None  # penalty of a ridge readout
    validation: float  # the metric on validation data, mean over seeds
    trials: int
    seconds: float
    seeds: int
    transferred: str = ""  # the task that it was searched for, where that is another one

    @classmethod
    def unsearched(
        cls, task: str, model: str, space: str, configuration: dict[str, Any]
    ) -> "Tuned":
        """A configuration that no search chose."""
        return cls(task, model, space, configuration, None, 0.0, 0, 0.0, 0)


def shipped(task: str, model: str, space: str) -> Tuned | None:
    """The configuration that comes with the package, if there is one."""
    for file in FILES:
        entry = read(file).get(task, {}).get(model, {}).get(space)
        if entry is not None:
            return Tuned(task, model, space, **{"alpha": None} | entry)  # TOML has no null
    return None


def write(path: Path, chosen: Iterable[Tuned]) -> None:
    """Write configurations as TOML, atomically, in the catalogue's order."""
    tomli_w = require("tomli_w", "search", purpose="a file of configurations")

    known = [list(tasks()), list(models())]
    entries: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in sorted(chosen, key=lambda entry: _order(known, entry)):
        fields = {name: value for name, value in asdict(entry).items() if value not in (None, "")}
        task, model, space = (fields.pop(name) for name in ("task", "model", "space"))
        entries.setdefault(task, {}).setdefault(model, {})[space] = fields
    save_text(_HEAD + "\n" + tomli_w.dumps(entries), path)


def _order(known: list[list[str]], entry: Tuned) -> list[tuple[int, str]]:
    """A key to sort by: the catalogue's order, then what the catalogue lacks."""
    pairs = zip(known, (entry.task, entry.model), strict=True)
    return [(names.index(n) if n in names else len(names), n) for names, n in pairs] + [
        (0 if entry.space == "paper" else 1, entry.space)
    ]
