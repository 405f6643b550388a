"""A process that has imported everything and forks children, so that each of them begins at once.

An attack kills, starves and races them. The nursery itself has one thread, so that a fork is safe.
"""

import atexit
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from functools import cache
from pathlib import Path

TOO_LONG = 60.0  # seconds of a child; then it is killed, and that is a failure
_LINGERING = 3.0  # seconds for what a child started to end after it


class _Nursery:
    """The parent's end."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hostile.nursery"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        atexit.register(self._close)

    def run(self, children):
        self._process.stdin.write(json.dumps(children) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert not answer["lingering"], "a process was left behind"
        assert not answer["hung"], f"a process went on for more than {TOO_LONG:.0f} s"
        return answer["codes"]

    def _close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


_nursery = cache(_Nursery)


class Ended:
    """What a child left behind."""

    def __init__(self, code, folder, number):
        self.code = code
        self.out = (folder / f"{number}.out").read_text(encoding="utf-8")
        self.err = (folder / f"{number}.err").read_text(encoding="utf-8")


def run(folder, *children):
    """Run children at the same time, each a dict, and wait for them.

    Each holds `job`, a function of `jobs` by name; `arguments`, of that function; `fault`, as
    `faults.install` takes it, or none; `input`, text for standard input. Outputs go to `folder`.
    """
    folder.mkdir(exist_ok=True)
    told = []
    for number, child in enumerate(children):
        files = [str(folder / f"{number}.{name}") for name in ("in", "out", "err")]
        for file, text in zip(files, (child.get("input", ""), "", ""), strict=True):
            Path(file).write_text(text, encoding="utf-8")
        told.append({"fault": None} | child | {"files": files})
    codes = _nursery().run(told)
    return [Ended(code, folder, number) for number, code in enumerate(codes)]


# -- in the nursery --------------------------------------------------------------------------------


def main():
    """Answer one request after the other, until there are no more."""
    source, sink = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs = importlib.import_module("hostile.jobs")
    jobs.prepare()
    for line in source:
        began = [_fork(jobs, child) for child in json.loads(line)]
        answer = _wait(began)
        sink.write(json.dumps(answer) + "\n")
        sink.flush()


def _fork(jobs, child):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        for number, (name, mode) in enumerate(
            zip(child["files"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)
        ):
            os.dup2(os.open(name, mode | os.O_CREAT | os.O_APPEND, 0o666), number)
        sys.stdin = os.fdopen(0, encoding="utf-8")
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # whatever started the tests ignores
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if child["fault"] is not None:
            importlib.import_module("hostile.faults").install(child["fault"])
        getattr(jobs, child["job"])(*child["arguments"])
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
            sys.stdout.flush()
        os._exit(code)


def _wait(began):
    """Exit codes of children; a signal that ended one is negative."""
    codes, until, hung = {}, time.monotonic() + TOO_LONG, False
    while len(codes) < len(began):
        for pid in [pid for pid in began if pid not in codes]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                codes[pid] = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                hung = True
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.002)
    lingering = [pid for pid in began if _lingers(pid)]
    return {"codes": [codes[pid] for pid in began], "lingering": lingering, "hung": hung}


def _lingers(group):
    """Whether a group of processes goes on after its leader; it is then ended."""
    until = time.monotonic() + _LINGERING
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return True


if __name__ == "__main__":
    main()
