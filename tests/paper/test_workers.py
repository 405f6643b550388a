"""Worker processes: results as they come, failures told, nobody left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from paralesn.paper import workers


def power(base, exponent):
    return base**exponent


@pytest.mark.slow
def test_results_come_with_their_numbers():
    found = dict(workers.each(power, [(2, n) for n in range(6)], 2))
    assert found == {n: 2**n for n in range(6)}


@pytest.mark.slow
def test_a_failure_is_told():
    with pytest.raises(ZeroDivisionError):
        list(workers.each(power, [(2, 1), (0, -1)], 2))


PARENT = """
import os, sys, time
from paralesn.paper import workers

os.getppid = lambda: 1  # as on Windows, where it never changes

def work(_):
    print(os.getpid(), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    list(workers.each(work, [(0,), (1,)], 2))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        found = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
        parent.wait()
        until = time.monotonic() + 30
        while time.monotonic() < until and any(map(alive, found)):
            time.sleep(0.1)
        assert not any(map(alive, found))


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
