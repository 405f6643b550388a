"""Reservoirs whose complexity is measured, and what the paper says of it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Model:
    """A reservoir and what the paper says of it.

    Attributes
    ----------
    kind : str
        One of `complexity_child.KINDS`.
    layers : int
    parameters : str
        Parameters of the recurrence, 1 024 units and one input; empty where the paper is silent.
    step : str
        Time of a step in the number N of units.
    cost : function of N
        What `step` says, as a formula.
    sequence : str
        Time in the number T of steps.
    space : str
        Parameters in the number N of units, of one input.
    """

    kind: str
    layers: int
    parameters: str
    step: str
    cost: Callable[[np.ndarray], np.ndarray]
    sequence: str
    space: str


MODELS = {
    "ESN": Model("ESN", 1, "1.1 M", "O(N^2)", lambda n: n**2, "O(T)", "O(N^2)"),
    "ESN (deep)": Model("ESN", 5, "9.4 M", "O(N^2)", lambda n: n**2, "O(T)", "O(N^2)"),
    "SCR": Model("SCR", 1, "", "O(N)", lambda n: n, "O(T)", "O(N)"),
    "Structured RC": Model(
        "StructuredRC", 1, "", "O(N log N)", lambda n: n * np.log(n), "O(T)", "O(N)"
    ),
    "ParalESN": Model("ParalESN", 1, "2.1 K", "O(N)", lambda n: n, "O(log T)", "O(N)"),
    "ParalESN (deep)": Model("ParalESN", 5, "10.2 K", "O(N)", lambda n: n, "O(log T)", "O(N)"),
}  # fmt: skip
BY_SIZE = ("ESN", "SCR", "Structured RC", "ParalESN")
BY_LENGTH = ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)")
ON_DIGITS = ("ESN", "ParalESN")
