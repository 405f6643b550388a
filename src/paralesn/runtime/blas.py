"""BLAS on one thread, where its own would be in the way."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

from paralesn.runtime.process import PerProcess

_SHARED = 1 << 23  # multiplications that are worth the threads they are shared by


class _Shared:
    """What the threads of one process share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pools: ThreadpoolController | None = None
        self.users = 0
        self.limit: Any = None


_of_process = PerProcess(_Shared)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS on the calling thread.

    BLAS may round differently when it splits a product over another number of threads; pieces of
    fixed shape on one thread each do not. The limit is global to the process, so concurrent users
    share one limit and the last one to leave restores what was there.
    """
    shared = _of_process.value
    with shared.lock:
        if shared.pools is None:
            shared.pools = ThreadpoolController()
        if shared.users == 0:
            shared.limit = shared.pools.limit(limits=1, user_api="blas")
        shared.users += 1
    try:
        yield
    finally:
        with shared.lock:
            shared.users -= 1
            if shared.users == 0:
                shared.limit.restore_original_limits()


def share_out(function: Callable[..., None], items: Sequence, multiplications: int) -> None:
    """Call a function on every item, on several threads where there is much to multiply.

    For pieces of matrices that `released_blas` works on, within `single_threaded_blas`.
    """
    if multiplications <= _SHARED or len(items) == 1:
        for item in items:
            function(item)
        return
    from paralesn.runtime import threads  # loads Numba

    threads.for_each(function, items, threads.available())
