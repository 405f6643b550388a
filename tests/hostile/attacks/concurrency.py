"""Threads, forks, pools and signals at once: results are those of one thread, to the bit, in time.

What is risky happens in a forked child, which is killed if it hangs, and then says where it did.
"""

import faulthandler
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

import numpy as np
from hypothesis import strategies as st

import paralesn as pe
from paralesn.runtime import threads
from paralesn.runtime.compiler import kernel  # noqa: F401  # kernels are loaded before any fork

CASES = 12
PATIENCE = 90.0  # seconds until a child hangs: cases take about one

RESERVOIRS = {
    "plain": lambda jobs: pe.ParalESN(units=200, n_jobs=jobs),
    "deep": lambda jobs: pe.ParalESN(units=150, layers=3, n_jobs=jobs),
    "float32": lambda jobs: pe.ParalESN(units=130, dtype="float32", n_jobs=jobs),
    "dense": lambda jobs: pe.ESN(units=200, n_jobs=jobs),
    "nvar": lambda jobs: pe.NVAR(delay=6, order=2, n_jobs=jobs),
    "local": lambda jobs: pe.LocalReservoirs(pe.ParalESN(units=40, n_jobs=jobs), size=1, overlap=0),
}
SHAPES = {"long": (1, 6000), "few": (3, 1500), "many": (90, 40)}
EVENTS = ("nothing", "fork", "fork of a fork", "pool of forks", "alarms", "interrupts", "limits",
          "collections", "spawn")  # fmt: skip
WAYS = ("run", "pool", "last", "stream", "step")

RECIPES = st.fixed_dictionaries(
    {
        "tasks": st.lists(
            st.tuples(
                st.sampled_from(sorted(RESERVOIRS)), st.sampled_from(sorted(SHAPES)),
                st.sampled_from(WAYS), st.sampled_from([1, 2, 3, 5]),
            ).map(list),
            min_size=1, max_size=3,
        ),
        "threads": st.integers(1, 6),
        "rounds": st.integers(1, 3),
        "event": st.sampled_from(EVENTS),
        "shared": st.booleans(),
        "seed": st.integers(0, 10**6),
    }
)  # fmt: skip


def attack(recipe, folder):
    """One storm in a child, whose results must be those of a quiet thread."""
    tasks = [tuple(task) for task in recipe["tasks"]]
    for task in tasks:
        expected(*task[:3])
    said = folder / "said"
    child = os.fork()
    if not child:
        os._exit(in_child(lambda: storm(recipe, tasks), said))
    code = waited(child, PATIENCE)
    text = said.read_text(encoding="utf-8") if said.exists() else "nothing"
    assert code is not None, f"it hangs:\n{text}"
    assert code == 0, f"it ended with {code}:\n{text}"
    return "held"


def in_child(work, said):
    """Do some work; the exit code, 0 if it held. Says in a file what was wrong."""
    with said.open("w", encoding="utf-8") as file:
        faulthandler.dump_traceback_later(PATIENCE - 5, file=file)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", DeprecationWarning
                )  # forks of threads are the point
                work()
        except BaseException:
            traceback.print_exc(file=file)
            return 1
    return 0


def waited(child, seconds):
    """Exit code of a child, None if it had to be killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


# -- tasks -----------------------------------------------------------------------------------------


@cache
def inputs(shape):
    count, steps = SHAPES[shape]
    return np.random.default_rng(3).normal(size=(count, steps, 1))


@cache
def expected(name, shape, way):
    """What one thread makes of a task, which compiles what it takes, too."""
    return result(RESERVOIRS[name](1), shape, way)


def result(reservoir, shape, way):
    x = inputs(shape)
    if way == "run":
        states, state = reservoir.run(x)
        return [states[:, ::50].copy(), states[:, -1].copy(), *state.layers]
    if way == "pool":
        return [reservoir.pool(x, ("mean", "std"), segments=2)]
    if way == "last":
        states, state = reservoir.last(x, return_state=True)
        return [states, *state.layers]
    if way == "stream":
        return [states[:, -1].copy() for states in reservoir.stream(x, block=700)]
    step, rows = reservoir.stepper(batch=len(x), n_features=1), x[:, :30]
    return [step(rows[:, t]) for t in range(rows.shape[1])] + list(step.state.layers)


def compare(task, reservoir=None):
    """Do a task, and compare."""
    name, shape, way, jobs = task
    got = result(RESERVOIRS[name](jobs) if reservoir is None else reservoir, shape, way)
    for part, wanted in zip(got, expected(name, shape, way), strict=True):
        np.testing.assert_array_equal(part, wanted, err_msg=f"{task} in {os.getpid()}")


def compare_all(tasks):
    for task in tasks:
        compare(task)
    return True


# -- storms ----------------------------------------------------------------------------------------


def storm(recipe, tasks):
    """Threads at their tasks, while something happens."""
    rng = random.Random(recipe["seed"])
    reservoirs = {task: RESERVOIRS[task[0]](task[3]) for task in tasks} if recipe["shared"] else {}
    limits = recipe["event"] == "limits"

    def work(number):
        own = random.Random(recipe["seed"] + number)
        for _ in range(recipe["rounds"]):
            for task in own.sample(tasks, len(tasks)):
                if limits:
                    with threads.limited(own.randint(1, 4)):
                        compare(task, reservoirs.get(task))
                else:
                    compare(task, reservoirs.get(task))

    with ThreadPoolExecutor(recipe["threads"]) as pool:
        busy = [pool.submit(work, number) for number in range(recipe["threads"])]
        HAPPENS[recipe["event"]](rng, tasks, busy)
        for one in busy:
            one.result()
    compare_all(tasks)  # and afterwards all is well


def nothing(rng, tasks, busy):
    compare_all(tasks)


def fork(rng, tasks, busy, depth=1):
    """Children that are forked while threads are at work, and work themselves."""
    for _ in range(2):
        time.sleep(rng.random() * 0.02)
        child = os.fork()
        if not child:
            code = 1
            try:
                if depth > 1:
                    fork(rng, tasks, busy, depth - 1)
                compare_all(tasks)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = waited(child, PATIENCE / 3 * depth)
        assert code == 0, f"a forked child ended with {code} (None: it hung)"


def fork_of_fork(rng, tasks, busy):
    fork(rng, tasks, busy, depth=2)


def pool_of_forks(rng, tasks, busy):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert all(pool.map(compare_all, [tasks] * 3, timeout=PATIENCE / 2))


def spawn(rng, tasks, busy):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(compare_all, tasks).result(timeout=PATIENCE / 2)


def alarms(rng, tasks, busy):
    """A handler of signals that uses the package itself, at any time."""
    small, calls = pe.ParalESN(units=8, n_jobs=2), []
    wanted = small.run([0.1, 0.2])[0]

    def handle(*_):
        calls.append(small.run([0.1, 0.2])[0])

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.003)
    try:
        compare_all(tasks)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for got in calls:
        np.testing.assert_array_equal(got, wanted)


def interrupts(rng, tasks, busy):
    """Ctrl-C at random moments: what was interrupted is begun again."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    over = threading.Event()

    def press():
        for _ in range(12):
            if over.wait(rng.random() * 0.05):
                return
            os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    left = list(tasks) * 2
    try:
        presser.start()
        while left:
            try:
                compare(left[0])
                left.pop(0)
            except KeyboardInterrupt:
                continue
    finally:
        settle(over, presser)
        signal.signal(signal.SIGINT, before)


def settle(over, presser):
    """Wait until nobody presses any more."""
    while presser.is_alive():
        try:
            over.set()
            presser.join()
        except KeyboardInterrupt:
            continue


def collections(rng, tasks, busy):
    """Threads that change places often, and a garbage collector that is always at work."""
    import gc

    interval, limits = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-5)
    gc.set_threshold(5)
    try:
        compare_all(tasks)
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*limits)


HAPPENS = {
    "nothing": nothing, "limits": nothing, "fork": fork, "fork of a fork": fork_of_fork,
    "pool of forks": pool_of_forks, "spawn": spawn, "alarms": alarms, "interrupts": interrupts,
    "collections": collections,
}  # fmt: skip
