"""What children of the nursery do: commands, and parts of the library that write files."""

import importlib
import sys
from functools import cache
from pathlib import Path

import numpy as np

from paralesn.paper import protocols
from paralesn.paper.catalogue import Task
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol

STUDY = ("narma10", "ESN", "paper")
TASK = "bell"  # of the protocol whose runs take no time


def prepare():
    """Import what jobs need, and compile nothing: that would begin threads."""
    for name in (
        "matplotlib.backends.backend_agg", "matplotlib.figure", "optuna", "paralesn.cli",
        "paralesn.paper.bayesian", "paralesn.paper.reproduce", "paralesn.report.build",
        "paralesn.report.comparison", "paralesn.report.own_forecast",
        "paralesn.workflows.forecast_picture", "paralesn.workflows.forecast_report",
        "paralesn.workflows.stream", "paralesn.workflows.trained_file", "sklearn.linear_model",
    ):  # fmt: skip
        importlib.import_module(name)
    protocols.register(Bell())


class Bell(Protocol):
    """Runs that take no time."""

    name, title, seeds = "bell", "Runs of no time", 5
    spaces = ("extended",)
    in_paper = False

    def tasks(self):
        return {TASK: Task(TASK, "Bell", self.name, "lower", 1.0)}

    def models(self, task):
        return ["ESN"]

    def missing(self, task):
        return None

    def shipped(self, task, model, space):
        return Tuned(task, model, space, {"rho": 0.5}, 1.0, 0.1, 1, 1.0, 1)

    def measure(self, run, folder, tell=None):
        return {"metric": "off", "metrics": {"off": run["seed"] / 7}, "seconds": 0.5}

    def tables(self, cells):
        return []


def command(*arguments):
    """The command line, as in a process of its own."""
    from paralesn.cli import main

    sys.argv = ["paralesn", *arguments]
    main()


def model(kind):
    """A small model to save."""
    import paralesn as pe

    return pe.ParalESN(units=40) if kind == "old" else pe.ESN(units=30)


def save(kind, path):
    """Save a model in place of whatever is there."""
    import paralesn as pe

    pe.save(model(kind), path)


def search(folder, trials):
    """Trials of a study whose losses cost nothing."""
    from paralesn.paper import bayesian
    from paralesn.paper.search import Budget
    from paralesn.workflows.worker_signs import Signs

    def losses(task, model, configuration, penalties, seed):
        return abs(configuration["rho"] - 0.5) + 0.01 * configuration["tau"] + np.array(penalties)

    bayesian.losses = losses
    signs = Signs(interval=1.0, grace=2.0, poll=0.05)  # a killed worker is soon taken for lost
    bayesian.work(*STUDY, folder, Budget(int(trials)), signs)


@cache
def series():
    """A wave of an hour's values, as text of a file and as numbers."""
    t = np.arange(150)
    y = (10 + np.sin(t * np.pi / 12) + 0.1 * np.cos(t * t)).round(4)
    return "t,load\n" + "".join(f"{k},{value}\n" for k, value in zip(t, y, strict=True)), y


def forecaster(path):
    """Save a small model that streams can follow."""
    import paralesn as pe
    from paralesn.estimators.state_forecaster.forecaster import StateForecaster

    made = StateForecaster(pe.ParalESN(units=20), horizon=3, standardize=True, difference=False)
    pe.save(made.fit(series()[1]), Path(path))


def compile_and_run(folder):
    """Compile a function that is kept in a folder of its own, and print what it gives."""
    import numba

    from paralesn.runtime import kernel_cache

    numba.config.CACHE_DIR = folder
    kept = numba.njit(_sum_of_squares)
    kernel_cache.keep(kept, _sum_of_squares, whole_engine=False)
    print(kept(np.arange(5.0)))


def _sum_of_squares(x):
    total = 0.0
    for value in x:
        total += value * value
    return total
