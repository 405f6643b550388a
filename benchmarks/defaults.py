"""Estimators without any choice of hyperparameters, on real data they were and were not tuned on.

Needs the benchmark files: set PARALESN_DATA to their folder.
"""

import csv
import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import archive
from benchmarks.timing import Report
from paralesn import ParalESN, PooledStates, ReservoirClassifier, ReservoirForecaster

# Mean squared errors, 96 steps ahead, that default forecasts should stay below.
TRANSFORMERS = {"ETTh1": 0.34, "ETTh2": 0.26, "ETTm1": 0.31, "ETTm2": 0.17}


def run() -> Report:
    """Classify archive datasets and forecast electricity transformers."""
    report = Report("Estimators as they come")
    folder = Path(os.environ.get("PARALESN_DATA", ""))
    if not (folder / "UCR").is_dir():
        report.note("all claims", "skipped: PARALESN_DATA is not set to the benchmark files")
        return report
    classification(report, folder)
    forecasting(report, folder)
    return report


def classification(report: Report, folder: Path) -> None:
    """Accuracy of the paper's classifier where nothing was searched for, over the same seeds.

    That of the default one, which takes other features, is measured by the suite `archive`.
    """
    names = sorted(path.name for path in (folder / "UCR").iterdir() if path.is_dir())
    means = np.mean([last_states(folder / "UCR" / name) for name in names], axis=0)
    claim = f"last state of 1024 units, {len(names)} archive datasets: mean accuracy"
    report.value(claim, float(means.mean()), "", detail=f"std {means.std():.4f}")
    for name in archive.OUT_OF_SAMPLE:
        scores = last_states(folder / name)
        claim = f"last state of 1024 units, {name}: accuracy"
        report.value(claim, float(scores.mean()), "", detail=f"std {scores.std():.4f}")


def last_states(folder: Path) -> np.ndarray:
    """Accuracies of ridge regression on the last state of a dataset's series, with every seed."""
    X, y, X_test, y_test = archive.dataset(folder)
    scores = []
    for seed in archive.SEEDS:
        reservoir = ParalESN(units=1024, rho=(0.5, 0.999), mix_scale=1.0, seed=seed)
        states = PooledStates(reservoir, pool="last", segments=1, standardize=False)
        scores.append(ReservoirClassifier(states).fit(X, y).score(X_test, y_test))
    return np.array(scores)


def forecasting(report: Report, folder: Path) -> None:
    """Mean squared error of 96 steps ahead from every step of the test part, beside naive ones."""
    horizon = 96
    for name, parts in _transformers(folder):
        train, test = parts
        scale = train.std(axis=0)
        windows = np.lib.stride_tricks.sliding_window_view(test, horizon, axis=0)
        truth = windows[1:].transpose(0, 2, 1) / scale
        start = time.perf_counter()
        model = ReservoirForecaster(horizon=horizon).fit(train)
        predicted = model.predict(test[:-horizon]) / scale
        seconds = time.perf_counter() - start
        last = test[:-horizon, None] / scale
        error, naive = (float(((p - truth) ** 2).mean()) for p in (predicted, last))
        detail = f"last value {naive:.3f}; {seconds:.3g} s to fit and predict"
        claim = f"ReservoirForecaster(horizon=96), {name}: mean squared error"
        report.value(claim, error, "", below=TRANSFORMERS[name], detail=detail)


def _transformers(folder: Path) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    for name, train, test in (
        ("ETTh1", 11520, 2880),
        ("ETTh2", 11520, 2880),
        ("ETTm1", 46080, 11520),
        ("ETTm2", 46080, 11520),
    ):
        with gzip.open(folder / "ETT" / f"{name}.csv.gz", "rt") as file:
            rows = np.array([row[1:] for row in list(csv.reader(file))[1:]], float)
        yield name, (rows[:train], rows[train : train + test])
