"""Joules for a fit and for a million predictions, ours beside reservoirpy and MiniRocket.

Every contestant has a process of its own and all cores; it is warm, that is compiled, before it is
measured. How joules were measured is printed with them (`benchmarks.joules`): without counters
they are an estimate, and ratios are those of CPU seconds. Scores stand beside them, since joules of
models that do not score alike compare poorly. FordA needs the benchmark files (PARALESN_DATA).
"""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contestant import ALPHAS, WASHOUT
from benchmarks.joules import measure
from benchmarks.timing import Report

UNITS, STEPS = 128, 10_000  # of the forecast: one step ahead, for every step
SERIES, LENGTH = 500, 500  # to classify
RIVALS = {
    "forecast": ("ours", "reservoirpy"),
    "tones": ("ours", "MiniRocket"),
    "forda": ("ours", "MiniRocket"),
}
TITLES = {
    "forecast": f"Mackey-Glass one step ahead, {STEPS:,} steps, {UNITS} units",
    "tones": f"tones of three pitches in noise, {SERIES} series of {LENGTH} steps",
    "forda": f"FordA, {SERIES} series of {LENGTH} steps",
}
_MILLION = 10**6


class Contestant(NamedTuple):
    """How to fit, how to predict, how many predictions that makes, and how good they are."""

    fit: Callable[[], Any]
    predict: Callable[[], np.ndarray]
    predictions: int
    score: Callable[[np.ndarray], float]


def run() -> Report:
    """Measure every contestant."""
    report = Report("Joules for a fit and for a million predictions")
    for task, names in RIVALS.items():
        report.note(TITLES[task], "")
        found = {name: spent for name in names if (spent := _measured(task, name, report))}
        for what in ("fit", "million predictions"):
            for name, spent in found.items():
                joules, seconds = spent[what]
                detail = f"{seconds:.3g} s; score {spent['score']:.4f}; {spent['how']}"
                report.value(f"  {what}, {name}", joules, "J", detail=detail)
            if len(found) == len(names):
                ours, rival = (found[name][what][0] for name in names)
                claim = f"  {what}: joules of {names[1]} for one of ours"
                scores = " and ".join(f"{found[name]['score']:.4f}" for name in reversed(names))
                report.value(claim, rival / ours, "x", detail=f"scores {scores}")
    return report


def _measured(task: str, name: str, report: Report) -> dict[str, Any] | None:
    """What a contestant spent, in a process of its own; None if it failed, which is said."""
    command = [sys.executable, "-m", "benchmarks.energy", task, name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = [f"exit code {done.returncode}", *done.stderr.splitlines()][-1]
        report.note(f"  {name}: skipped", last)
        return None
    spent: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return spent


def main() -> None:
    """Measure the contestant of the task named on the command line."""
    task, name = sys.argv[1:]
    made = _forecast(name) if task == "forecast" else _classify(task, name)
    made.fit()
    score = made.score(made.predict())
    fit, predict = measure(made.fit), measure(made.predict)
    times = _MILLION / made.predictions
    print(json.dumps({
        "fit": (fit.joules, fit.seconds),
        "million predictions": (times * predict.joules, times * predict.seconds),
        "score": score, "how": fit.how,
    }))  # fmt: skip


# -- contestants -----------------------------------------------------------------------------------


def _forecast(name: str) -> Contestant:
    """A reservoir and a ridge readout of the same size; the score is R2 on later steps."""
    from paralesn.datasets import mackey_glass

    series = mackey_glass(2 * STEPS + 1)
    x, y = series[:STEPS], series[1 : STEPS + 1]
    later, target = series[STEPS:-1], series[STEPS + 1 :]

    def score(predicted: np.ndarray) -> float:
        error = predicted.reshape(-1, 1)[WASHOUT:] - target[WASHOUT:]
        return float(1 - (error**2).mean() / target.var())

    if name == "reservoirpy":
        from reservoirpy.nodes import Reservoir
        from reservoirpy.nodes import Ridge as TheirRidge

        model = Reservoir(units=UNITS, lr=1.0, sr=0.9, seed=0) >> TheirRidge(ridge=1e-6)
        fit, predict = lambda: model.fit(x, y, warmup=WASHOUT), lambda: model.run(later)
        return Contestant(fit, predict, len(later), score)
    from paralesn import ParalESN, ReservoirRegressor, Ridge

    ours = ReservoirRegressor(
        ParalESN(units=UNITS), Ridge(ALPHAS), washout=WASHOUT, standardize=False
    )
    return Contestant(
        lambda: ours.fit(x, y[:, 0]), lambda: ours.predict(later), len(later), score
    )  # fmt: skip


def _classify(task: str, name: str) -> Contestant:
    """Classifiers with their defaults; the score is the accuracy on new series."""
    from paralesn.aeon import ParalESNClassifier

    (X, y), (new, labels) = (_tones(0), _tones(1)) if task == "tones" else _forda()
    model: Any = ParalESNClassifier(n_jobs=-1, random_state=0)
    if name == "MiniRocket":
        from aeon.classification.convolution_based import MiniRocketClassifier

        model = MiniRocketClassifier(n_jobs=-1, random_state=0)
    return Contestant(
        lambda: model.fit(X, y),
        lambda: np.asarray(model.predict(new)),
        len(new),
        lambda predicted: float((predicted == labels).mean()),
    )


def _tones(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Tones of three pitches in noise, (series, 1, steps) as aeon wants them, and which."""
    rng = np.random.default_rng(seed)
    labels = np.arange(SERIES) % 3
    phase = rng.uniform(0, 6, (SERIES, 1))
    X = np.sin(np.arange(LENGTH) / (3.0 + 0.1 * labels[:, None]) + phase)
    return (X + 2 * rng.normal(size=X.shape))[:, None].astype(np.float32), labels


def _forda() -> list[tuple[np.ndarray, np.ndarray]]:
    """Series of an archive that every classifier knows, in the same shape."""
    from paralesn import datasets

    data: Any = datasets.load("forda", download=False)
    parts = ((data.X_train, data.y_train), (data.X_test, data.y_test))
    return [
        (np.asarray(X[:SERIES], np.float32).transpose(0, 2, 1).copy(), np.asarray(y[:SERIES]))
        for X, y in parts
    ]


if __name__ == "__main__":
    main()
