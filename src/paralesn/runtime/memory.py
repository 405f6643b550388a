"""How much memory values hold, arrays included, and whether what is asked for can fit at all."""

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_TINY = 1 << 26  # bytes that any machine has


@cache
def machine_bytes() -> float:
    """Memory of the machine, or of the container where it has less; infinite if nobody says."""
    limits = [math.inf]
    with suppress(AttributeError, OSError, ValueError):  # not a system that says so
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _GROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(limits)


def require_room(name: str, value: Any, needed: float) -> None:
    """Raise for an argument that needs more bytes than the machine has.

    Numbers that large are mistakes, and would be a MemoryError after minutes, or the end of the
    process. `needed` is what is needed at the very least.
    """
    if needed > _TINY and needed > machine_bytes():
        raise ValueError(
            f"{name} must fit the memory of this machine, {_readable(machine_bytes())}, got "
            f"{value}, which needs at least {_readable(needed)}"
        )


def _readable(count: float) -> str:
    """Bytes as a person says it."""
    return f"{count / 2**30:.1f} GiB" if count < 2**40 else f"{count / 2**40:.3g} TiB"


def held_bytes(value: Any) -> int:
    """Bytes of the arrays, texts and numbers that a value holds; shared arrays count once.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros(1000)
    >>> held_bytes({"x": x, "again": [x]}) // 1000
    8
    """
    return _held(value, set())


def _held(value: Any, seen: set[int]) -> int:
    if isinstance(value, np.ndarray):
        if id(value) in seen:
            return 0
        seen.add(id(value))
        return int(value.nbytes) + 100
    if isinstance(value, (str, bytes)):
        return len(value) + 50
    if isinstance(value, Mapping):
        return sum(_held(item, seen) for item in value.values()) + 64 * len(value)
    if isinstance(value, (list, tuple)):
        return sum(_held(item, seen) for item in value) + 8 * len(value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_held(getattr(value, field.name), seen) for field in fields(value))
    if hasattr(value, "get_params"):  # an estimator: what it was given, and what it learnt
        return _held(vars(value), seen)
    return 32
