"""Compilation of generators, without the liberties the engines' kernels take.

A chaotic series multiplies the last bit of every operation until it is all there is to see. So
nothing is contracted into fused multiply-adds here, where `paralesn.runtime.compiler` allows it:
every operation rounds as IEEE 754 says, and a seed means the same series on every machine.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit

from paralesn.runtime.compiler import ForgivingCache


def strict(function: Callable[..., Any]) -> Any:
    """Compile `function` with plain arithmetic, cached on disk where a directory can be written."""
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    with suppress(RuntimeError):  # Numba found no directory it may write to: compile in memory
        dispatcher._cache = ForgivingCache(function)
    return dispatcher
