"""Probabilities from what a linear readout says, calibrated on cases that were left out."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from paralesn.persistence import register

_USUAL, _SPREAD = np.log(2.0), 1.0  # of the logarithm of the scale, where cases are few


@register
@dataclass(frozen=True, eq=False)
class SoftmaxCalibration:
    r"""Probabilities of classes from decision values d, one for each class.

    .. math:: p_k = (1 - \epsilon) \frac{e^{a d_k}}{\sum_j e^{a d_j}} + \frac{\epsilon}{K}

    The order of the decision values is that of the probabilities, so the class of the largest
    value stays the most probable one.

    Attributes
    ----------
    scale : float
        The factor a.
    doubt : float
        The share epsilon of answers that are a guess.
    """

    scale: float
    doubt: float

    def __post_init__(self) -> None:
        if not (0 < self.scale < np.inf and 0 <= self.doubt <= 1):
            raise ValueError(f"a calibration must be positive, got {self.scale}, {self.doubt}")

    def probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) of decision values (n, classes), or (n,) for two classes."""
        values = of_each_class(decision)
        found = softmax(self.scale * values, axis=1)
        found = (1.0 - self.doubt) * found + self.doubt / values.shape[1]
        # Values that differ by rounding alone may tie: the class decided on must stay ahead.
        decided = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        tied = np.flatnonzero(found.argmax(axis=1) != decided)
        found[tied, decided[tied]] = np.nextafter(found[tied].max(axis=1), 1.0)
        return found


def calibrate(
    decision: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None
) -> SoftmaxCalibration:
    """Calibration of decision values that did not rest on the case they are about.

    decision (n, classes), or (n,) for two classes
    labels (n,)   the right classes, from 0
    weight (n,)   of the cases, if they differ
    """
    values = of_each_class(decision)
    w = np.ones(len(labels)) if weight is None else weight
    count = float(w.sum() ** 2 / (w**2).sum()) if len(w) else 0.0
    w = w * (count / w.sum()) if len(w) else w
    doubt = 1.0 / (count + 2.0)

    def loss(log_scale: np.ndarray) -> float:
        logs = log_softmax(np.exp(log_scale[0]) * values, axis=1)
        right = np.logaddexp(
            np.log1p(-doubt) + logs[np.arange(len(logs)), labels], np.log(doubt / values.shape[1])
        )
        return float(-(w @ right) + ((log_scale[0] - _USUAL) / _SPREAD) ** 2 / 2)

    best = minimize(loss, [_USUAL], method="Nelder-Mead")
    return SoftmaxCalibration(float(np.exp(best.x[0])), doubt)


def of_each_class(decision: np.ndarray) -> np.ndarray:
    """Decision values (n, classes); of two classes, the second's and its opposite."""
    decision = np.asarray(decision, float)
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
