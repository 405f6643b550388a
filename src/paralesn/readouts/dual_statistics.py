"""What ridge regression with many features keeps of the rows it has seen, in pieces that merge.

Rows themselves, while there are no more of them than features; beyond that the matrix of their
products and a random sample of them, by which the penalty is chosen. The sample is that of the
rows whose numbers have the least hash values: it does not matter in which pieces they came.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats, OpenFloats
from paralesn.readouts import tiled_cholesky

SMALL = 1500  # features up to which rows are kept far beyond their number
_MANY = 1 << 14  # rows kept where features are few
SAMPLE = 4096  # rows that the penalty is chosen by, at most
_ROWS = 1024  # rows added to the sums at a time


@register
@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows (n, features) as they came, their targets (n, targets), weights and numbers (n,)."""

    X: OpenFloats
    Y: OpenFloats
    weight: Floats
    numbers: Counts

    def __post_init__(self) -> None:
        sizes = self.X.shape[:1], self.Y.shape[:1], self.weight.shape, self.numbers.shape
        if self.X.ndim != 2 or self.Y.ndim != 2 or len({*sizes}) != 1:
            raise ValueError("rows, targets, weights and numbers do not fit together")

    def __len__(self) -> int:
        return len(self.X)

    def taken(self, places: np.ndarray) -> Self:
        """Some of the rows."""
        parts = (self.X, self.Y, self.weight, self.numbers)
        return type(self)(*(part[places] for part in parts))

    def in_order(self) -> Self:
        """The rows in the order of their numbers."""
        if (np.diff(self.numbers) >= 0).all():
            return self
        return self.taken(np.argsort(self.numbers, kind="stable"))

    def joined(self, *others: Self) -> Self:
        """These rows, and then others."""
        if not others:
            return self
        every = (self, *others)
        return type(self)(
            np.concatenate([rows.X for rows in every]),
            np.concatenate([rows.Y for rows in every]),
            np.concatenate([rows.weight for rows in every]),
            np.concatenate([rows.numbers for rows in every]),
        )


@register
@dataclass(frozen=True, eq=False)
class ProductSums:
    """Products of rows without their mean, times their weights, summed.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    x_mean, y_mean : arrays (features,), (targets,)
    gram : array (features, features)
        Of which the lower triangle counts.
    cross : array (features, targets)
    """

    weight: float
    x_mean: Floats
    y_mean: Floats
    gram: Floats
    cross: Floats

    def __post_init__(self) -> None:
        p, m = self.x_mean.size, self.y_mean.size
        right = self.x_mean.shape == (p,) and self.y_mean.shape == (m,)
        if not right or self.gram.shape != (p, p) or self.cross.shape != (p, m):
            raise ValueError("the sums of products do not fit together")

    @classmethod
    def empty(cls, features: int, targets: int) -> Self:
        """Sums over no rows."""
        zeros = np.zeros(features), np.zeros(targets)
        return cls(0.0, *zeros, np.zeros((features, features)), np.zeros((features, targets)))

    def merged(self, other: Self) -> Self:
        """Sums over the rows of both; neither is changed."""
        both = replace(self, gram=self.gram + other.gram, cross=self.cross + other.cross)
        return both._moved(other.weight, other.x_mean, other.y_mean)

    def grown(self, rows: KeptRows) -> Self:
        """Sums over further rows, too. The matrices of these sums are used up."""
        sums = self
        for first in range(0, len(rows), _ROWS):
            cut = slice(first, first + _ROWS)
            w = rows.weight[cut]
            total = float(w.sum())
            if not total:
                continue
            X, Y = np.asarray(rows.X[cut], float), rows.Y[cut]
            x_mean, y_mean = (np.einsum("i,ij->j", w, part) / total for part in (X, Y))
            root = np.sqrt(w)[:, None]
            sums._add((X - x_mean) * root, (Y - y_mean) * root)
            sums = sums._moved(total, x_mean, y_mean)
        return sums

    def _add(self, Z: np.ndarray, targets: np.ndarray) -> None:
        """Add the products of rows, in place."""
        tiled_cholesky.add_column_gram(self.gram, Z)
        self.cross.__iadd__(Z.T @ targets)

    def _moved(self, weight: float, x_mean: np.ndarray, y_mean: np.ndarray) -> Self:
        """After products around another mean were added: the difference of means counts, too."""
        total = self.weight + weight
        if not self.weight or not weight:
            means = (self.x_mean, self.y_mean) if self.weight else (x_mean, y_mean)
            return replace(self, weight=total, x_mean=means[0], y_mean=means[1])
        x, y, root = x_mean - self.x_mean, y_mean - self.y_mean, self.weight * weight / total
        self._add((np.sqrt(root) * x)[None], (np.sqrt(root) * y)[None])
        share = weight / total
        moved = self.x_mean + share * x, self.y_mean + share * y
        return replace(self, weight=total, x_mean=moved[0], y_mean=moved[1])


@register
@dataclass(frozen=True, eq=False)
class DualStatistics:
    """Everything known of the rows seen.

    Attributes
    ----------
    n_rows : int
    kept : tuple of KeptRows
        All rows or, where there are sums, a sample of them.
    sums : ProductSums or None
    """

    n_rows: Count
    kept: tuple[KeptRows, ...]
    sums: ProductSums | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.kept[0].X.shape[1])

    @property
    def rows(self) -> KeptRows:
        """The rows kept, in the order of their numbers."""
        return self.kept[0].joined(*self.kept[1:]).in_order()

    def merged(self, other: Self) -> Self:
        """Statistics of the rows of both; neither is changed."""
        if other.n_features != self.n_features:
            raise ValueError(
                f"both must have seen as many features, got {self.n_features}, {other.n_features}"
            )
        count, kept = self.n_rows + other.n_rows, (*self.kept, *other.kept)
        if self.sums is None and other.sums is None:
            return replace(self, n_rows=count, kept=kept)._bounded()
        if self.sums is not None and other.sums is not None:
            sums = self.sums.merged(other.sums)
        else:
            whole, few = (self, other) if self.sums is not None else (other, self)
            assert whole.sums is not None
            sums = _copied(whole.sums).grown(few.rows)
        return replace(self, n_rows=count, kept=(sample_rows(kept),), sums=sums)

    def _bounded(self) -> Self:
        """With sums in the place of rows that have become too many."""
        return self if keeps_rows(self.n_rows, self.n_features) else self.summed()

    def summed(self) -> Self:
        """With sums in the place of rows."""
        sums = ProductSums.empty(self.n_features, self.kept[0].Y.shape[1])
        for rows in self.kept:
            sums = sums.grown(rows)
        return replace(self, kept=(sample_rows(self.kept),), sums=sums)

    def standardised(self, mean: np.ndarray, scale: np.ndarray, overwrite: bool = False) -> Self:
        """Statistics of features (x - mean) / scale, which come in the precision of the rows.

        With `overwrite`, the arrays of these statistics are used up.
        """
        rows = self.rows
        dtype = rows.X.dtype
        scaled = np.subtract(rows.X, mean.astype(dtype), out=rows.X if overwrite else None)
        scaled /= scale.astype(dtype)
        kept = (replace(rows, X=scaled),)
        sums = self.sums
        if sums is not None:
            gram = np.divide(sums.gram, scale, out=sums.gram if overwrite else None)
            gram /= scale[:, None]
            cross, x_mean = sums.cross / scale[:, None], (sums.x_mean - mean) / scale
            sums = replace(sums, gram=gram, cross=cross, x_mean=x_mean)
        return replace(self, kept=kept, sums=sums)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (features,) of all features."""
        if self.sums is not None:
            return self.sums.x_mean, np.sqrt(self.sums.gram.diagonal() / self.sums.weight)
        rows = self.rows
        mean = rows.X.mean(axis=0, dtype=float)
        squares = np.zeros(mean.size)
        for first in range(0, len(rows), _ROWS):
            away = rows.X[first : first + _ROWS] - mean
            squares += np.einsum("ij,ij->j", away, away)
        return mean, np.sqrt(squares / len(rows))


def keeps_rows(count: int, features: int) -> bool:
    """Whether so many rows are kept as they are, and not summed up."""
    return count <= features or (features <= SMALL and count <= _MANY)


class DualAccumulator:
    """Statistics that grow block by block, without a copy of their matrices for each block.

    Where there will be `total` rows with those of other accumulators, too many to be kept, they are
    summed up from the first one on: then merging adds two matrices and does nothing else.
    """

    def __init__(self, before: DualStatistics | None = None, total: int = 0) -> None:
        self._before, self._total = before, total
        self._is_own = before is None  # what came from elsewhere is not changed

    def add(self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, first: int) -> None:
        """Add rows X (n, features), numbered from `first`."""
        w = np.ones(len(X)) if weight is None else weight
        self.add_rows(KeptRows(X, Y, w, np.arange(first, first + len(X))))

    def add_rows(self, rows: KeptRows) -> None:
        """Add rows that know their numbers."""
        before = self._before
        if before is None or before.sums is None:
            kept = (rows,) if before is None else (*before.kept, rows)
            count = len(rows) + (0 if before is None else before.n_rows)
            seen = DualStatistics(count, kept)
            is_few = keeps_rows(max(count, self._total), seen.n_features)
            self._before, self._is_own = seen if is_few else seen.summed(), True
            return
        sums = (before.sums if self._is_own else _copied(before.sums)).grown(rows)
        kept = (sample_rows((*before.kept, rows)),)
        self._before = DualStatistics(before.n_rows + len(rows), kept, sums)
        self._is_own = True

    @property
    def statistics(self) -> DualStatistics:
        """What was seen; the accumulator must not be used any more."""
        if self._before is None:
            raise ValueError("X must hold at least one row")
        return self._before


def _copied(sums: ProductSums) -> ProductSums:
    return replace(sums, gram=sums.gram.copy(), cross=sums.cross.copy())


def sample_rows(kept: tuple[KeptRows, ...], most: int | None = None) -> KeptRows:
    """The rows with the least hash values, at most so many, ascending by their numbers."""
    most = SAMPLE if most is None else most
    every = kept[0].joined(*kept[1:])
    if len(every) > most:
        every = every.taken(np.argsort(hashed(every.numbers), kind="stable")[:most])
    return every.in_order()


def hashed(numbers: np.ndarray) -> np.ndarray:
    """Numbers as random as any, and always the same for the same row: the finaliser of SplitMix64.

    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.
    """
    with np.errstate(over="ignore"):
        z = (np.asarray(numbers).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
