"""Threads: safe under fork, nesting and concurrent callers, and errors come through."""

import linecache
import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import paralesn as pe
from paralesn.engines.cpu.kernels.barrier import meet
from paralesn.runtime import blas, threads
from paralesn.runtime.compiler import kernel

X = np.random.default_rng(0).normal(size=(8, 4000, 1))


def states(n_jobs=2):
    return pe.ParalESN(units=100, n_jobs=n_jobs).run(X)[0]


def _child(queue):
    res = pe.ParalESN(units=100, n_jobs=2)
    queue.put((float(res.run(X)[0].sum()), float(res.last(np.repeat(X, 20, axis=0)).sum())))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_can_run_after_its_parent_did():
    expected = float(states().sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    sums = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert [total for total, _ in sums] == [expected, expected]


def test_concurrent_callers_get_the_same_numbers():
    expected = states(1)
    with ThreadPoolExecutor(6) as pool:
        for result in pool.map(lambda _: states(2), range(12)):
            np.testing.assert_array_equal(result, expected)


def test_nested_parallelism():
    """Callers on our own pool's threads must not wait for each other."""
    results = [None] * 4

    def work(i):
        results[i] = states(2)

    threads.for_each(work, range(4), 4)
    expected = states(1)
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_nested_inside_numbas_own_threads():
    """Numba's parallel layer may be in use by others; we neither need nor disturb it."""

    @numba.njit(parallel=True)
    def others(n):
        total = 0
        for i in numba.prange(n):
            total += i
        return total

    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert others(10) == 45
        states(2)
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)


def test_an_error_in_a_thread_reaches_the_caller():
    def work(i):
        if i == 5:
            raise ZeroDivisionError("five")
        time.sleep(0.001)

    with pytest.raises(ZeroDivisionError, match="five"):
        threads.for_each(work, range(20), 3)
    with pytest.raises(ZeroDivisionError, match="five"):
        threads.for_each(work, range(20), 1)


def test_after_an_error_no_thread_starts_another_item():
    started = []

    def work(i):
        started.append(i)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threads.for_each(work, range(1000), 2)
    assert len(started) <= 2


def test_every_item_is_done_once():
    seen = []
    lock = threading.Lock()

    def work(i):
        with lock:
            seen.append(i)

    threads.for_each(work, range(500), 7)
    assert sorted(seen) == list(range(500))


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 4), (1, 1), (9, 9), (-1, 4), (-2, 3), (-9, 1)]
)
def test_number_of_threads(n_jobs, expected, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)
    assert threads.count(n_jobs) == expected


def blas_threads():
    return {
        lib["filepath"]: lib["num_threads"]
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    }


@pytest.mark.parametrize("before", [1, 2])
def test_blas_gets_its_threads_back(before):
    with threadpool_limits(before, "blas"):
        at_first = blas_threads()
        with blas.single_threaded_blas():
            assert set(blas_threads().values()) <= {1}
            with blas.single_threaded_blas():
                pass
            assert set(blas_threads().values()) <= {1}
        assert blas_threads() == at_first
        with pytest.raises(ZeroDivisionError), blas.single_threaded_blas():
            raise ZeroDivisionError
        assert blas_threads() == at_first


def test_an_interrupt_on_the_way_into_a_limit_leaves_none():
    def enter(interrupted_at):
        """Enter and leave, interrupted at a line of `blas` counted from the first; lines seen."""
        lines = 0

        def trace(frame, event, _):
            nonlocal lines
            if frame.f_code.co_filename != blas.__file__:
                return None
            text = linecache.getline(blas.__file__, frame.f_lineno)
            # No signal is looked at between the last line under a lock and its release.
            is_leaving_the_lock = blas._of_process.value.lock.locked() and "with " in text
            if event == "line" and not is_in and not is_leaving_the_lock:
                lines += 1
                if lines == interrupted_at:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        is_in = False
        sys.settrace(trace)
        try:
            with blas.single_threaded_blas():
                is_in = True
        finally:
            sys.settrace(None)
        return lines

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        count = enter(None)
        assert count > 5
        for line in range(2, count + 1):  # nothing is held before the second
            with pytest.raises(KeyboardInterrupt):
                enter(line)
            assert blas_threads() == before
            with blas.single_threaded_blas():
                assert set(blas_threads().values()) <= {1}
            assert blas_threads() == before


def _tell_blas_threads(pipe):
    pipe.send(blas_threads())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_another_thread_limits_blas_is_not_limited():
    limited, forked = threading.Event(), threading.Event()

    def limit():
        with blas.single_threaded_blas():
            limited.set()
            forked.wait()

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        other = threading.Thread(target=limit)
        other.start()
        limited.wait()
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        child = context.Process(target=_tell_blas_threads, args=(there,))
        child.start()
        forked.set()
        other.join()
        assert here.poll(30)
        assert here.recv() == before
        child.join()
        assert child.exitcode == 0


# -- at the same time ------------------------------------------------------------------------------


@kernel
def _take_turns(counter, seen, rank, count):
    """Each thread reads in every round what the next one wrote in the round before."""
    for t in range(200):
        other = seen[(t % 2), (rank + 1) % count]
        seen[((t + 1) % 2), rank] = other + 1
        meet(counter, (t + 1) * count)


@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
def test_threads_meet_after_every_round(wanted):
    counter, seen = np.zeros(1, np.int64), np.zeros((2, 8), np.int64)
    counts = set()

    def work(rank, count):
        counts.add(count)
        _take_turns(counter, seen, rank, count)

    threads.together(work, wanted, lambda: None)
    (count,) = counts  # all agree on how many they are
    assert 1 <= count <= wanted
    assert (seen[0, :count] == 200).all()


def test_busy_workers_are_not_waited_for():
    """Called from inside a parallel loop, where no worker is free."""
    counter = [np.zeros(1, np.int64) for _ in range(6)]
    seen = [np.zeros((2, 8), np.int64) for _ in range(6)]

    def one(i):
        threads.together(lambda rank, count: _take_turns(counter[i], seen[i], rank, count), 3, bool)

    threads.for_each(one, range(6), 3)
    assert all((s[0, 0] == 200) for s in seen)


def test_an_error_on_any_thread_is_raised():
    """The others, who wait for it, are let go."""
    for failing in (0, 1):
        counter = np.zeros(1, np.int64)

        def work(rank, count, failing=failing, counter=counter):
            if rank == min(failing, count - 1):
                raise RuntimeError("one of them fails")
            _take_turns(counter, np.zeros((2, 8), np.int64), rank, count)

        with pytest.raises(RuntimeError, match="one of them fails"):
            threads.together(work, 2, lambda counter=counter: counter.fill(1 << 62))


def test_an_interrupt_just_when_all_begin_lets_the_others_end(monkeypatch):
    class Interrupted(threading.Condition):
        """Interrupts the caller once it has told the others to begin, and lets them do so."""

        def notify_all(self):
            super().notify_all()
            if threading.current_thread() is caller and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt

        def __exit__(self, *error):
            super().__exit__(*error)
            if threading.current_thread() is caller and interrupted:
                time.sleep(0.1)

    caller, interrupted, ended = threading.current_thread(), [], []
    given_up = threading.Event()

    def wait(rank, count):
        ended.append((rank, given_up.wait(30)))

    monkeypatch.setattr(threads, "_AN_INSTANT", 30)
    monkeypatch.setattr(threads.threading, "Condition", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.together(wait, 3, given_up.set)
    assert sorted(ended) == [(1, True), (2, True)]
