"""Workers: results as they come, failures told, the killed replaced, nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from paralesn.paper import process_pool, workers

has_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")


def power(base, exponent):
    return base**exponent


def kill_first(log, number, deaths):
    """Note the call, and kill this process as long as it is not the one after so many deaths."""
    with open(log, "a") as file:
        file.write(f"{number}\n")
    if begun(log).count(number) <= deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def begun(log):
    return [int(line) for line in Path(log).read_text().split()]


def slowly(number, seconds):
    if number == 0:
        raise ZeroDivisionError("the first call")
    time.sleep(seconds)
    return number


class AwkwardError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def awkward():
    raise AwkwardError("this", "that")


def unpicklable():
    return lambda: None


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [0, 2])
def test_results_come_with_their_numbers(jobs):
    found = dict(workers.each(power, [(2, n) for n in range(6)], jobs))
    assert found == {n: 2**n for n in range(6)}
    assert list(workers.each(power, [], jobs)) == []


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [0, 2])
def test_a_failure_is_told_with_the_name_of_its_call(jobs):
    with pytest.raises(ZeroDivisionError) as caught:
        list(workers.each(power, [(2, 1), (0, -1)], jobs, names=["two", "zero"]))
    assert "while doing zero" in caught.value.__notes__


@pytest.mark.slow
def test_calls_under_way_end_before_a_failure_is_told_and_no_other_begins():
    results = []
    with pytest.raises(ZeroDivisionError):
        results.extend(workers.each(slowly, [(0, 0), (1, 1.0), (2, 0), (3, 0)], 1))
    assert results == []  # one process: nothing else was under way
    with pytest.raises(ZeroDivisionError):
        results.extend(workers.each(slowly, [(1, 1.5), (0, 0), (3, 0), (4, 0)], 2))
    assert (0, 1) in results
    assert (3, 4) not in results


@pytest.mark.slow
@pytest.mark.parametrize(("function", "error"), [(awkward, TypeError), (unpicklable, RuntimeError)])
def test_what_cannot_come_back_is_an_error_not_a_death(function, error):
    with pytest.raises(error):
        list(workers.each(function, [()], 1))


@pytest.mark.slow
@has_kill
def test_a_killed_child_costs_its_call_and_no_other(tmp_path):
    log = str(tmp_path / "log")
    calls = [(log, n, 1 if n == 2 else 0) for n in range(6)]
    found = dict(workers.each(kill_first, calls, 2))
    assert found == {n: n for n in range(6)}
    assert sorted(begun(log)) == [0, 1, 2, 2, 3, 4, 5]


@pytest.mark.slow
@has_kill
def test_a_call_that_kills_every_child_is_given_up_by_name_after_the_others(tmp_path):
    log, found = str(tmp_path / "log"), []
    names = ["the first", "the second", "c", "d", "e"]
    calls = [(log, n, 99 if n == 1 else 0) for n in range(5)]
    with pytest.raises(process_pool.KilledError, match=r"3 workers were killed.*the second$"):
        found.extend(workers.each(kill_first, calls, 2, names=names))
    assert sorted(found) == [(0, 0), (2, 2), (3, 3), (4, 4)]
    assert begun(log).count(1) == process_pool.MOST_DEATHS
    assert len(begun(log)) == 4 + process_pool.MOST_DEATHS


def die():
    os._exit(3)


@pytest.mark.slow
def test_processes_that_never_begin_are_not_begun_for_ever():
    with pytest.raises(process_pool.KilledError, match="ended before they had begun"):
        list(workers.each(power, [(2, 1)], 1, die))


@pytest.mark.slow
def test_processes_end_with_who_asked_for_them():
    with closing(workers.each(os.getpid, [()] * 3, 2)) as results:
        _, process = next(results)
    assert not alive(process)


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
@has_kill
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
