"""Where series lie in an array."""

from typing import NamedTuple

import numpy as np


class Place(NamedTuple):
    """Series in an array: their first rows, and the first column to use."""

    array: np.ndarray  # (rows, columns)
    rows: np.ndarray  # (B,)
    column: int
