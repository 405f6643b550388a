"""Probabilities of the default classifier on archive data, beside scikit-learn's calibration.

The rival reads the same features by scikit-learn's `RidgeClassifierCV`, calibrated by
`CalibratedClassifierCV` over five folds (fewer where a class is smaller), by a sigmoid or an
isotonic function. The form of the calibration was chosen on training parts of every other dataset
(see `paralesn.estimators.probabilities`); the others, listed here, had no part in it. Log loss in
nats, Brier score summed over classes, expected calibration error over ten bins of the largest
probability. Answers without doubt have an infinite log loss; they are given their accuracy on
series left out as probability. Needs the benchmark files (PARALESN_DATA).
"""

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifierCV

from benchmarks.archive import cases
from benchmarks.timing import Report
from paralesn import FilterBank, ReservoirClassifier

HOT, OURS, SIGMOID, ISOTONIC = "one-hot", "predict_proba", "sigmoid", "isotonic"
SCORES = ("log loss", "Brier", "calibration error")


def run() -> Report:
    """Score probabilities on the datasets that had no part in the choice."""
    report = Report("Probabilities of the default classifier, on test parts of the archive")
    folder = Path(os.environ.get("PARALESN_DATA", "")) / "UCR"
    if not folder.is_dir():
        report.note("all claims", "skipped: PARALESN_DATA is not set to the benchmark files")
        return report
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())[1::2]
    found, seconds = [], np.zeros(2)
    for name in names:
        try:
            scores, spent = measure(folder / name)
        except ValueError as refused:
            report.note(f"{name} (left out)", f"CalibratedClassifierCV refuses it: {refused}")
            continue
        seconds += spent
        found.append([scores[way] for way in (OURS, HOT, SIGMOID, ISOTONIC)])
        detail = ", ".join(
            f"{score} {ours:.3f} (one-hot {hot:.3f}, sigmoid {sigmoid:.3f}, isotonic {iso:.3f})"
            for score, ours, hot, sigmoid, iso in zip(SCORES, *found[-1], strict=True)
        )
        report.note(name, detail)
    means = np.mean(found, axis=0)
    for k, score in enumerate(SCORES):
        ours, hot, sigmoid, isotonic = means[:, k]
        detail = f"one-hot {hot:.3f}, sigmoid {sigmoid:.3f}, isotonic {isotonic:.3f}"
        claim = f"mean of {len(found)} datasets: {score}"
        report.value(claim, ours, "", min(hot, sigmoid, isotonic), detail)
    claim = "fit with probabilities, faster than CalibratedClassifierCV on the same features"
    report.ratio(claim, float(seconds[0]), float(seconds[1]), 1.0)
    return report


def measure(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Scores (3,) of every way to probabilities, and seconds to fit ours and the sigmoid's."""
    (X, y), (X_test, y_test) = (cases(folder, part) for part in ("TRAIN", "TEST"))
    start = time.perf_counter()
    model = ReservoirClassifier().fit(X, y)
    ours = time.perf_counter() - start
    labels = np.searchsorted(model.classes_, y_test)
    decided = np.searchsorted(model.classes_, model.predict(X_test))
    found = {OURS: model.predict_proba(X_test), HOT: _one_hot(model, y, decided)}
    spent = []
    for method in (SIGMOID, ISOTONIC):
        start = time.perf_counter()
        bank = FilterBank()
        rival = _calibrated(bank.fit_transform(X), y, method)
        spent.append(time.perf_counter() - start)
        found[method] = rival.predict_proba(bank.transform(X_test))
    return {way: _scores(p, labels) for way, p in found.items()}, np.array([ours, spent[0]])


def _one_hot(model: ReservoirClassifier, y: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """The class decided on, as probable as decisions on series left out were right."""
    left_out = model.readout_.left_out_
    values = left_out.predictions
    best = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
    right = (model.classes_[best] == y[left_out.rows]).sum()
    accuracy, classes = (right + 1) / (len(y) + 2), len(model.classes_)
    answers: np.ndarray = np.eye(classes)[decided]
    return accuracy * answers + (1 - accuracy) / (classes - 1) * (1 - answers)


def _calibrated(features: np.ndarray, y: np.ndarray, method: str) -> Any:
    """A ridge classifier of scikit-learn, calibrated by cross-validation."""
    folds = int(min(5, max(2, np.unique(y, return_counts=True)[1].min())))
    ridge = RidgeClassifierCV(np.logspace(-5, 1.5, 14) * features.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer members than folds
        return CalibratedClassifierCV(ridge, method=method, cv=folds).fit(features, y)


def _scores(found: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log loss, Brier score and expected calibration error."""
    right = found[np.arange(len(labels)), labels]
    brier = ((found - np.eye(found.shape[1])[labels]) ** 2).sum(axis=1).mean()
    confidence = found.max(axis=1)
    gaps = confidence - (found.argmax(axis=1) == labels)
    bins = np.minimum((10 * confidence).astype(int), 9)
    error = sum(abs(gaps[bins == b].sum()) for b in range(10)) / len(labels)
    return np.array([-np.log(np.maximum(right, 1e-15)).mean(), brier, error])
