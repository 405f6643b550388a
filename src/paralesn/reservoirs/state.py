"""What a reservoir remembers between two calls."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """The states a run ended in, one array per layer; hand it to the next call to go on.

    Attributes
    ----------
    layers : tuple of arrays
        Each (units,) for a single series or (batch, units) for several; complex, or real for a
        real-valued reservoir.
    origin : str
        Fingerprint of the drawn layers it belongs to; another model refuses it.
    """

    layers: tuple[np.ndarray, ...]
    origin: str
