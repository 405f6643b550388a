"""Processes that share the cores: one thread each, and gone when whoever began them is."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any


def each(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    jobs: int,
    prepare: Callable[[], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Call a function with each of the arguments; its results as they come, with their number.

    `prepare` is called first in each process.
    """
    context = get_context("spawn")  # threads of this process do not survive a fork
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin, initargs=(prepare,)
    ) as pool:
        pending = {pool.submit(function, *call): number for number, call in enumerate(calls)}
        try:
            for future in as_completed(pending):
                yield pending[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _begin(prepare: Callable[[], Any] | None) -> None:
    """Keep BLAS on one thread, and end with the parent, even where that was killed."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare()


def _end_with(sentinel: int) -> None:
    """Wait for what breaks when the parent is gone: the end of a pipe, or a handle on Windows."""
    wait([sentinel])
    os._exit(1)
