"""Compiled code on disk, so that a second process pays no compilation.

Numba's own cache with changes for which it offers no public way: code is stale once any file of the
CPU engine changed, functions made by one factory are told apart, files are read only if they are as
they were written (`paralesn.runtime.kernel_files`), and a folder that vanished or filled up costs
time, not the result. `keep` looks whether the parts of Numba that this needs are there: with a
Numba that has others, kernels are compiled in every process, and a warning says so; likewise where
others may write to the folder.
"""

import hashlib
import inspect
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from paralesn.runtime import kernel_files
from paralesn.runtime.garbage import collection_paused

_VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__)


def source_stamp(folder: Path) -> str:
    """Digest of every Python file below `folder`, and of those that say how it is compiled."""
    digest = hashlib.sha256()
    for name in ("compiler.py", "kernel_cache.py", "kernel_files.py", "linked_functions.py"):
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
        kept = make(function)
    except (RuntimeError, OSError):  # there is no folder to write to: compile in memory
        return
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        _warn_once(
            f"the cache of numba {numba.__version__} is not the one that paralesn knows ({error})"
        )
        return
    if kept.fault is None:
        dispatcher._cache = kept
    elif not _refused:  # other folders are likely to be beside the first
        _refused.append(kept.fault)
        _warn_once(f"{kept.fault}; name a folder of your own in NUMBA_CACHE_DIR")


_refused: list[str] = []


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"compiled kernels are not kept on disk, every process compiles its own: {reason}",
        RuntimeWarning,
        stacklevel=4,
    )


@cache
def _say_once() -> None:
    """Say on a terminal what the first use waits for."""
    if sys.stderr is not None and sys.stderr.isatty():
        print("paralesn: compiling kernels for this machine, once ...", file=sys.stderr, flush=True)


def _checked_parts() -> tuple[Any, Any]:
    """Numba's cache of functions and its files, if they have what is built on here."""
    from numba.core import caching

    for name in ("load_overload", "save_overload", "disable", "_index_key"):
        getattr(caching.FunctionCache, name)
    # A file that was read by a method of another name would be read unchecked.
    for name in ("load", "save", "_load_index", "_save_index", "_load_data", "_save_data", "_dump"):
        getattr(caching.IndexDataCacheFile, name)
    return caching.FunctionCache, caching.IndexDataCacheFile


@cache
def _caches() -> dict[str, Any]:
    """The classes of caches, made when they are needed: Numba may lack what they build on."""
    function_cache, index_file = _checked_parts()

    class SealedFiles(index_file):  # type: ignore[misc, valid-type]  # Numba has no types
        """Index and compiled code of one function; what is not as it was written is not there."""

        def __init__(
            self, folder: str, base: str, stamp: Any, owners: frozenset[int] | None
        ) -> None:
            super().__init__(cache_path=folder, filename_base=base, source_stamp=stamp)
            self._folder, self._index = Path(folder), f"{base}.nbi"
            self._made_of, self._owners = repr((stamp, *_VERSIONS)), owners

        def load(self, key: Any) -> Any:
            """What was saved for a signature. Processes that save at once may mix up numbers."""
            found = super().load(key)
            return found[1] if found is not None and found[0] == key else None

        def save(self, key: Any, data: Any) -> None:
            super().save(key, (key, data))

        def _load_index(self) -> dict[Any, str]:
            content = self._read(self._index)
            return {} if content is None else pickle.loads(content)

        def _save_index(self, overloads: dict[Any, str]) -> None:
            self._write(self._index, overloads)

        def _load_data(self, name: str) -> Any:
            content = self._read(name)
            if content is None:
                raise FileNotFoundError(name)
            return pickle.loads(content)

        def _save_data(self, name: str, data: Any) -> None:
            self._write(name, data)

        def _read(self, name: str) -> bytes | None:
            identity = f"{name} {self._made_of}"
            return kernel_files.read(self._folder / name, identity, self._owners)

        def _write(self, name: str, value: Any) -> None:
            identity = f"{name} {self._made_of}"
            kernel_files.write(self._folder / name, identity, self._dump(value))

    class ForgivingCache(function_cache):  # type: ignore[misc, valid-type]
        """Numba's cache on disk; trouble with its files costs time, not the result."""

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            if not isinstance(vars(self)["_cache_file"], index_file):
                raise AttributeError("no index of files")
            owners = kernel_files.trusted_owners(Path(inspect.getfile(function)))
            self.fault = kernel_files.fault_of(Path(self._cache_path), owners)
            self._cache_file = SealedFiles(
                self._cache_path, self._impl.filename_base, self._stamp(), owners
            )

        def _stamp(self) -> Any:
            """What tells whether the source is the same."""
            return self._impl.locator.get_source_stamp()

        def load_overload(self, *arguments: Any) -> Any:
            """What is on disk, or None."""
            with collection_paused():
                return super().load_overload(*arguments)

        def save_overload(self, *arguments: Any) -> None:
            """Keep compiled code, or give up keeping any."""
            try:
                super().save_overload(*arguments)
            except OSError:
                self.disable()

    class KernelCache(ForgivingCache):
        """A cache valid for the whole folder of the CPU engine.

        Numba looks only at the file a function is written in, so an edit of something inlined from
        another file would go unnoticed: here a change of any engine file makes cached code stale.
        """

        def _stamp(self) -> str:
            return STAMP

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
