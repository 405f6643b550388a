"""Classification by the paper's protocol: the last states of 1 024 units, and a readout on them.

The archive's tasks are read out by ridge regression, sequential MNIST by the two-layer perceptron.
A search judges by a part of the training set that it holds out, class by class; a chosen
configuration is trained on all of the training set, and the test set is looked at once. The
perceptron stops by the 6 000 images of a 90-10 split, which it does not learn from.

Series of the archive enter without the mean of each channel (a recording's baseline tells nothing
of its class, and most of the archive's series come without it), with unit variance of each channel
over the training set; pixels as they are, between 0 and 1. Reservoirs compute in single precision,
ridge in double.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from paralesn import datasets
from paralesn.paper import energy
from paralesn.paper.catalogue import Model, models, read, tasks
from paralesn.paper.protocols import regression
from paralesn.paper.records import Record
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

FILE = "classification.toml"
DTYPE = "float32"
PERMUTATION = 0  # seed of the order of the pixels of psMNIST
VALIDATION = {"classification": 0.3, "mnist": 0.1}  # the paper's part of the training set
_TRIAL_SHARE = 1 / 3  # held out of the few images that a trial looks at
_FINAL = 1.5  # times as many images for the best configurations of a search
_FINAL_EPOCHS = 30


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
    if tasks()[task].kind == "mnist":
        found = datasets.load_mnist(task == "psmnist", PERMUTATION, np.float32)
        train, test = np.asarray(found.X_train), np.asarray(found.X_test)
    else:
        archive: Any = datasets.load(task)
        found = archive
        centred = [
            part - part.mean(axis=1, keepdims=True) for part in (found.X_train, found.X_test)
        ]
        std = centred[0].std(axis=(0, 1))
        train, test = ((part / std).astype(DTYPE) for part in centred)
    numbers = [np.searchsorted(found.classes, y) for y in (found.y_train, found.y_test)]
    note = str(found.meta.get("note", ""))
    return Cases(train, numbers[0], test, numbers[1], len(found.classes), note)


def build(model: Model, configuration: Mapping[str, Any], seed: int, task: str) -> Any:
    """A reservoir of a model as configured, for a task."""
    units = model.units or tasks()[task].units
    return regression.build(model, configuration, seed, units=units, dtype=DTYPE)


def features(model: Model, reservoir: Any, X: np.ndarray) -> np.ndarray:
    """What a readout is given of series X: their last states, or statistics over time."""
    if not model.pool:
        return np.asarray(reservoir.last(X))
    return np.asarray(reservoir.pool(X, model.pool, model.segments))


# -- judging configurations ------------------------------------------------------------------------


def most_cases(task: str, model: Model, reservoir: Any) -> int | None:
    """Training cases that a trial looks at, or None for all of them."""
    kind = "dense"
    if isinstance(reservoir, ParalESN):
        kind = "pooled" if model.pool else "single" if reservoir.layers == 1 else "deep"
    found = read(FILE)["trials"][tasks()[task].kind].get(kind)
    return None if found is None else int(found)


def parts(
    y: np.ndarray, most: int | None, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cases to train on and cases to hold out, of at most so many, every class alike."""
    looked_at = np.arange(y.size)
    if most is not None and most < y.size:
        looked_at = datasets.stratified_split(y, most / y.size, seed)[1]
    kept, held = datasets.stratified_split(y[looked_at], share, seed)
    return looked_at[kept], looked_at[held]


def validate(
    task: str, model: Model, reservoir: Any, penalties: Sequence[float], seed: int
) -> np.ndarray:
    """Accuracy of ridge regression on cases held out, for every penalty.

    Of equal accuracies the smaller squared error is better, by less than a case counts. On MNIST
    this stands in for the perceptron, which takes a hundred times as long.
    """
    cases, kind = data(task), tasks()[task].kind
    share = _TRIAL_SHARE if kind == "mnist" else VALIDATION[kind]
    kept, held = parts(cases.y_train, most_cases(task, model, reservoir), share, seed)
    targets = indicators(cases.y_train, cases.classes)
    states = features(model, reservoir, cases.train[np.concatenate([kept, held])])
    found = []
    for predicted in ridge_each(states[: kept.size], targets[kept], states[kept.size :], penalties):
        if np.isnan(predicted).any():
            found.append(0.0)
            continue
        off = min(float(((predicted - targets[held]) ** 2).mean()), 1e3)
        right = (labels(predicted) == cases.y_train[held]).mean()
        found.append(right - 1e-8 * off)
    return np.array(found)


def ridge_each(
    states: np.ndarray, targets: np.ndarray, held: np.ndarray, penalties: Sequence[float]
) -> Iterator[np.ndarray]:
    """Predictions for states held out, with every penalty: NaN where the solution is not unique.

    For searches: one Gram matrix of standardised states serves all penalties, a Cholesky factor
    each, at a fifth of the price of the SVD that `Ridge` takes. Accuracies agree; the small
    differences that matter to an error of 1e-4 are lost.
    """
    mean, std = states.mean(axis=0, dtype=float), states.std(axis=0, dtype=float)
    inverse = np.divide(1.0, std, out=np.zeros_like(std), where=std > 1e-12)
    scaled, middle = (states - mean) * inverse, targets.mean(axis=0)
    gram, moments = scaled.T @ scaled, scaled.T @ (targets - middle)
    held = (held - mean) * inverse
    for penalty in penalties:
        try:
            factor = cho_factor(gram + penalty * np.eye(len(gram)), overwrite_a=True)
        except LinAlgError:
            yield np.full((len(held), targets.shape[1]), np.nan)
            continue
        yield held @ cho_solve(factor, moments) + middle


def validate_finalist(
    task: str, model: Model, reservoir: Any, penalties: Sequence[float], seed: int
) -> np.ndarray:
    """Accuracy by which the best configurations of a search are told apart, for every penalty.

    On MNIST it is the perceptron's, as the paper sets it, on more images than in a trial.
    """
    if tasks()[task].kind != "mnist":
        return validate(task, model, reservoir, penalties, seed)
    cases, most = data(task), most_cases(task, model, reservoir)
    more = None if most is None else int(_FINAL * most)
    kept, held = parts(cases.y_train, more, _TRIAL_SHARE, seed)
    readout = perceptron({**settings(model, "paper"), "epochs": _FINAL_EPOCHS}, seed)
    readout.fit(features(model, reservoir, cases.train[kept]), cases.y_train[kept])
    right = readout.score(features(model, reservoir, cases.train[held]), cases.y_train[held])
    return np.full(len(penalties), right)


# -- runs that are reported ------------------------------------------------------------------------


def settings(model: Model, space: str) -> dict[str, Any]:
    """What the perceptron is given with configurations of a space."""
    return dict(read(FILE)["perceptron"]["pooled" if model.pool else space])


def perceptron(arguments: Mapping[str, Any], seed: int) -> MLP:
    """A perceptron that has yet to learn."""
    return MLP(task="classification", **arguments, seed=seed, progress=False)


def measure(run: Record) -> Record:
    """Train on the whole training set, and test."""
    cases, kind = data(run["task"]), tasks()[run["task"]].kind
    model = models()[run["model"]]
    reservoir = build(model, run["configuration"], run["seed"], run["task"])
    reservoir.fit(cases.train[:1])  # drawing is no training
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        begin = time.perf_counter()
        states = features(model, reservoir, cases.train)
        between = time.perf_counter()
        readout: Any
        if kind == "mnist":
            readout = perceptron(run["readout"], run["seed"])
            kept, held = parts(cases.y_train, None, VALIDATION[kind], run["seed"])
            stop_by = states[held], cases.y_train[held]
            readout.fit(states[kept], cases.y_train[kept], validation=stop_by)
            trained = readout.n_parameters_
        else:
            readout = Ridge([run["alpha"]]).fit(states, indicators(cases.y_train, cases.classes))
            trained = np.atleast_2d(readout.coef_).size + np.size(readout.intercept_)
        end = time.perf_counter()
    predicted = readout.predict(features(model, reservoir, cases.test))
    predicted = predicted if kind == "mnist" else labels(predicted)
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
        "trained": int(trained),
        "energy": spent or None,
        **({"permutation_seed": PERMUTATION} if run["task"] == "psmnist" else {}),
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
