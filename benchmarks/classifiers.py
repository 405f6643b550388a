"""Accuracy against time to fit and predict, beside the classifiers people use today.

On FordA, FordB and StarLightCurves, which had no part in the choice of our defaults. MiniRocket,
MultiRocket and Hydra are aeon's; all have one thread and a process of their own for each turn, with
another seed: ours those of the suite `archive`, which has the accuracy on all datasets. Seconds are
those of the processor, which other work does not add to. Needs the benchmark files
(PARALESN_DATA). Test cases are classified a thousand at a time: with all 8 236 of StarLightCurves
at once aeon's Hydra was killed on a machine of 24 GB. Who fails is left out, and said to be. The
figure goes to ``classifiers.png`` in the folder that PARALESN_FIGURES names, or in the current one.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import archive
from benchmarks.timing import Report
from paralesn import datasets
from paralesn.files import save_figure

SETS = ("forda", "fordb", "starlightcurves")
PORTION = 1000  # test cases at a time
ROUNDS = {"paralesn": len(archive.SEEDS), "MiniRocket": 3, "MultiRocket": 1, "Hydra": 1}
Turns = dict[str, list[float]]  # what each turn of a contestant took and reached


def run() -> Report:
    """Race classifiers on the paper's archive datasets."""
    report = Report("Classifiers, fit and predict with one thread")
    try:
        titles = {name: datasets.load(name, download=False).name for name in SETS}
    except datasets.MissingFileError:
        report.note("all claims", "skipped: the datasets are not in PARALESN_DATA")
        return report
    found: dict[str, dict[str, Turns]] = {}
    for name, title in titles.items():
        found[title] = race(name, report)
        for rival, turns in found[title].items():
            fit, predict = (float(np.median(turns[part])) for part in ("fit", "predict"))
            scores = np.array(turns["accuracy"])
            spread = f"std {scores.std():.4f}, seeds {scores.size}" if scores.size > 1 else "seed 0"
            detail = f"{spread}; {fit:.3g} s to fit, {predict:.3g} s to predict"
            report.score(f"{title}: accuracy of {rival}", float(scores.mean()), detail)
    report.note("figure", str(plot(found)))
    return report


def race(name: str, report: Report) -> dict[str, Turns]:
    """Each contestant's turns on a dataset, each with a seed; of those who came through."""
    turns: dict[str, list[dict[str, float]]] = {rival: [] for rival in ROUNDS}
    for turn in range(max(ROUNDS.values())):
        for rival, rounds in ROUNDS.items():
            if turn < rounds:
                command = [sys.executable, "-m", "benchmarks.classifiers", rival, name, str(turn)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    last = [f"exit code {done.returncode}", *done.stderr.splitlines()][-1]
                    report.note(f"{name}: {rival} failed", last)
                    continue
                turns[rival].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        rival: {key: [one[key] for one in found] for key in found[0]}
        for rival, found in turns.items()
        if found
    }


def _classifier(name: str, seed: int) -> Any:
    if name == "paralesn":
        from paralesn.aeon import ParalESNClassifier

        return ParalESNClassifier(n_jobs=1, random_state=seed)
    from aeon.classification import convolution_based as rivals

    kind = {
        "MiniRocket": "MiniRocketClassifier",
        "MultiRocket": "MultiRocketClassifier",
        "Hydra": "HydraClassifier",
    }[name]
    return getattr(rivals, kind)(n_jobs=1, random_state=seed)


def main() -> None:
    """Measure a classifier on a dataset with a seed, all from the command line, once compiled."""
    kind, seed = sys.argv[1], int(sys.argv[3])
    data: Any = datasets.load(sys.argv[2])
    X, X_test = (
        np.ascontiguousarray(np.asarray(part).transpose(0, 2, 1), np.float32)
        for part in (data.X_train, data.X_test)
    )
    few = np.concatenate([np.flatnonzero(data.y_train == c)[:10] for c in data.classes])
    _classifier(kind, seed).fit(X[few], data.y_train[few]).predict(X_test[:10])
    model, start = _classifier(kind, seed), time.process_time()
    model.fit(X, data.y_train)
    fitted = time.process_time()
    cuts = range(0, len(X_test), PORTION)
    predicted = np.concatenate([model.predict(X_test[i : i + PORTION]) for i in cuts])
    right = (predicted == data.y_test).mean()
    end = time.process_time()
    parts = {"fit": fitted - start, "predict": end - fitted, "total": end - start}
    print(json.dumps({"accuracy": float(right), **parts}))


def plot(found: dict[str, dict[str, Turns]]) -> Path:
    """Mean accuracy against seconds, a panel for each dataset; bars are standard deviations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(10, 3.4), layout="constrained")
    colours = dict(zip(ROUNDS, ("#0072b2", "#d55e00", "#cc79a7", "#009e73"), strict=True))
    for ax, (title, results) in zip(axes, found.items(), strict=True):
        for name, turns in results.items():
            scores = 100 * np.array(turns["accuracy"])
            at = (float(np.median(turns["total"])), float(scores.mean()))
            size = 9 if name == "paralesn" else 7
            ax.errorbar(*at, scores.std(), fmt="o", color=colours[name], markersize=size)
            ax.annotate(name, at, xytext=(0, 9), textcoords="offset points", ha="center")
        ax.set(title=title, xscale="log", xlabel="processor seconds to fit and predict")
        ax.margins(0.3)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy (%)")
    path = Path(os.environ.get("PARALESN_FIGURES", ".")) / "classifiers.png"
    save_figure(figure, path)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
