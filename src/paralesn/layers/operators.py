"""Linear operators on a state, kept in as few numbers as they need."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import hadamard

from paralesn import checks
from paralesn.persistence import register


def _freeze(instance: Any, **types: Any) -> None:
    """Make some attributes read-only arrays of given types."""
    for name, dtype in types.items():
        array = np.array(getattr(instance, name), dtype, order="C")  # sums depend on the order
        array.setflags(write=False)
        object.__setattr__(instance, name, array)


@register
@dataclass(frozen=True, eq=False)
class Dense:
    """Any matrix (N, N)."""

    kind: ClassVar[str] = "dense"
    matrix: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self, matrix=float)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.matrix.shape[0])

    @property
    def n_parameters(self) -> int:
        """Numbers that are kept."""
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

    kind: ClassVar[str] = "sparse"
    columns: np.ndarray
    values: np.ndarray

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
        """Numbers that are kept, not counting where they stand."""
        return int(self.values.size)

    def dense(self) -> np.ndarray:
        """The matrix."""
        matrix = np.zeros((self.units, self.units))
        np.put_along_axis(matrix, self.columns.astype(np.int64), self.values, axis=1)
        return matrix


@register
@dataclass(frozen=True, eq=False)
class Cycle:
    """A ring with one weight: unit i reads unit i - 1, the first one the last."""

    kind: ClassVar[str] = "cycle"
    units: int
    weight: float

    @property
    def n_parameters(self) -> int:
        """Numbers that are kept."""
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

    kind: ClassVar[str] = "hadamard"
    units: int
    scale: float
    signs: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self, signs=np.int8)

    @property
    def n_parameters(self) -> int:
        """Numbers that are kept: signs and scale."""
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

    kind: ClassVar[str] = "identity"
    units: int
    scale: float

    @property
    def n_parameters(self) -> int:
        """A hyperparameter is all it has."""
        return 0

    def dense(self) -> np.ndarray:
        """The matrix."""
        return self.scale * np.eye(self.units)


Operator = Dense | Sparse | Cycle | Hadamard | Identity
OPERATORS: tuple[type, ...] = (Dense, Sparse, Cycle, Hadamard, Identity)


def check_operator(name: str, operator: Any) -> None:
    """Check a given operator."""
    if not isinstance(operator, OPERATORS):
        kinds = ", ".join(kind.__name__ for kind in OPERATORS)
        raise TypeError(f"{name} must be one of {kinds}, got {type(operator).__name__}")
    given: Any = operator
    for field in fields(given):
        if not np.isfinite(getattr(given, field.name)).all():
            raise ValueError(f"{field.name} of {name} must be finite, got NaN or infinity")
    if given.kind == "dense":
        shape = given.matrix.shape
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
            raise ValueError(f"matrix of {name} must be (N, N), got {shape}")
    elif given.kind == "sparse":
        columns, values = given.columns, given.values
        if columns.shape != values.shape or columns.ndim != 2 or not columns.size:
            shapes = f"{columns.shape} and {values.shape}"
            raise ValueError(f"columns and values of {name} must be (N, K), got {shapes}")
        inside = (columns >= 0).all() and (columns < given.units).all()
        if not inside or (np.diff(columns, axis=1) <= 0).any():
            raise ValueError(
                f"columns of {name} must rise within each row and lie from 0 to {given.units - 1}"
            )
    else:
        checks.integer(f"units of {name}", given.units, 1)
    if given.kind == "hadamard":
        expected = (3, padded(given.units))
        if given.signs.shape != expected or (np.abs(given.signs) != 1).any():
            raise ValueError(f"signs of {name} must be {expected}, each 1 or -1")


def padded(units: int) -> int:
    """The next power of two."""
    return 1 << (units - 1).bit_length()
