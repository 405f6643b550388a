"""Compilation of generators with the rounding of IEEE 754, operation by operation.

A chaotic series amplifies the last bit of every operation until it decides the whole series. So
nothing is contracted into fused multiply-adds here, which `paralesn.runtime.compiler` allows for
the kernels of engines, and a seed gives the same series on every machine.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import float64, njit, types
from numba.core.ccallback import CFunc

from paralesn.runtime.kernel_cache import keep


def strict(function: Callable[..., Any]) -> Any:
    """Compile `function` with plain arithmetic, cached on disk if a folder can be written."""
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    keep(dispatcher, function, whole_engine=False)
    return dispatcher


@cache
def slope(function: Callable[..., Any]) -> Any:
    """Compile the right-hand side `function(u, du)` of u' = f(u), to be handed to an integrator.

    It is passed as a pointer, so that an integrator is compiled once for all systems.
    """
    arrays = float64[::1], float64[::1]
    compiled = CFunc(function, (arrays, types.void), {}, {"nogil": True, "error_model": "numpy"})
    keep(compiled, function, whole_engine=False)
    compiled.compile()
    return compiled
