"""Reproduce the paper's tables from chosen configurations, and write what came out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from paralesn.files import save_json, save_text
from paralesn.paper import configurations as tuned
from paralesn.paper import runs, tables
from paralesn.paper.catalogue import chosen, models, tasks
from paralesn.paper.protocols import long_term as longterm
from paralesn.paper.protocols import lra, lra_table, mnist
from paralesn.paper.protocols import ucr as archive
from paralesn.paper.records import Record
from paralesn.paper.search import Tuned
from paralesn.paper.search import tuned as found_in
from paralesn.paper.spaces import SPACES
from paralesn.paper.spaces import exists as has_space

GROUPS = {
    "memory": ("memory",),
    "forecasting": ("forecasting",),
    "regression": ("memory", "forecasting"),
    "mnist": ("mnist",),
    "classification": ("classification", "mnist"),
    "lra": ("lra",),
    "all": ("memory", "forecasting", "classification", "mnist", "lra"),
}
SEEDS = {"regression": 10, "classification": 10, "mnist": 3, "lra": 1}
# Dense reservoirs of 1 024 units take minutes to hours: their records come with the package.
SLOW = ("ESN", "ESN (deep)")
SHIPPED = "classification-records.jsonl"
_PAPER = " [paper space]"


@dataclass(frozen=True)
class Reproduction:
    """Cells by task and row, what could not be run and why, and where it was all written."""

    cells: dict[tuple[str, str], tables.Cell]
    absent: dict[str, str]
    written: list[Path]


def tasks_of(what: Sequence[str] | None) -> list[str]:
    """Tasks meant by names of tasks, tables or groups of them; those of regression by default."""
    wanted: list[str] = []
    for name in what or ("regression",):
        of_table: tuple[str, ...] = (tables.TABLES[name][1],) if name in tables.TABLES else ()
        groups = GROUPS.get(name, of_table)
        wanted += [task.name for task in tasks().values() if task.group in groups]
        if not groups:
            wanted.append(name)
    return chosen(wanted, tasks(), "what to reproduce")


def models_of(what: Sequence[str] | None, wanted: Sequence[str] | None) -> list[str]:
    """Models named, or those of the tables named, or all that are not trained by gradients."""
    if wanted:
        return chosen(wanted, models(), "models")
    named = [model for name in what or () for model in tables.TABLES.get(name, ("", "", ()))[2]]
    everything = [name for name, model in models().items() if not model.trained]
    return chosen(named or everything, models(), "models")


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
    if by_space["paper"] is not None and not models()[model].trained:  # which has no other space
        rows[model + _PAPER] = by_space["paper"]
    return rows


def missing(task: str) -> str | None:
    """Why a task cannot be run here, or None."""
    from paralesn import datasets
    from paralesn.paper.protocols.regression import data

    title, kind = tasks()[task].title, tasks()[task].kind
    if kind in ("mnist", "lra") and find_spec("torch") is None:
        return f"{title}: its perceptron needs PyTorch, pip install 'paralesn[torch]'"
    try:
        if kind == "regression":
            data(task, 0)
        else:
            datasets.fetch(task)
    except datasets.MissingFileError as error:
        return f"{title}: {error}"
    return None


@cache
def shipped_records() -> dict[str, Record]:
    """Runs that come with the package, by what they are."""
    file = files("paralesn.paper").joinpath("data", SHIPPED)
    with as_file(file) as path:
        return {key: one | {"shipped": True} for key, one in runs.known(path).items()}


def belongs(task: str, model: str) -> bool:
    """Whether a model has a row in the table of a task: the paper has it, or we add it."""
    kind, only = tasks()[task].kind, models()[model].only
    if models()[model].trained:
        return kind == "mnist"
    if only:
        return task == only
    return kind == "regression" or model in ((lra.MODEL,) if kind == "lra" else tables.MAIN)


def is_study(task: str, model: str, space: str) -> bool:
    """Whether a model is searched for on a task, in a space."""
    return belongs(task, model) and has_space(models()[model], space)


def reproduce(
    wanted_tasks: Sequence[str],
    wanted_models: Sequence[str],
    out: Path,
    seeds: int | None = None,
    jobs: int = 1,
    storage: str | None = None,
    start: Callable[[int], Callable[..., Any]] | None = None,
    slow: bool = True,
    country: str | None = None,
) -> Reproduction:
    """Run what is not on record yet, and write tables and results to `out`.

    `seeds` is the number of runs of each configuration, by default as `SEEDS` says. `start` is told
    the number of runs to do and returns what is called after each of them, and with a text while a
    long one goes on. Unless `slow`, the dense reservoirs of classification are not run, but taken
    from the records of the package. `country` is the one whose electricity is counted.
    """
    absent = {task: why for task in wanted_tasks if (why := missing(task)) is not None}
    there = [task for task in wanted_tasks if task not in absent]
    path = out / "records.jsonl"
    known = runs.known(path)
    plans: dict[tuple[str, str], list[Record]] = {}
    for task, model in product(there, wanted_models):
        if not belongs(task, model):
            continue
        if tasks()[task].kind == "lra":  # its trials are on record, not in a study
            best = lra.chosen(task, known.values())
            rows = {} if best is None else {model: best}
        else:
            rows = configurations(task, model, storage)
        if not rows:
            absent[f"{task}, {model}"] = (
                f"there is no configuration of {model} for {task}: `paralesn search` finds one"
            )
        for row, one in rows.items():
            plan = runs.plan([one], seeds or SEEDS[tasks()[task].kind], country)
            if not slow and model in SLOW and tasks()[task].kind != "regression":
                known = shipped_records() | known
                plan = [run for run in plan if runs.identity(run) in known]
            if plan:
                plans[task, row] = plan
            else:
                absent[f"{task}, {row}"] = (
                    f"{row} on {tasks()[task].title} is slow and no record of it comes with the "
                    f"package: --models '{model}' runs it"
                )
    everything = {runs.identity(run): run for plan in plans.values() for run in plan}
    to_do = [run for key, run in everything.items() if key not in known]
    tick = start(len(to_do)) if start is not None else None
    for alone in (False, True):
        some = [run for run in to_do if (run["kind"] in runs.ON_ALL_CORES) is alone]
        runs.run(some, path, 1 if alone else jobs, tick)
    known |= runs.known(path)
    results = [(row, known[runs.identity(run)]) for (_, row), plan in plans.items() for run in plan]
    cells = tables.cells(results)
    return Reproduction(cells, absent, [*([path] if path.exists() else []), *write(cells, out)])


def search_lra(
    wanted_tasks: Sequence[str],
    out: Path,
    start: Callable[[int], Callable[[], Any]] | None = None,
) -> None:
    """Judge the candidates of tasks of the Long Range Arena that are not on record yet."""
    path, there = out / "records.jsonl", runs.known(out / "records.jsonl")
    to_do = [run for run in lra.trials(wanted_tasks) if runs.identity(run) not in there]
    runs.run(to_do, path, 1, start(len(to_do)) if start is not None else None)


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
        return _missing_runs(wanted, path, jobs, start)

    chosen = longterm.shipped(sets)
    if search:
        trials = carry_out(longterm.trials(sets))
        chosen = longterm.choose(trials + carry_out(longterm.finals(trials)))
    found = longterm.rows(carry_out(longterm.plan(chosen, seeds)))
    return found, [path, _as_json(found, out / "long-term.json")]


def ucr(
    names: Sequence[str],
    out: Path,
    seeds: int = 1,
    jobs: int = 1,
    start: Callable[[int], Callable[[], Any]] | None = None,
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Run the classifier as it comes on datasets not on record yet, and write results to `out`."""
    path = out / "records.jsonl"
    found = archive.rows(_missing_runs(archive.plan(names, seeds), path, jobs, start))
    return found, [path, _as_json(found, out / "ucr.json")]


def _missing_runs(
    wanted: list[Record],
    path: Path,
    jobs: int,
    start: Callable[[int], Callable[[], Any]] | None,
) -> list[Record]:
    """Results of runs, of which those that are not on record are done and counted."""
    there = runs.known(path)
    to_do = sum(runs.identity(one) not in there for one in wanted)
    return runs.run(wanted, path, jobs, start(to_do) if start is not None else None)


def _as_json(found: list[dict[str, Any]], path: Path) -> Path:
    save_json(found, path)
    return path


def write(cells: dict[tuple[str, str], tables.Cell], out: Path) -> list[Path]:
    """Write results for machines, CSV and LaTeX."""
    contents = {
        "results.json": json.dumps(tables.rows(cells.values()), indent=1) + "\n",
        "results.csv": tables.as_csv(cells.values()),
        "tables.tex": "\n".join(
            filter(
                None,
                (
                    *(tables.as_latex(cells, name) for name in tables.TABLES),
                    *(mnist.as_latex(cells, name) for name in tasks_of(["mnist"])),
                    lra_table.as_latex(cells),
                ),
            )
        ),
    }
    for name, text in contents.items():
        save_text(text, out / name)
    return [out / name for name in contents]
