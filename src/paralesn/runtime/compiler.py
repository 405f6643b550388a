"""How kernels are compiled.

Every kernel of the package is decorated with `kernel`: it releases the GIL (threads come from
`paralesn.runtime.threads`, not from Numba), contracts ``a*b + c`` into fused multiply-adds, and is
kept on disk (`paralesn.runtime.kernel_cache`) so that a second process pays no compilation.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.compiler import Compiler

from paralesn.runtime.garbage import collection_paused
from paralesn.runtime.kernel_cache import described, keep
from paralesn.runtime.linked_functions import compiler_class

# "contract" lets LLVM fuse a*b + c; nothing is reassociated, so NaN, infinities and signed zeros
# keep their meaning and a result does not depend on how a loop was unrolled.
FASTMATH = {"contract"}
# No entry points from Python or C for what only kernels call, and no code of its own: less to
# compile.
_BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if (linked := compiler_class()) is not None:
    _BARE["pipeline_class"] = linked


class _KernelCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Numba's compiler, not held up by the garbage collector."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile `function` and, on the way, those that it calls."""
        with collection_paused():
            return super().compile_extra(function)


def _named_apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give functions made by one factory different names.

    Numba tells the machine code of equally named functions apart by a number that starts anew in
    every process. Code cached by different processes may thus carry the same symbols, and calls
    inside one kernel would reach another one's functions, made with other values.
    """
    if function.__closure__:
        values = repr(described(function)).encode()
        function.__qualname__ += "_" + hashlib.blake2b(values, digest_size=6).hexdigest()
    return function


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` as a nogil kernel cached on disk where a directory can be written."""
    function = _named_apart(function)
    options = {"fastmath": FASTMATH, "error_model": "numpy", "pipeline_class": _KernelCompiler}
    dispatcher = njit(nogil=True, **options)(function)
    keep(dispatcher, function)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` for use inside kernels only, always inlined there."""
    options = {"fastmath": FASTMATH, "error_model": "numpy", **_BARE}
    return njit(forceinline=True, **options)(_named_apart(function))


def called(function: Callable[..., Any]) -> Any:
    """Compile `function` for use inside kernels only, inlined where LLVM sees fit."""
    return njit(fastmath=FASTMATH, error_model="numpy", **_BARE)(_named_apart(function))
