"""Targets that go with series: checked against them once, then handed out in pieces."""

from typing import Any, NamedTuple

import numpy as np

from paralesn import series


class Layout(NamedTuple):
    """What X looks like, without reading its values."""

    kind: str
    lengths: np.ndarray  # (B,)


def layout(X: Any, n_features: int | None = None, owner: str = "") -> Layout:
    """Kind and lengths of the series in X, whose number of features `owner` may demand."""
    if series.is_collection(X):
        names = [f"X[{b}]" for b in range(len(X))]
        arrays = [
            series.shaped(series.numeric(x, name), name, n_features, owner)
            for x, name in zip(X, names, strict=True)
        ]
        return Layout(series.RAGGED, np.array([array.shape[-2] for array in arrays]))
    shape = series.shaped(series.numeric(X, "X"), "X", n_features, owner).shape
    if len(shape) == 2:
        return Layout(series.SINGLE, np.array([shape[0]]))
    return Layout(series.BATCH, np.full(shape[0], shape[1]))


class Targets(NamedTuple):
    """One target array (steps, targets) per series."""

    arrays: list[np.ndarray]
    flat: bool  # a single target without an axis of its own


def restore(predictions: list[np.ndarray], kind: str, flat: bool) -> Any:
    """Predictions (steps, targets) per series, shaped like the series they belong to."""
    shaped = [p[:, 0] if flat else p for p in predictions]
    if kind == series.SINGLE:
        return shaped[0]
    return np.stack(shaped) if kind == series.BATCH else shaped


def targets_for(y: Any, of: Layout, allow_nan: bool = False) -> Targets:
    """Check y against the layout of X: a row of targets for every time step."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if of.kind == series.RAGGED:
        if not isinstance(y, (list, tuple)) or len(y) != of.lengths.size:
            got = f"{len(y)}" if isinstance(y, (list, tuple)) else type(y).__name__
            raise ValueError(f"y must be a list of {of.lengths.size} arrays as X is, got {got}")
        pieces = [series.numeric(one, f"y[{b}]") for b, one in enumerate(y)]
        names = [f"y[{b}]" for b in range(len(pieces))]
    else:
        array = series.numeric(y, "y")
        if of.kind == series.SINGLE:
            array = array[None]
        if array.ndim < 2 or array.shape[0] != of.lengths.size:
            raise ValueError(f"y must hold {of.lengths.size} series as X does, got {array.shape}")
        pieces, names = list(array), ["y"] * array.shape[0]
    ndims = {piece.ndim for piece in pieces}
    if ndims not in ({1}, {2}):
        raise ValueError("y must have one value, or one row of targets, for every time step of X")
    arrays = []
    for piece, name, steps in zip(pieces, names, of.lengths, strict=True):
        if piece.shape[0] != steps:
            raise ValueError(f"{name} must have {steps} time steps as X has, got {piece.shape[0]}")
        array = piece.reshape(steps, -1).astype(float)
        if not allow_nan and not np.isfinite(array).all():
            step, target = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(f"{name} must be finite, got {array[step, target]} at step {step}")
        arrays.append(array)
    if len({array.shape[1] for array in arrays}) > 1:
        raise ValueError("y must have the same number of targets in every series")
    return Targets(arrays, ndims == {1})
