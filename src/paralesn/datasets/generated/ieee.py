"""Compilation of generators with the rounding of IEEE 754, operation by operation.

A chaotic series amplifies the last bit of every operation until it decides the whole series. So
nothing is contracted into fused multiply-adds here, which `paralesn.runtime.compiler` allows for
the kernels of engines, and a seed gives the same series on every machine.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit

from paralesn.runtime.compiler import ForgivingCache


def strict(function: Callable[..., Any]) -> Any:
    """Compile `function` with plain arithmetic, cached on disk if a folder can be written."""
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    with suppress(RuntimeError):  # Numba found no directory it may write to: compile in memory
        dispatcher._cache = ForgivingCache(function)
    return dispatcher
