"""Sequential MNIST by the paper's protocol: last states, read out by a two-layer perceptron.

Pixels enter as they are, between 0 and 1. The perceptron stops by the 6 000 images of a 90-10
split, which it does not learn from. The table has costs beside accuracy: parameters, minutes,
emissions, energy. Its models that learn by gradients are those of the protocol `trained`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.paper.catalogue import MAIN, Model, Task, models, published, read, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.layout import held_to_the_paper, over_seeds, scores
from paralesn.paper.protocol import Judging, Protocol, Tell, lacks_pytorch
from paralesn.paper.protocols import classification
from paralesn.paper.protocols.classification import FILE, Cases, ReadOut, Trial, candidate, features
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row, best
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table
from paralesn.readouts.mlp import MLP

PERMUTATION = 0  # seed of the order of the pixels of psMNIST
SHARE = 0.1  # of the training set that the paper holds out to validate
_TRIAL_SHARE = 1 / 3  # held out of the few images that a trial looks at
_FINAL_EPOCHS = 30


@lru_cache(maxsize=2)
def data(task: str) -> Cases:
    """A task's data, read once; whatever the seed, they are the same."""
    images = datasets.load_mnist(task == "psmnist", PERMUTATION, np.float32)
    return classification.cases(images, np.asarray(images.X_train), np.asarray(images.X_test))


def settings(model: Model, space: str) -> dict[str, Any]:
    """What the perceptron is given with configurations of a space."""
    return dict(read(FILE)["perceptron"]["pooled" if model.pool else space])


def perceptron(arguments: Mapping[str, Any], seed: int) -> MLP:
    """A perceptron that has yet to learn."""
    return MLP(task="classification", **arguments, seed=seed, progress=False)


def validate(
    task: str, model: Model, configuration: Mapping[str, Any], penalties: Sequence[float], seed: int
) -> np.ndarray:
    """Accuracy of ridge regression on some images, for every penalty.

    It stands in for the perceptron, which takes a hundred times as long.
    """
    units, cases = classification.effort(task, final=False)
    reservoir = candidate(model, configuration, seed, task, units)
    trial = Trial(data(task), cases, _TRIAL_SHARE)
    return classification.validate(trial, model, reservoir, penalties, seed)


def validate_finalist(
    task: str, model: Model, configuration: Mapping[str, Any], seed: int
) -> float:
    """Accuracy of the perceptron, as the paper sets it, on more images than in a trial."""
    units, most = classification.effort(task, final=True)
    cases, reservoir = data(task), candidate(model, configuration, seed, task, units)
    train, held_out = classification.split(cases.y_train, most, _TRIAL_SHARE, seed)
    readout = perceptron({**settings(model, "paper"), "epochs": _FINAL_EPOCHS}, seed)
    readout.fit(features(model, reservoir, cases.train[train]), cases.y_train[train])
    judged = features(model, reservoir, cases.train[held_out])
    return float(readout.score(judged, cases.y_train[held_out]))


def read_out(run: Record, cases: Cases, states: np.ndarray) -> ReadOut:
    """A perceptron trained on nine tenths of the images, which stops by the others."""
    readout = perceptron(run["readout"], run["seed"])
    train, held_out = classification.split(cases.y_train, None, SHARE, run["seed"])
    stop_by = states[held_out], cases.y_train[held_out]
    readout.fit(states[train], cases.y_train[train], validation=stop_by)
    return ReadOut(readout.predict, readout.n_parameters_)


def permutation(task: str) -> Record:
    """What a record says of the order of the pixels."""
    return {"permutation_seed": PERMUTATION} if task == "psmnist" else {}


# -- the protocol ----------------------------------------------------------------------------------


class SequentialMNIST(Protocol):
    """Images pixel by pixel, in order (sMNIST) or in a random one (psMNIST)."""

    name, title, seeds = "mnist", "Sequential MNIST", 3
    # A trial takes seconds, a finalist minutes; it is the perceptron that finalists are judged by.
    judging = Judging(seeds=1, finalists=3, final_seeds=1, random=6, anew=True)
    slow = ("ESN", "ESN (deep)")
    measures_energy = True

    def tasks(self) -> dict[str, Task]:
        """Both orders of the pixels."""
        return tasks_of("mnist")

    def models(self, task: str) -> list[str]:
        """The paper's four, and what is made for the task."""
        return [*MAIN, *(name for name, model in models().items() if model.only == task)]

    def groups(self) -> Sequence[str]:
        """Both tasks, which are classification, too."""
        return (self.name, "classification")

    def missing(self, task: str) -> str | None:
        """Why a task cannot be run here, or None."""
        return lacks_pytorch(self.task(task).title) or super().missing(task)

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, read out by a perceptron, which has no penalty."""
        model = models()[tuned.model]
        run: Record = {"alpha": None, "readout": settings(model, tuned.space)}
        if model.pool:
            run |= {"pool": list(model.pool), "segments": model.segments}
        return super().plan(tuned, seed) | run

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        outcome = classification.measure(run, data(run["task"]), read_out)
        return outcome | permutation(run["task"])

    def validate(
        self,
        task: str,
        model: str,
        configuration: Mapping[str, Any],
        penalties: Sequence[float],
        seed: int,
        final: bool = False,
    ) -> np.ndarray:
        """Accuracy by ridge regression for every penalty, or by the perceptron for finalists."""
        if final:
            right = validate_finalist(task, models()[model], configuration, seed)
            return np.full(len(penalties), right)
        return validate(task, models()[model], configuration, penalties, seed)

    def tables(self, cells: Cells) -> list[Table]:
        """A table of each task, with the models that learn by gradients."""
        measured = {task for task, _ in cells}
        return [table(cells, task) for task in self.tasks() if task in measured]


# -- tables ----------------------------------------------------------------------------------------

TRAINED = tuple(name for name, model in models().items() if model.trained)
OURS = (*MAIN, "ParalESN (pooled)")
# What our records call a cost, by how much to divide it, and what the paper's figures are called.
COSTS = {
    "Time (min.)": ("total seconds", 60.0, "minutes"),
    "Emissions (kg)": ("kg", 1.0, "emissions"),
    "Energy (kWh)": ("kwh", 1.0, "energy"),
}
_COLUMNS = (
    Column("Params.", suffix="k", digits=Digits(".1f", ""), paper=Digits(".0f"), rounded=True),
    Column("Accuracy", "higher"),
    *(
        Column(
            title, "lower", digits=Digits(".3g", ".1g"), paper=Digits("g", "g"),
            latex=Digits(".4f", ".4f"), latex_paper=Digits(".2f", ".2f"),
        )
        for title in COSTS
    ),
)  # fmt: skip


def paper_cost(task: str, model: str, name: str) -> tuple[float, float] | None:
    """Mean and standard deviation of what the paper prints about a model's costs."""
    costs = read(FILE)["cost"].get(model, {}).get(task)
    return None if costs is None else (float(costs[name][0]), float(costs[name][1]))


def table(cells: Cells, task: str) -> Table:
    """The table of a task; what we did not run is as the paper prints it."""
    winner = best(cells, tasks()[task], OURS)
    lines = []
    for model in (*TRAINED, *OURS):
        cell = cells.get((task, Row(model)))
        if cell is not None or model in (*TRAINED, *MAIN):
            lines.append(_line(cell, task, model, model == winner))
        held = held_to_the_paper(model, [tasks()[task]], cells)
        if held is not None:
            lines.append(_held(held, cells[task, Row(model, "paper")], task, model))
    return Table(task, f"{tasks()[task].title}, accuracy in %", "model", _COLUMNS, lines)


def _line(cell: Cell | None, task: str, model: str, winner: bool) -> Line:
    paper, scale = published(task, model), tasks()[task].scale
    accuracy = scores(cell, winner)
    if cell is None and paper is not None and paper.std is not None:
        accuracy = Entry(None, Number(paper.mean / scale, paper.std / scale))
    return Line(
        model, [_parameters(cell, model), accuracy, *_costs(cell, task, model)], quoted=cell is None
    )


def _held(line: Line, cell: Cell, task: str, model: str) -> Line:
    """The line of the paper's space with its costs."""
    entries = [_parameters(cell, model), *line.entries, *_costs(cell, task, model)]
    return Line(line.name, entries, aside=True)


def _parameters(cell: Cell | None, model: str) -> Entry:
    paper = read(FILE)["cost"].get(model)
    theirs = None if paper is None else Number(paper["parameters"] / 1e3)
    ours = None if cell is None else cell.costs.get("trained")
    return Entry(None if ours is None else Number(ours[0] / 1e3), theirs)


def _costs(cell: Cell | None, task: str, model: str) -> list[Entry]:
    """Ours and the paper's; less is better."""
    entries = []
    for name, divisor, theirs in COSTS.values():
        paper = paper_cost(task, model, theirs)
        value = None
        if cell is not None and (ours := cell.costs.get(name)) is not None:
            value = over_seeds(cell, *ours, divisor)
        verdict = ""
        if value is not None and paper is not None:
            verdict = "win" if value.mean <= paper[0] else "loss"
        quoted = None if paper is None else Number(*paper)
        entries.append(Entry(value, quoted, None, verdict))
    return entries
