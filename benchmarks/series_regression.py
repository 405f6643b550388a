"""A number for every series: the default regressor beside aeon's, on real data.

RocketRegressor and MiniRocketRegressor are aeon's, all with two threads; the mean of the training
targets is the line to beat. Tasks are those of `benchmarks.series_tasks`; defaults were chosen
on their training parts. Needs the benchmark files (PARALESN_DATA) and aeon.
"""

import os
import time
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.series_tasks import Task, tasks
from benchmarks.timing import Report
from paralesn import FilterBank, ReservoirSeriesRegressor

THREADS = 2
OURS, ROCKET, MINI, MEAN = "paralesn", "Rocket", "MiniRocket", "mean"


def run() -> Report:
    """Race regressors of whole series on all tasks."""
    report = Report("Regressors of whole series, test parts, fit and predict with two threads")
    folder = Path(os.environ.get("PARALESN_DATA", ""))
    if not (folder / "UCR").is_dir() or find_spec("aeon") is None:
        report.note("all claims", "skipped: PARALESN_DATA or aeon is missing")
        return report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of aeon's own making
        contestants = _contestants()
        errors, seconds = [], dict.fromkeys(contestants, 0.0)
        for number, task in enumerate(tasks(folder)):
            found = race(task, contestants, warm_up=number == 0)
            for name, (_, spent) in found.items():
                seconds[name] += spent
            errors.append([error for error, _ in found.values()])
            scores = ", ".join(f"{name} {1 - error:.3f}" for name, (error, _) in found.items())
            report.note(task.name, f"R2 {scores}")
    summarise(report, np.array(errors), list(contestants))
    report.ratio("all tasks: faster than RocketRegressor", seconds[OURS], seconds[ROCKET], 1.0)
    report.ratio("all tasks: faster than MiniRocketRegressor", seconds[OURS], seconds[MINI])
    return report


def summarise(report: Report, errors: np.ndarray, names: list[str]) -> None:
    """Mean ranks and mean errors (tasks, contestants), the latter relative to the mean's."""
    ranks = dict(zip(names, _ranks(errors).mean(axis=0), strict=True))
    means = dict(zip(names, np.minimum(errors, 2.0).mean(axis=0), strict=True))
    others = ", ".join(f"{name} {ranks[name]:.2f}" for name in names[1:])
    report.value(
        f"mean rank of {len(errors)} tasks", float(ranks[OURS]), "", float(ranks[ROCKET]), others
    )
    others = ", ".join(f"{name} {means[name]:.3f}" for name in names[1:])
    claim = "mean squared error relative to the variance, at most 2: mean"
    report.value(claim, float(means[OURS]), "", float(means[ROCKET]), others)
    wins = int((errors[:, names.index(OURS)] < errors[:, names.index(ROCKET)]).sum())
    report.note("better than RocketRegressor", f"{wins} of {len(errors)} tasks")


def race(
    task: Task, contestants: Mapping[str, Callable[[], Any]], warm_up: bool
) -> dict[str, tuple[float, float]]:
    """Relative squared error and seconds of each contestant."""
    found = {}
    for name, make in contestants.items():
        X, X_test = task.X, task.X_test
        if name in (ROCKET, MINI):
            X, X_test = X.transpose(0, 2, 1), X_test.transpose(0, 2, 1)
        if warm_up:
            make().fit(X[:20], task.y[:20]).predict(X_test[:5])
        start = time.perf_counter()
        predicted = make().fit(X, task.y).predict(X_test)
        spent = time.perf_counter() - start
        error = ((predicted - task.y_test) ** 2).sum() / (
            (task.y_test - task.y_test.mean()) ** 2
        ).sum()
        found[name] = float(error), spent
    return found


def _contestants() -> dict[str, Callable[[], Any]]:
    from aeon.regression.convolution_based import MiniRocketRegressor, RocketRegressor
    from sklearn.dummy import DummyRegressor

    return {
        OURS: lambda: ReservoirSeriesRegressor(FilterBank(levels=True, n_jobs=THREADS)),
        ROCKET: lambda: RocketRegressor(random_state=0, n_jobs=THREADS),
        MINI: lambda: MiniRocketRegressor(random_state=0, n_jobs=THREADS),
        MEAN: DummyRegressor,
    }


def _ranks(errors: np.ndarray) -> np.ndarray:
    """Ranks (tasks, contestants) from 1, the least error first; ties share theirs."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(errors, axis=1))
