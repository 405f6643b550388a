"""Arrays for states: aligned to cache lines, large ones recycled.

Memory fresh from the operating system is zeroed page by page on first touch, which takes a large
part of the time of a large output. So the memory of large outputs that nobody refers to any
more is kept, up to `KEPT_BYTES`, for the next output of about that size. NumPy's own references
decide: an output's memory hangs on a `_Lease` that every view of it keeps alive.
"""

from collections import defaultdict, deque
from math import prod

import numpy as np

KEPT_BYTES = 1 << 27
_GRAIN = 1 << 22  # sizes are rounded up to multiples of it; smaller outputs are left to malloc
_LINE = 64

# By size in grains. Appending to and popping from a deque are atomic, so that a lease may end in
# any thread, at any time, without a lock.
_spare: defaultdict[int, deque[np.ndarray]] = defaultdict(deque)


class _Lease:
    """Memory lent to an array; goes back when the array and its views are gone."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.memory = memory
        address = memory.__array_interface__["data"][0]
        self.__array_interface__ = {
            "version": 3,
            "data": (address + -address % _LINE, False),
            "shape": shape,
            "typestr": dtype.str,
        }

    def __del__(self) -> None:
        if _spare is None:  # the interpreter is shutting down and has cleared this module
            return
        grains = self.memory.size // _GRAIN
        spare = sum(size * len(memories) for size, memories in list(_spare.items()))
        if (spare + grains) * _GRAIN <= KEPT_BYTES:
            _spare[grains].append(self.memory)


def empty(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Uninitialised array that begins at a cache line, so that slices of units do not share one."""
    size = prod(shape) * dtype.itemsize + _LINE
    if size < _GRAIN:
        memory = np.empty(size, np.uint8)
        offset = -memory.__array_interface__["data"][0] % _LINE
        return memory[offset : offset + size - _LINE].view(dtype).reshape(shape)
    grains = -(-size // _GRAIN)
    try:
        memory = _spare[grains].pop()
    except IndexError:
        memory = np.empty(grains * _GRAIN, np.uint8)
    return np.asarray(_Lease(memory, shape, dtype))
