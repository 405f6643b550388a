"""Inputs brought to zero mean and unit variance, feature by feature, from the training series."""

from typing import Any, NamedTuple

import numpy as np

from paralesn import series

_STEPS = 1 << 16  # time steps looked at together


class Scaling(NamedTuple):
    """Mean and standard deviation of every feature; a feature without spread is only shifted."""

    mean: np.ndarray
    scale: np.ndarray

    def apply(self, X: Any) -> Any:
        """X (…, features), or a list of such arrays, in units of standard deviations."""
        if series.is_collection(X):
            return [self.apply(x) for x in X]
        array = np.asarray(X, float)
        if array.ndim == 1:
            array = array[:, None]
        return (array - self.mean) / self.scale

    def undo(self, Z: np.ndarray) -> np.ndarray:
        """What `apply` made Z of."""
        return Z * self.scale + self.mean


def measure(X: Any) -> Scaling:
    """Mean and spread of every feature over all time steps of all series.

    From differences to the first row, in units of the largest of them: a constant has exactly no
    spread, and squares neither overflow nor vanish.
    """
    first = next(_pieces(X))[0]
    with np.errstate(over="ignore"):
        reach = np.max([np.abs(rows - first).max(axis=0) for rows in _pieces(X)], axis=0)
    if not np.isfinite(reach).all():
        feature = int(np.flatnonzero(~np.isfinite(reach))[0])
        raise ValueError(f"X must have a finite spread, got more than floats hold in {feature=}")
    unit = np.where(reach > 0, reach, 1.0)
    count, total, squares = 0, np.zeros(1), np.zeros(1)
    for rows in _pieces(X):
        shifted = (rows - first) / unit
        count, total = count + len(rows), total + shifted.sum(axis=0)
        squares = squares + (shifted**2).sum(axis=0)
    mean = total / count
    spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0)) * unit
    scale = np.where((reach > 0) & (spread > 0), spread, 1.0)
    return Scaling(first + mean * unit, scale)


def _pieces(X: Any) -> Any:
    """Rows (n, features), piece by piece."""
    for _, block in series.blocks(X, _STEPS):
        for part in block if isinstance(block, list) else [block]:
            yield np.asarray(part, float).reshape(-1, part.shape[-1])


def check(found: Any, n_features: int) -> None:
    """Check what a file said of a scaling."""
    if found is None:
        return
    mean, scale = np.asarray(found["mean"]), np.asarray(found["scale"])
    right = mean.shape == scale.shape == (n_features,) and np.isfinite(mean).all()
    if not right or not (np.isfinite(scale) & (scale > 0)).all():
        raise ValueError("the scaling does not fit the reservoir")
