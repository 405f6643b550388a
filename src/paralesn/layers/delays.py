"""A layer of delays: the latest inputs and products of them, with nothing drawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts

MOST_COLUMNS = 1 << 20  # products of more variables than that are a mistake
HIGHEST_ORDER = 8


@register
@dataclass(frozen=True, eq=False)
class DelayLayer:
    """Delayed inputs and the products of some of them, as next-generation reservoir computing has.

    The state is the window of the latest inputs, newest first, ``h = [x_t, x_(t-1), ...]``. With L
    lags and F inputs, the L F values ``v = [x_(t-lag) for lag in lags]`` are multiplied::

        z = [every product of p of the values v, with repetition, for p in orders]

    A product of none is the constant 1. Products of one order are sorted by the positions of their
    factors in v, as `itertools.combinations_with_replacement` does it.

    Attributes
    ----------
    inputs : int
        Inputs F of a time step.
    lags : (L,)
        Delays in time steps, rising; 0 is the present input.
    orders : (P,)
        Numbers of factors, rising.
    """

    inputs: Count
    lags: Counts
    orders: Counts

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", checks.integer("inputs", self.inputs, 1))
        for name, most in (("lags", None), ("orders", HIGHEST_ORDER)):
            numbers = checks.rising(name, getattr(self, name), 0, most)
            array = np.array(numbers, np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if (columns := self.n_columns(True)) > MOST_COLUMNS:
            raise ValueError(
                f"orders must make at most {MOST_COLUMNS} products, got {columns} with "
                f"{self.n_variables} delayed values and orders {self.orders.tolist()}"
            )

    @property
    def window(self) -> int:
        """Time steps that the state holds."""
        return int(self.lags[-1]) + 1

    @property
    def units(self) -> int:
        """Numbers in the state."""
        return self.window * self.inputs

    @property
    def n_inputs(self) -> int:
        """Columns of a time step."""
        return self.inputs

    @property
    def n_variables(self) -> int:
        """Number of delayed values, L F."""
        return int(self.lags.size) * self.inputs

    @property
    def is_complex(self) -> bool:
        """Whether states are complex: never."""
        return False

    def n_columns(self, mixing: bool) -> int:
        """Number of products; there is nothing to mix."""
        return sum(comb(self.n_variables + p - 1, p) for p in self.orders.tolist())

    def positions(self) -> np.ndarray:
        """Where the delayed values stand in the state (L F,)."""
        return (self.lags[:, None] * self.inputs + np.arange(self.inputs)).ravel()

    def factors(self, order: int) -> np.ndarray:
        """Positions (products, order) in v of the factors of each product of an order."""
        chosen = list(combinations_with_replacement(range(self.n_variables), order))
        return np.array(chosen, np.int64).reshape(len(chosen), order)


def check_delay_layers(layers: Any) -> tuple[DelayLayer, ...]:
    """Check given layers: exactly one, which checked itself when it was made."""
    layers = tuple(layers) if isinstance(layers, Iterable) else (layers,)
    if len(layers) != 1 or not isinstance(layers[0], DelayLayer):
        raise TypeError("layers must be a list of one DelayLayer")
    return layers
