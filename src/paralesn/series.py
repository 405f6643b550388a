"""Input: whatever holds time series, turned once into flat rows that an engine can run.

Shapes are (batch, time, features). A single series may drop the batch, and a univariate single
series its features. A list of arrays is a collection of series, of equal length or not; a list of
plain numbers or lists is an array. Nothing else is guessed.
"""

from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from paralesn import checks

_WORTH_COMPILING = 1 << 28  # bytes of read-only or unaligned input that are not copied
SINGLE, BATCH, RAGGED = "single", "batch", "ragged"


class Series(NamedTuple):
    """Series laid end to end, every value finite and of one dtype.

    `rows` (sum of lengths, features) and `lengths` (B,). Where they are a piece of something
    larger, `first_series` and `first_step` say where it begins, for messages.
    """

    rows: np.ndarray
    lengths: np.ndarray
    kind: str
    first_series: int = 0
    first_step: int = 0

    def split(self, values: np.ndarray) -> Any:
        """Give `values` (a row per row of ours) the shape in which the series came."""
        if self.kind == SINGLE:
            return values
        if self.kind == BATCH:
            return values.reshape(self.lengths.size, -1, values.shape[1])
        cuts = [0, *np.cumsum(self.lengths).tolist()]
        return [values[a:b] for a, b in pairwise(cuts)]

    def starts(self) -> np.ndarray:
        """First row of each series."""
        return np.cumsum(self.lengths) - self.lengths

    def require(self, dtype: np.dtype, n_features: int | None, owner: str) -> "Series":
        """These series as `dtype`; refused if they do not have `n_features` features."""
        shaped(self.rows, "X", n_features, owner, allow_ended=True)
        return self if self.rows.dtype == dtype else self.astype(dtype)

    def astype(self, dtype: np.dtype, check: bool = True) -> "Series":
        """These series in another precision; refused, with `check`, where that is not finite."""
        with np.errstate(over="ignore"):  # reported below, with its position
            rows = np.ascontiguousarray(self.rows, dtype)
        if check and not np.isfinite(rows).all():
            row, feature = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
            b = int(np.searchsorted(np.cumsum(self.lengths), row, side="right"))
            step = self.first_step + row - int(self.starts()[b])
            number = self.first_series + b
            name = f"X[{number}]" if self.kind == RAGGED else "X"
            where = f"series {number}, " if self.kind == BATCH else ""
            where += f"step {step}, feature {feature}"
            raise _not_finite(name, self.rows[row, feature], dtype, where)
        if not rows.flags.behaved and rows.nbytes < _WORTH_COMPILING:
            rows = rows.copy()  # kernels are compiled anew for what is read-only or unaligned
        return self._replace(rows=rows)

    def cut(self, first: int, last: int) -> "Series":
        """Time steps from `first` to before `last` of every series; those that ended are empty."""
        if self.kind == SINGLE:
            rows = self.rows[first:last]
            return Series(rows, np.array([len(rows)]), SINGLE, first_step=self.first_step + first)
        pieces = [self.rows[a + min(first, n) : a + min(last, n)] for a, n in
                  zip(self.starts().tolist(), self.lengths.tolist(), strict=True)]  # fmt: skip
        lengths = np.array([len(piece) for piece in pieces])
        rows = np.concatenate(pieces)
        return Series(rows, lengths, self.kind, self.first_series, self.first_step + first)


def is_collection(X: Any) -> bool:
    """Whether X is a list (or tuple) of arrays, one per series; numbers of NumPy are no arrays."""
    return isinstance(X, (list, tuple)) and any(len(getattr(s, "shape", ())) for s in X)


def numeric(X: Any, name: str = "X") -> np.ndarray:
    """X as an array of real numbers, not yet converted nor checked for finite values."""
    checks.in_memory(name, X)
    if issparse(X):
        raise TypeError(f"{name} must be dense, got sparse data of shape {X.shape}")
    if getattr(X, "requires_grad", False):
        raise TypeError(f"{name} must not require a gradient, got such a tensor: call detach()")
    X = checks.masked_as_nan(X)
    try:
        array = np.asarray(X)
        if array.dtype == object and hasattr(X, "to_numpy"):  # columns of different numeric types
            kinds = [dtype.kind for dtype in np.atleast_1d(np.asarray(X.dtypes, object))]
            if all(kind in "biuf" for kind in kinds):
                array = X.to_numpy(dtype=float, na_value=np.nan)
    except ValueError as error:  # lists of different lengths
        raise ValueError(
            f"{name} must be an array of numbers or a list of arrays, one per series, got "
            + _about_lists(X, name, str(error))
        ) from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must be real. Complex data not supported, got {array.dtype}")
    if array.dtype == object and array.ndim:
        return _numbers(array, name)
    if array.dtype.kind not in "biuf":
        is_text = array.dtype.kind in "US" and array.size
        text = f", such as {array.ravel()[0]!s:.40}" if is_text else ""
        what = f"dtype {array.dtype}{text}" if array.ndim else f"dtype object: {type(X).__name__}"
        raise ValueError(f"{name} must hold real numbers, got {what}")
    return array


def _about_lists(X: Any, name: str, otherwise: str) -> str:
    """What is wrong with lists that are no array, and the cure."""
    if isinstance(X, (list, tuple)) and all(isinstance(x, (list, tuple)) for x in X):
        lengths = sorted({len(x) for x in X})
        if len(lengths) > 1:
            return (
                f"lists of {lengths[0]} to {lengths[-1]} items. If each is a series, make them "
                f"arrays: [numpy.asarray(x) for x in {name}]"
            )
    return f"a {type(X).__name__} that is neither: {otherwise}"


def _numbers(array: np.ndarray, name: str) -> np.ndarray:
    """Objects as numbers: None and pandas' NA are missing ones, text is not read as numbers."""
    values = array.ravel().tolist()
    text = next((value for value in values if isinstance(value, (str, bytes))), None)
    if text is not None:
        raise ValueError(f"{name} must hold real numbers, got dtype object, such as {text!r}")
    kind = type(values[0]).__name__ if values else ""
    if getattr(values[0] if values else None, "shape", ()):  # that of NumPy's numbers is ()
        raise TypeError(
            f"{name} must hold real numbers, got objects that are a {kind} each; several series "
            "are a list of arrays"
        )
    if any(isinstance(value, date) for value in values):
        raise TypeError(
            f"{name} must hold real numbers, got dates; leave them out, or make numbers of them, "
            "such as the hour"
        )
    missing = ("NoneType", "NAType", "NaTType")
    try:
        numbers = [np.nan if type(v).__name__ in missing else float(v) for v in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must hold real numbers: {error}") from None
    return np.array(numbers).reshape(array.shape)


def features_of_step(x: Any) -> int:
    """Number of features of one time step, (features,) or (batch, features), or a number."""
    shape = np.shape(x)
    if len(shape) > 2 or 0 in shape:
        raise ValueError(f"x must be one time step, (features,), got shape {shape}")
    return shape[-1] if shape else 1


def one_step(x: Any, dtype: np.dtype, n_features: int) -> tuple[np.ndarray, str]:
    """One time step as C-ordered `dtype` (batch, features), every value finite, and its kind."""
    array = x
    if type(x) is not np.ndarray or x.dtype != dtype or not x.flags.carray:
        with np.errstate(over="ignore"):
            array = np.array(numeric(x, "x"), dtype, order="C")
    rows = array if array.ndim == 2 else array.reshape(1, -1)
    count, features = rows.shape
    if array.ndim > 2 or features != n_features or not count:
        raise ValueError(
            f"x must be one time step, ({n_features},) or (batch, {n_features}), got shape "
            f"{np.shape(x)}"
        )
    few = rows.size <= 32  # then Python is faster than two calls of NumPy
    if not (all(map(isfinite, rows.ravel().tolist())) if few else np.isfinite(rows).all()):
        convert(numeric(x, "x").reshape(count, 1, features), dtype, "x")
    return rows, BATCH if array.ndim == 2 else SINGLE


def convert(array: np.ndarray, dtype: np.dtype, name: str, first_step: int = 0) -> np.ndarray:
    """`array` (…, time, features) as C-ordered `dtype`, every value finite."""
    if array.dtype == dtype:
        converted = np.ascontiguousarray(array)
    else:
        with np.errstate(over="ignore"):  # reported below, with its position
            converted = np.ascontiguousarray(array, dtype)
    if not np.isfinite(converted).all():
        position = tuple(np.argwhere(~np.isfinite(converted))[0])
        *series, step, feature = (int(i) for i in position)
        where = f"series {series[0]}, " if series else ""
        where += f"step {first_step + step}, feature {feature}"
        raise _not_finite(name, array[position], dtype, where)
    if not converted.flags.behaved and converted.nbytes < _WORTH_COMPILING:
        return converted.copy()  # kernels are compiled anew for what is read-only or unaligned
    return converted


def _not_finite(name: str, value: Any, dtype: np.dtype, where: str) -> ValueError:
    """The error for a value that is not finite, or not in `dtype`."""
    kind = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{float(value):.6g}"
    beyond = f" which is beyond {dtype}" if np.isfinite(value) else ""
    return ValueError(f"{name} must be finite, got {kind}{beyond} at {where}")


def shaped(
    array: np.ndarray, name: str, n_features: int | None, owner: str, allow_ended: bool = False
) -> np.ndarray:
    """`array` with its feature axis, checked: (time, F) or (batch, time, F)."""
    flat = array.ndim == 1
    if flat:
        array = array[:, None]
    if array.ndim not in (2, 3):
        raise ValueError(
            f"{name} must be (time, features) or (batch, time, features), got a "
            f"{array.ndim}-dimensional array of shape {array.shape}. Reshape your data"
        )
    if 0 in array.shape[:-1] and not allow_ended:
        what = "one series" if array.shape[0] == 0 and array.ndim == 3 else "one time step"
        raise ValueError(
            f"{name} must hold at least {what}, got 0 sample(s) (shape={array.shape}) "
            "while a minimum of 1 is required."
        )
    if array.shape[-1] == 0:
        raise ValueError(
            f"{name} must hold at least one feature, got 0 feature(s) (shape={array.shape}) "
            "while a minimum of 1 is required."
        )
    if n_features is not None and array.shape[-1] != n_features:
        raise ValueError(
            f"{name} has {array.shape[-1]} features, but {owner} is expecting "
            f"{n_features} features as input"
            + (". Reshape your data: one dimension is one feature over time" if flat else "")
        )
    return array


def read(
    X: Any,
    dtype: np.dtype,
    n_features: int | None = None,
    owner: str = "the reservoir",
    name: str = "X",
    first_step: int = 0,
    allow_ended: bool = False,
) -> Series:
    """Read one series, a batch or a collection of series.

    Parameters
    ----------
    X : array-like or list of arrays
    dtype : float32 or float64
    n_features : int, optional
        Number of features demanded; taken from X where it is None.
    owner, name : str
        Who demands it, and what X is called, for error messages.
    first_step : int
        Number of the first time step, for error messages.
    allow_ended : bool
        Whether series of a collection may be empty, as in a block after their end.

    Examples
    --------
    >>> read([1, 2, 3], np.dtype("float64")).rows.shape
    (3, 1)
    >>> read([np.zeros(3), np.zeros(5)], np.dtype("float64")).lengths
    array([3, 5])
    """
    if is_collection(X):
        rows, lengths = [], []
        for b, x in enumerate(X):
            label = f"{name}[{b}]"
            array = shaped(numeric(x, label), label, n_features, owner, allow_ended)
            if array.ndim == 3:
                raise ValueError(f"{label} must be one series (time, features), got 3 dimensions")
            n_features = array.shape[1]
            rows.append(convert(array, dtype, label, first_step))
            lengths.append(array.shape[0])
        together = np.concatenate(rows)
        return Series(together, np.array(lengths), RAGGED, first_step=first_step)
    array = shaped(numeric(X, name), name, n_features, owner)
    array = convert(array, dtype, name, first_step)
    if array.ndim == 2:
        return Series(array, np.array([array.shape[0]]), SINGLE, first_step=first_step)
    batch, steps, features = array.shape
    flat = array.reshape(-1, features)
    return Series(flat, np.full(batch, steps), BATCH, first_step=first_step)


def blocks(
    X: Any, block: int, name: str = "X", numeric: Callable[[Any, str], Any] = numeric
) -> Iterator[tuple[int, Any]]:
    """Cut X along time into pieces of at most `block` steps, each with its first step's number.

    X is what `read` takes, of which only a piece at a time is converted, or an iterator of pieces,
    arrays or `Series`.
    `numeric` makes arrays, or whatever can be cut like them, of X and of pieces.
    """
    if isinstance(X, Series):
        for t0 in range(0, int(X.lengths.max()), block):
            yield t0, X.cut(t0, t0 + block)
    elif isinstance(X, Iterator):
        seen = 0
        for piece in X:
            if isinstance(piece, Series):
                yield piece.first_step, piece
                continue
            array = shaped(numeric(piece, name), name, None, "")
            for t0, part in blocks(array, block, name, numeric):
                yield seen + t0, part
            seen += array.shape[-2]
    elif is_collection(X):
        labels = [f"{name}[{b}]" for b in range(len(X))]
        arrays = [
            shaped(numeric(x, label), label, None, "") for x, label in zip(X, labels, strict=True)
        ]
        for t0 in range(0, max(array.shape[0] for array in arrays), block):
            yield t0, [array[t0 : t0 + block] for array in arrays]
    else:
        array = shaped(numeric(X, name), name, None, "")
        for t0 in range(0, array.shape[-2], block):
            yield t0, array[..., t0 : t0 + block, :]
