"""What goes wrong in a process: it is killed or delayed at its n-th step on disk, or the disk is full.

Steps are counted, not seconds, so that a case is the same each time: opening, renaming, removing and
locking files, flushing them to the disk, and writing to standard output.
"""

import io
import os
import resource
import signal
import sys
import time

_AUDITED = ("open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.rmdir", "fcntl.flock")


def install(fault):
    """Let `fault` happen in this process.

    Parameters
    ----------
    fault : dict
        `at`, the step; `signal`, the name of one that is sent then, or `pause`, seconds. `limit`,
        the bytes that a file may have; more is an error, or the end with `torn`.
    """
    if "limit" in fault:
        limit = fault["limit"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault.get("torn") else signal.SIG_IGN)
    if "at" in fault:
        _count_steps(fault)


def _count_steps(fault):
    steps, is_busy = 0, False

    def step():
        nonlocal steps, is_busy
        if is_busy:
            return
        steps += 1
        if steps == fault["at"]:
            is_busy = True  # what handlers do is no step
            if "pause" in fault:
                time.sleep(fault["pause"])
            else:
                os.kill(os.getpid(), getattr(signal, fault["signal"]))
            is_busy = False

    def audit(event, arguments):
        if event in _AUDITED and _is_write(event, arguments):
            step()

    def fsync(handle, sync=os.fsync):
        step()
        sync(handle)

    class Output(io.TextIOWrapper):
        def flush(self):
            step()
            super().flush()
            step()

    os.fsync = fsync
    sys.stdout = Output(os.fdopen(1, "wb", closefd=False), encoding="utf-8")
    sys.addaudithook(audit)


def _is_write(event, arguments):
    """Whether an event changes the disk; modules and libraries are only read."""
    if event != "open":
        return True
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
