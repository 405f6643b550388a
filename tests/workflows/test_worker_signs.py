"""Signs of life: which processes are gone, and what is told to whom."""

import os
import platform
import subprocess
import sys
import threading

import pytest

from paralesn.workflows import worker_signs
from paralesn.workflows.worker_signs import Watch, beating, is_gone, this_worker

linux = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


@linux
def test_processes_of_this_machine_are_looked_up():
    assert not is_gone(this_worker())
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    assert is_gone({**this_worker(), "process": ended.pid})
    assert is_gone({**this_worker(), "start": this_worker()["start"] - 1})  # a number used again


@linux
def test_a_zombie_is_gone():
    """Killed, but whoever began it has not noticed yet."""
    zombie = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"],
                              stdin=subprocess.PIPE)  # fmt: skip
    worker = {**this_worker(), "process": zombie.pid, "start": worker_signs._start(zombie.pid)}
    assert not is_gone(worker)
    zombie.kill()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(worker)
    zombie.communicate()


def test_other_machines_are_not():
    assert not is_gone({**this_worker(), "machine": "elsewhere", "process": 2**22 + 1})
    assert not is_gone({**this_worker(), "start": None})  # a system that does not tell
    assert not is_gone(None)
    assert platform.node() not in str(this_worker())


def test_beats_go_on_until_the_block_ends_whatever_happens_to_one():
    seen, enough = [], threading.Event()

    def beat(count):
        seen.append(count)
        if seen == [0, 1]:
            raise OSError("the server is away")
        if len(seen) == 4:
            enough.set()

    with beating(beat, 0.001):
        assert enough.wait(30)
    after = len(seen)
    assert seen[:4] == [0, 1, 1, 2]
    assert not any(thread.name == "sign of life" for thread in threading.enumerate())
    assert len(seen) == after


def test_a_watch_counts_from_its_first_look(monkeypatch):
    now = iter([5.0, 7.0, 8.0, 20.0, 21.0])
    monkeypatch.setattr(worker_signs.time, "monotonic", lambda: next(now))
    watch = Watch()
    assert [watch.unchanged("a", look) for look in "xxyyy"] == [0.0, 2.0, 0.0, 12.0, 13.0]
