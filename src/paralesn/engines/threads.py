"""Threads for nogil kernels: one shared pool, safe under fork and with concurrent callers.

Numba's own layers are not: OpenMP aborts in a forked child, the workqueue aborts when two threads
enter it. Here the caller works too, tasks never wait for other tasks, and a forked child starts
with a pool of its own, so nothing can deadlock.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")

_MOST_THREADS = 512  # started one by one as they are needed


class _Shared:
    """What the threads of one process share; made anew in a forked child."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.blas: ThreadpoolController | None = None
        self.blas_users = 0
        self.blas_limit: Any = None


_shared = _Shared()


def _start_over() -> None:
    global _shared
    _shared = _Shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over)


def available() -> int:
    """Number of cores Numba is given (``NUMBA_NUM_THREADS``, else the process's affinity)."""
    return int(numba.config.NUMBA_NUM_THREADS)


def count(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for; negative counts back from all cores."""
    if n_jobs is None:
        return available()
    return n_jobs if n_jobs > 0 else max(1, available() + 1 + n_jobs)


def _submit(work: Callable[[], None]) -> "Future[None] | None":
    with _shared.lock:
        if _shared.pool is None:
            _shared.pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="paralesn")
        try:
            return _shared.pool.submit(work)
        except RuntimeError:  # the interpreter is shutting down: the caller works alone
            return None


def for_each(function: Callable[[Item], None], items: Sequence[Item], threads: int) -> None:
    """Call `function` on every item, on at most `threads` threads, the caller's among them."""
    helpers = min(threads, len(items)) - 1
    if helpers < 1:
        for item in items:
            function(item)
        return

    pending = iter(items)
    turn = threading.Lock()
    stopped = False

    def work() -> None:
        nonlocal stopped
        while not stopped:
            with turn:
                item = next(pending, pending)
            if item is pending:
                return
            try:
                function(item)  # type: ignore[arg-type]
            except BaseException:
                stopped = True
                raise

    futures = [future for future in (_submit(work) for _ in range(helpers)) if future]
    try:
        work()
    finally:
        stopped = True
        wait(futures)
    for future in futures:
        future.result()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS on the calling thread while we hand it pieces on threads of our own.

    BLAS may round differently when it splits a product over another number of threads; pieces of
    fixed shape on one thread each do not. The limit is global to the process, so concurrent users
    share one limit and the last one to leave restores what was there.
    """
    shared = _shared
    with shared.lock:
        if shared.blas is None:
            shared.blas = ThreadpoolController()
        if shared.blas_users == 0:
            shared.blas_limit = shared.blas.limit(limits=1, user_api="blas")
        shared.blas_users += 1
    try:
        yield
    finally:
        with shared.lock:
            shared.blas_users -= 1
            if shared.blas_users == 0:
                shared.blas_limit.restore_original_limits()
