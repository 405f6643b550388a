"""Rows that a network is trained on: standardised, held out, gathered into minibatches."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from paralesn.readouts.mlp_network import require_torch

_ENTRIES = 2**19  # numbers of a block where the states are read from end to end


class TrainingRows(NamedTuple):
    """Rows to learn from or to validate on, by their indices: nothing of X is copied."""

    X: np.ndarray  # (n, features), float32 or float64
    targets: np.ndarray  # (n,) int64 codes of classes, or (n, outputs) float32, standardised
    weight: np.ndarray  # (n,) float32
    rows: np.ndarray  # (k,), which rows

    @property
    def total_weight(self) -> float:
        """Sum of the weights of these rows."""
        return float(self.weight[self.rows].sum(dtype=float))


class Moments(NamedTuple):
    """Mean and standard deviation of columns, which is 0 for a constant column."""

    mean: np.ndarray
    scale: np.ndarray

    @property
    def inverse(self) -> np.ndarray:
        """1 / scale, and 0 where it is 0, so that constant columns vanish."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Targets (n, targets) with mean 0 and deviation 1, float32."""
        return ((y - self.mean) * self.inverse).astype(np.float32)


def block_rows(columns: int) -> int:
    """How many rows of so many columns are read at a time."""
    return max(1, _ENTRIES // max(1, columns))


def moments(X: np.ndarray, index: np.ndarray, weight: np.ndarray, name: str) -> Moments:
    """Weighted mean and standard deviation of the columns, the latter 0 for constant columns.

    Summed in float64, then rounded to the precision of X: both precisions subtract the same.
    """
    origin = X[index[0]].astype(float)  # a constant column is then exactly zero
    first, second, total = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0
    size = block_rows(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, index.size, size):
            cut = index[start : start + size]
            shifted, w = X[cut] - origin, weight[cut].astype(float)
            # Not by BLAS, whose sums depend on the number of its threads.
            first += np.einsum("i,ij->j", w, shifted)
            np.square(shifted, out=shifted)
            second += np.einsum("i,ij->j", w, shifted)
            total += w.sum()
        first /= total
        variance = second / total - first**2
    wrong = np.flatnonzero(~np.isfinite(variance))
    if wrong.size:
        raise ValueError(f"{name} must have a finite variance, got overflow in column {wrong[0]}")
    scale = np.sqrt(np.maximum(variance, 0.0))
    scale[scale < np.finfo(X.dtype).tiny] = 0.0  # its inverse would not be finite
    mean = (origin + first).astype(X.dtype).astype(float)
    return Moments(mean, scale.astype(X.dtype).astype(float))


def hold_out(
    codes: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions to train on and positions to validate on, a like share of every code.

    Rows are shuffled, ordered by code and taken at equal distances, so each code gives its share
    rounded up or down. One row of each code always stays in training.
    """
    n, held = codes.size, round(codes.size * fraction)
    order = rng.permutation(n)
    order = order[np.argsort(codes[order], kind="stable")]
    chosen = np.zeros(n, bool)
    chosen[((np.arange(held) + 0.5) * (n / max(held, 1))).astype(int)] = True
    chosen[np.unique(codes[order], return_index=True)[1]] = False
    return np.sort(order[~chosen]), np.sort(order[chosen])


class Minibatches:
    """Minibatches of standardised states, in one buffer that is used again and again."""

    def __init__(self, data: TrainingRows, moments: Moments, size: int, device: Any) -> None:
        self.data, self.size, self.device = data, size, device
        self.torch = require_torch()
        dtype, shape = data.X.dtype, (min(size, data.rows.size), data.X.shape[1])
        self.mean, self.factor = moments.mean.astype(dtype), moments.inverse.astype(dtype)
        self.batch = np.empty(shape, np.float32)
        self.raw = self.batch if dtype == np.float32 else np.empty(shape, dtype)
        self.shared = self.torch.from_numpy(self.batch)

    def __call__(self, index: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
        """States (b, features), targets and weights (b, 1) of rows `index`, batch by batch."""
        for start in range(0, index.size, self.size):
            cut = index[start : start + self.size]
            raw = self.raw[: cut.size]
            # Indices are ours and in range; "raise" would gather into a second buffer.
            np.take(self.data.X, cut, axis=0, out=raw, mode="clip")
            raw -= self.mean
            np.multiply(raw, self.factor, out=self.batch[: cut.size], casting="same_kind")
            target = self.torch.from_numpy(self.data.targets[cut])
            weight = self.torch.from_numpy(self.data.weight[cut, None])
            states = self.shared[: cut.size]
            yield tuple(tensor.to(self.device) for tensor in (states, target, weight))
