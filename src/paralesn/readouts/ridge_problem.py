"""Least squares of standardised states, as triangular factors know it."""

from typing import NamedTuple

import numpy as np

from paralesn.readouts.triangular import NOTHING

_EPS = np.finfo(float).eps


class Problem(NamedTuple):
    """Least squares of standardised states, from the factor of the rows [1, z, y]."""

    weight: float  # number of rows, or sum of their weights
    standard: np.ndarray  # (r, features), the factor of the standardised states
    cross: np.ndarray  # (r, targets), what the states can explain of the targets
    rest: np.ndarray  # (targets,), the squares of what they cannot
    mean: np.ndarray
    scale: np.ndarray  # 0 for a state without variance
    inverse: np.ndarray  # of the scale, 0 there as well
    y_mean: np.ndarray


class Moments(NamedTuple):
    """Means and standard deviations of states, from the factor of the rows [1, z, y]."""

    weight: float  # number of rows, or sum of their weights
    mean: np.ndarray
    scale: np.ndarray  # 0 for a state without variance
    inverse: np.ndarray  # of the scale, 0 there as well
    varies: np.ndarray  # bool
    y_mean: np.ndarray


def moments(factor: np.ndarray, constant: np.ndarray) -> Moments:
    """Moments of the rows of a factor; `constant` (features,) are states that never changed."""
    p = constant.size
    weight = factor[0, 0] ** 2
    mean = factor[0, 1 : p + 1] / factor[0, 0]
    y_mean = factor[0, p + 1 :] / factor[0, 0]
    centred = factor[1 : p + 1, 1 : p + 1]
    norm = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    # Besides states that never changed: what rounding makes of a mean is no variance either.
    varies = ~constant & (norm > 8 * _EPS * np.sqrt(weight * p) * np.abs(mean))
    varies &= norm > NOTHING
    scale = np.where(varies, norm / np.sqrt(weight), 0.0)
    inverse = np.divide(1.0, scale, out=np.zeros(p), where=varies)
    return Moments(weight, mean, scale, inverse, varies, y_mean)


def standardised(factor: np.ndarray, constant: np.ndarray) -> Problem:
    """The problem of one factor; `constant` (features,) are states that never changed."""
    now, p = moments(factor, constant), constant.size
    centred, cross = factor[1 : p + 1, 1 : p + 1], factor[1 : p + 1, p + 1 :]
    rest = (factor[p + 1 :, p + 1 :] ** 2).sum(axis=0)
    parts = (centred * now.inverse, cross, rest, now.mean, now.scale, now.inverse, now.y_mean)
    return Problem(now.weight, *parts)


class Solved(NamedTuple):
    """The solution of one alpha, for standardised states."""

    coef: np.ndarray  # (features, targets)
    residual: np.ndarray  # (targets,) squares of what the states could explain, and do not
    freedom: float  # degrees of freedom that it takes
