"""What ridge regression has to know of the rows it has seen: triangular factors, and counts."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Count, Flags, Floats
from paralesn.readouts import triangular
from paralesn.readouts.gram_factor import MANY, Accepted, gram_factor
from paralesn.readouts.ridge_rows import Rows

_ROWS = 8192  # rows added to a factor at a time
_TARGETS = 64  # targets that share a factor, at least
_SHARE = 16  # a block of so many times fewer rows than states has few
_FAINTEST = 1e-100  # root of a weight that is not forgotten further: it would become zero


@register
@dataclass(frozen=True, eq=False)
class RidgeStatistics:
    """Sufficient statistics of rows [1, z, y] for least squares with any penalty.

    Instances never change: what adds rows, merges or forgets returns new statistics.

    Attributes
    ----------
    n_samples : int
        Rows seen.
    effective_samples : float
        Those of positive weight, forgotten ones counting for less.
    groups : tuple of tuples of int
        Targets that share a factor.
    factors : tuple of arrays (r, 1 + features + targets of the group), or None before any row
    first_row : array (features,)
    constant : array (features,) of bool
        Which states never differed from the first row.
    omits_nan : bool
        A row whose target is NaN is left out for that target, which has a factor of its own.
    rounding : float
        What the factors lost where they were made from Gram matrices, in the units of penalties.
    """

    n_samples: Count
    effective_samples: float
    groups: tuple[tuple[Count, ...], ...]
    factors: tuple[Floats | None, ...]
    first_row: Floats
    constant: Flags
    omits_nan: bool
    rounding: float = 0.0

    @classmethod
    def empty(cls, first_row: np.ndarray, n_targets: int, omits_nan: bool) -> Self:
        """Statistics of no rows, for states like `first_row`."""
        # Inner products between targets are never needed: many targets go in groups.
        size = 1 if omits_nan else max(first_row.size, _TARGETS)
        groups = tuple(
            tuple(range(start, min(start + size, n_targets))) for start in range(0, n_targets, size)
        )
        constant = np.ones(first_row.size, bool)
        first = first_row.astype(float)
        return cls(0, 0.0, groups, (None,) * len(groups), first, constant, omits_nan)

    @property
    def n_features(self) -> int:
        """Number of states."""
        return self.first_row.size

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return sum(map(len, self.groups))

    def with_rows(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, penalty: float = 0.0
    ) -> Self:
        """Add rows X (n, features) with targets y (n, targets) and weights (n,).

        `penalty` is the smallest that will be asked for: it may allow a shorter way.
        """
        root = None if weight is None else np.sqrt(weight)
        factors, lost = [], [self.rounding]
        for factor, targets in zip(self.factors, self.groups, strict=True):
            rows = self._of_group(X, y, root, targets)
            with np.errstate(over="ignore", invalid="ignore"):  # the solution reports it
                accepted = self._by_gram(factor, rows, penalty)
                if accepted is not None:
                    factor = accepted.factor
                    lost.append(accepted.rounding)
                else:
                    factor = self._by_reflections(factor, rows)
            factors.append(factor)
        effective = float(X.shape[0] if root is None else np.count_nonzero(root))
        return replace(
            self,
            n_samples=self.n_samples + X.shape[0],
            effective_samples=self.effective_samples + effective,
            factors=tuple(factors),
            constant=triangular.still_constant(X, self.first_row, self.constant),
            rounding=max(lost),
        )

    def is_few(self, rows: int) -> bool:
        """Whether so many rows are added to the factors one by one, which is quicker for few."""
        return rows <= max(1, self.n_features // _SHARE)

    def blocks(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> list[np.ndarray | None]:
        """The rows [1, z, y] that the factors grow by; None for a group that none is known of."""
        root = None if weight is None else np.sqrt(weight)
        groups = (self._of_group(X, y, root, targets) for targets in self.groups)
        return [rows.with_ones(slice(None)) if len(rows.X) else None for rows in groups]

    def merged(self, other: Self) -> Self:
        """Add all rows of `other`."""
        wide = self.n_features + 1
        factors = tuple(
            triangular.stack(a, b, wide) if a is not None and b is not None else _known(a, b)
            for a, b in zip(self.factors, other.factors, strict=True)
        )
        same = other.constant & (self.first_row == other.first_row)
        return replace(
            self,
            n_samples=self.n_samples + other.n_samples,
            effective_samples=self.effective_samples + other.effective_samples,
            factors=factors,
            constant=self.constant & same,
            rounding=self.rounding + other.rounding,
        )

    def forgotten(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        root = float(factor) ** 0.5
        factors = tuple(None if known is None else _faded(known, root) for known in self.factors)
        effective, lost = self.effective_samples * float(factor), self.rounding * float(factor)
        return replace(self, factors=factors, effective_samples=effective, rounding=lost)

    def fits(self) -> bool:
        """Whether the arrays fit together."""
        p = self.n_features
        targets = sorted(target for group in self.groups for target in group)
        return (
            self.first_row.shape == self.constant.shape == (p,)
            and targets == list(range(len(targets)))
            and len(self.factors) == len(self.groups)
            and self.rounding >= 0
            and all(
                factor is None
                or (
                    factor.ndim == 2
                    and 1 <= len(factor) <= factor.shape[1] == 1 + p + len(group)
                    and _has_means(factor)
                )
                for factor, group in zip(self.factors, self.groups, strict=True)
            )
        )

    def _by_gram(self, factor: np.ndarray | None, rows: Rows, penalty: float) -> Accepted | None:
        """A factor with all rows added by their Gram matrix; None where that is no way.

        All of them at once: where states are many, a factor costs as much as thousands of rows.
        """
        count = len(rows.X)
        if self.n_features < MANY or not count or self.is_few(count):
            return None
        if count + (0 if factor is None else len(factor)) <= self.n_features + 1:
            return None
        return gram_factor(factor, rows, penalty, self.rounding)

    def _by_reflections(self, factor: np.ndarray | None, rows: Rows) -> np.ndarray | None:
        """A factor with rows added, a block at a time."""
        size = max(_ROWS, 2 * self.n_features)
        for first in range(0, len(rows.X), size):
            part = rows.part(slice(first, first + size))
            few = self.is_few(len(part.X))
            factor = triangular.absorb(
                factor, part.with_ones, len(part.X), self.n_features + 1, few
            )
        return factor

    def _of_group(
        self,
        X: np.ndarray,
        y: np.ndarray,
        root_weight: np.ndarray | None,
        targets: tuple[int, ...],
    ) -> Rows:
        """The rows that the factor of some targets learns from."""
        if len(targets) < y.shape[1]:
            y = y[:, list(targets)]
        if not self.omits_nan:
            return Rows(X, y, root_weight)
        known = ~np.isnan(y[:, 0])
        if root_weight is not None:
            known &= root_weight > 0
        if known.all():
            return Rows(X, y, root_weight)
        return Rows(X[known], y[known], None if root_weight is None else root_weight[known])


def _faded(factor: np.ndarray, root: float) -> np.ndarray:
    """A factor times the root of what is left of its rows' weight."""
    weight = abs(factor[0, 0])
    return factor * max(root, min(1.0, _FAINTEST / weight)) if weight else factor


def _has_means(factor: np.ndarray) -> bool:
    """Whether the rows of a factor have a weight, and means."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(factor[0] / factor[0, 0]).all())


def _known(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    return second if first is None else first
