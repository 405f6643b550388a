"""``make fuzz``: attacks with new seeds until time is up, and a table of what was tried.

Each attack runs in processes of its own, a slice of time after the other, so that one which crashes
or hangs is a failure like any other. What failed is kept below ``tests/hostile/cases`` as small as it
could be made, and the tests try it from then on.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event

from rich.console import Console
from rich.live import Live
from rich.table import Table

from hostile import trying

SLICE = 60.0  # seconds of one attack before it is another's turn
STUCK = 240.0  # seconds after which a case that goes on is a failure
CHECKED = " (bounds checked)"  # behind the name of an attack whose kernels are compiled with checks


class Fuzzer:
    """Tallies of all attacks, filled by slices that several threads start."""

    def __init__(self, names: list[str], number: int) -> None:
        self.tallies = {name: trying.Tally() for name in names}
        self.seconds = dict.fromkeys(names, 0.0)
        self.stopped = Event()
        self._numbers = count(number, 100_000)  # children count on from theirs
        self._kernels = tempfile.TemporaryDirectory(prefix="hostile-kernels-")

    def slice(self, name: str, seconds: float) -> None:
        """Run an attack for so long, in another process after each that it crashed."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.stopped.is_set():
            self._run(name, left)

    def _run(self, name: str, seconds: float) -> None:
        """Run an attack in a process of its own."""
        environment = trying.environment()
        if name.endswith(CHECKED):
            environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": self._kernels.name}
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="hostile-notes-") as folder:
            notes = Path(folder)
            child = [sys.executable, "-m", "hostile.child", name.removesuffix(CHECKED)]
            with (notes / "output").open("wb") as output:
                process = subprocess.Popen(
                    [*child, str(next(self._numbers)), str(seconds), folder],
                    env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True,
                )  # fmt: skip
                why = self._watch(process, notes)
            self._add(name, notes, why)
        self.seconds[name] += time.monotonic() - began

    def _watch(self, process: subprocess.Popen, notes: Path) -> str | None:
        """Wait for a child; what was wrong with its end, None if nothing was."""
        current, began = notes / "current.json", time.time()
        try:
            while process.poll() is None:
                since = current.stat().st_mtime if current.exists() else began
                if time.time() - since > STUCK:
                    return f"a case went on for more than {STUCK:.0f} s"
                if self.stopped.wait(0.2):
                    return None
        finally:
            with suppress(ProcessLookupError):  # children that a child left behind, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if (notes / "ended").exists() and process.returncode == 0:
            return None
        return f"the process ended with {process.returncode}"

    def _add(self, name: str, notes: Path, why: str | None) -> None:
        """Count what a child noted."""
        tally = self.tallies[name]
        if (notes / "tally.json").exists():
            noted = (notes / "tally.json").read_text(encoding="utf-8")
            tally.add(trying.Tally.from_json(json.loads(noted)))
        if why is not None:
            current = notes / "current.json"
            recipe = json.loads(current.read_text(encoding="utf-8")) if current.exists() else None
            output = (notes / "output").read_text(encoding="utf-8", errors="replace")[-3000:]
            tally.outcomes["failed"] += 1
            tally.note(trying.Failure(recipe, why, output))

    def table(self) -> Table:
        """Attacks and what became of their cases."""
        table = Table("attack", "tried", "refused", "held", "failed", "minutes")
        for column in table.columns[1:]:
            column.justify = "right"
        for name, tally in self.tallies.items():
            table.add_row(name.replace("_", " "), *_row(tally, self.seconds[name]))
        whole = sum((tally.outcomes for tally in self.tallies.values()), start=trying.Counter())
        table.add_section()
        table.add_row("all", *_row(trying.Tally(whole), sum(self.seconds.values())))
        return table


def _row(tally: trying.Tally, seconds: float) -> list[str]:
    counts = [tally.outcomes.total(), *(tally.outcomes[o] for o in (*trying.OUTCOMES, "failed"))]
    return [f"{count:,}".replace(",", " ") for count in counts] + [f"{seconds / 60:.1f}"]


@contextmanager
def _shown(fuzzer: Fuzzer, console: Console) -> Iterator[None]:
    """The table as it grows, on a terminal."""
    if not console.is_terminal:
        yield
        return
    with Live(get_renderable=fuzzer.table, console=console, refresh_per_second=1, transient=True):
        yield


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hostile", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--attack", action="append", choices=trying.names(), help="default: all")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6) * 1000)
    parser.add_argument("--save", type=Path, help="file to write the table to, too")
    arguments = parser.parse_args()
    if not arguments.minutes > 0 or arguments.jobs < 1:
        parser.error("--minutes and --jobs must be positive")
    return arguments


def main() -> int:
    """Attack until time is up; 1 if anything failed."""
    arguments, console = _arguments(), Console()
    names = arguments.attack or trying.names()
    checked = [n for n in names if getattr(trying.attack_named(n), "CHECK_BOUNDS", False)]
    names = [*names, *(name + CHECKED for name in checked)]
    fuzzer = Fuzzer(names, arguments.seed)
    share = arguments.minutes * 60 * arguments.jobs / len(names)
    turns = max(1, round(share / SLICE))
    console.print(
        f"seed {arguments.seed}, {share / 60:.1f} minutes for each of {len(names)} attacks"
    )
    with _shown(fuzzer, console), ThreadPoolExecutor(arguments.jobs) as pool:
        slices = [
            pool.submit(fuzzer.slice, name, share / turns) for _ in range(turns) for name in names
        ]  # fmt: skip
        try:
            for one in slices:
                one.result()
        except KeyboardInterrupt:
            fuzzer.stopped.set()
    return _conclude(fuzzer, console, arguments)


def _conclude(fuzzer: Fuzzer, console: Console, arguments: argparse.Namespace) -> int:
    """Print the table and what failed, which is kept for the tests."""
    console.print(fuzzer.table())
    if arguments.save:
        with arguments.save.open("w", encoding="utf-8") as file:
            Console(file=file, width=100).print(fuzzer.table())
    failed = False
    for name, tally in fuzzer.tallies.items():
        for failure in tally.failures.values():
            failed = True
            console.print(f"\n{name}: {failure.where}\n{failure.text}", markup=False)
            if failure.recipe is not None:
                path = trying.keep(name.removesuffix(CHECKED), failure.recipe)
                console.print(f"kept as {path}", markup=False)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
