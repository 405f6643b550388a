"""Rows that ridge regression learns from: states, targets and weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """States (n, p), targets (n, m), and the roots of the rows' weights (n,) or None."""

    X: np.ndarray
    Y: np.ndarray
    root: np.ndarray | None

    def part(self, some: slice) -> "Rows":
        """Some of the rows."""
        return Rows(self.X[some], self.Y[some], None if self.root is None else self.root[some])

    def means(self) -> tuple[float, np.ndarray]:
        """Total weight, and the means (p + m,) of states and targets."""
        if self.root is None:
            parts = [part.mean(axis=0, dtype=float) for part in (self.X, self.Y)]
            return float(len(self.X)), np.concatenate(parts)
        weight = self.root**2
        total = float(weight.sum())
        sums = [np.einsum("i,ij->j", weight, part) for part in (self.X, self.Y)]
        return total, np.concatenate(sums) / (total or 1.0)

    def centred(self, mean: np.ndarray, cut: slice, some: slice | None = None) -> np.ndarray:
        """A piece of the rows [z, y] less their means, times the roots of weights.

        With `some`, of these states only.
        """
        X, Y, x_mean, y_mean = self.X[cut], self.Y[cut], *np.split(mean, [self.X.shape[1]])
        if some is not None:
            X, Y, x_mean, y_mean = X[:, some], Y[:, :0], x_mean[some], y_mean[:0]
        p = X.shape[1]
        rows = np.empty((len(X), p + Y.shape[1]))
        np.subtract(X, x_mean, out=rows[:, :p])
        np.subtract(Y, y_mean, out=rows[:, p:])
        if self.root is not None:
            rows *= self.root[cut, None]
        return rows

    def with_ones(self, some: Any) -> np.ndarray:
        """Some of the rows [1, z, y], times the roots of weights."""
        X, Y = self.X[some], self.Y[some]
        n, p = X.shape
        rows = np.empty((n, 1 + p + Y.shape[1]))
        rows[:, 0] = 1.0
        rows[:, 1 : p + 1] = X
        rows[:, p + 1 :] = Y
        if self.root is not None:
            rows *= self.root[some, None]
        return rows
