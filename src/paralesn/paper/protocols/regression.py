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
from paralesn.paper.protocols import levels
from paralesn.paper.protocols.levels import Levels
from paralesn.paper.records import Record
from paralesn.paper.results import Cells
from paralesn.paper.table import Table
from paralesn.readouts.ridge import Ridge

UNITS = 128  # of every model in the regression tables
_AS_THEY_ARE = Levels()


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
    arguments.pop(levels.KEY, None)  # the task's way to the model
    for name in ("rho", "theta"):
        for layer in (arguments, arguments.get("inter") or {}):
            if isinstance(layer.get(name), list):
                layer[name] = tuple(layer[name])
    reservoir = getattr(paralesn, model.reservoir)
    return reservoir(units=units, **model.fixed, **arguments, dtype=dtype, n_jobs=n_jobs, seed=seed)


@dataclass(frozen=True)
class Scored:
    """Rows of a split that are scored: states, targets, and what to add to predictions of them."""

    states: np.ndarray
    targets: np.ndarray
    known: np.ndarray | float

    @property
    def wanted(self) -> np.ndarray:
        """What the readout is to learn."""
        return self.targets - self.known


def scored(reservoir: Any, split: Any, washout: int, put: Levels = _AS_THEY_ARE) -> Scored:
    """Rows of a split after the washout: every series starts from zero."""
    run, _ = reservoir.run(put.given(split))
    known = put.known(split)

    def rows(values: Any) -> np.ndarray:
        return values[..., washout:, :].reshape(-1, values.shape[-1])

    return Scored(rows(run), rows(split.targets), rows(known) if np.ndim(known) else known)


def validate(
    task: str,
    reservoir: Any,
    penalties: Sequence[float],
    seed: int,
    put: Levels = _AS_THEY_ARE,
) -> np.ndarray:
    """The headline metric on the validation split, for every penalty."""
    dataset = data(task, seed)
    train = scored(reservoir, dataset.train, dataset.washout, put)
    readout = Ridge(penalties).fit(train.states, train.wanted)
    held = scored(reservoir, dataset.validation, dataset.washout, put)
    score = METRICS[dataset.metric]
    each = readout.predict_each(held.states)
    return np.array([score(held.targets, predicted + held.known) for predicted in each])


def measure(
    task: str, reservoir: Any, penalty: float, seed: int, put: Levels = _AS_THEY_ARE
) -> Outcome:
    """Train on the training split, and measure on the test split."""
    dataset = data(task, seed)
    reservoir.fit(put.given(dataset.train))  # drawing is no training
    start = time.perf_counter()
    train = scored(reservoir, dataset.train, dataset.washout, put)
    readout = Ridge([penalty]).fit(train.states, train.wanted)
    readout.coef_  # noqa: B018  solved when asked for
    seconds = time.perf_counter() - start
    held = scored(reservoir, dataset.test, dataset.washout, put)
    targets = held.targets
    predicted = readout.predict(held.states).reshape(targets.shape) + held.known
    names = dict.fromkeys((dataset.metric, *ERRORS))
    metrics = {name: float(METRICS[name](targets, predicted)) for name in names}
    return Outcome(dataset.metric, metrics, seconds)


# -- the protocol ----------------------------------------------------------------------------------

_REAL = ("rParalESN", "rParalESN (deep)", "ParalESN", "ParalESN (deep)")
_STRUCTURED = ("ESN", "SCR", "Structured RC", "ParalESN")
_DRAWS = (
    "ParalESN", "ParalESN, authors' draw", "ParalESN (deep)", "ParalESN, authors' draw (deep)",
)  # fmt: skip
_EVERY = (*MAIN[:2], "SCR", "Structured RC", *_REAL)
# The paper's tables, those of every model in one, and of the two draws: title, tasks, models.
TABLES = {
    "memory": ("Memory-based tasks", "memory", MAIN),
    "forecasting": ("Forecasting tasks", "forecasting", MAIN),
    "real-memory": ("Complex and real-valued, memory", "memory", _REAL),
    "real-forecasting": ("Complex and real-valued, forecasting", "forecasting", _REAL),
    "structured-memory": ("Structured reservoirs, memory", "memory", _STRUCTURED),
    "structured": ("Structured reservoirs, forecasting", "forecasting", _STRUCTURED),
    "rows-memory": ("Every model, memory", "memory", _EVERY),
    "rows-forecasting": ("Every model, forecasting", "forecasting", _EVERY),
    "draws-memory": ("The text's draw and the authors', memory", "memory", _DRAWS),
    "draws-forecasting": ("The text's draw and the authors', forecasting", "forecasting", _DRAWS),
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
        """Models of each table; all together, those that the paper has."""
        return {self.name: _EVERY} | {table: rows for table, (_, _, rows) in TABLES.items()}

    def look_for_data(self, task: str) -> None:
        """Make or read them."""
        data(task, 0)

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training split, and test."""
        reservoir = build(models()[run["model"]], run["configuration"], run["seed"])
        put = Levels.of(run["configuration"])
        outcome = measure(run["task"], reservoir, run["alpha"], run["seed"], put)
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
        reservoir = build(models()[model], configuration, seed)
        return validate(task, reservoir, penalties, seed, Levels.of(configuration))

    def tables(self, cells: Cells) -> list[Table]:
        """The paper's tables."""
        made = (
            models_by_tasks(name, title, list(tasks_of(group).values()), rows, cells)
            for name, (title, group, rows) in TABLES.items()
        )
        return [table for table in made if table is not None]
