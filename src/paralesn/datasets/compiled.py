"""Compilation of generators, without the liberties the engines' kernels take.

A chaotic series multiplies the last bit of every operation until it is all there is to see. So
nothing is contracted into fused multiply-adds here, where `paralesn.engines.compiler` allows it:
every operation rounds as IEEE 754 says, and a seed means the same series on every machine.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


class _Cache(FunctionCache):
    """Numba's cache on disk; one that fails costs a compilation, not the result."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.disable()


def strict(function: Callable[..., Any]) -> Any:
    """Compile `function` with plain arithmetic, cached on disk where a directory can be written."""
    dispatcher = njit(nogil=True, error_model="numpy")(function)
    with suppress(RuntimeError):  # Numba found no directory it may write to: compile in memory
        dispatcher._cache = _Cache(function)
    return dispatcher
