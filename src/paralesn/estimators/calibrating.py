"""Calibration of a classifier on what its readout says of series it had not learnt from."""

from typing import Any

import numpy as np

from paralesn.estimators.probabilities import PowerCalibration, calibrate
from paralesn.estimators.series_readout import left_out_rows
from paralesn.readouts.fitted_dual_ridge import LeftOut
from paralesn.readouts.ridge import Ridge


def calibrated(
    left_out: LeftOut,
    labels: np.ndarray,
    weight: np.ndarray | None,
    counts: np.ndarray,
    before: PowerCalibration | None = None,
) -> PowerCalibration:
    """Calibration on series left out, but for those that are the only ones of their class.

    labels, weight (m,) are of the series left out; `counts` (classes,) say how many of each class
    there are.
    """
    several = counts[labels] > 1
    some = None if weight is None else weight[several]
    return _calibrated(left_out.predictions[several], labels[several], some, before)


def learn_calibrated(
    readout: Ridge,
    block: np.ndarray,
    targets: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None,
    before: PowerCalibration | None,
) -> PowerCalibration:
    """Let a readout learn from rows of features, and move its calibration on by them.

    A few rows are predicted before they are learnt from, which costs O(features) a row. Many at
    once, and the first of all, are left out in closed form: a readout that knew little would say
    less of them than it will know.
    """
    arguments: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
    if not hasattr(readout, "fitted_") or len(block) >= block.shape[1]:
        readout.partial_fit(block, targets, **arguments)
        left_out = left_out_rows(readout, block, targets, weight)
        some = None if weight is None else weight[left_out.rows]
        return calibrated(left_out, labels[left_out.rows], some, np.bincount(labels), before)
    decision = readout.predict(block).reshape(len(block), -1)
    readout.partial_fit(block, targets, **arguments)
    rows = np.arange(len(block)) if weight is None else np.flatnonzero(weight)
    some = None if weight is None else weight[rows]
    return _calibrated(decision[rows], labels[rows], some, before)


def _calibrated(
    decision: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None,
    before: PowerCalibration | None,
) -> PowerCalibration:
    """Calibration by decision values (n, targets)."""
    decision = decision[:, 0] if decision.shape[1] == 1 else decision
    return calibrate(decision, labels, weight, before)
