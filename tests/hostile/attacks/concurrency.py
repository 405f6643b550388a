"""Threads, forks, pools and signals at once, amid kernels that use several threads themselves.

Every result has the very bits that one thread computes. Nothing hangs, nothing is left behind, and
BLAS has the threads that it had before, in forked children, too.

A server that has imported everything and has no threads of Python forks a process for each case.
"""

import atexit
import faulthandler
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import cache
from hashlib import sha256
from multiprocessing import resource_tracker

import numba
import numpy as np
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

import paralesn as pe
from hostile import nursery, trying
from paralesn.runtime import threads

CASES = 8
TOO_LONG = 60.0  # seconds of a case; then all its processes say where they are, and are killed
_INTERRUPTIONS = 6  # of one job; then it is left in peace

_JOBS = st.fixed_dictionaries({
    "kind": st.sampled_from(["run", "deep", "esn", "wide esn", "pool", "last", "ridge", "dual",
                             "bank"]),
    "size": st.integers(1, 3),
    "seed": st.integers(0, 2),
    "n_jobs": st.integers(1, 3),
})  # fmt: skip
_MOMENT = st.sampled_from([0.0003, 0.001, 0.003, 0.01, 0.03])  # seconds
RECIPES = st.fixed_dictionaries({
    "jobs": st.lists(_JOBS, min_size=1, max_size=5),
    "threads": st.integers(1, 4),  # the main one among them
    "by": st.sampled_from(["itself"] * 8 + ["executor"] * 4 + ["fork"] * 4 + ["spawn"]),
    "fork after": st.none() | _MOMENT,
    "signals": st.none() | st.fixed_dictionaries({"every": _MOMENT, "raise": st.booleans()}),
    "limits": st.lists(st.fixed_dictionaries({
        "of": st.sampled_from(["numba", "blas", "ours"]), "to": st.integers(1, 3)}), max_size=4),
    "warm": st.booleans(),  # whether threads have run before
})  # fmt: skip


def attack(recipe, folder):
    notes = folder / "notes"
    answer = _server().ask(recipe, str(notes))
    said = notes.read_text(encoding="utf-8", errors="replace")
    assert not answer["hung"], f"a case went on for more than {TOO_LONG:.0f} s: {said}"
    assert answer["code"] == 0, f"a case ended with {answer['code']}: {said}"
    assert not answer["lingering"], "a process was left behind"
    return "held"


class _Server:
    """The end of whoever attacks."""

    def __init__(self):
        # From a module with a name, which processes that are spawned import again.
        serve = "from hostile.attacks import concurrency; concurrency.serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=trying.environment(),
        )  # fmt: skip
        atexit.register(self._close)

    def ask(self, *request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def _close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


_server = cache(_Server)


# -- jobs ------------------------------------------------------------------------------------------


def _result(kind, size, seed, n_jobs):
    """Arrays that a job computes."""
    rng = np.random.default_rng(seed)
    if kind in ("ridge", "dual"):  # as many threads as there are: it is not asked
        rows, columns = (600, 300 * size) if kind == "ridge" else (200 * size, 900)
        fitted = pe.Ridge().fit(rng.normal(size=(rows, columns)), rng.normal(size=(rows, 2)))
        return fitted.coef_, fitted.intercept_
    more = {"seed": seed, "n_jobs": n_jobs}
    if kind == "run":
        return (pe.ParalESN(units=64, **more).run(rng.normal(size=(20_000 * size, 1)))[0],)
    if kind == "deep":
        deep = pe.ParalESN(units=32, layers=3, **more)
        return (deep.run(rng.normal(size=(10_000 * size, 1)))[0],)
    if kind in ("esn", "wide esn"):
        units, steps = (64, 2000) if kind == "esn" else (300, 300)
        return (pe.ESN(units=units, **more).run(rng.normal(size=(steps * size, 1)))[0],)
    series = rng.normal(size=(40, 500 * size, 1))
    if kind == "bank":
        bank = pe.FilterBank(units=64, thresholds=2, **more)
        return (bank.fit_transform(series[:, :, 0]),)
    reservoir = pe.ParalESN(units=64, **more)
    return (reservoir.pool(series) if kind == "pool" else reservoir.last(series),)


def _digest(job):
    """What came of a job, as text."""
    digest = sha256()
    for array in _result(job["kind"], job["size"], job["seed"], job["n_jobs"]):
        digest.update(str((array.dtype, array.shape)).encode() + np.asarray(array).tobytes())
    return digest.hexdigest()


@cache
def _serial(kind, size, seed):
    """What comes of a job on one thread."""
    with threads.limited(1):
        return _digest({"kind": kind, "size": size, "seed": seed, "n_jobs": 1})


def _blas():
    """Numbers of threads of all BLAS libraries."""
    found = (each for each in threadpool_info() if each["user_api"] == "blas")
    return sorted((each["filepath"], each["num_threads"]) for each in found)


# -- in the server ---------------------------------------------------------------------------------


def serve():
    """Answer one request after the other, until there are no more."""
    source, sink = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in source:
        recipe, notes = json.loads(line)
        truth = [_serial(job["kind"], job["size"], job["seed"]) for job in recipe["jobs"]]
        assert threading.active_count() == 1, "a job on one thread has begun another one"
        case = os.fork()
        if not case:
            _be_child(notes, lambda: _Case(recipe, truth).run())  # noqa: B023 (never returns)
        sink.write(json.dumps(_wait(case)) + "\n")
        sink.flush()


def _wait(case):
    """How a case ended, and whether anything goes on after it."""
    until, hung, done = time.monotonic() + TOO_LONG, False, 0
    while not done:
        done, status = os.waitpid(case, os.WNOHANG)
        if not hung and time.monotonic() > until:
            hung = True
            with suppress(ProcessLookupError):
                os.killpg(case, signal.SIGUSR1)
                time.sleep(1.0)
                os.killpg(case, signal.SIGKILL)
        time.sleep(0.001)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "hung": hung, "lingering": nursery._lingers(case)}


def _answer_where():
    """Let a signal tell where all threads are, of forked children, too."""
    # (`dump_traceback_later` has a thread, and waits for it forever in a forked child.)
    faulthandler.register(signal.SIGUSR1, file=2)


def _be_child(notes, do):
    """Be a forked process that does something, and end."""
    code = 1
    try:
        if notes is not None:
            os.setsid()
            os.dup2(os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND), 2)
            _answer_where()
        do()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


# -- in the process of a case ----------------------------------------------------------------------


class _Interrupted(Exception):
    """Raised by a signal, wherever the main thread is."""


class _Case:
    def __init__(self, recipe, truth):
        self.recipe, self.jobs = recipe, recipe["jobs"]
        self.truth = truth
        self.signals = 0
        self.is_armed = False  # whether a signal may raise
        self.limits = iter(recipe["limits"])
        self.has_failed = []

    def run(self):
        warnings.filterwarnings("ignore", ".*use of fork.* may lead to", DeprecationWarning)
        alone = self.recipe["threads"] == 1
        if self.recipe["warm"]:
            self.check([_digest(job | {"n_jobs": 3}) for job in self.jobs])
        before = _blas()
        others = [
            threading.Thread(target=self.be_thread, args=(number,))
            for number in range(1, self.recipe["threads"])
        ]
        for other in others:
            other.start()
        self.begin_signals()
        fork = self.fork(before) if self.recipe["fork after"] is not None else nullcontext
        with self.pool() as pool:
            asked = pool and pool(self.jobs)
            # BLAS has one number of threads: whoever changes it while another computes asks for it.
            self.check([self.main_digest(job, alone and not asked) for job in self.jobs])
            if asked:
                self.check(asked())
        for other in others:
            other.join()
        fork()
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert not self.has_failed, self.has_failed
        if not any(each["of"] == "blas" for each in self.recipe["limits"]) and not self.raises():
            assert _blas() == before, f"BLAS had {before}, has {_blas()}"
        resource_tracker._resource_tracker._stop()  # goes on for what is spawned later
        with suppress(ChildProcessError):
            raise AssertionError(f"a child was left behind: {os.waitpid(-1, os.WNOHANG)}")

    def check(self, digests, truth=None):
        truth = truth or self.truth
        wrong = [job for job, a, b in zip(self.jobs, digests, truth, strict=True) if a != b]
        assert not wrong, f"other bits than on one thread: {wrong}"

    def be_thread(self, number):
        """Do all jobs, beginning with another one than other threads do."""
        try:
            at = number % len(self.jobs)
            digests = [_digest(job) for job in self.jobs[at:] + self.jobs[:at]]
            back = len(self.jobs) - at
            self.check(digests[back:] + digests[:back])
        except BaseException:
            self.has_failed.append(traceback.format_exc())

    # Signals

    def raises(self):
        return self.recipe["signals"] is not None and self.recipe["signals"]["raise"]

    def begin_signals(self):
        signal.signal(signal.SIGALRM, self.handle)
        if self.recipe["signals"] is not None:
            every = self.recipe["signals"]["every"]
            signal.setitimer(signal.ITIMER_REAL, every, every)

    def handle(self, number, frame):
        self.signals += 1
        if self.is_armed:
            self.is_armed = False
            raise _Interrupted

    def main_digest(self, job, is_alone):
        """Do a job, again if a signal ends it."""
        for _ in range(_INTERRUPTIONS if self.raises() else 0):
            try:
                self.is_armed = True
                digest = _digest(job)
                self.is_armed = False
            except _Interrupted:
                continue
            break
        else:
            digest = self.limited_digest(job, is_alone)
        return digest

    # Numbers of threads

    def limited_digest(self, job, is_alone):
        """Do a job with another number of threads, if there is one left."""
        limit = next(self.limits, {"of": "none", "to": 0})
        if limit["of"] == "ours":
            with threads.limited(limit["to"]):
                return _digest(job)
        if limit["of"] == "numba":
            numba.set_num_threads(min(limit["to"], numba.config.NUMBA_NUM_THREADS))
        if limit["of"] == "blas" and is_alone:
            threadpool_limits(limit["to"], "blas")
        return _digest(job)

    # Processes

    def fork(self, blas):
        """Fork a child that does all jobs; how to wait for it."""
        time.sleep(self.recipe["fork after"])
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            _be_child(None, lambda: self.be_forked(write, blas))
        os.close(write)

        def wait():
            with os.fdopen(read) as pipe:
                text = pipe.read()
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code == 0, f"the forked child ended with {code}"
            answer = json.loads(text)
            self.check(answer["digests"])
            assert answer["blas"] == [list(each) for each in blas], "BLAS of a fork is limited"

        return wait

    def be_forked(self, write, blas):
        found = []
        other = threading.Thread(target=lambda: found.extend(map(_digest, self.jobs)))
        other.start()
        digests = [_digest(job) for job in self.jobs]
        other.join()
        assert found == digests, "two threads of a fork differ"
        os.write(write, json.dumps({"digests": digests, "blas": _blas()}).encode())

    def pool(self):
        """A context that gives a function from jobs to a function that waits for digests."""
        if self.recipe["by"] == "itself":
            return nullcontext()
        return _Pool(self.recipe["by"])


class _Pool:
    """Two workers of a kind, which leave nothing behind."""

    def __init__(self, by):
        if by == "executor":
            self._pool = ThreadPoolExecutor(2)
        else:
            context = multiprocessing.get_context(by)
            self._pool = context.Pool(2, _answer_where)

    def __enter__(self):
        return self._begin

    def _begin(self, jobs):
        if isinstance(self._pool, ThreadPoolExecutor):
            digests = self._pool.map(_digest, jobs)
            return lambda: list(digests)
        return self._pool.map_async(_digest, jobs).get

    def __exit__(self, *error):
        if isinstance(self._pool, ThreadPoolExecutor):
            self._pool.shutdown()
        else:
            self._pool.close()
            self._pool.join()
