"""A batch of digits read pixel by pixel by ever larger reservoirs, until memory runs out.

The right half of the paper's scaling figure. Reservoirs compute what the readout of sequential
MNIST is given: the last state of every digit.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.datasets.archives.mnist import mnist_files
from paralesn.paper.studies.complexity_child import allowed_bytes, drawn, held_bytes, in_a_child

DIGITS = 10  # of a batch; the paper does not say how many
PIXELS = 784
MNIST, RANDOM = SERIES = ("mnist", "random")


def at_hand() -> bool:
    """Whether the files of MNIST are in a data folder."""
    return all(file.find() is not None for file in mnist_files())


@cache
def batch(source: str) -> np.ndarray:
    """The first training digits, or random numbers like pixels: (digits, pixels, 1) in [0, 1]."""
    if source == RANDOM:
        return np.random.default_rng(0).uniform(size=(DIGITS, PIXELS, 1))
    digits = datasets.load_mnist(dtype=np.float32, download=False).X_train
    return np.asarray(digits[:DIGITS], np.float64)


def needed_bytes(kind: str, units: int) -> int:
    """Bytes of the arrays of a reservoir and of the last states, the least that a run needs."""
    states = 8 * DIGITS * units
    if kind == "ESN":
        return 8 * units * (units + 2) + states
    few = 64
    return sum(map(held_bytes, drawn(kind, few).layers_)) * units // few + states


def measure(kind: str, units: int, source: str, rounds: int, limit: int) -> dict[str, Any]:
    """Seconds of the batch and peak memory, in a process of its own, or that it does not fit.

    What needs more than the limit is not tried.
    """
    needed, allowed = needed_bytes(kind, units), allowed_bytes(limit)
    outcome: dict[str, Any] = {
        "digits": DIGITS,
        "steps": PIXELS,
        "needed_bytes": needed,
        "limit_bytes": limit if allowed is None else allowed,
    }
    if needed > outcome["limit_bytes"]:
        return outcome | {"out_of_memory": True}
    x = batch(source)
    drawn(kind, 8).last(x)  # compile here: the compiler's memory is not the reservoir's
    work = {"kind": kind, "units": units, "rounds": rounds}
    return outcome | in_a_child(work, allowed, x)


def is_pointless(
    kind: str, units: int, measured: Sequence[dict[str, Any]], limit: int, most_seconds: float
) -> bool:
    """Whether a smaller reservoir ran out of memory, or took too long and this one may fit."""
    smaller = [m for m in measured if m["kind"] == "digits" and m["units"] <= units]
    if any(m.get("out_of_memory") for m in smaller):
        return True
    took_long = any(min(m["seconds"]) > most_seconds for m in smaller)
    return took_long and needed_bytes(kind, units) <= limit
