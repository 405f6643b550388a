"""Speed of the ridge readout beside the Gram matrix and the SVD of the states."""

from functools import partial

import numpy as np

from benchmarks.timing import Report, medians
from paralesn import ParalESN, Ridge


def run() -> Report:
    """Measure every claim about the readouts."""
    report = Report("Ridge, six alphas, one target, float64 states of a ParalESN")
    for steps, units in ((5_000, 128), (50_000, 512), (100_000, 1_024)):
        ridge(report, steps, units)
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
