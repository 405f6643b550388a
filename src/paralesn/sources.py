"""Where an estimator's series come from: parsed at the door, read block by block.

A `Source` knows the shapes of all its series; their values become a `Series` of one dtype, checked
to be finite, as they are read. Small data are read at once, and never checked again. Larger ones,
such as a memory-mapped file, are read a block at a time, so that they are never copied whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from paralesn.moments import ColumnMoments, measured
from paralesn.series import BATCH, RAGGED, SINGLE, Series, is_collection, numeric, shaped

_AT_ONCE = 1 << 22  # values that are read at the door
_STEPS = 1 << 16  # time steps that are measured together
FLOAT = np.dtype(float)


@dataclass(frozen=True, eq=False)
class Source:
    """One series, a batch or a collection of series.

    Attributes
    ----------
    arrays : array (time, features) or (batch, time, features), or list of arrays (time, features)
    lengths : (series,)
    kind : "single", "batch" or "ragged"
    first_series : int
        Number of the first series, for messages about a group of a larger source.
    is_finite : bool
        Whether every value is known to be a finite float64.
    hint : str
        What an error about a missing value ends with.
    """

    arrays: Any
    lengths: np.ndarray
    kind: str
    first_series: int = 0
    is_finite: bool = False
    hint: str = ""

    def __len__(self) -> int:
        """Number of series."""
        return int(self.lengths.size)

    @property
    def n_features(self) -> int:
        """Features of a time step."""
        array = self.arrays[0] if self.kind == RAGGED else self.arrays
        return int(array.shape[-1])

    def values(self) -> Any:
        """Arrays as others take them, in the shape in which they came."""
        return self.arrays

    @property
    def longest(self) -> int:
        """Time steps of the longest series."""
        return int(self.lengths.max())

    def read(
        self, dtype: np.dtype = FLOAT, first: int = 0, last: int | None = None, check: bool = True
    ) -> Series:
        """Time steps from `first` to before `last` of every series.

        Without `check`, values may be anything: for who computes with them and checks the result.
        """
        if self.kind == RAGGED:
            pieces = [array[first:last] for array in self.arrays]
            rows, lengths = np.concatenate(pieces), np.array([len(piece) for piece in pieces])
        elif self.kind == BATCH:
            array = self.arrays[:, first:last]
            rows, lengths = array.reshape(-1, array.shape[2]), np.full(*array.shape[:2])
        else:
            rows = self.arrays[first:last]
            lengths = np.array([len(rows)])
        raw = Series(rows, lengths, self.kind, self.first_series, first)
        try:
            return raw.astype(dtype, check=check and not (self.is_finite and rows.dtype == dtype))
        except ValueError as error:
            hint = self.hint if "got NaN" in str(error) else ""
            raise ValueError(f"{error}{hint}") from None

    def blocks(self, steps: int, dtype: np.dtype = FLOAT, check: bool = True) -> Iterator[Series]:
        """All of it in blocks of at most so many time steps."""
        for first in range(0, self.longest, steps):
            yield self.read(dtype, first, first + steps, check)

    def groups(self, size: int) -> Iterator["Source"]:
        """All of it in groups of at most so many series."""
        for first in range(0, len(self), size):
            yield self.group(first, first + size)

    def group(self, first: int, last: int) -> "Source":
        """The series from number `first` to before `last`."""
        if self.kind == SINGLE:
            return self
        return replace(
            self,
            arrays=self.arrays[first:last],
            lengths=self.lengths[first:last],
            first_series=self.first_series + first,
        )

    def take(self, numbers: Sequence[int], dtype: np.dtype = FLOAT) -> Series:
        """A few series, in the order of their numbers as given."""
        series = [self.group(b, b + 1).read(dtype) for b in numbers]
        lengths = np.array([len(x.rows) for x in series])
        return Series(np.concatenate([x.rows for x in series]), lengths, RAGGED)

    def first_row(self) -> Series:
        """The first time step of the first series, which has as many features as all."""
        row = self.group(0, 1).read(FLOAT, 0, 1)
        return Series(row.rows, np.array([1]), SINGLE)

    def require(self, n_features: int | None, owner: str) -> "Source":
        """This source; refused if its series do not have `n_features` features."""
        if n_features is not None:
            name = "X[0]" if self.kind == RAGGED else "X"
            shaped(self.arrays[0] if self.kind == RAGGED else self.arrays, name, n_features, owner)
        return self


def source(
    X: Any,
    n_features: int | None = None,
    owner: str = "the estimator",
    *,
    allow_nan: bool = False,
    hint: str = "",
) -> Source:
    """Parse one series, a batch or a list of series, as `paralesn.series.read` does.

    Parameters
    ----------
    X : array-like, list of arrays, or Source
    n_features : int, optional
        Number of features demanded.
    owner : str
        Who demands it, for error messages.
    allow_nan : bool
        Leave values as they are, for who fills in those that are missing.
    hint : str
        What an error about a missing value ends with.

    Examples
    --------
    >>> source([np.zeros(3), np.zeros(5)]).lengths
    array([3, 5])
    """
    if isinstance(X, Source):
        return X.require(n_features, owner)
    if is_collection(X):
        return _opened(_of_list(X, n_features, owner), allow_nan, hint)
    array = shaped(numeric(X), "X", n_features, owner)
    if array.ndim == 2:
        return _opened(Source(array, np.array([array.shape[0]]), SINGLE), allow_nan, hint)
    lengths = np.full(array.shape[0], array.shape[1])
    return _opened(Source(array, lengths, BATCH), allow_nan, hint)


def collection(
    X: Any, n_features: int | None, owner: str, *, allow_nan: bool = False, hint: str = ""
) -> Source:
    """Parse a collection of series, of which two dimensions are univariate ones."""
    if isinstance(X, Source):
        return X.require(n_features, owner)
    if is_collection(X):
        return _opened(_of_list(X, n_features, owner), allow_nan, hint)
    array = numeric(X)
    if array.ndim == 2:
        if not array.shape[1]:
            raise ValueError(
                f"X must hold at least one time step, got 0 feature(s) (shape={array.shape}) "
                "while a minimum of 1 is required."
            )
        array = array[:, :, None]
    if array.ndim != 3:
        raise ValueError(
            "X must be a collection of series, (batch, time, features), (batch, time) or a list of "
            f"arrays, got shape {array.shape}. Reshape your data"
        )
    return source(array, n_features, owner, allow_nan=allow_nan, hint=hint)


def _of_list(X: Any, n_features: int | None, owner: str) -> Source:
    arrays: list[np.ndarray] = []
    for b, x in enumerate(X):
        name = f"X[{b}]"
        array = shaped(numeric(x, name), name, n_features, owner)
        if array.ndim == 3:
            raise ValueError(f"{name} must be one series (time, features), got 3 dimensions")
        if array.shape[1] != (width := arrays[0].shape[1] if arrays else array.shape[1]):
            raise ValueError(
                f"{name} must have {width} features like X[0], got {array.shape[1]} features"
            )
        arrays.append(array)
    return Source(arrays, np.array([len(array) for array in arrays]), RAGGED)


def _opened(unread: Source, allow_nan: bool, hint: str) -> Source:
    """The source with its values read and checked, where they are few enough and may be."""
    unread = replace(unread, hint=hint)
    return read_at_once(unread) if is_small(unread) and not allow_nan else unread


def is_small(unread: Source) -> bool:
    """Whether a source has so few values that they are read at once."""
    return int(unread.lengths.sum()) * unread.n_features <= _AT_ONCE


def read_at_once(unread: Source) -> Source:
    """The source with its values read and checked."""
    series = unread.read()
    arrays = series.split(series.rows)
    return Source(arrays, unread.lengths, unread.kind, unread.first_series, True, unread.hint)


def moments_of(source: Source, check: bool = True) -> ColumnMoments:
    """Moments of every feature over all time steps of all series, in one pass.

    Without `check`, values may be missing.
    """
    return reduce(ColumnMoments.merged, map(measured, _pieces(source, check)))


def _pieces(source: Source, check: bool) -> Iterator[np.ndarray]:
    """Rows (n, features), piece by piece: a few series at a time where they are short."""
    for group in source.groups(max(1, _STEPS // min(source.longest, _STEPS))):
        for block in group.blocks(_STEPS, check=check):
            if len(block.rows):
                yield block.rows
