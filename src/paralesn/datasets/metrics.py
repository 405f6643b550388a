"""Metrics, pooled over all rows, series and outputs.

Targets and predictions have the shape (T, D) or (B, T, D) with any leading axes; the last axis
counts outputs. Errors are averaged over rows, series and outputs alike before a root is taken.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from paralesn import checks


def _pair(target: Any, prediction: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two finite arrays of one shape."""
    given = checks.unmasked("target", target), checks.unmasked("prediction", prediction)
    pair = np.asarray(given[0], dtype=np.float64), np.asarray(given[1], dtype=np.float64)
    if pair[0].shape != pair[1].shape or pair[0].size == 0:
        raise ValueError(
            "target and prediction must have one shape and at least one value, "
            f"got shapes {pair[0].shape} and {pair[1].shape}"
        )
    for name, array in zip(("target", "prediction"), pair, strict=True):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
    return pair


def mse(target: Any, prediction: Any) -> float:
    """Mean squared error.

    Examples
    --------
    >>> mse([1.0, 2.0], [1.0, 4.0])
    2.0
    """
    target, prediction = _pair(target, prediction)
    return float(np.mean((target - prediction) ** 2))


def rmse(target: Any, prediction: Any) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(mse(target, prediction)))


def mae(target: Any, prediction: Any) -> float:
    """Mean absolute error.

    Examples
    --------
    >>> mae([1.0, 2.0], [1.0, 4.0])
    1.0
    """
    target, prediction = _pair(target, prediction)
    return float(np.mean(np.abs(target - prediction)))


def nrmse(target: Any, prediction: Any) -> float:
    """RMSE divided by the root mean square of the target: predicting zero scores 1.

    ``sqrt(mean((y - p)^2)) / sqrt(mean(y^2))``, the paper's convention.

    Examples
    --------
    >>> nrmse([3.0, 4.0], [3.0, 9.0])
    1.0
    """
    target, prediction = _pair(target, prediction)
    scale = np.sqrt(np.mean(target**2))
    if scale == 0.0:
        raise ValueError("target must not be zero throughout: nrmse divides by its mean square")
    return float(np.sqrt(np.mean((target - prediction) ** 2)) / scale)


def nrmse_std(target: Any, prediction: Any) -> float:
    """RMSE divided by the standard deviation of the target: predicting the mean scores 1.

    The mean is that of each output over all rows and series; the deviations from it are pooled.

    Examples
    --------
    >>> nrmse_std([1.0, 3.0], [1.0, 1.0])
    1.4142135623730951
    """
    target, prediction = _pair(target, prediction)
    columns = target.reshape(-1, target.shape[-1]) if target.ndim > 1 else target[:, None]
    scale = np.sqrt(np.mean((columns - columns.mean(axis=0)) ** 2))
    if scale == 0.0:
        raise ValueError("target must vary: nrmse_std divides by its standard deviation")
    return float(np.sqrt(np.mean((target - prediction) ** 2)) / scale)


def memory_capacity(target: Any, prediction: Any) -> float:
    """Sum over outputs (delays) of the squared correlation of prediction and target.

    ``sum_k cov(y_k, p_k)^2 / (var(y_k) var(p_k))``; a constant prediction adds nothing.

    Examples
    --------
    >>> memory_capacity([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [[2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])
    1.0
    """
    target, prediction = _pair(target, prediction)
    if target.ndim < 2:
        raise ValueError(f"target must have the shape (T, delays), got shape {target.shape}")
    y, p = (a.reshape(-1, a.shape[-1]) for a in (target, prediction))
    y, p = y - y.mean(axis=0), p - p.mean(axis=0)
    spread, guess = (y * y).sum(axis=0), (p * p).sum(axis=0)
    if (spread == 0.0).any():
        raise ValueError("target must vary in every column: a correlation needs a variance")
    shared = (y * p).sum(axis=0) ** 2
    # The mean of a constant may round, leaving a residue in place of zero.
    size = np.abs(prediction).reshape(-1, prediction.shape[-1]).max(axis=0)
    varied = np.sqrt(guess / len(p)) > 1e-14 * size
    return float(np.sum(shared[varied] / (spread[varied] * guess[varied])))


def accuracy(target: Any, prediction: Any) -> float:
    """Share of the labels that are right.

    Examples
    --------
    >>> accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    target = np.asarray(checks.unmasked("target", target))
    prediction = np.asarray(checks.unmasked("prediction", prediction))
    if target.ndim != 1 or target.shape != prediction.shape or target.size == 0:
        raise ValueError(
            "target and prediction must be labels of the same cases, "
            f"got shapes {target.shape} and {prediction.shape}"
        )
    return float(np.mean(target == prediction))


ERRORS = ("nrmse", "nrmse_std", "rmse", "mse", "mae")
METRICS: MappingProxyType[str, Callable[[Any, Any], float]] = MappingProxyType(
    {
        "nrmse": nrmse,
        "nrmse_std": nrmse_std,
        "rmse": rmse,
        "mse": mse,
        "mae": mae,
        "memory_capacity": memory_capacity,
        "accuracy": accuracy,
    }
)
