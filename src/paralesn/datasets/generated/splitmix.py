"""Random numbers for compiled generators by splitmix64: a separate stream for every case.

Seed, split and case decide where a stream starts. So a case can be drawn alone, in any order and on
any number of threads, and is the same on every machine.
"""

import numpy as np

from paralesn.datasets.generated.ieee import strict

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@strict
def _scrambled(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@strict
def begin(stream, seed, split, case):  # type: ignore[no-untyped-def]
    """Set `stream` (1,), uint64, to the start of a case."""
    z = _scrambled(np.uint64(seed) + _STEP)
    z = _scrambled(z ^ (np.uint64(split) + _STEP))
    stream[0] = _scrambled(z ^ (np.uint64(case) + _STEP))


@strict
def uniform(stream):  # type: ignore[no-untyped-def]
    """Draw a float in [0, 1)."""
    stream[0] += _STEP
    return float(_scrambled(stream[0]) >> np.uint64(11)) * 2.0**-53


@strict
def below(stream, count):  # type: ignore[no-untyped-def]
    """Draw an integer below `count`, which is small."""
    return int(uniform(stream) * count)
