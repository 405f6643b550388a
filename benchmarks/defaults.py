"""Estimators without any choice of hyperparameters, on real data they were and were not tuned on.

Needs the benchmark files: set PARALESN_DATA to their folder.
"""

import csv
import gzip
import lzma
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

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
    """Mean accuracy on the datasets the defaults were chosen on, and accuracy on others."""
    with open(folder / "UCR" / "published_accuracy.csv") as file:
        published = {row["dataset"]: float(row["MiniROCKET"]) for row in csv.DictReader(file)}
    names = sorted(path.name for path in (folder / "UCR").iterdir() if path.is_dir())
    scores = [_accuracies(folder / "UCR" / name) for name in names]
    rivals = np.mean([published[name] for name in names])
    ours, last, seconds = np.mean(scores, axis=0)
    detail = f"MiniROCKET as published {rivals:.3f}; last state of 1024 units {last:.3f}; "
    detail += f"{seconds:.3g} s to fit and predict"
    claim = f"ReservoirClassifier(), {len(names)} archive datasets: mean accuracy"
    report.value(claim, float(ours), "", detail=detail)
    for name, rival in (("FordA", 0.9485), ("FordB", 0.8198), ("StarLightCurves", 0.9820)):
        ours, last, seconds = _accuracies(folder / name)
        detail = f"MiniROCKET as published {rival:.3f}; last state of 1024 units {last:.3f}; "
        detail += f"{seconds:.3g} s"
        report.value(f"ReservoirClassifier(), {name}: accuracy", ours, "", detail=detail)


def _accuracies(folder: Path) -> tuple[float, float, float]:
    """Of the default classifier and of the last state; seconds of the former."""
    (X, y), (X_test, y_test) = (_cases(folder, part) for part in ("TRAIN", "TEST"))
    start = time.perf_counter()
    ours = ReservoirClassifier().fit(X, y).score(X_test, y_test)
    seconds = time.perf_counter() - start
    reservoir = ParalESN(units=1024, rho=(0.5, 0.999), mix_scale=1.0)
    states = PooledStates(reservoir, pool="last", segments=1, standardize=False)
    last = ReservoirClassifier(states).fit(X, y).score(X_test, y_test)
    return float(ours), float(last), seconds


def _cases(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    (path,) = folder.glob(f"*{part}.tsv.xz")
    with lzma.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter="\t")
    return table[:, 1:], table[:, 0]


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
