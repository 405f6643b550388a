"""Targets that go with series: checked against them once, then handed out in pieces."""

from typing import Any, NamedTuple

import numpy as np

from paralesn import series
from paralesn.sources import Source


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


def targets_for(y: Any, source: Source, allow_nan: bool = False) -> Targets:
    """Check y against the series of X: a row of targets for every time step."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    pieces, names = _of_each_series(y, source)
    ndims = {piece.ndim for piece in pieces}
    if ndims not in ({1}, {2}):
        raise ValueError("y must have one value, or one row of targets, for every time step of X")
    arrays = []
    for piece, name, steps in zip(pieces, names, source.lengths, strict=True):
        if piece.shape[0] != steps:
            is_turned = piece.shape[0] == source.n_features
            hint = f"; X has {steps} steps of {source.n_features} features: is it transposed?"
            raise ValueError(
                f"{name} must have {steps} time steps as X has, got {piece.shape[0]}"
                + (hint if is_turned else "")
            )
        array = piece.reshape(steps, -1).astype(float)
        if not allow_nan and not np.isfinite(array).all():
            step, target = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(f"{name} must be finite, got {array[step, target]} at step {step}")
        arrays.append(array)
    if len({array.shape[1] for array in arrays}) > 1:
        raise ValueError("y must have the same number of targets in every series")
    return Targets(arrays, ndims == {1})


def _of_each_series(y: Any, source: Source) -> tuple[list[np.ndarray], list[str]]:
    """An array for each series, and what to call it in messages."""
    count = len(source)
    if source.kind == series.RAGGED:
        if not isinstance(y, (list, tuple)) or len(y) != count:
            got = f"{len(y)}" if isinstance(y, (list, tuple)) else type(y).__name__
            raise ValueError(f"y must be a list of {count} arrays as X is, got {got}")
        names = [f"y[{b}]" for b in range(count)]
        return [series.numeric(x, name) for x, name in zip(y, names, strict=True)], names
    array = series.numeric(y, "y")
    if source.kind == series.SINGLE:
        array = array[None]
    if array.ndim < 2 or array.shape[0] != count:
        shape = f"({count}, {source.longest}) or ({count}, {source.longest}, targets)"
        raise ValueError(f"y must hold {count} series as X does, {shape}, got {array.shape}")
    return list(array), ["y"] * count
