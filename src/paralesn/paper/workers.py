"""Processes that share the cores: one thread each, and gone when whoever began them is."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

_LOOK = 1.0  # seconds between looks at the parent


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
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    if prepare is not None:
        prepare()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
