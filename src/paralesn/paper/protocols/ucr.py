"""The classifier as it comes, on every dataset of the UCR archive at hand, beside published rivals.

Official splits, no choice of hyperparameters. The rivals' accuracies on the same splits are read
from ``UCR/published_accuracy.csv`` in a data folder (a column `dataset`, and one for each rival);
those on the paper's datasets come with the package.
"""

import csv
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from paralesn.datasets.archives.ucr import archive_names, load_ucr, ucr_files
from paralesn.datasets.storage import checksums, folders
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.features.filter_bank import FilterBank
from paralesn.paper.catalogue import read
from paralesn.paper.records import Record

KIND = "ucr"
MODEL = "ReservoirClassifier"
RIVALS = ("MiniROCKET", "MultiROCKET", "Hydra", "MR-Hydra", "QUANT", "HC2")
_FILE = "classification.toml"
_PUBLISHED = "UCR/published_accuracy.csv"
_EVEN = 5e-5  # published accuracies have four digits


def at_hand() -> list[str]:
    """Datasets of the archive whose files are there."""
    return [
        name for name in archive_names() if all(file.find() is not None for file in ucr_files(name))
    ]


def published() -> dict[str, dict[str, float]]:
    """Accuracies of rivals, by dataset."""
    found = {name: dict(figures) for name, figures in read(_FILE)["rivals"].items()}
    path = folders.find([_PUBLISHED])
    if path is not None:
        for row in csv.DictReader(checksums.read(path).decode("utf-8").splitlines()):
            found[row["dataset"]] = {
                name: float(row[name]) for name in RIVALS if row.get(name) not in (None, "")
            }
    return found


def plan(names: Iterable[str], seeds: int) -> list[Record]:
    """Runs of the classifier as it comes."""
    return [
        {"kind": KIND, "task": name, "model": MODEL, "configuration": {}, "seed": seed}
        for name in names
        for seed in range(seeds)
    ]


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


def rows(found: Iterable[Record]) -> list[dict[str, Any]]:
    """Mean and deviation over seeds, one object for each dataset, beside what others published."""
    grouped: dict[str, list[Record]] = {}
    for one in found:
        grouped.setdefault(one["task"], []).append(one)
    rivals, results = published(), []
    for name, group in grouped.items():
        accuracies = np.array([one["metrics"]["accuracy"] for one in group])
        train, test, length, classes = group[0]["sizes"]
        results.append(
            {
                "task": name,
                "model": MODEL,
                "metric": "accuracy",
                "mean": float(accuracies.mean()),
                "std": float(accuracies.std()),
                "seeds": len(group),
                "seconds": float(np.median([one["timing"]["total"] for one in group])),
                "train": train,
                "test": test,
                "length": length,
                "classes": classes,
                "published": rivals.get(name, {}),
            }
        )
    return results


def comparison(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """For each rival, over the datasets it has a figure of: both means, and who is ahead."""
    found = {}
    for rival in RIVALS:
        pairs = np.array(
            [(one["mean"], one["published"][rival]) for one in results if rival in one["published"]]
        )
        if not len(pairs):
            continue
        ahead = pairs[:, 0] - pairs[:, 1]
        found[rival] = {
            "datasets": len(pairs),
            "ours": float(pairs[:, 0].mean()),
            "theirs": float(pairs[:, 1].mean()),
            "better": int((ahead > _EVEN).sum()),
            "even": int((np.abs(ahead) <= _EVEN).sum()),
            "worse": int((ahead < -_EVEN).sum()),
        }
    return found


def as_rich(results: Sequence[dict[str, Any]]) -> Table:
    """Accuracies for the terminal; the best of a row is bold."""
    seeds = max(one["seeds"] for one in results)
    ours = "ours" if seeds == 1 else f"ours, {seeds} seeds"
    table = Table(title="UCR archive, ReservoirClassifier() as it comes", title_justify="left")
    for name in ("dataset", "train", "test", "length", "classes", ours, "seconds", *RIVALS):
        table.add_column(name, justify="left" if name == "dataset" else "right")
    for one in results:
        figures = [one["mean"], *(one["published"].get(rival) for rival in RIVALS)]
        best = max(figure for figure in figures if figure is not None)
        texts = [
            "-"
            if figure is None
            else f"[bold]{figure:.4f}[/]"
            if figure == best
            else f"{figure:.4f}"
            for figure in figures
        ]
        if seeds > 1:
            texts[0] += f" ±{one['std']:.4f}"
        sizes = [str(one[name]) for name in ("train", "test", "length", "classes")]
        table.add_row(one["task"], *sizes, texts[0], f"{one['seconds']:.2f}", *texts[1:])
    _add_summary(table, results)
    return table


def _add_summary(table: Table, results: Sequence[dict[str, Any]]) -> None:
    """Means over the datasets that every rival has a figure of, and who is ahead how often."""
    compared = comparison(results)
    common = [one for one in results if all(rival in one["published"] for rival in RIVALS)]
    table.add_section()
    seconds = f"{sum(one['seconds'] for one in results):.1f} in all"
    if common:
        means = [float(np.mean([one["mean"] for one in common]))]
        means += [float(np.mean([one["published"][rival] for one in common])) for rival in RIVALS]
        ours, *theirs = (f"{mean:.4f}" for mean in means)
        table.add_row(f"mean of {len(common)}", *[""] * 4, ours, seconds, *theirs)
    counts = [
        "{better} / {even} / {worse}".format(**compared[rival]) if rival in compared else "-"
        for rival in RIVALS
    ]
    if compared:
        table.add_row("better / even / worse", *[""] * 6, *counts)
