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
        self.libraries: list[Any] | None = None
        self.users: set[object] = set()
        self.before: list[int] = []  # numbers of threads while there are users


def _lift(shared: _Shared) -> None:
    """End a limit of the parent's in a forked child, whose users did not come along."""
    if shared.before:
        _set(shared.libraries or [], shared.before)


_of_process = PerProcess(_Shared, _lift)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS on the calling thread.

    BLAS may round differently when it splits a product over another number of threads; pieces of
    fixed shape on one thread each do not. The limit is global to the process, so concurrent users
    share one limit and the last one to leave restores what was there.
    """
    shared, user = _of_process.value, object()
    try:  # an interrupt between any two lines leaves neither the user nor the limit behind
        with shared.lock:
            if shared.libraries is None:
                import scipy.linalg  # noqa: F401 (loads its BLAS, which is to be limited as well)

                found = ThreadpoolController().lib_controllers
                shared.libraries = [each for each in found if each.user_api == "blas"]
            shared.users.add(user)
            if not shared.before:
                shared.before = [library.num_threads for library in shared.libraries]
                _set(shared.libraries, [1] * len(shared.libraries))
        yield
    finally:
        with shared.lock:
            shared.users.discard(user)
            if shared.before and not shared.users:
                _set(shared.libraries or [], shared.before)
                shared.before = []


def _set(libraries: Sequence[Any], counts: Sequence[int]) -> None:
    """Give each library its number of threads, from whatever thread of ours.

    Recent versions of threadpoolctl obey the thread that set a limit first and ignore all
    others in silence. Ours take turns by a lock and a count, so they may all set it.
    """
    for library, count in zip(libraries, counts, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


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
