"""Long-term forecasts of transformer temperatures, by the protocol of that literature.

All seven features, every step up to the horizon, from every step of the test split at which that
many follow; mean squared and absolute errors of standardised values. A `StateForecaster` is
trained on the training split only; the validation split chose its configuration.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.datasets.archives.ett import load_ett_rows
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.paper import results
from paralesn.paper.catalogue import Task, read, tasks
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import OF_RUNS, POSITIVE
from paralesn.paper.protocol import Protocol, Tell, Work
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

SETS = ("etth1", "etth2", "ettm1", "ettm2")
HORIZON = 192
MODEL = "ReservoirForecaster"
_NAMES = ("units", "rho", "theta", "phases")  # hyperparameters that are searched
_SEARCH_SEED = 1000
_FINALISTS, _FINAL_SEEDS = 4, range(1001, 1003)
_WASHOUT = 300
_EVERY = {"ettm1": 4, "ettm2": 4}  # learnt from once an hour, where there are four rows in it
_FILE = "longterm.toml"
_SPACE = "extended"  # the paper has none for it
_TRIAL = "long-term trial"
_FIELDS = {**OF_RUNS, "chosen": POSITIVE}


def forecaster(run: Record, penalties: Iterable[float], held_out: float = 0.0) -> StateForecaster:
    """A forecaster as configured: a linear reservoir that reads changes, shared by the features."""
    arguments: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in run["configuration"].items()
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


def errors(model: StateForecaster, split: np.ndarray) -> dict[str, float]:
    """Errors of forecasts of a split (time, features) that continues what the model has seen."""
    first = model.forecast()[None]
    later = model.predict(split[:-HORIZON], follow=True)
    wanted = np.lib.stride_tricks.sliding_window_view(split, HORIZON, axis=0).swapaxes(1, 2)
    squares = absolutes = 0.0
    for predicted, truth in ((first, wanted[:1]), (later, wanted[1:])):
        off = predicted - truth
        squares, absolutes = squares + float((off**2).sum()), absolutes + float(np.abs(off).sum())
    return {"mse": squares / wanted.size, "mae": absolutes / wanted.size}


def measure(run: Record) -> Record:
    """Train on the training split, and test."""
    data = load_ett_rows(run["task"])
    start = time.perf_counter()
    model = forecaster(run, [run["alpha"]]).fit(data.train)
    seconds = time.perf_counter() - start
    model.update(data.validation)  # read, not learnt from
    return {"metric": "mse", "metrics": errors(model, data.test), "seconds": seconds}


def validate(run: Record) -> Record:
    """Judge a configuration by the validation split, with the penalty that does best there.

    By the squared error in units of the variance of what is to be predicted, each step of the
    horizon counting the same.
    """
    data, space = load_ett_rows(run["task"]), read(_FILE)["space"]
    series = np.concatenate([data.train, data.validation])
    share = len(data.validation) / len(series)
    model = forecaster(run, space["alphas"], share).fit(series)
    scores = model.readout_.scores_.mean(axis=1)
    return {"validation": float(scores.min()), "chosen": float(model.readout_.alpha_)}


def trials(sets: Iterable[str]) -> list[Record]:
    """Runs that a search consists of at first: every configuration of the space."""
    space = read(_FILE)["space"]
    return [
        _trial(name, dict(zip(_NAMES, values, strict=True)), _SEARCH_SEED)
        for name in sets
        for values in product(space["units"][name], *(space[field] for field in _NAMES[1:]))
    ]


def finals(known: Iterable[Record]) -> list[Record]:
    """Runs of the best configurations of each set with further seeds."""
    wanted = []
    for name, groups in _grouped(known).items():
        ranked = sorted(groups, key=lambda group: group[0]["validation"])
        for group, seed in product(ranked[:_FINALISTS], _FINAL_SEEDS):
            wanted.append(_trial(name, group[0]["configuration"], seed))
    return wanted


def choose(known: Iterable[Record]) -> dict[str, Tuned]:
    """The best configuration of each set on validation data, of those judged by most seeds."""
    chosen = {}
    for name, groups in _grouped(known).items():
        seeds = max(map(len, groups))
        scores = {
            float(np.mean([run["validation"] for run in group])): group
            for group in groups
            if len(group) == seeds
        }
        best = scores[min(scores)]
        # Seeds may differ by a step of the grid: the middle, in the logarithm.
        alpha = float(f"{np.exp(np.mean(np.log([run['chosen'] for run in best]))):.3g}")
        configuration = best[0]["configuration"]
        judged = (min(scores), len(groups), 0.0, seeds)
        chosen[name] = Tuned(name, MODEL, _SPACE, configuration, alpha, *judged)
    return chosen


def _grouped(known: Iterable[Record]) -> dict[str, list[list[Record]]]:
    """Runs by set and configuration."""
    by_set: dict[str, dict[str, list[Record]]] = {}
    for run in known:
        key = json.dumps(run["configuration"], sort_keys=True)
        by_set.setdefault(run["task"], {}).setdefault(key, []).append(run)
    return {name: list(groups.values()) for name, groups in by_set.items()}


def _trial(task: str, configuration: Mapping[str, Any], seed: int) -> Record:
    return {
        "kind": _TRIAL,
        "task": task,
        "model": MODEL,
        "configuration": dict(configuration),
        "alpha": None,
        "seed": seed,
    }


# -- the protocol ----------------------------------------------------------------------------------


class LongTerm(Protocol):
    """Forecasts of ETT at every step up to the horizon, beside published ones."""

    name, title, seeds = "long-term", "Long-term forecasting", 5
    spaces = (_SPACE,)
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
        return Tuned(task, MODEL, _SPACE, **read(_FILE)["chosen"][task], seconds=0.0)

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
        return {self.name: self.measure, _TRIAL: lambda run, folder, tell: validate(run)}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training split, and test."""
        return measure(run)

    def searched(self, model: str) -> list[str]:
        """The one space."""
        return list(self.spaces)

    def trials(self, task: str, known: Iterable[Record], model: str | None = None) -> list[Record]:
        """Every configuration and, once all are judged, the best of them with further seeds."""
        first = trials([task])
        judged = [run for run in known if run.get("kind") == _TRIAL and run["task"] == task]
        once = [run for run in judged if run["seed"] == _SEARCH_SEED]
        seen = [run["configuration"] for run in once]
        if all(run["configuration"] in seen for run in first):
            return first + finals(once)
        return first

    def choose(self, task: str, known: Iterable[Record], model: str | None = None) -> Tuned | None:
        """The finalist with the smallest error on the validation split."""
        judged = [run for run in known if run.get("kind") == _TRIAL and run["task"] == task]
        done = [(run["configuration"], run["seed"]) for run in judged]
        wanted = self.trials(task, judged)
        if not all((run["configuration"], run["seed"]) in done for run in wanted):
            return None
        return choose(judged).get(task)

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
        rivals = {rival: errors[task.name] for rival, errors in read(_FILE)["published"].items()}
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


def _line(cell: Cell) -> Line:
    best = min([cell.mean, *cell.rivals.values()])
    beaten = [rival for rival, error in cell.rivals.items() if cell.mean < error]
    entries = [
        Entry(Number(cell.mean, cell.std), best=cell.mean == best),
        Entry(Number(cell.metrics["mae"])),
        Entry(Number(cell.seconds)),
        *(Entry(Number(error), best=error == best) for error in cell.rivals.values()),
        Entry(", ".join(beaten) or "none"),
    ]
    return Line(cell.task.title, entries)
