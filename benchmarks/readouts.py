"""Speed of the ridge readout beside the Gram matrix and the SVD of the states."""

import resource
import sys
from functools import partial

import numpy as np
from sklearn.linear_model import Ridge as SklearnRidge

from benchmarks.timing import Report, medians, once
from paralesn import ParalESN, Ridge


def run() -> Report:
    """Measure every claim about the readouts."""
    report = Report("Ridge, six alphas, one target, float64 states of a ParalESN")
    for steps, units in ((5_000, 128), (50_000, 512), (100_000, 1_024)):
        ridge(report, steps, units)
    wide(report, 6_000, 2_048, rounds=5)
    wide(report, 9_000, 8_192, rounds=1)
    return report


def _gram(Z: np.ndarray) -> np.ndarray:
    """What squares the condition number: form the Gram matrix and decompose it."""
    return np.linalg.eigh(Z.T @ Z)[1]


def ridge(report: Report, steps: int, units: int) -> None:
    """A whole fit against the Gram matrix's eigenvectors and against the thin SVD."""
    x = np.random.default_rng(0).uniform(-1, 1, (steps + 1, 1))
    Z, y = ParalESN(units=units).run(x[1:])[0], x[:-1, 0]
    size = f"{steps} x {units}"
    rounds = 15 if units < 256 else 3 if units < 1024 else 1
    ours = partial(Ridge().fit, Z, y)
    seconds = medians({"ours": ours, "Gram": partial(_gram, Z)}, rounds)
    within = seconds["ours"] / seconds["Gram"]
    detail = f"{seconds['ours'] * 1e3:.3g} ms against {seconds['Gram'] * 1e3:.3g} ms"
    claim = f"ridge fit {size}: times the Gram matrix and its eigenvectors"
    report.value(claim, within, "x", 4, detail)
    svd = medians({"svd": partial(np.linalg.svd, Z, full_matrices=False)}, rounds)["svd"]
    report.ratio(f"ridge fit {size}, against numpy.linalg.svd (thin)", seconds["ours"], svd, 5)


def wide(report: Report, rows: int, columns: int, rounds: int) -> None:
    """Six penalties on many float32 features against scikit-learn's Cholesky with one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    y = X[:, :9].sum(axis=1) + rng.normal(size=rows).astype(np.float32)
    theirs = SklearnRidge(1.0, solver="cholesky")
    calls = {"ours": partial(Ridge().fit, X, y), "theirs": partial(theirs.fit, X, y)}
    seconds = medians(calls, rounds) if rounds > 1 else once(calls)
    detail = f"{seconds['ours']:.3g} s against {seconds['theirs']:.3g} s"
    if rounds == 1:
        detail += f", {_peak():.2g} GB of memory at most, {X.nbytes / 1e9:.2g} GB of it features"
    claim = f"ridge fit {rows} x {columns} float32: times scikit-learn's Cholesky, one penalty"
    report.value(claim, seconds["ours"] / seconds["theirs"], "x", 3, detail)


def _peak() -> float:
    """Gigabytes that this process has used at most."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size * (1 if sys.platform == "darwin" else 1024) / 1e9
