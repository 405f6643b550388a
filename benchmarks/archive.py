"""The default classifier on archive datasets: accuracy over seeds, ranks among published rivals.

Whatever is said of its accuracy is measured here, as mean and standard deviation over five seeds.
The 31 datasets in `UCR/` are those its defaults were chosen on, by held-out thirds of their
training parts: figures on them are in-sample. FordA, FordB and StarLightCurves had no part in the
choice. Accuracies of rivals are the published ones, on the same splits, each from one run. Time is
that of the processor for fit and predict, which other work does not add to, beside aeon's
MiniRocket, once both are compiled. Needs the benchmark files (PARALESN_DATA); without aeon there
are neither times nor the diagram, which goes to ``critical_difference.png`` in the folder that
PARALESN_FIGURES names.
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
from paralesn.runtime.threads import available

SEEDS = range(5)
OUT_OF_SAMPLE = {"FordA": 0.970, "FordB": 0.830, "StarLightCurves": 0.983}
MANY = 100  # training cases from which on the default should not be slower than MiniRocket
OURS, BEST = "paralesn", "HC2"


def run() -> Report:
    """Classify all datasets with five seeds each."""
    report = Report("ReservoirClassifier() on archive datasets, mean and deviation of five seeds")
    folder = Path(os.environ.get("PARALESN_DATA", ""))
    if not (folder / "UCR").is_dir():
        report.note("all claims", "skipped: PARALESN_DATA is not set to the benchmark files")
        return report
    with open(folder / "UCR" / "published_accuracy.csv") as file:
        published = list(csv.DictReader(file))
    rivals = list(published[0])[5:]
    ours, theirs = [], []
    for row in published:
        data = dataset(folder / "UCR" / row["dataset"])
        scores = accuracies(*data)
        ours.append(scores)
        theirs.append([float(row[name]) for name in rivals])
        known = ", ".join(f"{name} {row[name]}" for name in ("MR-Hydra", BEST))
        detail = f"std {scores.std():.4f}; in-sample; published: {known}"
        report.score(row["dataset"], scores.mean(), detail)
        race(report, row["dataset"], *data)
    summarise(report, np.array(ours), np.array(theirs), rivals)
    for name, wanted in OUT_OF_SAMPLE.items():
        data = dataset(folder / name)
        scores = accuracies(*data)
        report.score(name, scores.mean(), f"std {scores.std():.4f}; out of sample", wanted)
        race(report, name, *data)
    return report


def classifier(seed: int) -> ReservoirClassifier:
    """The default with another draw of its filters."""
    return ReservoirClassifier(FilterBank(seed=seed))


def accuracies(X: Any, y: Any, X_test: Any, y_test: Any) -> np.ndarray:
    """Of the default, with every seed."""
    return np.array([classifier(seed).fit(X, y).score(X_test, y_test) for seed in SEEDS])


def race(report: Report, name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Processor time to fit and predict, the least of three, where training cases are many."""
    if len(X) <= MANY or find_spec("aeon") is None:
        return
    from aeon.classification.convolution_based import MiniRocketClassifier

    seconds: dict[str, float] = {}
    contestants: dict[str, Callable[[], Any]] = {
        OURS: ReservoirClassifier,
        "MiniRocket": lambda: MiniRocketClassifier(n_jobs=available(), random_state=0),
    }
    for _ in range(3):
        for rival, make in contestants.items():
            inputs = [a if rival == OURS else a[:, None].astype(np.float32) for a in (X, X_test)]
            start = time.process_time()
            model = make().fit(inputs[0], y)
            for first in range(0, len(X_test), 1000):
                model.predict(inputs[1][first : first + 1000])
            spent = time.process_time() - start
            seconds[rival] = min(spent, seconds.get(rival, spent))
            if spent > 20:  # long enough to be measured once
                break
    if len(seconds) == len(contestants):
        claim = f"{name}, {len(X)} training cases: faster than MiniRocketClassifier"
        report.ratio(claim, seconds[OURS], seconds["MiniRocket"], 1.0)


def summarise(report: Report, ours: np.ndarray, theirs: np.ndarray, rivals: list[str]) -> None:
    """Mean accuracies and ranks over datasets, and the diagram.

    Of ours (datasets, seeds) and theirs (datasets, rivals).
    """
    of_seeds, means = ours.mean(axis=0), dict(zip(rivals, theirs.mean(axis=0), strict=True))
    others = ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    claim = f"{len(ours)} development sets, in-sample: mean accuracy"
    report.score(claim, of_seeds.mean(), f"std {of_seeds.std():.4f}; published: {others}", 0.862)
    names, scores = [OURS, *rivals], np.column_stack([ours.mean(axis=1), theirs])
    ranks = dict(zip(names, rankdata(-scores, axis=1).mean(axis=0), strict=True))
    others = ", ".join(f"{name} {ranks[name]:.2f}" for name in rivals)
    claim = f"{len(ours)} development sets, in-sample: mean rank"
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


def dataset(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Series and labels to learn from, and to test with."""
    return (*cases(folder, "TRAIN"), *cases(folder, "TEST"))


def cases(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Series and labels of a part, TRAIN or TEST, of the dataset in a folder."""
    (path,) = folder.glob(f"*{part}.tsv.xz")
    with lzma.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter="\t")
    return table[:, 1:], table[:, 0]
