"""Accuracy against time to fit and predict, beside the classifiers people use today.

MiniRocket, MultiRocket and Hydra are aeon's, all with two threads, each in a process of its own, in
turns. Needs the benchmark files (PARALESN_DATA). Test cases are classified a thousand at a time:
with all 8 236 of StarLightCurves at once aeon's Hydra was killed on a machine of 24 GB. Who fails
is left out, and said to be. The figure goes to ``classifiers.png`` in the folder that
PARALESN_FIGURES names, or in the current one.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Report
from paralesn import datasets
from paralesn.files import save_figure

THREADS = 2
SETS = ("forda", "fordb", "starlightcurves")
PORTION = 1000  # test cases at a time
ROUNDS = {"paralesn": 3, "MiniRocket": 3, "MultiRocket": 1, "Hydra": 1}


def run() -> Report:
    """Race classifiers on the paper's archive datasets."""
    report = Report("Classifiers, fit and predict with two threads")
    try:
        titles = {name: datasets.load(name, download=False).name for name in SETS}
    except datasets.MissingFileError:
        report.note("all claims", "skipped: the datasets are not in PARALESN_DATA")
        return report
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, title in titles.items():
        found[title] = race(name, report)
        ours, mini = found[title].get("paralesn"), found[title].get("MiniRocket")
        if ours and mini:
            claim = f"{title}: fit and predict, faster than MiniRocketClassifier"
            report.ratio(claim, ours["total"], mini["total"], 1.0)
        for rival, one in found[title].items():
            detail = f"{one['fit']:.3g} s to fit, {one['predict']:.3g} s to predict"
            report.value(f"{title}: accuracy of {rival}", one["accuracy"], "", detail=detail)
    report.note("figure", str(plot(found)))
    return report


def race(name: str, report: Report) -> dict[str, dict[str, float]]:
    """Medians of each contestant's turns on a dataset; of those who came through."""
    turns: dict[str, list[dict[str, float]]] = {rival: [] for rival in ROUNDS}
    for turn in range(max(ROUNDS.values())):
        for rival, rounds in ROUNDS.items():
            if turn < rounds:
                command = [sys.executable, "-m", "benchmarks.classifiers", rival, name]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    last = [f"exit code {done.returncode}", *done.stderr.splitlines()][-1]
                    report.note(f"{name}: {rival} failed", last)
                    continue
                turns[rival].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        rival: {key: float(np.median([one[key] for one in found])) for key in found[0]}
        for rival, found in turns.items()
        if found
    }


def _classifier(name: str) -> Any:
    if name == "paralesn":
        from paralesn.aeon import ParalESNClassifier

        return ParalESNClassifier(n_jobs=THREADS)
    from aeon.classification import convolution_based as rivals

    kind = {
        "MiniRocket": "MiniRocketClassifier",
        "MultiRocket": "MultiRocketClassifier",
        "Hydra": "HydraClassifier",
    }[name]
    return getattr(rivals, kind)(n_jobs=THREADS, random_state=0)


def main() -> None:
    """Measure a classifier on a dataset, both named on the command line, once it is compiled."""
    data: Any = datasets.load(sys.argv[2])
    X, X_test = (
        np.ascontiguousarray(np.asarray(part).transpose(0, 2, 1), np.float32)
        for part in (data.X_train, data.X_test)
    )
    few = np.concatenate([np.flatnonzero(data.y_train == c)[:10] for c in data.classes])
    _classifier(sys.argv[1]).fit(X[few], data.y_train[few]).predict(X_test[:10])
    model, start = _classifier(sys.argv[1]), time.perf_counter()
    model.fit(X, data.y_train)
    fitted = time.perf_counter()
    cuts = range(0, len(X_test), PORTION)
    predicted = np.concatenate([model.predict(X_test[i : i + PORTION]) for i in cuts])
    right = (predicted == data.y_test).mean()
    end = time.perf_counter()
    parts = {"fit": fitted - start, "predict": end - fitted, "total": end - start}
    print(json.dumps({"accuracy": float(right), **parts}))


def plot(found: dict[str, dict[str, dict[str, float]]]) -> Path:
    """Accuracy against seconds, a panel for each dataset."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(10, 3.4), layout="constrained")
    colours = dict(zip(ROUNDS, ("#0072b2", "#d55e00", "#cc79a7", "#009e73"), strict=True))
    for ax, (title, results) in zip(axes, found.items(), strict=True):
        for name, one in results.items():
            at = (one["total"], 100 * one["accuracy"])
            ax.plot(*at, "o", color=colours[name], markersize=9 if name == "paralesn" else 7)
            ax.annotate(name, at, xytext=(0, 9), textcoords="offset points", ha="center")
        ax.set(title=title, xscale="log", xlabel="seconds to fit and predict")
        ax.margins(0.3)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy (%)")
    path = Path(os.environ.get("PARALESN_FIGURES", ".")) / "classifiers.png"
    save_figure(figure, path)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
