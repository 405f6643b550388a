"""Learning row by row beside other libraries' recursive least squares, and a new fit for each."""

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.timing import Report, medians
from paralesn import ParalESN, ReservoirForecaster, ReservoirRegressor, Ridge
from paralesn.estimators.forecaster.fitted import FittedForecaster

SEEN, ROWS, AHEAD = 2000, 300, 200  # rows fitted to, learnt one by one, and predicted in the end
PENALTY, FORGET = 1e-2, 0.999
Learner = Callable[[np.ndarray, np.ndarray], Any]


def run() -> Report:
    """Measure every claim about learning online."""
    report = Report("A row learnt and one predicted, one target, float64, median of rows")
    for units in (128, 256, 1024):
        readouts(report, units)
    estimators(report)
    return report


def readouts(report: Report, units: int) -> None:
    """`Ridge` against rivals and a new fit, and how far each is from the solution of all rows."""
    x = np.random.default_rng(0).uniform(-1, 1, (SEEN + ROWS + AHEAD, 1))
    Z = ParalESN(units=units, mix_scale=1.0, bias_scale=0.3).run(x)[0]
    y = (x * np.roll(x, 2, axis=0)) + np.roll(x, 5, axis=0)
    ours, error = _ours(Z, y, 1.0)
    below = 1.0 if units == 256 else None
    report.value(f"N={units}: a row", ours * 1e3, "ms", below)
    forgetting, faded = _ours(Z, y, FORGET)
    report.value(f"N={units}: a row, forgetting {FORGET:g}", forgetting * 1e3, "ms", below)
    report.value(f"N={units}: error to the solution of all rows", error, "", 1e-8)
    report.value(f"N={units}: the same, forgetting {FORGET:g}", faded, "", 1e-8)
    report.ratio(f"N={units}, against a new fit of Ridge", ours, _new_fit(Z, y))
    seconds, error = _reservoirpy(Z, y)
    report.ratio(f"N={units}, against reservoirpy's RLS", ours, seconds)
    report.value(f"N={units}: error of reservoirpy's RLS to the solution of all rows", error, "")
    if find_spec("river") is not None and units < 1024:
        seconds, error = _river(Z, y)
        report.ratio(f"N={units}, against river's BayesianLinearRegression", ours, seconds)
        report.value(f"N={units}: error of river's to the solution of all rows", error, "")


def estimators(report: Report) -> None:
    """Rows of whole models: the reservoir moves on, and the readout learns."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (SEEN + ROWS, 1))
    y = x * np.roll(x, 2, axis=0)
    model = ReservoirRegressor(ParalESN(units=256), Ridge([PENALTY])).fit(x[:SEEN], y[:SEEN])
    seconds = _median(lambda a, b: model.partial_fit(a, b), x[SEEN:], y[SEEN:])
    report.value("ReservoirRegressor.partial_fit, 256 units", seconds * 1e3, "ms", 1.0)
    t = np.arange(SEEN + ROWS)
    series = 10 + np.sin(t / 4) + np.sin(t / 30) + 0.1 * rng.normal(size=t.size)
    forecaster = ReservoirForecaster(horizon=24).fit(series[:SEEN])
    seconds = _median(lambda a, _: forecaster.partial_fit(a), series[SEEN:, None], y[SEEN:])
    fitted = forecaster.fitted_
    assert isinstance(fitted, FittedForecaster)  # no closed loop
    sizes = [member.readout.n_features_in_ for member in fitted.ensemble.shared]
    detail = f"reservoirs of {sizes} states, smoothers, weights and intervals; forecasts every row"
    report.value("ReservoirForecaster(horizon=24).partial_fit", seconds * 1e3, "ms", 1.0, detail)
    again = ReservoirForecaster(horizon=24).fit(series[:SEEN])
    begin = time.perf_counter()
    again.update(series[SEEN : SEEN + 1], refit=True)
    report.ratio("  against update(row, refit=True)", seconds, time.perf_counter() - begin)


# -- contestants -----------------------------------------------------------------------------------


def _ours(Z: np.ndarray, y: np.ndarray, forget: float) -> tuple[float, float]:
    """Seconds of a row, and the error of predictions to those of all rows at once."""
    readout = Ridge([PENALTY]).fit(Z[:SEEN], y[:SEEN])

    def learn(row: np.ndarray, target: np.ndarray) -> None:
        readout.forget(forget).partial_fit(row, target)
        readout.predict(row)

    seconds = _median(learn, Z[SEEN:-AHEAD], y[SEEN:-AHEAD])
    age = np.r_[np.full(SEEN, ROWS), np.arange(ROWS)[::-1]]
    return seconds, _error(readout.predict(Z[-AHEAD:]), _solution(Z, y, forget**age, True))


def _new_fit(Z: np.ndarray, y: np.ndarray) -> float:
    """Seconds of a fit to all rows, which a row would take without recursion."""
    fit = partial(Ridge([PENALTY]).fit, Z[:-AHEAD], y[:-AHEAD])
    return medians({"fit": fit}, 3)["fit"]


def _reservoirpy(Z: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """reservoirpy's node on states with a constant in place of its bias, which is not the best."""
    from reservoirpy.nodes import RLS

    node, Z = RLS(alpha=PENALTY, fit_bias=False), np.hstack([Z, np.ones((len(Z), 1))])
    node.partial_fit(Z[:SEEN], y[:SEEN])

    def learn(row: np.ndarray, target: np.ndarray) -> None:
        node.partial_fit(row, target)
        node.run(row)

    seconds = _median(learn, Z[SEEN:-AHEAD], y[SEEN:-AHEAD])
    return seconds, _error(node.run(Z[-AHEAD:]), _solution(Z, y, np.ones(SEEN + ROWS), False))


def _river(Z: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """river's Bayesian regression, which is recursive least squares; its rows are dicts."""
    from river.linear_model import BayesianLinearRegression

    make: Any = BayesianLinearRegression  # which has no types
    model, Z = make(alpha=PENALTY), np.hstack([Z, np.ones((len(Z), 1))])
    rows = [dict(enumerate(z.tolist())) for z in Z]
    for row, target in zip(rows[:SEEN], y[:SEEN, 0].tolist(), strict=True):
        model.learn_one(row, target)
    seconds = []
    for k in range(SEEN, SEEN + ROWS):
        begin = time.perf_counter()
        model.learn_one(rows[k], float(y[k, 0]))
        model.predict_one(rows[k])
        seconds.append(time.perf_counter() - begin)
    predicted = np.array([[model.predict_one(row)] for row in rows[-AHEAD:]])
    expected = _solution(Z, y, np.ones(SEEN + ROWS), False)
    return float(np.median(seconds)), _error(predicted, expected)


# -- measures --------------------------------------------------------------------------------------


def _median(learn: Learner, rows: np.ndarray, targets: np.ndarray) -> float:
    """Median seconds of a row."""
    seconds = []
    for k in range(ROWS):
        begin = time.perf_counter()
        learn(rows[k : k + 1], targets[k : k + 1])
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def _solution(Z: np.ndarray, y: np.ndarray, weight: np.ndarray, standardise: bool) -> np.ndarray:
    """Predictions for the last rows by the weighted ridge regression of all before, by its SVD.

    Standardised as ours does it, with an intercept; or of the rows as they are, as rivals have it.
    """
    rows, share = Z[:-AHEAD], weight / weight.sum()
    mean, scale, middle = np.zeros(Z.shape[1]), np.ones(Z.shape[1]), np.zeros(y.shape[1])
    if standardise:
        mean, middle = share @ rows, share @ y[:-AHEAD]
        scale = np.sqrt(share @ (rows - mean) ** 2)
    root = np.sqrt(weight)[:, None]
    U, s, V = np.linalg.svd(root * (rows - mean) / scale, full_matrices=False)
    coef = V.T @ ((s / (s**2 + PENALTY))[:, None] * (U.T @ (root * (y[:-AHEAD] - middle))))
    return np.asarray((Z[-AHEAD:] - mean) / scale @ coef + middle)


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, by the largest value."""
    return float(np.abs(found.reshape(expected.shape) - expected).max() / np.abs(expected).max())
