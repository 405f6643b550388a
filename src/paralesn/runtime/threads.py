"""Threads for nogil kernels: a few shared workers, safe under fork and with concurrent callers.

Numba's own layers are not: OpenMP aborts in a forked child, the workqueue aborts when two threads
enter it. Here the caller works too and waits only for workers that have begun to help it, so
nested and concurrent calls cannot deadlock, and a forked child starts with workers of its own.
(A plain queue wakes a worker within some ten microseconds; `concurrent.futures` takes a hundred,
which is as long as a small reservoir runs.)
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TypeVar

import numba

from paralesn import checks
from paralesn.runtime.process import PerProcess

Item = TypeVar("Item")
_AN_INSTANT = 1e-3  # seconds to wait for workers that are to run at the same time


class _Shared:
    """What the threads of one process share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.workers = 0


_of_process = PerProcess(_Shared)


_limit: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Let what is called use so many threads at most, by default and where more are asked for.

    For tasks of a scheduler that keeps every core busy with another task.
    """
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


def available() -> int:
    """Number of cores Numba is given (``NUMBA_NUM_THREADS``, else the process's affinity)."""
    limit, cores = _limit.get(), int(numba.config.NUMBA_NUM_THREADS)
    return cores if limit is None else min(limit, cores)


def count(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for; negative counts back from all cores."""
    n_jobs = checks.jobs(n_jobs)  # of a model from a file, which nothing has looked at before
    if n_jobs is None:
        return available()
    limit = _limit.get()
    wanted = n_jobs if n_jobs > 0 else max(1, available() + 1 + n_jobs)
    return wanted if limit is None else min(limit, wanted)


def _answer(calls: "SimpleQueue[Callable[[], None]]") -> None:
    """What a worker does all its life."""
    while True:
        calls.get()()


def _call_for_help(help_out: Callable[[], None], helpers: int) -> None:
    """Ask `helpers` workers to call `help_out`, starting workers where there are too few."""
    shared = _of_process.value
    with shared.lock:
        while shared.workers < helpers:
            try:
                threading.Thread(
                    target=_answer, args=(shared.calls,), name="paralesn", daemon=True
                ).start()
            except RuntimeError:  # no more threads to be had: those there are must do
                break
            shared.workers += 1
    for _ in range(helpers):
        shared.calls.put(help_out)


def for_each(function: Callable[[Item], None], items: Sequence[Item], threads: int) -> None:
    """Call `function` on every item, on at most `threads` threads, the caller's among them.

    The first error stops everybody after the item at hand and is raised here.
    """
    helpers = min(threads, len(items)) - 1
    if helpers < 1:
        for item in items:
            function(item)
        return

    turn = threading.Lock()
    pending = iter(items)
    closed = False
    helping = 0
    outcomes: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        nonlocal closed
        while not closed:
            with turn:
                item = next(pending, pending)
            if item is pending:
                return
            try:
                function(item)  # type: ignore[arg-type]
            except BaseException:
                closed = True
                raise

    def help_out() -> None:
        nonlocal helping
        with turn:
            if closed:  # too late: the caller is gone
                return
            helping += 1
        try:
            work()
        except BaseException as error:
            outcomes.put(error)
        else:
            outcomes.put(None)

    _call_for_help(help_out, helpers)
    try:
        work()
    finally:
        with turn:
            closed = True
        errors = [error for error in (outcomes.get() for _ in range(helping)) if error]
    if errors:
        raise errors[0]


def together(
    function: Callable[[int, int], None], threads: int, give_up: Callable[[], None]
) -> None:
    """Call ``function(rank, count)`` on several threads at the same time, so that they may meet.

    `count` is the caller and those workers, at most ``threads - 1``, that came within an instant:
    whoever is counted does run, so that waiting for each other inside `function` is safe. Should
    one of them fail, `give_up` is called and must let the others end.
    """
    changed = threading.Condition()
    ranks: list[int] = []
    count: int | None = None  # of all who take part, once that is settled; 0 if it is called off
    outcomes: SimpleQueue[BaseException | None] = SimpleQueue()

    def help_out() -> None:
        with changed:
            if count is not None:  # too late: the others have begun
                return
            ranks.append(rank := len(ranks) + 1)
            changed.notify_all()
            while count is None:
                changed.wait()
        if not count:
            return
        try:
            function(rank, count)
        except BaseException as error:
            give_up()
            outcomes.put(error)
        else:
            outcomes.put(None)

    def settle(number: int) -> None:  # once and for all
        nonlocal count
        with changed:
            if count is None:
                count = number
            changed.notify_all()

    if threads > 1:
        _call_for_help(help_out, threads - 1)
    try:
        try:
            with changed:
                changed.wait_for(lambda: len(ranks) >= threads - 1, timeout=_AN_INSTANT)
                settle(len(ranks) + 1)
            function(0, count or 1)
        except BaseException:  # an interrupt may come at any place, when the others have begun, too
            settle(0)
            give_up()
            raise
    finally:
        errors = [error for error in (outcomes.get() for _ in range((count or 1) - 1)) if error]
    if errors:
        raise errors[0]


def wavefront(
    function: Callable[[int, int], None], rows: int, columns: int, slots: int, threads: int
) -> None:
    """Call ``function(row, column)`` for every place of a grid, each row in order.

    A place comes after the one below it, (row - 1, column), and at most `slots` columns before the
    row above it, which reads what it leaves behind. Whoever is free takes the highest place that
    may be done, so that one thread alone gets through as well.
    """
    done = [0] * rows
    busy = [False] * rows
    changed = threading.Condition()
    failed = False

    def next_row() -> int | None:
        for row in reversed(range(rows)):
            column = done[row]
            fed = row == 0 or done[row - 1] > column
            room = row == rows - 1 or column - done[row + 1] < slots
            if column < columns and fed and room and not busy[row]:
                return row
        return None

    def advance() -> None:
        while True:
            with changed:
                while (row := next_row()) is None:
                    if failed or done[-1] == columns:
                        return
                    changed.wait()
                if failed:
                    return
                busy[row] = True
            function(row, done[row])
            with changed:
                busy[row] = False
                done[row] += 1
                changed.notify_all()

    def work(_: int) -> None:
        nonlocal failed
        try:
            advance()
        except BaseException:  # an interrupt comes while the caller waits, too
            with changed:
                failed = True
                changed.notify_all()
            raise

    for_each(work, range(min(threads, rows)), threads)
