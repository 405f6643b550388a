"""Long Range Arena: pooled states of a deep ParalESN, read out by a perceptron or by ridge.

A search judges each of the candidates that `lra.toml` lists by ridge regression on a few thousand
training cases, a third of them held out, or, where the perceptron reads out alone, by that on more.
The best is trained on the whole training set: by the two-layer perceptron, which stops by the cases
that are set aside for validation, and, where that is affordable, by ridge regression, whose penalty
is chosen by them. The one that does better on these reads out the test set, once; ridge learns from
them, too, before it does.
"""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn import datasets
from paralesn.paper import energy
from paralesn.paper.catalogue import Task, read, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import OF_RUNS, POSITIVE
from paralesn.paper.protocol import Protocol, Tell, Work, lacks_pytorch
from paralesn.paper.protocols import lra_tables
from paralesn.paper.protocols.classification import indicators, labels
from paralesn.paper.protocols.lra_features import DATA_SEED, data, features, reservoir
from paralesn.paper.protocols.lra_tables import FILE, MODEL
from paralesn.paper.protocols.mnist import perceptron
from paralesn.paper.records import Record
from paralesn.paper.results import Cells, Row
from paralesn.paper.table import Table
from paralesn.readouts.normal_equations import cholesky_predictions
from paralesn.readouts.ridge import Ridge

SPACE = "extended"  # pooling is no part of the paper's space
_TRIAL_SEED = 1000
_TRIAL_SHARE = 1 / 3
_TRIAL = "lra trial"
_FIELDS = {**OF_RUNS, "chosen": POSITIVE}


# -- judging candidates ----------------------------------------------------------------------------


def trials(wanted: Iterable[str]) -> list[Record]:
    """Runs that a search consists of: every candidate of the tasks wanted."""
    return [
        {
            "kind": _TRIAL,
            "task": task,
            "model": MODEL,
            "space": SPACE,
            "seed": _TRIAL_SEED,
            "configuration": candidate,
            "trial_cases": read(FILE)["budget"]["cases"][task],
            **({"readout": settings(task)} if is_neural(task) else {}),
        }
        for task in wanted
        for candidate in read(FILE)["candidates"][task]
    ]


def validate(run: Record) -> Record:
    """Accuracy on cases held out: with the penalty that does best there, or of the perceptron."""
    begin, cases = time.perf_counter(), data(run["task"])
    looked_at = datasets.stratified_split(
        cases.y_train, min(0.9, run["trial_cases"] / cases.y_train.size), _TRIAL_SEED
    )[1]
    y, count = cases.y_train[looked_at], len(cases.classes)
    drawn = reservoir(run["configuration"], run["seed"], run["task"])
    states = features(run["configuration"], drawn, cases.X_train, looked_at)
    train, held_out = datasets.stratified_split(y, _TRIAL_SHARE, _TRIAL_SEED)
    if "readout" in run:
        neural = perceptron(run["readout"]["perceptron"], run["seed"])
        neural.fit(states[train], y[train], validation=(states[held_out], y[held_out]))
        right = float(neural.score(states[held_out], y[held_out]))
        return {"validation": right, "seconds": time.perf_counter() - begin}
    penalties = read(FILE)["budget"]["penalties"]
    each = cholesky_predictions(
        states[train], indicators(y, count)[train], states[held_out], penalties
    )
    scores = [float((labels(predicted) == y[held_out]).mean()) for predicted in each]
    return {
        "validation": max(scores),
        "chosen": penalties[int(np.argmax(scores))],
        "seconds": time.perf_counter() - begin,
    }


def chosen(task: str, known: Iterable[Record]) -> Tuned | None:
    """The best candidate of a search, if all of its trials are known."""
    by = {json.dumps(run["configuration"], sort_keys=True): run for run in known
          if run.get("kind") == _TRIAL and run["task"] == task}  # fmt: skip
    wanted = [json.dumps(run["configuration"], sort_keys=True) for run in trials([task])]
    if not wanted or not all(key in by for key in wanted):
        return None
    best = max((by[key] for key in wanted), key=lambda run: run["validation"])
    seconds = sum(by[key]["seconds"] for key in wanted)
    outcome = (best["configuration"], best.get("chosen"), best["validation"], len(wanted), seconds)
    return Tuned(task, MODEL, SPACE, *outcome, seeds=1)


# -- runs that are reported ------------------------------------------------------------------------


def is_neural(task: str) -> bool:
    """Whether the perceptron reads out alone, where ridge regression takes too long."""
    return task in read(FILE)["perceptron"]["alone"]


def settings(task: str) -> dict[str, Any]:
    """What the readouts of a task are given: no penalties where the perceptron reads out alone."""
    neural = {**read(FILE)["perceptron"]["all"], **read(FILE)["perceptron"].get(task, {})}
    wanted = {"perceptron": neural}
    if not is_neural(task):
        wanted["penalties"] = read(FILE)["budget"]["penalties"]
    return wanted


def read_outs(
    run: Record, states: np.ndarray, y: np.ndarray, held: np.ndarray, y_held: np.ndarray
) -> dict[str, tuple[float, Any]]:
    """Readouts by name, fitted, each with its accuracy on the validation cases."""
    neural = perceptron(run["readout"]["perceptron"], run["seed"])
    neural.fit(states, y, validation=(held, y_held))
    fitted = {"perceptron": (neural.score(held, y_held), neural)}
    if "penalties" not in run["readout"]:
        return fitted
    classes = int(y.max()) + 1
    linear = Ridge(run["readout"]["penalties"]).partial_fit(states, indicators(y, classes))
    linear.validate(held, indicators(y_held, classes))
    right = float((labels(linear.predict(held)) == y_held).mean())
    return {**fitted, "ridge": (right, linear)}


class Training(NamedTuple):
    """Readouts by name, each with its accuracy on the validation cases, and what they took."""

    readouts: dict[str, tuple[float, Any]]
    held_states: np.ndarray
    y_held: np.ndarray
    cases: int
    features: int
    feature_seconds: float
    seconds: float


def train(run: Record, drawn: Any, tell: Tell | None = None) -> Training:
    """Fit the readouts to pooled states of the training set."""
    cases, configuration = data(run["task"]), run["configuration"]
    learnt, held_out = datasets.stratified_split(
        cases.y_train, cases.validation_fraction, DATA_SEED
    )
    begin = time.perf_counter()
    states = features(configuration, drawn, cases.X_train, learnt, tell)
    held_states = features(configuration, drawn, cases.X_train, held_out)
    between = time.perf_counter()
    if tell is not None:
        tell("training")
    y_held = cases.y_train[held_out]
    readouts = read_outs(run, states, cases.y_train[learnt], held_states, y_held)
    end = time.perf_counter()
    count, width = states.shape
    return Training(readouts, held_states, y_held, count, width, between - begin, end - between)


def read_out(run: Record, drawn: Any, training: Training, tell: Tell | None = None) -> Record:
    """Read out the test set by the readout that does best on the validation cases.

    Ridge regression learns from these, too, before it does.
    """
    cases = data(run["task"])
    begin = time.perf_counter()
    every = np.arange(len(cases.y_test))
    states = features(run["configuration"], drawn, cases.X_test, every, tell)
    by = max(training.readouts, key=lambda name: training.readouts[name][0])
    readout = training.readouts[by][1]
    if by == "ridge":
        readout.partial_fit(training.held_states, indicators(training.y_held, len(cases.classes)))
        trained = np.size(readout.coef_) + np.size(readout.intercept_)
        predicted = labels(readout.predict(states))
    else:
        trained, predicted = readout.n_parameters_, readout.predict(states)
    return {
        "accuracy": float((predicted == cases.y_test).mean()),
        "seconds": time.perf_counter() - begin,
        "read_out_by": by,
        "trained": int(trained),
    }


def measure(run: Record, tell: Tell | None = None) -> Record:
    """Train on the whole training set, and test; `tell` is told how far it got."""
    cases, title = data(run["task"]), tasks()[run["task"]].title

    def say(text: str) -> None:
        if tell is not None:
            tell(f"{title}: {text}")

    drawn = reservoir(run["configuration"], run["seed"], run["task"])
    drawn.fit(cases.X_train[:1])  # drawing is no training
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        training = train(run, drawn, say)
    tested = read_out(run, drawn, training, say)
    seconds = training.feature_seconds + training.seconds
    validation = {f"validation of {name}": right for name, (right, _) in training.readouts.items()}
    return {
        "metric": "accuracy",
        "metrics": {"accuracy": tested["accuracy"], **validation},
        "read_out_by": tested["read_out_by"],
        "seconds": seconds,
        "timing": {
            "features": training.feature_seconds,
            "training": training.seconds,
            "test": tested["seconds"],
            "total": seconds + tested["seconds"],
        },
        "cases": [training.cases, len(training.y_held), len(cases.y_test)],
        "features": training.features,
        "parameters": drawn.n_parameters_,
        "trained": tested["trained"],
        "energy": spent or None,
        "data_seed": DATA_SEED,
    }


# -- the protocol ----------------------------------------------------------------------------------


class LongRangeArena(Protocol):
    """Image, ListOps, Text and PathFinder; a search judges a list of candidates."""

    name, title, seeds = "lra", "Long Range Arena", 3
    spaces = (SPACE,)
    uses_every_core = True
    measures_energy = True
    needed_of_trials = ("task", "model", "seed", "configuration", "validation", "seconds")
    fields = _FIELDS

    def tasks(self) -> dict[str, Task]:
        """The four."""
        return tasks_of("lra")

    def models(self, task: str) -> list[str]:
        """The one that the paper ran."""
        return [MODEL]

    def missing(self, task: str) -> str | None:
        """Why a task cannot be run here, or None."""
        return lacks_pytorch(self.task(task).title) or super().missing(task)

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """What our own search over the candidates chose."""
        entry = read(FILE)["chosen"].get(task)
        if entry is None:
            return None
        return Tuned(task, MODEL, SPACE, **{"alpha": None} | entry, seeds=1)  # TOML has no null

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, without its result."""
        return super().plan(tuned, seed) | {"alpha": None, "readout": settings(tuned.task)}

    def kinds(self) -> Mapping[str, Work]:
        """Runs that are reported, and trials of a search."""
        return {self.name: self.measure, _TRIAL: lambda run, folder, tell: validate(run)}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        return measure(run, tell)

    def trials(self, task: str, known: Iterable[Record], model: str | None = None) -> list[Record]:
        """Every candidate."""
        return trials([task])

    def choose(self, task: str, known: Iterable[Record], model: str | None = None) -> Tuned | None:
        """The candidate with the highest accuracy on cases held out."""
        return chosen(task, known)

    def tables(self, cells: Cells) -> list[Table]:
        """Accuracies below those that the paper prints, and our seconds."""
        ours = [cells.get((task, Row(MODEL))) for task in self.tasks()]
        return [lra_tables.accuracies(ours), lra_tables.seconds(ours)] if any(ours) else []
