"""Long Range Arena: pooled states of a deep ParalESN, read out by a perceptron or by ridge.

Image and PathFinder are read pixel by pixel, between 0 and 1; Text byte by byte and ListOps token
by token, each as the one-hot row it names. Every series keeps its own length. A search judges each
of the candidates that `lra.toml` lists, by ridge regression on some thousand training cases of
which a third is held out. The best is trained on the whole training set: by the two-layer
perceptron, which stops by the cases that are set aside for validation, and, where that is
affordable, by ridge regression, whose penalty is chosen by them. The one that does better on these
reads out the test set, once; ridge learns from them, too, before it does.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.paper import energy
from paralesn.paper.catalogue import Task, models, read, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.layout import scores
from paralesn.paper.protocol import Protocol, Tell, Work, lacks_pytorch
from paralesn.paper.protocols.classification import DTYPE, indicators, labels
from paralesn.paper.protocols.mnist import perceptron
from paralesn.paper.protocols.regression import build
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table
from paralesn.readouts.normal_equations import cholesky_predictions
from paralesn.readouts.ridge import Ridge

FILE = "lra.toml"
MODEL = "ParalESN (deep)"
SPACE = "extended"  # pooling is no part of the paper's space
DATA_SEED = 0  # of ListOps and PathFinder
_TRIAL_SEED = 1000
_TRIAL_SHARE = 1 / 3
_STEPS = 1 << 20  # time steps read at a time
_BLOCK = 4096  # cases that ridge regression digests at a time
_ORDERS = {"forward": slice(None), "backward": slice(None, None, -1)}
_TRIAL = "lra trial"


@lru_cache(maxsize=1)
def data(task: str) -> Any:
    """A task's data; whatever the seed of a run, they are the same."""
    return datasets.load(task, seed=DATA_SEED)


def reservoir(configuration: Mapping[str, Any], seed: int, task: str) -> Any:
    """A reservoir as configured, for tokens where a task has them, on every core."""
    meta = data(task).meta
    arguments = {"vocabulary": len(meta["tokens"]) if "tokens" in meta else meta.get("vocabulary")}
    arguments |= configuration["reservoir"]
    units = arguments.pop("units", tasks()[task].units)
    return build(models()[MODEL], arguments, seed, n_jobs=None, units=units, dtype=DTYPE)


def features(
    configuration: Mapping[str, Any],
    drawn: Any,
    X: Any,
    cases: np.ndarray,
    tell: Tell | None = None,
) -> np.ndarray:
    """Pooled states of some cases, one row each; a few cases are read at a time.

    A configuration may ask for `directions` other than forward; two stand side by side.
    """
    pools, segments = configuration["pool"], configuration["segments"]
    orders = [_ORDERS[name] for name in configuration.get("directions", ["forward"])]
    is_list = isinstance(X, list)
    longest = max(len(X[i]) for i in cases) if is_list else X.shape[1]
    size = max(1, _STEPS // longest)
    out: np.ndarray | None = None
    for first in range(0, cases.size, size):
        batch = cases[first : first + size]
        series: Any = [X[i] for i in batch] if is_list else X[batch].astype(DTYPE) / np.float32(255)
        pooled = []
        for order in orders:
            turned = [tokens[order] for tokens in series] if is_list else series[:, order]
            pooled.append(drawn.pool(turned, pools, segments))
        block = pooled[0] if len(pooled) == 1 else np.concatenate(pooled, axis=1)
        if out is None:
            out = np.empty((cases.size, block.shape[1]), block.dtype)
        out[first : first + batch.size] = block
        if tell is not None:
            tell(f"{first + batch.size:,} of {cases.size:,} series")
    assert out is not None
    return out


# -- judging candidates ----------------------------------------------------------------------------


def trials(wanted: Iterable[str]) -> list[Record]:
    """Runs that a search of some tasks consists of: every candidate."""
    return [
        {
            "kind": _TRIAL,
            "task": task,
            "model": MODEL,
            "space": SPACE,
            "seed": _TRIAL_SEED,
            "configuration": candidate,
            "trial_cases": read(FILE)["budget"]["cases"][task],
        }
        for task in wanted
        for candidate in read(FILE)["candidates"][task]
    ]


def validate(run: Record) -> Record:
    """Accuracy of ridge regression on cases held out, with the penalty that does best there."""
    begin, cases = time.perf_counter(), data(run["task"])
    looked_at = datasets.stratified_split(
        cases.y_train, min(0.9, run["trial_cases"] / cases.y_train.size), _TRIAL_SEED
    )[1]
    y, count = cases.y_train[looked_at], len(cases.classes)
    drawn = reservoir(run["configuration"], run["seed"], run["task"])
    states = features(run["configuration"], drawn, cases.X_train, looked_at)
    train, held_out = datasets.stratified_split(y, _TRIAL_SHARE, _TRIAL_SEED)
    penalties = read(FILE)["budget"]["penalties"]
    each = cholesky_predictions(
        states[train], indicators(y, count)[train], states[held_out], penalties
    )
    right = [float((labels(predicted) == y[held_out]).mean()) for predicted in each]
    return {
        "validation": max(right),
        "chosen": penalties[int(np.argmax(right))],
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
    outcome = (best["configuration"], best["chosen"], best["validation"], len(wanted), seconds)
    return Tuned(task, MODEL, SPACE, *outcome, seeds=1)


# -- runs that are reported ------------------------------------------------------------------------


def settings(task: str) -> dict[str, Any]:
    """What the readouts of a task are given: no penalties where the perceptron reads out alone."""
    neural = {**read(FILE)["perceptron"]["all"], **read(FILE)["perceptron"].get(task, {})}
    wanted = {"perceptron": neural}
    if task not in read(FILE)["perceptron"]["alone"]:
        wanted["penalties"] = read(FILE)["budget"]["penalties"]
    return wanted


def read_outs(
    run: Record, states: np.ndarray, y: np.ndarray, held: np.ndarray, y_held: np.ndarray
) -> dict[str, tuple[float, Any]]:
    """Readouts by name, fitted, each with its accuracy on the validation cases."""
    neural = perceptron(run["readout"]["perceptron"], run["seed"])
    neural.fit(states, y, validation=(held, y_held))
    found = {"perceptron": (neural.score(held, y_held), neural)}
    if "penalties" not in run["readout"]:
        return found
    classes = int(y.max()) + 1
    linear, targets = Ridge(run["readout"]["penalties"]), indicators(y, classes)
    for first in range(0, len(y), _BLOCK):
        rows = slice(first, first + _BLOCK)
        linear.partial_fit(states[rows], targets[rows])
    linear.validate(held, indicators(y_held, classes))
    right = float((labels(linear.predict(held)) == y_held).mean())
    return {**found, "ridge": (right, linear)}


def measure(run: Record, tell: Tell | None = None) -> Record:
    """Train on the whole training set, and test; `tell` hears how far it got."""
    task, configuration = run["task"], run["configuration"]
    cases, title = data(task), tasks()[task].title

    def say(text: str) -> None:
        if tell is not None:
            tell(f"{title}: {text}")

    drawn = reservoir(configuration, run["seed"], task)
    drawn.fit(cases.X_train[:1])  # drawing is no training
    train, held_out = datasets.stratified_split(cases.y_train, cases.validation_fraction, DATA_SEED)
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        begin = time.perf_counter()
        states = features(configuration, drawn, cases.X_train, train, say)
        held_states = features(configuration, drawn, cases.X_train, held_out)
        between = time.perf_counter()
        say("training")
        y_held = cases.y_train[held_out]
        readouts = read_outs(run, states, cases.y_train[train], held_states, y_held)
        end = time.perf_counter()
    count, width = states.shape
    del states  # a test set may be as large
    tested = features(configuration, drawn, cases.X_test, np.arange(len(cases.y_test)), say)
    by = max(readouts, key=lambda name: readouts[name][0])
    predicted, trained = _predict(
        by, readouts[by][1], tested, held_states, indicators(y_held, len(cases.classes))
    )
    right = float((predicted == cases.y_test).mean())
    done = time.perf_counter()
    return {
        "metric": "accuracy",
        "metrics": {
            "accuracy": right,
            **{f"validation of {name}": accuracy for name, (accuracy, _) in readouts.items()},
        },
        "read_out_by": by,
        "seconds": end - begin,
        "timing": {
            "features": between - begin,
            "training": end - between,
            "test": done - end,
            "total": done - begin,
        },
        "cases": [count, int(held_out.size), len(cases.y_test)],
        "features": width,
        "parameters": drawn.n_parameters_,
        "trained": int(trained),
        "energy": spent or None,
        "data_seed": DATA_SEED,
    }


def _predict(
    by: str, readout: Any, tested: np.ndarray, held_states: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, int]:
    """Classes of the test set, and how many parameters were trained; ridge learns on first."""
    if by == "ridge":
        readout.partial_fit(held_states, targets)
        trained = np.size(readout.coef_) + np.size(readout.intercept_)
        return labels(readout.predict(tested)), trained
    return readout.predict(tested), readout.n_parameters_


# -- the protocol ----------------------------------------------------------------------------------


class LongRangeArena(Protocol):
    """Image, ListOps, Text and PathFinder; a search judges a list of candidates."""

    name, title, seeds = "lra", "Long Range Arena", 1
    spaces = (SPACE,)
    uses_every_core = True
    measures_energy = True

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
        return None if entry is None else Tuned(task, MODEL, SPACE, **entry, seeds=1)

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, without its result."""
        return super().plan(tuned, seed) | {"alpha": None, "readout": settings(tuned.task)}

    def kinds(self) -> Mapping[str, Work]:
        """Runs that are reported, and trials of a search."""
        return {self.name: self.measure, _TRIAL: lambda run, folder, tell: validate(run)}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        return measure(run, tell)

    def trials(self, task: str, known: Iterable[Record]) -> list[Record]:
        """Every candidate."""
        return trials([task])

    def choose(self, task: str, known: Iterable[Record]) -> Tuned | None:
        """The candidate with the highest accuracy on cases held out."""
        return chosen(task, known)

    def tables(self, cells: Cells) -> list[Table]:
        """Accuracies below those that the paper prints, and our seconds."""
        ours = [cells.get((task, Row(MODEL))) for task in self.tasks()]
        return [_accuracies(ours), _seconds(ours)] if any(ours) else []


# -- tables ----------------------------------------------------------------------------------------


def figures(model: str) -> list[float | None]:
    """What the paper prints in a row, in percent, its own average last."""
    row = read(FILE)["published"][model]
    names = list(tasks_of("lra"))
    return [row.get(name) for name in (*names, "average")]


def average(ours: Sequence[Cell | None]) -> float | None:
    """Our mean over the tasks, in percent, once there is a result of each."""
    means = [cell.mean / cell.task.scale for cell in ours if cell is not None]
    return float(np.mean(means)) if len(means) == len(ours) else None


def _accuracies(ours: Sequence[Cell | None]) -> Table:
    plain = Digits(".1f", "")
    titles = [task.title for task in tasks_of("lra").values()]
    columns = [
        Column(title, "higher", digits=Digits(".1f", ".1f"), paper=plain, latex=plain)
        for title in titles
    ]
    columns.append(Column("Avg", "higher", digits=plain, paper=plain))
    lines = [
        Line(
            row,
            [Entry(None, None if f is None else Number(f)) for f in figures(row)],
            whose="the paper",
            quoted=True,
        )
        for row in read(FILE)["published"]
    ]
    mean = average(ours)
    last = Entry(None if mean is None else Number(mean))
    lines.append(Line(MODEL, [*map(scores, ours), last], whose="ours", apart=True))
    return Table("lra", "Long Range Arena, accuracy in %", "model", columns, lines)


def _seconds(ours: Sequence[Cell | None]) -> Table:
    columns = [Column(task.title, digits=Digits(".0f", "")) for task in tasks_of("lra").values()]
    lines = []
    for label, cost in (
        ("seconds of features", "features seconds"),
        ("seconds of training", "training seconds"),
        ("seconds of testing", "test seconds"),
    ):
        costs = [None if cell is None else cell.costs.get(cost) for cell in ours]
        lines.append(Line(label, [Entry(None if c is None else Number(c[0])) for c in costs]))
    return Table("lra-seconds", "Long Range Arena, seconds", MODEL, columns, lines)
