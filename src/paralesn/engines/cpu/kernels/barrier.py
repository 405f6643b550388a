"""A barrier for kernels that run at the same time on several threads.

Threads count themselves in and wait until all have: some hundred nanoseconds, where Python's own
means take ten thousand and more. Whoever waits longer than usual lets other threads have its core,
and sleeps between two looks where that does not help, as when another thread was stopped.
"""

import ctypes
import sys
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
from numba import types
from numba.extending import intrinsic

from paralesn.runtime.compiler import called

_PATIENCE = 2000  # looks at the counter, about a microsecond, before the core is given away
_TURNS = 20_000  # how often it is given away, some ten milliseconds, before a wait sleeps


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


def yielding(platform: str = sys.platform) -> tuple[Any, Any]:
    """The system's functions that give the core away, and that sleep for some microseconds.

    On Windows neither has the name and the arguments of the others, and LLVM is told where they
    are. There the sleep is one of a millisecond or more.
    """
    if platform != "win32":
        return (
            types.ExternalFunction("sched_yield", types.int32()),
            types.ExternalFunction("usleep", types.int32(types.uint32)),
        )
    system = ctypes.windll.kernel32  # type: ignore[attr-defined]
    symbols = {"paralesn_yield": system.SwitchToThread, "paralesn_sleep": system.Sleep}
    for name, function in symbols.items():
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return (
        types.ExternalFunction("paralesn_yield", types.int32()),
        types.ExternalFunction("paralesn_sleep", types.void(types.uint32)),
    )


_give_way, _sleep = yielding()
_MOMENT = 1 if sys.platform == "win32" else 50  # milliseconds there, microseconds elsewhere


@called
def meet(counter, until):
    """Count in at ``counter[0]`` and wait until it reaches `until`."""
    address = counter.ctypes.data
    _count_in(address)
    looks = 0
    while _look(address) < until:
        looks += 1
        if looks > _PATIENCE + _TURNS:
            _sleep(types.uint32(_MOMENT))
        elif looks > _PATIENCE:
            _give_way()
