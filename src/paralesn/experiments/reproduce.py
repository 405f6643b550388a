"""Reproduce the paper's regression tables from chosen configurations, and write what came out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paralesn.experiments import longterm, runs, tables, tuned
from paralesn.experiments.catalogue import chosen, models, tasks
from paralesn.experiments.files import replacing
from paralesn.experiments.records import Record
from paralesn.experiments.search import Tuned
from paralesn.experiments.search import tuned as found_in
from paralesn.experiments.spaces import SPACES

GROUPS = {"regression": None, "all": None, "memory": "memory", "forecasting": "forecasting"}
_PAPER = " [paper space]"


@dataclass(frozen=True)
class Reproduction:
    """Cells by task and row, what could not be run and why, and where it was all written."""

    cells: dict[tuple[str, str], tables.Cell]
    absent: dict[str, str]
    written: list[Path]


def tasks_of(what: Sequence[str] | None) -> list[str]:
    """Tasks meant by names of tasks, tables or groups of them."""
    if not what:
        return list(tasks())
    wanted: list[str] = []
    for name in what:
        group = tables.TABLES[name][1] if name in tables.TABLES else GROUPS.get(name, name)
        if group is None:
            wanted += tasks()
        elif group in ("memory", "forecasting"):
            wanted += [task.name for task in tasks().values() if task.group == group]
        else:
            wanted.append(name)
    return chosen(wanted, tasks(), "what to reproduce")


def models_of(what: Sequence[str] | None, wanted: Sequence[str] | None) -> list[str]:
    """Models named, or those of the tables named, or all."""
    if wanted:
        return chosen(wanted, models(), "models")
    named = [model for name in what or () for model in tables.TABLES.get(name, ("", "", ()))[2]]
    return chosen(named or None, models(), "models")


def configurations(task: str, model: str, storage: str | None) -> dict[str, Tuned]:
    """Rows of the tables and their configurations: the best on validation, and the paper space's.

    Those of a search where it was done, otherwise those that come with the package.
    """
    by_space = {}
    for space in SPACES:
        found = found_in(task, model, space, storage) if storage else None
        by_space[space] = found or tuned.shipped(task, model, space)
    best = tuned.better(task, by_space.values())
    rows = {} if best is None else {model: best}
    if by_space["paper"] is not None:
        rows[model + _PAPER] = by_space["paper"]
    return rows


def missing(task: str) -> str | None:
    """Why a task cannot be run here, or None."""
    from paralesn import datasets
    from paralesn.experiments.evaluate import data

    try:
        data(task, 0)
    except datasets.MissingFileError as error:
        return str(error)
    return None


def reproduce(
    wanted_tasks: Sequence[str],
    wanted_models: Sequence[str],
    out: Path,
    seeds: int = 10,
    jobs: int = 1,
    storage: str | None = None,
    start: Callable[[int], Callable[[], Any]] | None = None,
) -> Reproduction:
    """Run what is not on record yet, and write tables and results to `out`.

    `start` is told the number of runs to do and returns what is called after each of them.
    """
    absent = {task: why for task in wanted_tasks if (why := missing(task)) is not None}
    rows = {
        (task, row): configuration
        for task in wanted_tasks
        if task not in absent
        for model in wanted_models
        for row, configuration in configurations(task, model, storage).items()
    }
    for task in wanted_tasks:
        for model in wanted_models:
            if task not in absent and (task, model) not in rows:
                absent[f"{task}, {model}"] = (
                    f"there is no configuration of {model} for {task}: `paralesn search` finds one"
                )
    path = out / "records.jsonl"
    plans = {key: runs.plan([one], seeds) for key, one in rows.items()}
    everything = {runs.identity(run): run for plan in plans.values() for run in plan}
    there = runs.known(path)
    to_do = [run for key, run in everything.items() if key not in there]
    tick = start(len(to_do)) if start is not None else None
    runs.run(to_do, path, jobs, tick)
    there = runs.known(path)
    results = [(row, there[runs.identity(run)]) for (_, row), plan in plans.items() for run in plan]
    cells = tables.cells(results)
    return Reproduction(cells, absent, [*([path] if path.exists() else []), *write(cells, out)])


def long_term(
    sets: Sequence[str],
    out: Path,
    seeds: int = 5,
    jobs: int = 1,
    search: bool = False,
    start: Callable[[int], Callable[[], Any]] | None = None,
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Run long-term forecasts not on record yet, and write results to `out`.

    The configurations are those of the package or, with `search`, chosen here.
    """
    path = out / "records.jsonl"

    def carry_out(wanted: list[Record]) -> list[Record]:
        there = runs.known(path)
        to_do = sum(runs.identity(one) not in there for one in wanted)
        return runs.run(wanted, path, jobs, start(to_do) if start is not None else None)

    chosen = longterm.shipped(sets)
    if search:
        trials = carry_out(longterm.trials(sets))
        chosen = longterm.choose(trials + carry_out(longterm.finals(trials)))
    found = longterm.rows(carry_out(longterm.plan(chosen, seeds)))
    written = out / "long-term.json"
    with replacing(written) as unfinished:
        unfinished.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found, [path, written]


def write(cells: dict[tuple[str, str], tables.Cell], out: Path) -> list[Path]:
    """Write results for machines, CSV and LaTeX."""
    contents = {
        "results.json": json.dumps(tables.rows(cells.values()), indent=1) + "\n",
        "results.csv": tables.as_csv(cells.values()),
        "tables.tex": "\n".join(filter(None, (tables.as_latex(cells, n) for n in tables.TABLES))),
    }
    for name, text in contents.items():
        with replacing(out / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return [out / name for name in contents]
