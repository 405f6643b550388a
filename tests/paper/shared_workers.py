"""Worker processes for tests of shared studies: begun in a moment, killed at will.

One process imports everything and forks a worker for each line that it reads, so that workers begin
together, and tests on one core do not spend their time on imports.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path

STUDY = ("narma10", "ESN", "paper")
START = {"rho": 0.5, "tau": 0.1, "input_scale": 0.1, "bias_scale": 0.1}


def main():
    """Fork a worker for each line of JSON, and print its number."""
    for name in ("optuna.storages._rdb.models", "psycopg", "redis", "paralesn.paper.bayesian"):
        import_module(name)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    print("ready", flush=True)
    for line in sys.stdin:
        if (process := os.fork()) == 0:
            try:
                _work(**json.loads(line))
            except BaseException as error:
                if not isinstance(error, KeyboardInterrupt):
                    with open(json.loads(line)["log"] + ".errors", "a") as file:
                        traceback.print_exc(file=file)
            os._exit(0)
        print(process, flush=True)


def _work(storage, log, trials, pause, hold_from, machine, begin):
    """Work on the study with a loss that takes no time; hold on from a seed on."""
    import numpy as np

    from paralesn.paper import bayesian, search
    from paralesn.workflows import worker_signs

    def losses(task, model, configuration, penalties, seed):
        with open(log, "a") as file:
            file.write(json.dumps([configuration, seed, os.getpid()]) + "\n")
        if hold_from is not None and seed >= hold_from:
            time.sleep(600)
        time.sleep(pause if seed < bayesian.FIRST_SEED + 3 else 0)  # finalists take no time
        return abs(configuration["rho"] - 0.5) + 0.01 * configuration["tau"] + np.array(penalties)

    bayesian.losses, bayesian._starts = losses, lambda *_: [START]
    if machine is not None:
        worker_signs._machine = lambda: machine
    while not Path(begin).exists():
        time.sleep(0.001)
    signs = worker_signs.Signs(interval=0.3, grace=1.5, poll=0.05)
    bayesian.work(*STUDY, storage, search.Budget(trials), signs)


class Nursery:
    """Begins workers; see `main`."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(command, text=True, **pipes)
        assert self._process.stdout.readline() == "ready\n"

    def fork(self, **options):
        self._process.stdin.write(json.dumps(options) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        self._process.communicate()


class Workers:
    """Processes that work on the study, and the evaluations that they did."""

    def __init__(self, nursery, storage, folder):
        self._nursery, self._folder, self.storage = nursery, folder, storage
        self._log, self._processes, self._begun = folder / "evaluations", [], 0

    def start(self, count=1, trials=12, pause=0.01, hold_from=None, machine=None):
        """Begin some, all at the same moment."""
        self._begun += 1
        begin = self._folder / f"begin-{self._begun}"
        options = {"storage": self.storage, "log": str(self._log), "trials": trials, "pause": pause,
                   "hold_from": hold_from, "machine": machine, "begin": str(begin)}  # fmt: skip
        begun = [self._nursery.fork(**options) for _ in range(count)]
        self._processes += begun
        begin.touch()
        return begun

    def finish(self):
        """Wait for those that were not killed; none may have failed."""
        self._until(lambda: not any(map(is_running, self._processes)))
        errors = Path(f"{self._log}.errors")
        assert not errors.exists(), errors.read_text()

    def end(self, process, number=signal.SIGKILL):
        os.kill(process, number)
        self._until(lambda: not is_running(process))

    def end_all(self):
        for process in filter(is_running, self._processes):
            self.end(process)

    def evaluations(self):
        text = self._log.read_text() if self._log.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def wait_for(self, count, seed=0):
        """Wait for evaluations with a seed, or with those that follow it."""
        self._until(lambda: sum(s >= seed for _, s, _ in self.evaluations()) >= count)

    def _until(self, is_so):
        ends = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < ends
            time.sleep(0.01)


def is_running(process):
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


if __name__ == "__main__":
    main()
