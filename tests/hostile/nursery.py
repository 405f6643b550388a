"""A process that has imported everything and forks children, so that each of them begins at once.

An attack kills, starves and races them. The nursery itself has one thread, so that a fork is safe.
"""

import atexit
import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hostile import trying

TOO_LONG = 60.0  # seconds of a child; then it is killed, and that is a failure
_LINGERING = 3.0  # seconds for what a child started to end after it


class _Nursery:
    """The parent's end."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hostile.nursery"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=trying.environment(),
        )  # fmt: skip
        atexit.register(self._close)

    def run(self, children):
        self._process.stdin.write(json.dumps(children) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert not answer["lingering"], "a process was left behind"
        assert not answer["hung"], f"a process went on for more than {TOO_LONG:.0f} s"
        return answer["ended"]

    def _close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


_nursery = cache(_Nursery)


class Ended(NamedTuple):
    """What a child left behind."""

    code: int
    out: str
    err: str


def run(folder, *children):
    """Run children at the same time, each a dict, and wait for them.

    Each holds `job`, a function of `jobs` by name; `arguments`, of that function; `fault`, as
    `faults.install` takes it, or none; `input`, text for standard input; `to_file`, whether its
    output goes to a file in `folder`, which faults befall, too. Otherwise pipes take what it says.
    """
    folder.mkdir(exist_ok=True)
    told = []
    for number, child in enumerate(children):
        files = [folder / f"{number}.in", folder / f"{number}.out"]
        for file, text in zip(files, (child.get("input", ""), ""), strict=True):
            file.write_text(text, encoding="utf-8")
        told.append({"fault": None, "to_file": False} | child | {"files": list(map(str, files))})
    ended = []
    for child, (code, out, err) in zip(told, _nursery().run(told), strict=True):
        if child["to_file"]:
            out = Path(child["files"][1]).read_text(encoding="utf-8")
        ended.append(Ended(code, out, err))
    return ended


# -- in the nursery --------------------------------------------------------------------------------


def main():
    """Answer one request after the other, until there are no more."""
    source, sink = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs = importlib.import_module("hostile.jobs")
    jobs.prepare()
    for line in source:
        children = [_Child(jobs, child) for child in json.loads(line)]
        sink.write(json.dumps(_wait(children)) + "\n")
        sink.flush()


class _Child:
    """A forked process, and the pipes that take what it says."""

    def __init__(self, jobs, child):
        pipes = [os.pipe() for _ in range(2)]
        self.pid = os.fork()
        if not self.pid:
            _do(jobs, child, [write for _, write in pipes])
        for _, write in pipes:
            os.close(write)
        self._said = {read: b"" for read, _ in pipes}
        self._open = {read for read, _ in pipes}
        self.code = None

    def look(self):
        """Take what it said since, and whether it has ended."""
        if self.code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if done else None
        while ready := select.select(list(self._open), [], [], 0.0)[0]:
            for read in ready:
                some = os.read(read, 1 << 16)
                self._said[read] += some
                if not some:
                    self._open.remove(read)
                    os.close(read)
        return self.code is not None

    def end(self):
        """Close the pipes; exit code and all that was said."""
        self.look()
        for read in self._open:
            os.close(read)
        return self.code, *(said.decode("utf-8") for said in self._said.values())


def _do(jobs, child, pipes):
    """Be the child."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(child["files"][0], os.O_RDONLY), 0)
        to_file = os.open(child["files"][1], os.O_WRONLY | os.O_APPEND)
        for number, pipe in enumerate(pipes, 1):
            os.dup2(to_file if number == 1 and child["to_file"] else pipe, number)
        for handle in (to_file, *pipes):
            os.close(handle)
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


def _wait(children):
    """Exit codes of children and what they said; a signal that ended one is a negative code."""
    until, hung = time.monotonic() + TOO_LONG, False
    while [child for child in children if not child.look()]:
        if time.monotonic() > until:
            hung = True
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        time.sleep(0.002)
    lingering = [child.pid for child in children if _lingers(child.pid)]
    return {"ended": [child.end() for child in children], "lingering": lingering, "hung": hung}


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
