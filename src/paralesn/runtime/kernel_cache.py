"""Compiled code on disk, so that a second process pays no compilation.

Numba's own cache with three changes, for which it offers no public way: code is stale once any file
of the CPU engine changed, functions made by one factory are told apart, and a folder that vanished
or filled up costs time, not the result. `keep` looks whether the parts of Numba that this needs are
there: with a Numba that has others, kernels are compiled in every process, and a warning says so.
"""

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from paralesn.runtime.garbage import collection_paused

_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)  # what damaged and missing files raise


def source_stamp(folder: Path) -> str:
    """Digest of every Python file below `folder`, and of those that say how it is compiled."""
    digest = hashlib.sha256()
    for name in ("compiler.py", "kernel_cache.py", "linked_functions.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


STAMP = source_stamp(Path(__file__).parents[1] / "engines" / "cpu")


def keep(dispatcher: Any, function: Callable[..., Any], whole_engine: bool = True) -> None:
    """Let a compiled function find its code on disk, where there is a folder to write to.

    `whole_engine`: code is stale once any file of the CPU engine changed, rather than its own.
    """
    try:
        make = _caches()["engine" if whole_engine else "file"]
        if not hasattr(dispatcher, "_cache"):
            raise AttributeError("a compiled function has no '_cache'")
        dispatcher._cache = make(function)
    except RuntimeError:  # Numba found no folder it may write to: compile in memory
        return
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        _warn_once(str(error))


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        "compiled kernels are not kept on disk, every process compiles its own: the cache of "
        f"numba {numba.__version__} is not the one that paralesn knows ({reason})",
        RuntimeWarning,
        stacklevel=4,
    )


@cache
def _say_once() -> None:
    """Say on a terminal what the first use waits for."""
    if sys.stderr is not None and sys.stderr.isatty():
        print("paralesn: compiling kernels for this machine, once ...", file=sys.stderr, flush=True)


@cache
def _caches() -> dict[str, Any]:
    """The classes of caches, made when they are needed: Numba may lack what they build on."""
    from numba.core import caching

    index_file = caching.IndexDataCacheFile
    for name in ("load_overload", "save_overload", "disable", "_index_key"):
        getattr(caching.FunctionCache, name)

    class ForgivingCache(caching.FunctionCache):
        """Numba's cache on disk; trouble with its files costs time, not the result."""

        def load_overload(self, *arguments: Any) -> Any:
            """What is on disk, or None."""
            try:
                with collection_paused():
                    return super().load_overload(*arguments)
            except _UNUSABLE:
                return None

        def save_overload(self, *arguments: Any) -> None:
            """Keep compiled code, or give up keeping any."""
            try:
                super().save_overload(*arguments)
            except _UNUSABLE:
                self.disable()

    class KernelCache(ForgivingCache):
        """A cache valid for the whole folder of the CPU engine.

        Numba looks only at the file a function is written in, so an edit of something inlined from
        another file would go unnoticed: here a change of any engine file makes cached code stale.
        """

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            if not isinstance(vars(self)["_cache_file"], index_file):
                raise AttributeError("no index of files")
            self._cache_file = index_file(
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=STAMP,
            )

        def load_overload(self, *arguments: Any) -> Any:
            """What is on disk, or None, which means that it is compiled now."""
            found = super().load_overload(*arguments)
            if found is None:
                _say_once()
            return found

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return sig, codegen.magic_tuple(), described(self._py_func)

    return {"file": ForgivingCache, "engine": KernelCache}


def described(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What tells functions made by the same factory apart: the values they were made with.

    Numba would pickle those values, and a compiled function among them pickles differently in
    every process, so that its callers would never be found again.
    """
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    values = (described(cell.py_func) if hasattr(cell, "py_func") else repr(cell) for cell in cells)
    return (function.__qualname__, *values)
