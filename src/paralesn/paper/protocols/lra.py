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
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.paper import energy
from paralesn.paper.catalogue import models, read, tasks
from paralesn.paper.protocols.classification import (
    DTYPE,
    indicators,
    labels,
    perceptron,
    ridge_each,
)
from paralesn.paper.protocols.regression import build
from paralesn.paper.records import Record
from paralesn.paper.search import Tuned
from paralesn.readouts.ridge import Ridge

FILE = "lra.toml"
MODEL = "ParalESN (deep)"
SPACE = "extended"  # pooling is no part of the paper's space
DATA_SEED = 0  # of ListOps and PathFinder
_TRIAL_SEED = 1000
_TRIAL_SHARE = 1 / 3
_STEPS = 1 << 20  # time steps read at a time
_ROWS = 4096  # cases that ridge regression digests at a time
_ORDERS = {"forward": slice(None), "backward": slice(None, None, -1)}

Tell = Callable[[str], Any]


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
        some = cases[first : first + size]
        series: Any = [X[i] for i in some] if is_list else X[some].astype(DTYPE) / np.float32(255)
        parts = []
        for order in orders:
            turned = [one[order] for one in series] if is_list else series[:, order]
            parts.append(drawn.pool(turned, pools, segments))
        found = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if out is None:
            out = np.empty((cases.size, found.shape[1]), found.dtype)
        out[first : first + some.size] = found
        if tell is not None:
            tell(f"{first + some.size:,} of {cases.size:,} series")
    assert out is not None
    return out


# -- judging candidates ----------------------------------------------------------------------------


def trials(wanted: Iterable[str]) -> list[Record]:
    """Runs that a search of some tasks consists of: every candidate."""
    return [
        {
            "kind": "lra trial",
            "task": task,
            "model": MODEL,
            "space": SPACE,
            "seed": _TRIAL_SEED,
            "configuration": one,
            "trial_cases": read(FILE)["budget"]["cases"][task],
        }
        for task in wanted
        for one in read(FILE)["candidates"][task]
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
    kept, held = datasets.stratified_split(y, _TRIAL_SHARE, _TRIAL_SEED)
    penalties = read(FILE)["budget"]["penalties"]
    found = ridge_each(states[kept], indicators(y, count)[kept], states[held], penalties)
    right = [float((labels(predicted) == y[held]).mean()) for predicted in found]
    return {
        "validation": max(right),
        "chosen": penalties[int(np.argmax(right))],
        "seconds": time.perf_counter() - begin,
    }


def chosen(task: str, found: Iterable[Record]) -> Tuned | None:
    """The best candidate of a search that is complete on record, else the one of the package."""
    by = {json.dumps(one["configuration"], sort_keys=True): one for one in found
          if one.get("kind") == "lra trial" and one["task"] == task}  # fmt: skip
    wanted = [json.dumps(one["configuration"], sort_keys=True) for one in trials([task])]
    if wanted and all(key in by for key in wanted):
        best = max((by[key] for key in wanted), key=lambda one: one["validation"])
        seconds = sum(by[key]["seconds"] for key in wanted)
        known = (best["configuration"], best["chosen"], best["validation"], len(wanted), seconds)
        return Tuned(task, MODEL, SPACE, *known, seeds=1)
    entry = read(FILE)["chosen"].get(task)
    return None if entry is None else Tuned(task, MODEL, SPACE, **entry, seeds=1)


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
    for first in range(0, len(y), _ROWS):
        rows = slice(first, first + _ROWS)
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
    kept, held = datasets.stratified_split(cases.y_train, cases.validation_fraction, DATA_SEED)
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        begin = time.perf_counter()
        states = features(configuration, drawn, cases.X_train, kept, say)
        held_states = features(configuration, drawn, cases.X_train, held)
        between = time.perf_counter()
        say("training")
        found = read_outs(run, states, cases.y_train[kept], held_states, cases.y_train[held])
        end = time.perf_counter()
    (count, width), k = states.shape, len(cases.classes)
    del states  # a test set may be as large
    tested = features(configuration, drawn, cases.X_test, np.arange(len(cases.y_test)), say)
    by = max(found, key=lambda name: found[name][0])
    readout = found[by][1]
    if by == "ridge":
        readout.partial_fit(held_states, indicators(cases.y_train[held], k))
        predicted = labels(readout.predict(tested))
        trained = np.size(readout.coef_) + np.size(readout.intercept_)
    else:
        predicted, trained = readout.predict(tested), readout.n_parameters_
    right = float((predicted == cases.y_test).mean())
    done = time.perf_counter()
    return {
        "metric": "accuracy",
        "metrics": {
            "accuracy": right,
            **{f"validation of {name}": accuracy for name, (accuracy, _) in found.items()},
        },
        "read_out_by": by,
        "seconds": end - begin,
        "timing": {
            "features": between - begin,
            "training": end - between,
            "test": done - end,
            "total": done - begin,
        },
        "cases": [count, int(held.size), len(cases.y_test)],
        "features": width,
        "parameters": drawn.n_parameters_,
        "trained": int(trained),
        "energy": spent or None,
        "data_seed": DATA_SEED,
    }
