"""Classification by the paper's protocol: last states of 1 024 units, read out by ridge regression.

A search judges by a part of the training set that it holds out, class by class; a chosen
configuration is trained on all of the training set, and the test set is looked at once.

Series enter without the mean of each channel (a recording's baseline tells nothing of its class,
and most of the archive's series come without it), with unit variance of each channel over the
training set. Reservoirs compute in single precision, ridge in double.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn import datasets
from paralesn.paper import energy
from paralesn.paper.catalogue import MAIN, Model, Task, models, read, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import NUMBER, OF_RUNS, TEXT
from paralesn.paper.layout import models_by_tasks
from paralesn.paper.protocol import Judging, Protocol, Tell, Work
from paralesn.paper.protocols import regression, transfer
from paralesn.paper.records import Record
from paralesn.paper.results import Cells
from paralesn.paper.table import Table
from paralesn.readouts.normal_equations import cholesky_predictions
from paralesn.readouts.ridge import Ridge

FILE = "classification.toml"
DTYPE = "float32"
_TRANSFER = "classification transfer"
_FIELDS = {**OF_RUNS, "transferred": TEXT, "chosen": NUMBER}
_CASES = 512  # that are centred and scaled at a time
SHARE = 0.3  # of the training set that the paper holds out to validate


@dataclass(frozen=True, eq=False)
class Cases:
    """Series (cases, time, channels) as a reservoir reads them, and numbers of their classes."""

    train: np.ndarray
    y_train: np.ndarray
    test: np.ndarray
    y_test: np.ndarray
    classes: int
    note: str = ""


@lru_cache(maxsize=2)
def data(task: str) -> Cases:
    """A task's data, read once; whatever the seed, they are the same."""
    archive: Any = datasets.load(task)
    std = _spread(archive.X_train)
    train, test = (_scaled(part, std) for part in (archive.X_train, archive.X_test))
    return cases(archive, train, test)


def _centred(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Series without the mean of each channel, some at a time: all would be a second copy."""
    for first in range(0, len(X), _CASES):
        some = slice(first, first + _CASES)
        yield some, X[some] - X[some].mean(axis=1, keepdims=True)


def _spread(X: np.ndarray) -> np.ndarray:
    """Standard deviation of each channel (features,) of series without their means."""
    squares = sum(np.square(part).sum(axis=(0, 1)) for _, part in _centred(X))
    return np.sqrt(squares / (X.shape[0] * X.shape[1]))


def _scaled(X: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Series without their means in units of `std`, in the precision of reservoirs."""
    scaled = np.empty(X.shape, DTYPE)
    for some, part in _centred(X):
        scaled[some] = part / std
    return scaled


def cases(dataset: Any, train: np.ndarray, test: np.ndarray) -> Cases:
    """Series of a dataset with the numbers of its classes."""
    y_train, y_test = (
        np.searchsorted(dataset.classes, y) for y in (dataset.y_train, dataset.y_test)
    )
    note = str(dataset.meta.get("note", ""))
    return Cases(train, y_train, test, y_test, len(dataset.classes), note)


def build(model: Model, configuration: Mapping[str, Any], seed: int, task: str) -> Any:
    """A reservoir of a model as configured, for a task."""
    return candidate(model, configuration, seed, task, None)


def features(model: Model, reservoir: Any, X: np.ndarray) -> np.ndarray:
    """What a readout is given of series X: their last states, or statistics over time."""
    if not model.pool:
        return np.asarray(reservoir.last(X))
    return np.asarray(reservoir.pool(X, model.pool, model.segments))


# -- judging configurations ------------------------------------------------------------------------


class Effort(NamedTuple):
    """What a configuration is judged by, whichever model it is of."""

    units: int | None  # of the reservoir; None: as many as in the runs that are reported
    cases: int | None  # of the training set; None: all of them


def effort(task: str, final: bool) -> Effort:
    """How large a reservoir a trial of a search, or a finalist, is given, and how many cases.

    Dense reservoirs take thousands of times as long as a diagonal one. So that every model has as
    many trials, and is judged alike, trials are small for all of them.
    """
    known = read(FILE)["search"][tasks()[task].group]["finalist" if final else "trial"]
    return Effort(known.get("units"), known.get("cases"))


def candidate(
    model: Model, configuration: Mapping[str, Any], seed: int, task: str, units: int | None
) -> Any:
    """A reservoir that is judged; a model that has its own number of units keeps it."""
    units = model.units or units or tasks()[task].units
    return regression.build(model, configuration, seed, units=units, dtype=DTYPE)


def split(
    y: np.ndarray, most: int | None, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cases to train on and cases to hold out, of at most so many, every class alike."""
    looked_at = np.arange(y.size)
    if most is not None and most < y.size:
        looked_at = datasets.stratified_split(y, most / y.size, seed)[1]
    train, held_out = datasets.stratified_split(y[looked_at], share, seed)
    return looked_at[train], looked_at[held_out]


class Trial(NamedTuple):
    """What a configuration is judged by: the cases, how many of them, and the share held out."""

    cases: Cases
    most: int | None
    share: float


def validate(
    trial: Trial, model: Model, reservoir: Any, penalties: Sequence[float], seed: int
) -> np.ndarray:
    """Accuracy of ridge regression on cases held out, for every penalty.

    Of equal accuracies the smaller squared error is better, by less than a case counts.
    """
    cases = trial.cases
    train, held_out = split(cases.y_train, trial.most, trial.share, seed)
    targets = indicators(cases.y_train, cases.classes)
    states = features(model, reservoir, cases.train[np.concatenate([train, held_out])])
    learnt, judged = states[: train.size], states[train.size :]
    scores = []
    for predicted in cholesky_predictions(learnt, targets[train], judged, penalties):
        if np.isnan(predicted).any():
            scores.append(0.0)
            continue
        off = min(float(((predicted - targets[held_out]) ** 2).mean()), 1e3)
        right = (labels(predicted) == cases.y_train[held_out]).mean()
        scores.append(right - 1e-8 * off)
    return np.array(scores)


# -- runs that are reported ------------------------------------------------------------------------


class ReadOut(NamedTuple):
    """A trained readout: how it tells classes from features, and its number of parameters."""

    classify: Callable[[np.ndarray], np.ndarray]
    parameters: int


def ridge(run: Record, cases: Cases, states: np.ndarray) -> ReadOut:
    """Ridge regression on all of the training set."""
    readout = Ridge([run["alpha"]]).fit(states, indicators(cases.y_train, cases.classes))
    parameters = np.atleast_2d(readout.coef_).size + np.size(readout.intercept_)
    return ReadOut(lambda features: labels(readout.predict(features)), int(parameters))


def measure(
    run: Record, cases: Cases, learn: Callable[[Record, Cases, np.ndarray], ReadOut] = ridge
) -> Record:
    """Train on the whole training set, and test; `learn` makes a readout of states."""
    model = models()[run["model"]]
    reservoir = build(model, run["configuration"], run["seed"], run["task"])
    reservoir.fit(cases.train[:1])  # drawing is no training
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        begin = time.perf_counter()
        states = features(model, reservoir, cases.train)
        between = time.perf_counter()
        readout = learn(run, cases, states)
        end = time.perf_counter()
    predicted = readout.classify(features(model, reservoir, cases.test))
    tested = time.perf_counter()
    return {
        "metric": "accuracy",
        "metrics": {"accuracy": float((predicted == cases.y_test).mean())},
        "seconds": end - begin,
        "timing": {
            "features": between - begin,
            "training": end - between,
            "test": tested - end,
            "total": tested - begin,
        },
        "parameters": reservoir.n_parameters_,
        "trained": readout.parameters,
        "energy": spent or None,
    }


def indicators(y: np.ndarray, classes: int) -> np.ndarray:
    """Targets -1 and 1: a column for each class, or one for the second of two."""
    if classes == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.where(y[:, None] == np.arange(classes), 1.0, -1.0)


def labels(predicted: np.ndarray) -> np.ndarray:
    """Classes that predictions of the targets speak for."""
    predicted = predicted.reshape(len(predicted), -1)
    return (predicted[:, 0] > 0).astype(int) if predicted.shape[1] == 1 else predicted.argmax(1)


# -- the protocol ----------------------------------------------------------------------------------


class Classification(Protocol):
    """Tasks of the UCR and UEA archives: last states, read out by ridge regression."""

    name, title, seeds = "classification", "Time series classification", 5
    # A trial takes seconds, a finalist minutes.
    judging = Judging(seeds=2, finalists=3, final_seeds=2, random=8, anew=True)
    slow = ("ESN", "ESN (deep)")  # dense, of 1 024 units: minutes to hours
    measures_energy = True
    needed_of_trials = (
        "task", "model", "space", "seed", "configuration", "transferred", "validation", "chosen",
        "seconds",
    )  # fmt: skip
    fields = _FIELDS

    def tasks(self) -> dict[str, Task]:
        """Tasks of the archives."""
        return tasks_of("classification")

    def models(self, task: str) -> list[str]:
        """The paper's four."""
        return list(MAIN)

    def groups(self) -> Sequence[str]:
        """All tasks, by the name of the protocol and of its table."""
        return (self.name, "archives")

    def models_of_tables(self) -> Mapping[str, Sequence[str]]:
        """Models of the table."""
        return {"archives": MAIN}

    def kinds(self) -> Mapping[str, Work]:
        """Runs that are reported, and trials of other tasks' configurations."""
        return {
            self.name: self.measure,
            _TRANSFER: lambda run, folder, tell: transfer.judge(run, self.validate),
        }

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        return measure(run, data(run["task"]))

    def validate(
        self,
        task: str,
        model: str,
        configuration: Mapping[str, Any],
        penalties: Sequence[float],
        seed: int,
        final: bool = False,
    ) -> np.ndarray:
        """Accuracy on cases held out, for every penalty."""
        given = effort(task, final)
        reservoir = candidate(models()[model], configuration, seed, task, given.units)
        trial = Trial(data(task), given.cases, SHARE)
        return validate(trial, models()[model], reservoir, penalties, seed)

    def transfers(self, task: str, model: str, space: str) -> list[Record]:
        """Trials of what was chosen for other tasks, where a task has no search of its own."""
        return transfer.trials(_TRANSFER, task, transfer.candidates(FILE, task, model, space))

    def transferred(
        self, task: str, model: str, space: str, known: Iterable[Record]
    ) -> Tuned | None:
        """The one that does best on cases held out."""
        return transfer.chosen(self.transfers(task, model, space), known)

    def tables(self, cells: Cells) -> list[Table]:
        """The paper's table."""
        title, shown = "Time series classification, accuracy in %", list(self.tasks().values())
        table = models_by_tasks("archives", title, shown, MAIN, cells, unit=False)
        return [] if table is None else [table]
