"""A barrier for kernels that run at the same time on several threads.

Threads count themselves in and wait until all have: some hundred nanoseconds, where Python's own
means take ten thousand and more. Whoever waits longer than usual lets other threads have its core.
"""

import sys
from typing import Any

import llvmlite.ir as ir
from numba import types
from numba.extending import intrinsic

from paralesn.runtime.compiler import called

_PATIENCE = 2000  # looks at the counter, about a microsecond, before the core is given away


@intrinsic
def _count_in(typing_context: Any, address: Any) -> Any:
    """Add one to the number at an address, and let the others see all that was written before."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        place = builder.inttoptr(arguments[0], whole.as_pointer())
        return builder.atomic_rmw("add", place, ir.Constant(whole, 1), "acq_rel")

    return types.int64(types.int64), codegen


@intrinsic
def _look(typing_context: Any, address: Any) -> Any:
    """The number at an address, and all that others wrote before they counted."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(types.int64), codegen


if sys.platform == "win32":

    @called
    def _give_way():
        return 0
else:
    _give_way = types.ExternalFunction("sched_yield", types.int32())


@called
def meet(counter, until):
    """Count in at ``counter[0]`` and wait until it reaches `until`."""
    address = counter.ctypes.data
    _count_in(address)
    looks = 0
    while _look(address) < until:
        looks += 1
        if looks > _PATIENCE:
            _give_way()
