"""A pool of processes on this machine, which outlives those of its processes that are killed.

Each process has a pipe of its own and one call at a time, so that a process that is killed spoils
nothing but that call: another process does it again. (`concurrent.futures` ends all of its
processes when one of them is gone, and with them the calls that they were at.)
"""

import atexit
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

MOST_DEATHS = 3  # of processes at one call, before it is given up; or of new ones before any call
_READY = -1  # the number of no call
_GONE = (EOFError, OSError)  # what a pipe says whose other end was killed
_PATIENCE = 10.0  # seconds for an idle process to end

Calls = Sequence[tuple[Any, ...]]


class KilledError(RuntimeError):
    """Calls that were given up because whoever tried them was killed."""


def given_up(names: Sequence[str], deaths: int) -> KilledError:
    """The error that names calls which killed so many workers each."""
    return KilledError(
        f"given up after {deaths} workers were killed at it, perhaps for want of memory: "
        + "; ".join(names)
    )


def each(
    function: Callable[..., Any],
    calls: Calls,
    jobs: int,
    prepare: Callable[[], Any] | None,
    names: Sequence[str],
) -> Generator[tuple[int, Any]]:
    """Results of all calls as they come, by `jobs` processes; see `workers.each`."""
    pool = _Pool(function, calls, jobs, prepare)
    failed: BaseException | None = None
    try:
        while pool.is_busy():
            try:
                outcomes = pool.wait()
            except KeyboardInterrupt as interruption:  # what is done already is still handed over
                pool.begin_no_more()
                failed, outcomes = interruption, pool.wait(0.0)
            for number, result, error in outcomes:
                if error is None:
                    yield number, result
                    continue
                error.add_note(f"while {_activity(number, names)}")
                failed = failed or error
            if isinstance(failed, KeyboardInterrupt):
                break
    finally:
        pool.close()
    if failed is not None:
        raise failed
    if pool.hopeless:
        raise given_up([names[number] for number in pool.hopeless], MOST_DEATHS)


def _activity(number: int, names: Sequence[str]) -> str:
    return "beginning" if number == _READY else f"doing {names[number]}"


Outcome = tuple[int, Any, BaseException | None]  # the number of a call, its result or its error


class _Pool:
    """Processes, and which call each of them is at."""

    def __init__(
        self,
        function: Callable[..., Any],
        calls: Calls,
        jobs: int,
        prepare: Callable[[], Any] | None,
    ) -> None:
        self.function, self.calls, self.prepare = function, calls, prepare
        self.waiting = deque(range(len(calls)))
        self.deaths = [0] * len(calls)
        self.stillborn = 0
        self.hopeless: list[int] = []
        self.workers: list[_Worker] = []
        self.jobs = jobs
        atexit.register(self.close)  # before multiprocessing waits for processes that wait for us

    def is_busy(self) -> bool:
        """Whether any call is to be done or under way."""
        return bool(self.waiting) or any(worker.number is not None for worker in self.workers)

    def begin_no_more(self) -> None:
        """Let the calls under way be the last ones."""
        self.waiting.clear()

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """What came since: results and errors, after at most so many seconds."""
        for worker in self.workers:
            if worker.number is None and self.waiting:  # a call that came back
                self._employ(worker)
        wanted = min(self.jobs, len(self.waiting) + sum(w.is_at_a_call() for w in self.workers))
        while timeout is None and len(self.workers) < wanted:
            self.workers.append(_Worker(self.prepare))
        by_handle: dict[Any, _Worker] = {}
        for worker in self.workers:
            by_handle |= {worker.connection: worker, worker.process.sentinel: worker}
        heard = [by_handle[handle] for handle in wait(list(by_handle), timeout)]
        outcomes: list[Any] = []
        for worker in dict.fromkeys(heard):  # once, though it may have spoken and died
            try:
                result, error = worker.connection.recv()
            except _GONE:
                self._bury(worker)
                continue
            except Exception as unreadable:  # an error whose class cannot be made from its text
                result, error = None, unreadable
            if worker.is_at_a_call() or error is not None:
                outcomes.append((worker.number, result, error))
            if error is not None:
                self.begin_no_more()
            self.stillborn = 0
            self._employ(worker)
        return outcomes

    def _employ(self, worker: "_Worker") -> None:
        """Give the next call to a process that has none; one that is dead is heard of later."""
        worker.number = self.waiting.popleft() if self.waiting else None
        if worker.number is not None:
            worker.send((self.function, self.calls[worker.number]))

    def _bury(self, worker: "_Worker") -> None:
        """Put the call of a process that is gone back, as the last, unless it killed too many."""
        self.workers.remove(worker)
        worker.end(0.0)
        number = worker.number
        if number == _READY:
            self.stillborn += 1
            if self.stillborn == MOST_DEATHS:
                raise KilledError(
                    f"{MOST_DEATHS} processes ended before they had begun; a script that begins "
                    "processes must do so under `if __name__ == '__main__':`"
                )
        elif number is not None:
            self.deaths[number] += 1
            if self.deaths[number] < MOST_DEATHS:
                self.waiting.append(number)
            else:
                self.hopeless.append(number)

    def close(self) -> None:
        """End all processes: idle ones end by themselves, others are not waited for."""
        atexit.unregister(self.close)
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.end(_PATIENCE if worker.number is None else 0.0)


class _Worker:
    """A process, the pipe to it, and the number of the call that it is at."""

    def __init__(self, prepare: Callable[[], Any] | None) -> None:
        context = get_context("spawn")  # threads of this process do not survive a fork
        self.connection, other = context.Pipe()
        self.number: int | None = _READY  # once it says so
        self.process = context.Process(target=_work, args=(other, prepare), daemon=False)
        self.process.start()
        other.close()  # so that the pipe breaks when the process is gone

    def is_at_a_call(self) -> bool:
        return self.number is not None and self.number != _READY

    def send(self, message: Any) -> None:
        """Send to a process that may be gone by now, which the next wait tells."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def end(self, patience: float) -> None:
        """Close the pipe, which ends an idle process; kill one that does not end in time."""
        self.connection.close()
        self.process.join(patience)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


# -- in the process --------------------------------------------------------------------------------


def _work(connection: Connection, prepare: Callable[[], Any] | None) -> None:
    """Answer one call after the other, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    outcome = _outcome(_begin, (prepare,))
    while True:
        _send(connection, outcome)
        try:
            function, call = connection.recv()
        except EOFError:
            return
        except Exception as error:  # a function or an argument that is not known here
            outcome = None, error
            continue
        outcome = _outcome(function, call)


def _outcome(function: Callable[..., Any], call: tuple[Any, ...]) -> tuple[Any, Any]:
    """The result of a call and None, or None and its error, which tells where it arose."""
    try:
        return function(*call), None
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return None, error


def _send(connection: Connection, outcome: tuple[Any, Any]) -> None:
    """Send an outcome; what cannot be sent is an error that can."""
    try:
        connection.send(outcome)
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)
    except Exception as error:  # it cannot be pickled
        told = outcome[1] if outcome[1] is not None else error
        connection.send((None, RuntimeError(f"{type(told).__name__}: {told}")))


def _begin(prepare: Callable[[], Any] | None) -> None:
    """Keep BLAS on one thread, and end with the parent, even where that was killed."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare()


def _end_with(sentinel: int) -> None:
    """Wait for what breaks when the parent is gone: the end of a pipe, or a handle on Windows."""
    wait([sentinel])
    os._exit(1)
