"""Chosen configurations: shipped with the package as TOML, or found in a search."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paralesn.files import save_text
from paralesn.paper.catalogue import models, read, tasks
from paralesn.paper.search import Tuned
from paralesn.paper.spaces import SPACES

FILES = ("tuned.toml", "tuned-classification.toml")
_HEAD = """\
# Configurations chosen on validation data, and the search that found each: trials, seconds of one
# core, seeds of data and reservoirs of the final. Written by `paralesn search`.
"""


def shipped(task: str, model: str, space: str) -> Tuned | None:
    """The configuration that comes with the package, if there is one.

    Models trained by gradients have a learning rate found by hand.
    """
    for file in FILES:
        entry = read(file).get(task, {}).get(model, {}).get(space)
        if entry is not None:
            return Tuned(task, model, space, **entry)
    if models()[model].trained and tasks()[task].kind == "mnist" and space == "paper":
        rate = read("classification.toml")["training"]["learning_rates"][model]
        unsearched = (0.0, 0.0, 0, 0.0, 0)  # penalty, validation, trials, seconds, seeds
        return Tuned(task, model, space, {"learning_rate": rate}, *unsearched)
    return None


def better(task: str, candidates: Iterable[Tuned | None]) -> Tuned | None:
    """The one that did best on validation data."""
    known = [candidate for candidate in candidates if candidate is not None]
    return min(known, key=lambda one: tasks()[task].loss(one.validation), default=None)


def write(path: Path, found: Iterable[Tuned]) -> None:
    """Write configurations as TOML, atomically, in the catalogue's order."""
    order = [(task, model, space) for task in tasks() for model in models() for space in SPACES]
    entries = {(one.task, one.model, one.space): one for one in found}
    text = _HEAD
    for key in order:
        if key not in entries:
            continue
        text += "\n[" + ".".join(map(_toml, key)) + "]\n"
        for name, value in asdict(entries[key]).items():
            if name not in ("task", "model", "space"):
                text += f"{name} = {_toml(value)}\n"
    save_text(text, path)


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)
