"""Trials that a study of sensitivity rests on: random ones, those of a search, or shipped ones.

Shipped trials are random ones, a line for each model: for each hyperparameter its values and which
of them each trial had, and the metric of each.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import machine, save_text, versions
from paralesn.paper import records, spaces, strict_json
from paralesn.paper.bayesian import HOPELESS, Study, existing_study, study_file
from paralesn.paper.catalogue import tasks
from paralesn.paper.fields import COUNT, OBJECT, SURROUNDINGS, TEXT, Field, is_list_of, is_number
from paralesn.paper.fields import problem_of as problem_of_fields
from paralesn.paper.records import Record
from paralesn.paper.studies import random_trials
from paralesn.workflows.study_storage import hidden

EXPERIMENT = "sensitivity-trials"
SHIPPED = "sensitivity-trials.jsonl"
FEWEST = 10
_DIGITS = 6  # of a metric in a condensed record


class TooFewTrialsError(ValueError):
    """There are no trials, or too few."""


@dataclass(frozen=True)
class Trials:
    """Configurations and how each was judged.

    Attributes
    ----------
    study : Study
    source : str
        ``"random"`` or ``"search"``.
    columns : mapping of str to list
        Values of each hyperparameter, pairs as minimum and maximum.
    scores : array
        The metric on validation data.
    seeds : int
        Reservoirs that each was judged by.
    surroundings : dict
        Versions and machine.
    is_shipped : bool
    """

    study: Study
    source: str
    columns: Mapping[str, Sequence[Any]]
    scores: np.ndarray
    seeds: int
    surroundings: Record
    is_shipped: bool = False


def on_record(study: Study, folder: Path, seed: int, storage: str) -> Trials:
    """Trials of one's own, random ones first; otherwise those that come with the package."""
    path = random_trials.file_of(study, folder)
    random = random_trials.known(path, study, seed)
    if len(random) >= FEWEST:
        return of_records(random)
    if study_file(*study, storage).exists():
        return of_search(study, storage)
    shipped = of_package(study)
    if shipped is None:
        raise TooFewTrialsError(
            f"there must be at least {FEWEST} trials of {study}, got {len(random)} in {path}, no "
            f"search in {storage}, and none that come with the package"
        )
    return shipped


def of_records(trials: Sequence[Record]) -> Trials:
    """Random trials on record, all of one study."""
    first = trials[0]
    computed = [one for one in trials if abs(one["validation"]) < HOPELESS]
    return Trials(
        Study(first["task"], first["model"], first["space"]),
        "random",
        _columns([one["configuration"] for one in computed]),
        np.array([one["validation"] for one in computed]),
        first["seeds"],
        {name: first.get(name) for name in ("versions", "machine")},
    )


def of_search(study: Study, storage: str) -> Trials:
    """Trials of a search, those given up early included."""
    from optuna.trial import TrialState

    opened = existing_study(*study, storage)
    if opened is None:
        raise TooFewTrialsError(
            f"studies must hold one of {study}, got none in {hidden(storage)!r}"
        )
    states = (TrialState.COMPLETE, TrialState.PRUNED)
    trials = [
        trial
        for trial in opened.get_trials(deepcopy=False, states=states)
        if trial.intermediate_values and trial.intermediate_values[0] < HOPELESS
    ]
    if len(trials) < FEWEST:
        raise TooFewTrialsError(
            f"studies must hold at least {FEWEST} trials of {study}, got {len(trials)}"
        )
    # Every trial was judged by the first seed, only those not given up by further ones.
    losses = [trial.intermediate_values[0] for trial in trials]
    return Trials(
        study,
        "search",
        _columns([trial.user_attrs["configuration"] for trial in trials]),
        np.array([tasks()[study.task].loss(loss) for loss in losses]),
        1,
        {"versions": versions("optuna"), "machine": machine()},
    )


def _columns(configurations: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    rows = [spaces.one_by_one(configuration) for configuration in configurations]
    return {name: [row[name] for row in rows] for name in rows[0]}


# -- shipped ---------------------------------------------------------------------------------------


def of_package(study: Study) -> Trials | None:
    """Trials of a study that come with the package, if there are any."""
    with as_file(files("paralesn.paper").joinpath("data", "shipped", SHIPPED)) as path:
        every = [expanded(line) for line in records.read(path, problem)]
    return next((one for one in every if one.study == study), None)


def export(trials: Trials, path: Path) -> None:
    """Write trials into a file as they are shipped, instead of those of the same study in it.

    Raises
    ------
    ValueError
        If the file holds something else, which would be lost.
    """
    kept = [line for line in _held(path) if _study(line) != trials.study]
    lines = [*kept, _condensed(trials)]
    texts = (json.dumps(line, separators=(",", ":"), sort_keys=True) for line in lines)
    save_text("".join(f"{text}\n" for text in texts), path)


def _held(path: Path) -> list[Record]:
    """Condensed trials of a file, which holds nothing else."""
    held = []
    for number, text in enumerate(path.read_bytes().splitlines() if path.exists() else [], 1):
        try:
            held.append(_checked(text))
        except ValueError as error:
            message = f"path must be a file of condensed trials, line {number} {error}"
            raise ValueError(message) from None
    return held


def _checked(text: bytes) -> Record:
    line: Record = strict_json.parse(text)
    why = problem(line) if isinstance(line, dict) else "is no JSON object"
    if why:
        raise ValueError(why)
    return line


def _condensed(trials: Trials) -> Record:
    columns = {}
    for name, drawn in trials.columns.items():
        values = sorted(set(drawn), key=lambda value: (isinstance(value, str), value))
        columns[name] = {"values": values, "drawn": [values.index(value) for value in drawn]}
    return {
        "experiment": EXPERIMENT,
        **trials.study._asdict(),
        "source": trials.source,
        "seeds": trials.seeds,
        "columns": columns,
        "validation": [float(f"{score:.{_DIGITS}g}") for score in trials.scores],
        **trials.surroundings,
    }


def expanded(line: Record) -> Trials:
    """Trials from a line of the package; ValueError if it cannot be used."""
    if why := problem(line):
        raise ValueError(f"a line of condensed trials {why}")
    columns = {
        name: [column["values"][index] for index in column["drawn"]]
        for name, column in line["columns"].items()
    }
    surroundings = {name: line[name] for name in ("versions", "machine")}
    scores = np.array(line["validation"], dtype=float)
    return Trials(
        _study(line), line["source"], columns, scores, line["seeds"], surroundings, is_shipped=True
    )


def _study(line: Record) -> Study:
    return Study(line["task"], line["model"], line["space"])


_METRICS = Field(is_list_of(is_number), "a list of numbers")
_FIELDS: Mapping[str, Field] = {
    **dict.fromkeys(("experiment", "task", "model", "space", "source"), TEXT),
    **SURROUNDINGS, "seeds": COUNT, "columns": OBJECT, "validation": _METRICS,
}  # fmt: skip


def problem(line: Record) -> str | None:
    """Why a line of condensed trials cannot be used, or None."""
    if why := problem_of_fields(line, _FIELDS, _FIELDS, optional=()):
        return why
    number = len(line["validation"])
    broken = [name for name, column in line["columns"].items() if not _is_column(column, number)]
    if broken:
        return f"has no value of {', '.join(broken)} for each of {number} trials"
    return None


def _is_column(column: Any, number: int) -> bool:
    if not isinstance(column, dict) or not isinstance(column.get("values"), list):
        return False
    known, drawn = range(len(column["values"])), column.get("drawn")
    if not isinstance(drawn, list) or len(drawn) != number:
        return False
    return all(isinstance(index, int) and index in known for index in drawn)
