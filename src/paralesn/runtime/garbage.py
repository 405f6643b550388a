"""Imports and compilation without Python's garbage collector, which would find little to free.

Both make hundreds of thousands of objects that stay. Whenever their number has grown by a quarter,
Python looks through all of them for cycles, which took a sixth of a first use.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_pauses = 0  # under way, in any thread
_was_on = True


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect no garbage meanwhile, and go on as before; cycles made here are found later."""
    global _pauses, _was_on
    with _lock:
        if not _pauses:
            _was_on = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_on:
                gc.enable()
