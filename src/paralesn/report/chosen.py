"""Which of the runs on record make which row of the tables.

A file of records may hold runs of several configurations of a model on a task: those of the paper's
search space and of the extended one, and others from searches long past. The rule is that of
`paralesn reproduce`: what did best on validation data counts.
"""

import json
from collections.abc import Iterable, Sequence

from paralesn.paper import configurations
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.records import Record
from paralesn.paper.reproduce import shipped_records
from paralesn.paper.runs import identity
from paralesn.paper.tables import Cell, cells

KINDS = ("regression", "classification", "mnist", "trained", "lra")
PAPER = " [paper space]"
_SAME = ("configuration", "alpha", "units", "readout")
_NEEDED = ("task", "model", "space", "seed", "configuration", "metric", "metrics", "seconds")


def rows(runs: Iterable[Record]) -> list[tuple[str, Record]]:
    """Rows of the tables and the runs that belong to them.

    A model's own row is the better of both spaces, `[paper space]` what the paper's gave. Dense
    reservoirs that are slow to run are taken from the package where nobody ran them.
    """
    known = {identity(run): _whole(run) for run in runs if run["kind"] in KINDS}
    there = {run["task"] for run in known.values()}
    mine = {(run["task"], run["model"]) for run in known.values()}
    for key, run in shipped_records().items():
        if run["task"] in there and (run["task"], run["model"]) not in mine:
            known[key] = run
    grouped: dict[tuple[str, str], dict[str, list[list[Record]]]] = {}
    for (task, model, space), groups in _by_space(known.values()).items():
        grouped.setdefault((task, model), {})[space] = groups
    found = []
    for (task, model), spaces in grouped.items():
        best = {space: _best(task, groups) for space, groups in spaces.items()}
        found += [(model, run) for run in _best(task, list(best.values()))]
        if not models()[model].trained:  # which has no other space
            found += [(model + PAPER, run) for run in best.get("paper", [])]
    return found


def table_cells(runs: Iterable[Record]) -> dict[tuple[str, str], Cell]:
    """Cells by task and row, in the catalogue's order."""
    found = cells(rows(runs))
    return {
        (task, row): found[task, row]
        for task in tasks()
        for model in models()
        for row in (model, model + PAPER)
        if (task, row) in found
    }


def _whole(run: Record) -> Record:
    """The run, if it is a whole record of one."""
    lacking = [name for name in _NEEDED if name not in run]
    if lacking:
        raise ValueError(
            f"a record of {run['kind']} must have {', '.join(_NEEDED)}, got one without "
            f"{', '.join(lacking)}"
        )
    return run


def _by_space(runs: Iterable[Record]) -> dict[tuple[str, str, str], list[list[Record]]]:
    """Runs of each task, model and space, apart by configuration."""
    found: dict[tuple[str, str, str], dict[str, list[Record]]] = {}
    for run in runs:
        if run["task"] in tasks() and run["model"] in models():
            same = json.dumps([run.get(name) for name in _SAME], sort_keys=True)
            place = found.setdefault((run["task"], run["model"], run["space"]), {})
            place.setdefault(same, []).append(run)
    return {
        key: [sorted(group, key=lambda run: run["seed"]) for group in groups.values()]
        for key, groups in found.items()
    }


def _best(task: str, groups: Sequence[list[Record]]) -> list[Record]:
    """The runs of the configuration that did best on validation data; of equal ones the latest."""
    return min(reversed(groups), key=lambda group: _loss(task, group[0]))


def _loss(task: str, run: Record) -> float:
    """On validation data, as recorded, or as known of configurations that come with the package."""
    score = run.get("validation")
    if score is None:
        one = configurations.shipped(task, run["model"], run["space"])
        if one is not None and one.configuration == run["configuration"]:
            score = one.validation
    return float("inf") if score is None else tasks()[task].loss(score)
