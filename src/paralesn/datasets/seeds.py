"""Random streams from seeds."""

import zlib
from typing import Any

import numpy as np

from paralesn import checks


def entropy(seed: Any) -> int:
    """Check a seed; None draws one, so that it can be recorded."""
    if seed is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    return checks.integer("seed", seed, 0)


def stream(seed: int, name: str, *keys: int) -> np.random.Generator:
    """Random generator for a seed, a name and keys, independent of those for any others."""
    keys = (zlib.crc32(name.encode()), *keys)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=keys))
