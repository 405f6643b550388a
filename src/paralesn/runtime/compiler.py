"""How kernels are compiled and where the compiled code is kept.

Every kernel of the package is decorated with `kernel`: it releases the GIL (threads come from
`paralesn.runtime.threads`, not from Numba), contracts ``a*b + c`` into fused multiply-adds, and is
cached on disk so that a second process pays no compilation.
"""

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

# "contract" lets LLVM fuse a*b + c; nothing is reassociated, so NaN, infinities and signed zeros
# keep their meaning and a result does not depend on how a loop was unrolled.
FASTMATH = {"contract"}
# No entry points from Python or C for what only kernels call: less to compile.
_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def source_stamp(folder: Path) -> str:
    """Digest of every Python file below `folder`, and of this one."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


_STAMP = source_stamp(Path(__file__).parents[1] / "engines" / "cpu")


class ForgivingCache(FunctionCache):
    """Numba's cache on disk; a directory that vanished or filled up costs time, not the result."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is on disk, or None."""
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, or give up keeping any."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.disable()


class _KernelCache(ForgivingCache):
    """A cache valid for the whole folder of the CPU engine.

    Numba looks only at the file a function is written in, so an edit of something inlined from
    another file would go unnoticed: here a change of any engine file makes cached code stale.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_STAMP,
        )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), _described(self._py_func)


def _described(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What tells functions made by the same factory apart: the values they were made with.

    Numba would pickle those values, and a compiled function among them pickles differently in
    every process, so that its callers would never be found again.
    """
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    values = (
        _described(cell.py_func) if hasattr(cell, "py_func") else repr(cell) for cell in cells
    )
    return (function.__qualname__, *values)


def _named_apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give functions made by one factory different names.

    Numba tells the machine code of equally named functions apart by a number that starts anew in
    every process. Code cached by different processes may thus carry the same symbols, and calls
    inside one kernel would reach another one's functions, made with other values.
    """
    if function.__closure__:
        values = repr(_described(function)).encode()
        function.__qualname__ += "_" + hashlib.blake2b(values, digest_size=6).hexdigest()
    return function


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` as a nogil kernel cached on disk where a directory can be written."""
    function = _named_apart(function)
    dispatcher = njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
    with suppress(RuntimeError):  # Numba found no directory it may write to: compile in memory
        dispatcher._cache = _KernelCache(function)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` for use inside kernels only, always inlined there."""
    options = {"fastmath": FASTMATH, "error_model": "numpy", **_BARE}
    return njit(forceinline=True, **options)(_named_apart(function))


def called(function: Callable[..., Any]) -> Any:
    """Compile `function` for use inside kernels only, inlined where LLVM sees fit."""
    return njit(fastmath=FASTMATH, error_model="numpy", **_BARE)(_named_apart(function))
