"""Signs of life: how a worker shows that it is alive, and how others see that it is not.

A worker that is killed leaves its trial running for ever. So it writes to its trial who it is, and
counts upwards while it lives. Clocks of machines differ, so nobody compares times: a worker is lost
where its count has not changed for as long as the observer has watched. On the same machine the
table of processes says so at once.
"""

import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

_PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Signs:
    """How often workers show that they are alive.

    Attributes
    ----------
    interval : float
        Seconds between signs of life.
    grace : float
        Seconds without one after which a worker is lost.
    poll : float
        Seconds between looks at what others do, where there is nothing else to do.
    """

    interval: float = 60.0
    grace: float = 180.0
    poll: float = 1.0

    @property
    def grace_of_nameless(self) -> float:
        """Seconds after which a trial is lost that nobody has put a name to."""
        return min(self.grace, max(1.0, self.interval / 6))

    @property
    def whole_interval(self) -> int:
        """The interval as databases have it, in whole seconds."""
        return max(1, ceil(self.interval))

    @property
    def whole_grace(self) -> int:
        """The grace as databases have it."""
        return max(2, ceil(self.grace))


SIGNS = Signs()


def this_worker() -> dict[str, Any]:
    """Who this process is. Names of machines are not told, only told apart."""
    return {"machine": _machine(), "process": os.getpid(), "start": _start(os.getpid())}


def is_gone(worker: Any) -> bool:
    """Whether a worker was a process of this machine which has ended."""
    if not isinstance(worker, dict) or worker.get("start") is None:
        return False
    if worker.get("machine") != _machine():
        return False
    return _start(worker["process"]) != worker["start"]


@cache
def _machine() -> str:
    """What processes have in common that see each other: machine, boot, namespace and user."""
    parts = [platform.node(), str(getattr(os, "getuid", lambda: "")())]
    try:
        parts.append((_PROCESSES / "sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink(_PROCESSES / "self/ns/pid"))  # containers number their own
    except OSError:
        pass
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def _start(process: int) -> int | None:
    """When a process began, in ticks of the system, or None: it is not there, or nobody says.

    Numbers of processes are used again; together with this they are unique.
    """
    try:
        text = (_PROCESSES / str(process) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before may hold anything
    return None if fields[0] in "ZX" else int(fields[19])


@contextmanager
def beating(beat: Callable[[int], Any], interval: float) -> Iterator[None]:
    """Call a function with 0, then 1, 2, ... from a thread, once an interval, in the block.

    What the function raises is let go: storages may be out of reach for a while, and whether the
    trial is still ours is found out when its result is written.
    """
    stop = threading.Event()

    def count() -> None:
        number = 1
        while not stop.wait(interval):
            try:
                beat(number)
            except Exception:
                continue
            number += 1

    beat(0)
    thread = threading.Thread(target=count, daemon=True, name="sign of life")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Watch:
    """For how long each of several things has looked the same, by the clock of the observer."""

    def __init__(self) -> None:
        self._seen: dict[Any, tuple[Any, float]] = {}

    def unchanged(self, name: Any, look: Any) -> float:
        """Seconds for which something has looked as it does now."""
        now = time.monotonic()
        before, since = self._seen.get(name, (None, now))
        if name not in self._seen or before != look:
            self._seen[name] = look, now
            return 0.0
        return now - since
