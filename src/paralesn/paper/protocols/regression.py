"""Regression by the paper's protocol: states of 128 units, read out by ridge regression.

A search judges a configuration by its errors on the validation split, for every penalty; a chosen
one is trained on the training split, and the test split is looked at once.
"""

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import paralesn
from paralesn import datasets
from paralesn.datasets.metrics import ERRORS, METRICS
from paralesn.paper.catalogue import MAIN, Model, Task, models, tasks_of
from paralesn.paper.layout import models_by_tasks
from paralesn.paper.protocol import Judging, Protocol, Tell
from paralesn.paper.records import Record
from paralesn.paper.results import Cells
from paralesn.paper.table import Table
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
        for layer in (arguments, arguments.get("inter") or {}):
            if isinstance(layer.get(name), list):
                layer[name] = tuple(layer[name])
    reservoir = getattr(paralesn, model.reservoir)
    return reservoir(units=units, **model.fixed, **arguments, dtype=dtype, n_jobs=n_jobs, seed=seed)


def states(reservoir: Any, split: Any, washout: int) -> tuple[np.ndarray, np.ndarray]:
    """States and targets that are scored, one row each: every series starts from zero."""
    run, _ = reservoir.run(split.inputs)
    scored, targets = run[..., washout:, :], split.targets[..., washout:, :]
    return scored.reshape(-1, scored.shape[-1]), targets.reshape(-1, targets.shape[-1])


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
    metrics = {name: float(METRICS[name](targets, predicted)) for name in names}
    return Outcome(dataset.metric, metrics, seconds)


# -- the protocol ----------------------------------------------------------------------------------

_REAL = ("rParalESN", "rParalESN (deep)", "ParalESN", "ParalESN (deep)")
_STRUCTURED = ("ESN", "SCR", "Structured RC", "ParalESN")
# The paper's tables: title, group of tasks, models.
TABLES = {
    "memory": ("Memory-based tasks", "memory", MAIN),
    "forecasting": ("Forecasting tasks", "forecasting", MAIN),
    "real-memory": ("Complex and real-valued, memory", "memory", _REAL),
    "real-forecasting": ("Complex and real-valued, forecasting", "forecasting", _REAL),
    "structured-memory": ("Structured reservoirs, memory", "memory", _STRUCTURED),
    "structured": ("Structured reservoirs, forecasting", "forecasting", _STRUCTURED),
}


class Regression(Protocol):
    """Memory-based tasks and forecasting: states of 128 units, read out by ridge regression."""

    name, title, seeds = "regression", "Regression", 10
    judging = Judging(seeds=3, finalists=6, final_seeds=9, random=24)

    def tasks(self) -> dict[str, Task]:
        """Tasks of both groups."""
        return tasks_of("memory", "forecasting")

    def models(self, task: str) -> list[str]:
        """Every reservoir that is not made for another task."""
        return [name for name, model in models().items() if not model.trained and not model.only]

    def groups(self) -> Sequence[str]:
        """All tasks, and those of each table."""
        return (self.name, *TABLES)

    def members(self, group: str) -> Sequence[str]:
        """All tasks, or those of a table."""
        return list(tasks_of(TABLES[group][1]) if group in TABLES else self.tasks())

    def models_of_tables(self) -> Mapping[str, Sequence[str]]:
        """Models of each table."""
        return {table: rows for table, (_, _, rows) in TABLES.items()}

    def look_for_data(self, task: str) -> None:
        """Make or read them."""
        data(task, 0)

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training split, and test."""
        reservoir = build(models()[run["model"]], run["configuration"], run["seed"])
        outcome = measure(run["task"], reservoir, run["alpha"], run["seed"])
        return {
            "metric": outcome.metric,
            "metrics": outcome.metrics,
            "seconds": outcome.seconds,
            "parameters": reservoir.n_parameters_,
        }

    def validate(
        self,
        task: str,
        model: str,
        configuration: Mapping[str, Any],
        penalties: Sequence[float],
        seed: int,
        final: bool = False,
    ) -> np.ndarray:
        """The headline metric on the validation split, for every penalty."""
        return validate(task, build(models()[model], configuration, seed), penalties, seed)

    def tables(self, cells: Cells) -> list[Table]:
        """The paper's tables."""
        made = (
            models_by_tasks(name, title, list(tasks_of(group).values()), rows, cells)
            for name, (title, group, rows) in TABLES.items()
        )
        return [table for table in made if table is not None]
