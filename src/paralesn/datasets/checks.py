"""Checks of arguments, and the random streams a seed stands for."""

import zlib
from numbers import Integral
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int) -> int:
    """Whole number of at least `least`."""
    expected = f"a whole number of at least {least}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {expected}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return int(value)


def entropy(seed: Any) -> int:
    """The number a seed stands for; None draws one, so that it can be recorded."""
    if seed is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    return whole("seed", seed, 0)


def stream(seed: int, name: str, *keys: int) -> np.random.Generator:
    """Random stream of its own for every seed, name and keys.

    What one stream draws, and how much, moves nothing in another.
    """
    keys = (zlib.crc32(name.encode()), *keys)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=keys))
