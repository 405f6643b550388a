"""Long-term forecasts of transformer temperatures, by the protocol of that literature.

All seven features, every step up to the horizon, from every step of the test split at which that
many follow; mean squared and absolute errors of standardised values. A `StateForecaster` is
trained on the training split only; the validation split chose its configuration, and whether the
readout that the features share is corrected for each of them.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.datasets.archives.ett import load_ett_rows
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.paper import results
from paralesn.paper.catalogue import Task, read, tasks
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import OF_RUNS, POSITIVE
from paralesn.paper.layout import over_seeds
from paralesn.paper.protocol import Protocol, Tell, Work
from paralesn.paper.protocols import long_term_corrections
from paralesn.paper.protocols import long_term_search as search
from paralesn.paper.protocols.long_term_search import MODEL
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

SETS = ("etth1", "etth2", "ettm1", "ettm2")
HORIZON = 192
_WASHOUT = 300
_EVERY = {"ettm1": 4, "ettm2": 4}  # learnt from once an hour, where there are four rows in it
_FIELDS = {**OF_RUNS, "chosen": POSITIVE, "shared": POSITIVE}


def forecaster(run: Record, penalties: Iterable[float], held_out: float = 0.0) -> StateForecaster:
    """A forecaster as configured: a linear reservoir that reads changes, shared by the features."""
    arguments: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in run["configuration"].items()
        if name != search.CORRECTION
    }
    return StateForecaster(
        ParalESN(mixing=False, **arguments, n_jobs=1, seed=run["seed"]),
        Ridge(list(penalties)),
        horizon=HORIZON,
        washout=_WASHOUT,
        difference="inputs",
        held_out=held_out,
        shared=True,
        every=_EVERY.get(run["task"], 1),
        standardize=False,
    )


def measure(run: Record) -> Record:
    """Train on the training split, and test."""
    data = load_ett_rows(run["task"])
    seen = np.concatenate([data.train, data.validation])  # the latter is read, not learnt from
    penalty = run["configuration"].get(search.CORRECTION)
    start = time.perf_counter()
    model = forecaster(run, [run["alpha"]]).fit(data.train)
    corrected = None
    if penalty is not None:
        corrected = long_term_corrections.corrections(model, data.train, [penalty])
    seconds = time.perf_counter() - start
    errors = long_term_corrections.errors(model, seen, data.test, corrected)
    return {"metric": "mse", "metrics": errors, "seconds": seconds}


def validate(run: Record) -> Record:
    """Judge a configuration by the validation split, with the penalty that does best there.

    By the squared error in units of the variance of what is to be predicted, each step of the
    horizon counting the same. Where the penalty of the shared readout is given, that of its
    corrections is judged.
    """
    data, space = load_ett_rows(run["task"]), read(search.FILE)["space"]
    if run["alpha"] is not None:
        model, penalties = forecaster(run, [run["alpha"]]).fit(data.train), space["corrections"]
        shared, *corrected = long_term_corrections.validation_scores(
            model, data.train, data.validation, penalties
        )
        best = int(np.argmin(corrected))
        return {
            "validation": float(corrected[best]),
            "chosen": float(penalties[best]),
            "shared": float(shared),
        }
    series = np.concatenate([data.train, data.validation])
    share = len(data.validation) / len(series)
    model = forecaster(run, space["alphas"], share).fit(series)
    scores = model.readout_.scores_.mean(axis=1)
    return {"validation": float(scores.min()), "chosen": float(model.readout_.alpha_)}


class LongTerm(Protocol):
    """Forecasts of ETT at every step up to the horizon, beside published ones."""

    name, title, seeds = "long-term", "Long-term forecasting", 5
    spaces = (search.SPACE,)
    in_paper = False
    needed = ("task", "model", "seed", "configuration", "alpha", "metric", "metrics", "seconds")
    needed_of_trials = ("task", "model", "seed", "configuration", "validation", "chosen")
    fields = _FIELDS

    def tasks(self) -> dict[str, Task]:
        """The four sets."""
        return {name: tasks()[name] for name in SETS}

    def models(self, task: str) -> list[str]:
        """A forecaster."""
        return [MODEL]

    def by_name(self) -> bool:
        """No: its sets are known by the names of other tasks."""
        return False

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """What our own search chose."""
        return Tuned(task, MODEL, search.SPACE, **read(search.FILE)["chosen"][task], seconds=0.0)

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, without its result."""
        return {
            "kind": self.name,
            "task": tuned.task,
            "model": MODEL,
            "configuration": dict(tuned.configuration),
            "alpha": tuned.alpha,
            "validation": tuned.validation,
            "seed": seed,
        }

    def kinds(self) -> Mapping[str, Work]:
        """Runs that are reported, and trials of a search."""
        return {self.name: self.measure, search.KIND: lambda run, folder, tell: validate(run)}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training split, and test."""
        return measure(run)

    def searched(self, model: str) -> list[str]:
        """The one space."""
        return list(self.spaces)

    def trials(self, task: str, known: Iterable[Record], model: str | None = None) -> list[Record]:
        """Every configuration; the best of them with further seeds; corrections of the very best.

        Each once those before are judged.
        """
        return search.trials(task, _judged(task, known))

    def choose(self, task: str, known: Iterable[Record], model: str | None = None) -> Tuned | None:
        """The finalist with the smallest error on the validation split."""
        judged = _judged(task, known)
        if not search.are_judged(self.trials(task, judged), judged):
            return None
        return search.choose(judged).get(task)

    def knows(self, run: Record) -> bool:
        """Whether a run on record is of one of the sets."""
        return run["task"] in SETS and run["model"] == MODEL

    def problem(self, run: Record) -> str | None:
        """Why a run on record cannot be used, or None: both errors are shown."""
        problem = super().problem(run)
        if (
            problem is None
            and run["kind"] == self.name
            and not {"mse", "mae"} <= set(run["metrics"])
        ):
            return "has metrics without mse or mae"
        return problem

    def cell(self, row: Row, runs: Sequence[Record]) -> Cell:
        """The runs of a set, beside what others published."""
        task = tasks()[runs[0]["task"]]
        rivals = {
            rival: errors[task.name] for rival, errors in read(search.FILE)["published"].items()
        }
        return results.cell(self.name, task, row, runs, rivals=rivals)

    def tables(self, cells: Cells) -> list[Table]:
        """Errors of each set, ours and those of rivals."""
        ours = [cell for cell in cells.values() if cell.protocol == self.name]
        if not ours:
            return []
        rivals = list(ours[0].rivals)
        columns = [
            Column("MSE", "lower", digits=Digits(".4f", ".4f")),
            Column("MAE", "lower", digits=Digits(".4f")),
            Column("seconds", digits=Digits(".1f")),
            *(Column(rival, "lower", digits=Digits(".3f")) for rival in rivals),
            Column("better than"),
        ]
        title = f"Long-term forecasts, horizon {HORIZON}, every step, mean squared errors"
        note = "The best mean squared error of a row is bold. Rivals as they were published."
        return [Table(self.name, title, "set", columns, [_line(cell) for cell in ours], note)]


def _judged(task: str, known: Iterable[Record]) -> list[Record]:
    """Trials of a set on record."""
    return [run for run in known if run.get("kind") == search.KIND and run["task"] == task]


def _line(cell: Cell) -> Line:
    best = min([cell.mean, *cell.rivals.values()])
    beaten = [rival for rival, error in cell.rivals.items() if cell.mean < error]
    entries = [
        Entry(over_seeds(cell, cell.mean, cell.std), best=cell.mean == best),
        Entry(Number(cell.metrics["mae"])),
        Entry(Number(cell.seconds)),
        *(Entry(Number(error), best=error == best) for error in cell.rivals.values()),
        Entry(", ".join(beaten) or "none"),
    ]
    return Line(cell.task.title, entries)
