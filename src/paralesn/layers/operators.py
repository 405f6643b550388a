"""Linear operators on a state, each stored in as few numbers as it needs."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats, Ints


def _freeze(instance: Any, **types: Any) -> None:
    """Turn attributes into read-only arrays of the given types."""
    for name, dtype in types.items():
        array = np.array(getattr(instance, name), dtype, order="C")  # sums depend on the order
        array.setflags(write=False)
        object.__setattr__(instance, name, array)


@register
@dataclass(frozen=True, eq=False)
class Dense:
    """Any matrix (N, N)."""

    matrix: Floats

    def __post_init__(self) -> None:
        _freeze(self, matrix=float)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.matrix.shape[0])

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return int(self.matrix.size)

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.matrix


@register
@dataclass(frozen=True, eq=False)
class Sparse:
    """A matrix with the same number K of entries in every row.

    Attributes
    ----------
    columns, values : (N, K)
        Unit i reads units ``columns[i]``, in ascending order, with weights ``values[i]``.
    """

    columns: Counts
    values: Floats

    def __post_init__(self) -> None:
        columns = np.asarray(self.columns)
        if columns.dtype.kind not in "iu" or columns.max(initial=0) > np.iinfo(np.int32).max:
            raise ValueError(f"columns must be whole numbers below 2**31, got {columns.dtype}")
        _freeze(self, columns=np.int32, values=float)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.values.shape[0])

    @property
    def n_parameters(self) -> int:
        """Numbers stored, not counting column indices."""
        return int(self.values.size)

    def dense(self) -> np.ndarray:
        """The matrix."""
        matrix = np.zeros((self.units, self.units))
        np.put_along_axis(matrix, self.columns.astype(np.int64), self.values, axis=1)
        return matrix


@register
@dataclass(frozen=True, eq=False)
class Cycle:
    """A ring with one weight: unit i reads unit i - 1, and the first unit the last."""

    units: Count
    weight: float

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return 1

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.weight * np.roll(np.eye(self.units), 1, axis=0)


@register
@dataclass(frozen=True, eq=False)
class Hadamard:
    """``scale (H D_1) (H D_2) (H D_3)``, H an orthonormal Hadamard matrix, D diagonals of signs.

    Attributes
    ----------
    units : int
        A state is padded with zeros to n, the next power of two, and the product cut to it again.
    scale : float
    signs : (3, n)
        The diagonals, each entry 1 or -1.
    """

    units: Count
    scale: float
    signs: Ints

    def __post_init__(self) -> None:
        _freeze(self, signs=np.int8)

    @property
    def n_parameters(self) -> int:
        """Numbers stored: signs and scale."""
        return int(self.signs.size) + 1

    def dense(self) -> np.ndarray:
        """The matrix."""
        size = self.signs.shape[1]
        transform = hadamard(size) / np.sqrt(size)
        first, second, third = (transform * signs for signs in self.signs)
        return self.scale * (first @ second @ third)[: self.units, : self.units]


@register
@dataclass(frozen=True, eq=False)
class Identity:
    """The identity times a number."""

    units: Count
    scale: float

    @property
    def n_parameters(self) -> int:
        """None: the scale is a hyperparameter."""
        return 0

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.scale * np.eye(self.units)


Operator = Dense | Sparse | Cycle | Hadamard | Identity
OPERATORS: tuple[type, ...] = (Dense, Sparse, Cycle, Hadamard, Identity)


def check_operator(name: str, operator: Any) -> None:
    """Check an operator: type, shapes, finite values."""
    if not isinstance(operator, OPERATORS):
        types = ", ".join(kind.__name__ for kind in OPERATORS)
        raise TypeError(f"{name} must be one of {types}, got {type(operator).__name__}")
    given: Any = operator
    for field in fields(given):
        if not np.isfinite(getattr(given, field.name)).all():
            raise ValueError(f"{field.name} of {name} must be finite, got NaN or infinity")
    if isinstance(given, Dense):
        shape = given.matrix.shape
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
            raise ValueError(f"matrix of {name} must be (N, N), got {shape}")
    elif isinstance(given, Sparse):
        _check_sparse(name, given)
    else:
        checks.integer(f"units of {name}", given.units, 1)
    if isinstance(given, Hadamard):
        expected = (3, padded(given.units))
        if given.signs.shape != expected or (np.abs(given.signs) != 1).any():
            raise ValueError(f"signs of {name} must be {expected}, each 1 or -1")


def _check_sparse(name: str, operator: Sparse) -> None:
    columns, values, units = operator.columns, operator.values, operator.units
    if columns.shape != values.shape or columns.ndim != 2 or not columns.size:
        shapes = f"{columns.shape} and {values.shape}"
        raise ValueError(f"columns and values of {name} must be (N, K), got {shapes}")
    inside = (columns >= 0).all() and (columns < units).all()
    if not inside or (np.diff(columns, axis=1) <= 0).any():
        raise ValueError(
            f"columns of {name} must rise within each row and lie from 0 to {units - 1}"
        )


def padded(units: int) -> int:
    """The next power of two."""
    return 1 << (units - 1).bit_length()
