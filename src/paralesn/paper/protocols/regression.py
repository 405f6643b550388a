"""One configuration on one task: validation errors of every penalty, or the test metrics of one."""

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import paralesn
from paralesn import datasets
from paralesn.datasets.metrics import ERRORS, METRICS
from paralesn.paper.catalogue import Model
from paralesn.readouts.ridge import Ridge

UNITS = 128  # of every model in the regression tables


@dataclass(frozen=True)
class Outcome:
    """Test metrics of a trained model, and the seconds of its training."""

    metric: str  # the headline one
    metrics: dict[str, float]
    seconds: float


@lru_cache(maxsize=24)
def data(task: str, seed: int) -> Any:
    """A task's data, made or read once."""
    return datasets.load(task, seed=seed)


def build(
    model: Model,
    configuration: Mapping[str, Any],
    seed: int,
    n_jobs: int | None = 1,
    units: int = UNITS,
    dtype: str = "float64",
) -> Any:
    """A reservoir of a model as configured."""
    arguments = deepcopy(dict(configuration))
    for name in ("rho", "theta"):
        for place in (arguments, arguments.get("inter") or {}):
            if isinstance(place.get(name), list):
                place[name] = tuple(place[name])
    kind = getattr(paralesn, model.reservoir)
    return kind(units=units, **model.fixed, **arguments, dtype=dtype, n_jobs=n_jobs, seed=seed)


def states(reservoir: Any, split: Any, washout: int) -> tuple[np.ndarray, np.ndarray]:
    """States and targets that are scored, one row each: every series starts from zero."""
    found, _ = reservoir.run(split.inputs)
    found, targets = found[..., washout:, :], split.targets[..., washout:, :]
    return found.reshape(-1, found.shape[-1]), targets.reshape(-1, targets.shape[-1])


def validate(task: str, reservoir: Any, penalties: Sequence[float], seed: int) -> np.ndarray:
    """The headline metric on the validation split, for every penalty."""
    dataset = data(task, seed)
    readout = Ridge(penalties).fit(*states(reservoir, dataset.train, dataset.washout))
    held, targets = states(reservoir, dataset.validation, dataset.washout)
    score = METRICS[dataset.metric]
    return np.array([score(targets, predicted) for predicted in readout.predict_each(held)])


def measure(task: str, reservoir: Any, penalty: float, seed: int) -> Outcome:
    """Train on the training split, and measure on the test split."""
    dataset = data(task, seed)
    reservoir.fit(dataset.train.inputs)  # drawing is no training
    start = time.perf_counter()
    readout = Ridge([penalty]).fit(*states(reservoir, dataset.train, dataset.washout))
    readout.coef_  # noqa: B018  solved when asked for
    seconds = time.perf_counter() - start
    held, targets = states(reservoir, dataset.test, dataset.washout)
    predicted = readout.predict(held).reshape(targets.shape)
    names = dict.fromkeys((dataset.metric, *ERRORS))
    found = {name: float(METRICS[name](targets, predicted)) for name in names}
    return Outcome(dataset.metric, found, seconds)
