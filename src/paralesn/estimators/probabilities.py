"""Probabilities from what a linear readout says, calibrated on cases that were left out.

A ridge readout of targets -1 and 1 estimates 2 p - 1, but its estimates leave the interval and are
too bold or too timid. They are made positive and raised to a power before they are normalised. The
power is the only thing fitted, so the order of the classes stays that of the decision values.
The constants were chosen by the log loss on held-out halves of the training parts of every other
one of 31 archive datasets; ``benchmarks/probabilities.py`` judges them on test parts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from paralesn.persistence import register

_USUAL, _SPREAD = 1.5, 0.3  # the power before any case was seen, and how far it may be off, in logs
_STEEP = 6.0  # of the function that keeps estimates positive
_LEAST, _MOST = 0.02, 200.0  # powers


@register
@dataclass(frozen=True, eq=False)
class PowerCalibration:
    r"""Probabilities of K classes from decision values d, one for each class.

    .. math:: p_k = (1 - \epsilon) \frac{s(d_k)^a}{\sum_j s(d_j)^a} + \frac{\epsilon}{K}, \qquad
        s(d) = \tfrac{1}{6} \log(1 + e^{3 (1 + d)}) \approx \max((1 + d) / 2, 0).

    Attributes
    ----------
    power : float
        The exponent a: above one where the decision values are too timid.
    doubt : float
        The share epsilon of answers that are a guess, whatever the decision values.
    spread : float
        How far the logarithm of the power may be off: what the next cases count against.
    """

    power: float
    doubt: float
    spread: float = _SPREAD

    def __post_init__(self) -> None:
        """Check what a file said."""
        if not (0 < self.power < np.inf and 0 < self.doubt <= 1 and 0 < self.spread < np.inf):
            raise ValueError(
                "the power and the spread of a calibration must be positive and its doubt in "
                f"(0, 1], got {self.power!r}, {self.spread!r} and {self.doubt!r}"
            )

    def probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) of decision values (n, classes), or (n,) for two classes."""
        found = np.exp(_log_probabilities(self.power * _logs(decision), self.doubt))
        found /= found.sum(axis=1, keepdims=True)
        # Values that differ by rounding alone may tie: the class decided on must stay ahead.
        decided = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        tied = np.flatnonzero(found.argmax(axis=1) != decided)
        found[tied, decided[tied]] = np.nextafter(found[tied].max(axis=1), 1.0)
        return found

    def faded(self, factor: float) -> "PowerCalibration":
        """What is known if the cases seen count `factor` times as much."""
        least, known = _SPREAD**-2, self.spread**-2
        evidence = max(known - least, 0.0)
        moved = known * np.log(self.power) - least * np.log(_USUAL)  # evidence times its mode
        total = least + factor * evidence
        power = np.exp((least * np.log(_USUAL) + factor * moved) / total)
        power = float(np.clip(power, _LEAST, _MOST))
        return PowerCalibration(power, 1 / (2 + factor * (1 / self.doubt - 2)), total**-0.5)


def calibrate(
    decision: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None = None,
    before: PowerCalibration | None = None,
) -> PowerCalibration:
    r"""Calibration by decision values for cases that the readout was not fitted to.

    The power maximises the likelihood of the labels times a log-normal prior, which decides where
    cases are few or told apart without a mistake. The doubt is :math:`1 / (n + 2)`.

    Parameters
    ----------
    decision : array (n, classes), or (n,) for two classes
    labels : array (n,) of int
        The right classes, from 0.
    weight : array (n,), optional
        Of the cases. Their sizes do not matter; the more they differ, the fewer cases n counts.
    before : PowerCalibration, optional
        By cases that came before these: its power and spread are the prior, its cases count.

    Returns
    -------
    calibration : PowerCalibration
    """
    logs = _logs(decision)
    w = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
    if len(w):
        w = w * (w.sum() / (w**2).sum())  # that their sum is Kish's effective number of cases
    before = before or PowerCalibration(_USUAL, 0.5)  # of no cases
    doubt = 1.0 / (1.0 / before.doubt + w.sum())

    def loss(log_power: float) -> float:
        found = _log_probabilities(np.exp(log_power) * logs, doubt)
        right = found[np.arange(len(labels)), labels]
        return float(((log_power - np.log(before.power)) / before.spread) ** 2 / 2 - w @ right)

    best = float(minimize_scalar(loss, bounds=np.log((_LEAST, _MOST)), method="bounded").x)
    step = before.spread / 10
    curvature = (loss(best - step) - 2 * loss(best) + loss(best + step)) / step**2
    spread = 1.0 / np.sqrt(max(curvature, before.spread**-2))  # of the posterior, as Laplace has it
    return PowerCalibration(float(np.exp(best)), float(doubt), float(spread))


def _log_probabilities(values: np.ndarray, doubt: float) -> np.ndarray:
    """Logarithms of a softmax of values (n, classes), mixed with a guess."""
    sure = np.log1p(-doubt) + log_softmax(values, axis=1)
    return np.asarray(np.logaddexp(sure, np.log(doubt / values.shape[1])))


def _logs(decision: np.ndarray) -> np.ndarray:
    """log s(d) (n, classes); of two classes, of the second's value and of its opposite."""
    decision = np.asarray(decision, float)
    if decision.ndim == 1:
        decision = np.column_stack([-decision, decision])
    x = _STEEP * (1.0 + decision) / 2.0
    positive = np.logaddexp(0.0, np.maximum(x, -30.0))
    return np.where(x < -30.0, x, np.log(positive)) - np.log(_STEEP)  # log(1 + e^x) ~ e^x
