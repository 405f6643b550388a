"""The default classifier on every dataset of the UCR archive at hand, beside published rivals.

Official splits, no choice of hyperparameters. The rivals' accuracies on the same splits are read
from ``UCR/published_accuracy.csv`` in a data folder (a column `dataset`, and one for each rival);
those on the paper's datasets come with the package.
"""

import csv
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paralesn.datasets.archives.ucr import archive_names, load_ucr, ucr_files
from paralesn.datasets.storage import checksums, folders
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.features.filter_bank import FilterBank
from paralesn.paper import results
from paralesn.paper.catalogue import Task, read
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import OF_RUNS, Field, is_count, is_list_of
from paralesn.paper.layout import over_seeds
from paralesn.paper.protocol import Protocol, Tell
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table

MODEL = "ReservoirClassifier"
RIVALS = ("MiniROCKET", "MultiROCKET", "Hydra", "MR-Hydra", "QUANT", "HC2")
_SIZES = ("train", "test", "length", "classes")
_FILE = "classification.toml"
_PUBLISHED = "UCR/published_accuracy.csv"
_EVEN = 5e-5  # published accuracies have four digits
_FIELDS = {**OF_RUNS, "sizes": Field(is_list_of(is_count), "a list of whole numbers")}


def at_hand() -> list[str]:
    """Datasets of the archive whose files are there."""
    return [
        name for name in archive_names() if all(file.find() is not None for file in ucr_files(name))
    ]


def published() -> dict[str, dict[str, float]]:
    """Accuracies of rivals, by dataset."""
    accuracies = {name: dict(figures) for name, figures in read(_FILE)["rivals"].items()}
    path = folders.find([_PUBLISHED])
    if path is not None:
        for row in csv.DictReader(checksums.read(path).decode("utf-8").splitlines()):
            accuracies[row["dataset"]] = {
                name: float(row[name]) for name in RIVALS if row.get(name) not in (None, "")
            }
    return accuracies


def measure(run: Record) -> Record:
    """Train on the training set, and test."""
    data = load_ucr(run["task"], download=False)
    seed = run["seed"]
    model = ReservoirClassifier() if not seed else ReservoirClassifier(FilterBank(seed=seed))
    begin = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    between = time.perf_counter()
    accuracy = model.score(data.X_test, data.y_test)
    end = time.perf_counter()
    return {
        "metric": "accuracy",
        "metrics": {"accuracy": float(accuracy)},
        "seconds": between - begin,
        "timing": {"training": between - begin, "test": end - between, "total": end - begin},
        "sizes": [len(data.y_train), len(data.y_test), len(data.X_train[0]), len(data.classes)],
    }


def comparison(ours: Sequence[Cell]) -> dict[str, dict[str, float]]:
    """For each rival, over the datasets it has a figure of: both means, and who is ahead."""
    compared = {}
    for rival in RIVALS:
        pairs = np.array([(cell.mean, cell.rivals[rival]) for cell in ours if rival in cell.rivals])
        if not len(pairs):
            continue
        ahead = pairs[:, 0] - pairs[:, 1]
        compared[rival] = {
            "datasets": len(pairs),
            "ours": float(pairs[:, 0].mean()),
            "theirs": float(pairs[:, 1].mean()),
            "better": int((ahead > _EVEN).sum()),
            "even": int((np.abs(ahead) <= _EVEN).sum()),
            "worse": int((ahead < -_EVEN).sum()),
        }
    return compared


# -- the protocol ----------------------------------------------------------------------------------


class Archive(Protocol):
    """Datasets of the archive, by the classifier's defaults."""

    name, title, seeds = "ucr", "UCR archive", 5
    spaces = ("extended",)  # nothing is searched: the defaults are ours, not the paper's
    in_paper = False
    needed = ("task", "model", "seed", "metric", "metrics", "seconds", "timing", "sizes")
    fields = _FIELDS
    nothing = "the UCR archive, for no folder of PARALESN_DATA holds any of it"

    def tasks(self) -> dict[str, Task]:
        """Datasets whose files are there."""
        return {name: self.task(name) for name in at_hand()}

    def task(self, name: str) -> Task:
        """A dataset, even where its files are not there."""
        return Task(name, name, "ucr", "higher", 1.0)

    def models(self, task: str) -> list[str]:
        """The classifier."""
        return [MODEL]

    def every_model(self) -> list[str]:
        """The classifier, whichever datasets are there."""
        return [MODEL]

    def by_name(self) -> bool:
        """No: some datasets are known by the names of other tasks."""
        return False

    def missing(self, task: str) -> str | None:
        """None: a dataset is a task only where its files are there."""
        return None

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """No hyperparameters at all."""
        return Tuned.unsearched(task, model, space, {})

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, without its result."""
        return {
            "kind": self.name,
            "task": tuned.task,
            "model": MODEL,
            "configuration": {},
            "seed": seed,
        }

    def searched(self, model: str) -> list[str]:
        """Nothing is."""
        return []

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        return measure(run)

    def knows(self, run: Record) -> bool:
        """Whether a run on record is one of the classifier."""
        return run["model"] == MODEL

    def problem(self, run: Record) -> str | None:
        """Why a run on record cannot be used, or None: sizes and the time of it all are shown."""
        problem = super().problem(run)
        if problem is None and "total" not in run["timing"]:
            return "has a timing without total"
        if problem is None and len(run["sizes"]) != len(_SIZES):
            return f"has sizes that are not {', '.join(_SIZES)}"
        return problem

    def cell(self, row: Row, runs: Sequence[Record]) -> Cell:
        """The runs of a dataset, beside what others published; seconds are those of it all."""
        name = runs[0]["task"]
        return results.cell(
            self.name,
            self.task(name),
            row,
            runs,
            seconds=float(np.median([run["timing"]["total"] for run in runs])),
            rivals=published().get(name, {}),
            sizes=dict(zip(_SIZES, runs[0]["sizes"], strict=True)),
        )

    def tables(self, cells: Cells) -> list[Table]:
        """Accuracies on each dataset, and who is ahead how often."""
        ours = [cell for cell in cells.values() if cell.protocol == self.name]
        return [accuracies(ours), ahead(ours)] if ours else []


# -- tables ----------------------------------------------------------------------------------------


def accuracies(ours: Sequence[Cell], rivals: Sequence[str] = RIVALS) -> Table:
    """Accuracies of ours and of rivals; the best of a row is bold."""
    seeds = max(cell.seeds for cell in ours)
    four, whole = Digits(".4f", ".4f" if seeds > 1 else ""), Digits(".0f")
    columns = [
        Column("ours" if seeds == 1 else f"ours, {seeds} seeds", digits=four),
        *(Column(rival, digits=four) for rival in rivals),
        Column("seconds", digits=Digits(".2f")),
        *(Column(size, digits=whole) for size in _SIZES),
    ]
    lines = [_line(cell, rivals) for cell in ours]
    common = [cell for cell in ours if all(rival in cell.rivals for rival in RIVALS)]
    if common:
        means = [
            float(np.mean([cell.mean for cell in common])),
            *(float(np.mean([cell.rivals[rival] for cell in common])) for rival in rivals),
        ]
        entries = [*(Entry(Number(mean)) for mean in means), *[Entry("")] * (1 + len(_SIZES))]
        lines.append(Line(f"mean of {len(common)}", entries, apart=True))
    total = sum(cell.seconds for cell in ours)
    note = f"{total:.1f} seconds in all. The best of a row is bold. Rivals as they were published."
    title = "UCR archive, accuracy of ReservoirClassifier() by default, official splits"
    return Table("ucr", title, "dataset", columns, lines, note)


def _line(cell: Cell, rivals: Sequence[str]) -> Line:
    best = max([cell.mean, *cell.rivals.values()])
    theirs = [cell.rivals.get(rival) for rival in rivals]
    return Line(
        cell.task.name,
        [
            Entry(over_seeds(cell, cell.mean, cell.std), best=cell.mean == best),
            *(Entry(None if a is None else Number(a), best=a == best) for a in theirs),
            Entry(Number(cell.seconds)),
            *(Entry(Number(cell.sizes[size])) for size in _SIZES),
        ],
    )


def ahead(ours: Sequence[Cell]) -> Table:
    """How often each rival is behind, even and ahead of us."""
    four, whole = Digits(".4f"), Digits(".0f")
    columns = [
        Column("datasets", digits=whole),
        Column("ours, mean", digits=four),
        Column("theirs, mean", digits=four),
        *(Column(name, digits=whole) for name in ("better", "even", "worse")),
    ]
    lines = [
        Line(rival, [Entry(Number(value)) for value in counts.values()])
        for rival, counts in comparison(ours).items()
    ]
    return Table("ucr-rivals", "Datasets on which ours is better / even / worse", "rival",
                 columns, lines)  # fmt: skip
