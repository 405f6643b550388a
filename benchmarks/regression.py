"""R2 of regressors without any setting, on tasks that had no part in choosing the default.

Needs the benchmark files for the tasks of sensors: set PARALESN_DATA to their folder.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from benchmarks.regression_tasks import Task, tasks
from benchmarks.timing import Report, medians
from paralesn import ESN, ParalESN, ReservoirRegressor, Ridge

BEFORE = "before"
# The least R2 that the default should have: learnt, or not made worse than a mean.
WANTED = {
    "x(t-3)": 0.999, "x(t-20)": 0.99, "x(t)^2": 0.999, "x(t) x(t-1)": 0.999,
    "x(t-2) x(t-5)": 0.98, "x(t)^3 - x(t-1)^2": 0.99, "|x(t-1)|": 0.9, "u(t) v(t)": 0.99,
    "u(t) v(t-1) + w(t-2)": 0.98, "NARMA10": 0.99, "NARMA30": 0.8,
    "nothing but noise, 2000 rows": -0.02, "nothing but noise, 200 rows": -0.05,
    "nothing but noise, 40 rows": -0.2,
}  # fmt: skip


def run() -> Report:
    """R2 of every task, and what a fit costs."""
    report = Report("ReservoirRegressor() without any setting: R2 on data not learnt from")
    models: dict[str, Callable[[Task], float]] = {BEFORE: before, "linear": linear, "ESN": esn}
    if find_spec("reservoirpy"):
        models["reservoirpy"] = reservoirpy
    gains: dict[str, list[float]] = {name: [] for name in models}
    for task in tasks("report"):
        ours = default(task)
        others = {name: score(task) for name, score in models.items()}
        for name, other in others.items():
            gains[name].append(ours - other)
        detail = ", ".join(f"{name} {other:.3f}" for name, other in others.items())
        report.score(f"{task.kind}: {task.name}", ours, detail, WANTED.get(task.name))
    for name, values in gains.items():
        better, worse = (np.array(values) > 0.005).sum(), (np.array(values) < -0.005).sum()
        text = f"better by .005 on {better} tasks, worse on {worse}; median {median(values):+.3f}"
        report.note(f"beside {name}", text)
    if not os.environ.get("PARALESN_DATA"):
        report.note("sensors", "skipped: PARALESN_DATA is not set to the benchmark files")
    _cost(report)
    return report


def default(task: Task) -> float:
    """R2 of the default."""
    return _score(ReservoirRegressor(), task)


def before(task: Task) -> float:
    """R2 of the default of version 0.1: one layer of 128 units without bias."""
    return _score(_old(min(100, task.X.shape[-2] // 10)), task)


def linear(task: Task) -> float:
    """R2 of a linear regression on the inputs of the same step, which has no memory."""
    width = task.X.shape[-1]
    y = task.y if task.y.ndim == task.X.ndim else task.y.ravel()
    model = LinearRegression().fit(task.X.reshape(-1, width), y)
    return _r2(task, model.predict(task.X_test.reshape(-1, width)).reshape(task.y_test.shape))


def esn(task: Task) -> float:
    """R2 of an echo state network with its own defaults."""
    return _score(ReservoirRegressor(ESN()), task)


def reservoirpy(task: Task) -> float:
    """R2 of reservoirpy's reservoir and ridge as its tutorial has them, inputs scaled as ours."""
    from reservoirpy.nodes import Reservoir
    from reservoirpy.nodes import Ridge as TheirRidge

    axes = tuple(range(task.X.ndim - 1))
    mean, scale = task.X.mean(axis=axes, dtype=float), task.X.std(axis=axes, dtype=float)
    X, X_test = ((x - mean) / scale for x in (task.X, task.X_test))
    model = Reservoir(units=ReservoirRegressor().get_params()["reservoir__units"], lr=1.0, sr=0.9,
                      seed=0) >> TheirRidge(ridge=1e-6)  # fmt: skip
    washout = min(100, X.shape[-2] // 10)
    y = task.y.reshape(*X.shape[:-1], -1)
    model.fit(X, y, warmup=washout)
    predicted = np.asarray(model.run(X_test)).reshape(task.y_test.shape)
    return _r2(task, predicted)


def _old(washout: int) -> ReservoirRegressor:
    return ReservoirRegressor(ParalESN(), Ridge(), washout=washout)


def _score(model: ReservoirRegressor, task: Task) -> float:
    """R2 from the state after training, or of other series."""
    model.fit(task.X, task.y)
    return _r2(task, model.predict(task.X_test, state=model.state_ if task.follows else None))


def _r2(task: Task, predicted: Any) -> float:
    if task.follows:
        return float(r2_score(task.y_test, predicted))
    washout = min(100, task.X_test.shape[1] // 10)
    wanted, found = (a[:, washout:].ravel() for a in (task.y_test, predicted))
    return float(r2_score(wanted, found))


def _cost(report: Report) -> None:
    """Seconds of a fit, beside the earlier default."""
    x = np.random.default_rng(0).uniform(-1, 1, (5000, 1))
    fits = {"now": ReservoirRegressor(), BEFORE: _old(100), "ESN": ReservoirRegressor(ESN())}
    seconds = medians({name: _call(model, x) for name, model in fits.items()}, rounds=9)
    report.ratio("fit of 5000 steps, against the earlier default", seconds["now"], seconds[BEFORE])
    report.ratio("fit of 5000 steps, against ESN()", seconds["now"], seconds["ESN"])


def _call(model: ReservoirRegressor, x: np.ndarray) -> Callable[[], Any]:
    return lambda: model.fit(x, x[:, 0] ** 2)
