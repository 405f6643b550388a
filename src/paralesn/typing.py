"""Types that describe arguments and results, for editors and type checkers."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ArrayLike", "ListOfSeries", "Tensor"]


class TensorLike(Protocol):
    """What tells a tensor of PyTorch from an array: reservoirs answer tensors with tensors."""

    requires_grad: bool

    def detach(self) -> Any:
        """The tensor without its history."""


Tensor = TypeVar("Tensor", bound=TensorLike)
ListOfSeries = Sequence[np.ndarray]  # of any lengths
