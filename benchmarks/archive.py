"""The default classifier on archive datasets: accuracy over seeds, ranks among published rivals.

The 31 datasets in `UCR/` are those its defaults were chosen on, by held-out thirds of their
training parts: figures on them are in-sample. FordA, FordB and StarLightCurves had no part in the
choice. Accuracies of rivals are the published ones, on the same splits, each from one run. Time is
that of fit and predict in one process, beside aeon's MiniRocket with as many threads, once both are
compiled. Needs the benchmark files (PARALESN_DATA); without aeon there are neither times nor the
diagram, which goes to ``critical_difference.png`` in the folder that PARALESN_FIGURES names.
"""

import csv
import lzma
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.timing import Report
from paralesn import FilterBank, ReservoirClassifier
from paralesn.files import save_figure

SEEDS = range(5)
OUT_OF_SAMPLE = {"FordA": 0.970, "FordB": 0.830, "StarLightCurves": 0.983}
MANY = 100  # training cases from which on the default should not be slower than MiniRocket
OURS, BEST = "paralesn", "HC2"


def run() -> Report:
    """Classify all datasets with five seeds each."""
    report = Report("ReservoirClassifier() on archive datasets, mean of five seeds")
    folder = Path(os.environ.get("PARALESN_DATA", ""))
    if not (folder / "UCR").is_dir():
        report.note("all claims", "skipped: PARALESN_DATA is not set to the benchmark files")
        return report
    with open(folder / "UCR" / "published_accuracy.csv") as file:
        published = list(csv.DictReader(file))
    rivals = list(published[0])[5:]
    table = []
    for row in published:
        data = _dataset(folder / "UCR" / row["dataset"])
        scores = accuracies(*data)
        table.append([scores.mean(), *(float(row[name]) for name in rivals)])
        known = ", ".join(f"{name} {row[name]}" for name in ("MR-Hydra", BEST))
        report.score(row["dataset"], scores.mean(), f"std {scores.std():.3f}; published: {known}")
        race(report, row["dataset"], *data)
    summarise(report, np.array(table), [OURS, *rivals])
    for name, wanted in OUT_OF_SAMPLE.items():
        data = _dataset(folder / name)
        scores = accuracies(*data)
        detail = f"std {scores.std():.4f}; not used for choosing"
        report.score(name, scores.mean(), detail, wanted)
        race(report, name, *data)
    return report


def accuracies(X: Any, y: Any, X_test: Any, y_test: Any) -> np.ndarray:
    """Of the default with other draws of its filters."""
    models = [ReservoirClassifier(FilterBank(seed=seed)) for seed in SEEDS]
    return np.array([model.fit(X, y).score(X_test, y_test) for model in models])


def race(report: Report, name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Time to fit and predict, the least of three, where training cases are many."""
    if len(X) <= MANY or find_spec("aeon") is None:
        return
    from aeon.classification.convolution_based import MiniRocketClassifier

    seconds: dict[str, float] = {}
    contestants: dict[str, Callable[[], Any]] = {
        OURS: ReservoirClassifier,
        "MiniRocket": lambda: MiniRocketClassifier(n_jobs=os.cpu_count(), random_state=0),
    }
    for _ in range(3):
        for rival, make in contestants.items():
            inputs = [a if rival == OURS else a[:, None].astype(np.float32) for a in (X, X_test)]
            start = time.perf_counter()
            model = make().fit(inputs[0], y)
            for first in range(0, len(X_test), 1000):
                model.predict(inputs[1][first : first + 1000])
            spent = time.perf_counter() - start
            seconds[rival] = min(spent, seconds.get(rival, spent))
            if spent > 20:  # long enough to be measured once
                break
    if len(seconds) == len(contestants):
        claim = f"{name}, {len(X)} training cases: faster than MiniRocketClassifier"
        report.ratio(claim, seconds[OURS], seconds["MiniRocket"], 1.0)


def summarise(report: Report, scores: np.ndarray, names: list[str]) -> None:
    """Mean accuracies and ranks over datasets (datasets, names), and the diagram."""
    means = dict(zip(names, scores.mean(axis=0), strict=True))
    others = ", ".join(f"{name} {means[name]:.4f}" for name in names[1:])
    report.score(f"{len(scores)} development sets: mean accuracy", means[OURS], others, 0.862)
    ranks = dict(zip(names, rankdata(-scores, axis=1).mean(axis=0), strict=True))
    others = ", ".join(f"{name} {ranks[name]:.2f}" for name in names[1:])
    claim = f"{len(scores)} development sets: mean rank"
    report.value(claim, float(ranks[OURS]), "", float(ranks[BEST]), others)
    if find_spec("aeon") is not None:
        report.note("critical-difference diagram", str(draw(scores, names)))


def draw(scores: np.ndarray, names: list[str]) -> Path:
    """Mean ranks; a bar joins those whose differences may be chance (Wilcoxon, Holm)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from aeon.visualisation import plot_critical_difference

    look = {"highlight": {OURS: "#0072b2"}, "width": 8, "textspace": 2.5}
    figure, _ = plot_critical_difference(scores, names, alpha=0.05, **look)
    path = Path(os.environ.get("PARALESN_FIGURES", ".")) / "critical_difference.png"
    save_figure(figure, path)
    plt.close(figure)
    return path


def _dataset(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    parts = []
    for part in ("TRAIN", "TEST"):
        (path,) = folder.glob(f"*{part}.tsv.xz")
        with lzma.open(path, "rt") as file:
            table = np.loadtxt(file, delimiter="\t")
        parts += [table[:, 1:], table[:, 0]]
    X, y, X_test, y_test = parts
    return X, y, X_test, y_test
