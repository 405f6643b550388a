"""What Windows does otherwise, played on the system at hand; Windows itself is not tested here."""

import ctypes
import errno
import os
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from numba import types

from paralesn.engines.cpu.kernels import barrier
from paralesn.paper import records
from paralesn.runtime import file_lock
from paralesn.runtime.compiler import kernel

# -- records ---------------------------------------------------------------------------------------


class Locks:
    """Stands for msvcrt: one byte of a file can be locked, by one process at a time."""

    LK_LOCK, LK_UNLCK = 1, 0

    def __init__(self, path, refusals):
        self.path, self.refusals, self.calls = path, refusals, []

    def locking(self, handle, mode, count):
        at = os.lseek(handle, 0, os.SEEK_CUR)
        self.calls.append((mode, at, count, self.path.stat().st_size))
        if mode == self.LK_LOCK and self.refusals:
            raise OSError(self.refusals.pop(), "another process holds it")


@pytest.fixture
def windows_locks(tmp_path, monkeypatch):
    def make(*refusals):
        locks = Locks(tmp_path / "records.jsonl", list(refusals))
        monkeypatch.setitem(sys.modules, "fcntl", None)  # importing it is an ImportError
        monkeypatch.setitem(sys.modules, "msvcrt", locks)
        return locks

    return make


def test_records_are_appended_under_a_lock_without_fcntl(windows_locks):
    locks = windows_locks()
    records.append(locks.path, {"i": 0})
    size = locks.path.stat().st_size
    records.append(locks.path, {"i": 1})
    assert [record["i"] for record in records.read(locks.path)] == [0, 1]
    # Locked before anything is read, released when everything is in the file; never a byte of it.
    far = file_lock.FAR
    assert locks.calls == [
        (1, far, 1, 0),
        (0, far, 1, size),
        (1, far, 1, size),
        (0, far, 1, 2 * size),
    ]


def test_a_lock_that_another_process_holds_is_waited_for(windows_locks):
    locks = windows_locks(errno.EDEADLK, errno.EACCES, errno.EDEADLK)
    records.append(locks.path, {"i": 0})
    assert [call[0] for call in locks.calls] == [1, 1, 1, 1, 0]
    assert list(records.read(locks.path)) == [{"i": 0}]


def test_a_file_that_cannot_be_locked_at_all_is_an_error(windows_locks):
    locks = windows_locks(errno.EBADF)
    with pytest.raises(OSError, match="another process holds it"):
        records.append(locks.path, {"i": 0})
    assert locks.path.read_bytes() == b""


# -- the barrier -----------------------------------------------------------------------------------


def test_a_waiting_thread_gives_its_core_away_and_then_sleeps(monkeypatch):
    """kernel32 is played by two functions that count their calls."""
    calls = {"yield": 0, "sleep": []}

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def switch_to_thread():
        calls["yield"] += 1
        return 0

    @ctypes.CFUNCTYPE(None, ctypes.c_uint32)
    def sleep(milliseconds):
        calls["sleep"].append(milliseconds)

    kernel32 = SimpleNamespace(SwitchToThread=switch_to_thread, Sleep=sleep)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel32), raising=False)
    give_way, rest = barrier.yielding("win32")

    @kernel
    def wait(rounds):
        for _ in range(rounds):
            give_way()
            rest(types.uint32(1))

    wait(3)
    assert calls == {"yield": 3, "sleep": [1, 1, 1]}


@kernel
def _wait_for_two(counter):
    barrier.meet(counter, 2)


def test_a_thread_that_waits_long_uses_little_of_the_processor():
    """The one it waits for comes after a while; spinning all the time would be found here."""
    counter, used = np.zeros(1, np.int64), []
    _wait_for_two(np.full(1, 2))  # compile

    def wait():
        before = time.thread_time()  # of the processor, not of the clock
        _wait_for_two(counter)
        used.append(time.thread_time() - before)

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.6)
    assert waiting.is_alive()
    counter[0] += 1
    waiting.join(30)
    assert not waiting.is_alive()
    assert used[0] < 0.4
