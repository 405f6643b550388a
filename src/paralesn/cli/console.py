"""What commands print: results on standard output, everything else on standard error."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def stderr() -> Console:
    """A console for notes, progress and errors."""
    return Console(stderr=True, highlight=False)


def console_for(json: bool) -> Console:
    """A console for people: standard error where standard output is JSON for scripts."""
    return stderr() if json else Console()


def wide(console: Console) -> Console:
    """A console that does not fold tables in files and pipes, unless COLUMNS says how wide."""
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(stderr=console.stderr, width=max(console.width, 200))


def say(console: Console, text: str) -> None:
    """Print text on one line, without markup or folding; control characters are escaped."""
    from paralesn.tables.notes import shown

    console.print(shown(text), markup=False, soft_wrap=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a result for scripts."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    # JSON itself escapes only those control characters that are ASCII.
    typer.echo("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
               if not text.isprintable() else text)  # fmt: skip


def buffered_output() -> None:
    """Have standard output written to its end where Python is told not to buffer it.

    What a nearly full disk or an interrupted write did not take would be lost without an error.
    """
    out = sys.stdout
    if isinstance(raw := getattr(out, "buffer", None), io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=out.encoding, errors=out.errors, line_buffering=True
        )


def flushed(code: Any) -> Any:
    """The exit code of a command once all that it printed is out: 1 where that cannot be."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say(stderr(), f"Error: standard output cannot be written: {error}")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # Python would try it again, and complain
        return code or 1
    return code


def picture(console: Console, path: Path, draw: Callable[[Path], object]) -> bool:
    """Draw a picture if the packages for it are installed; otherwise say which are missing."""
    try:
        draw(path)
    except ModuleNotFoundError as error:
        say(console, f"No picture: {error}")
        return False
    say(console, f"Picture: {path}")
    return True


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """A progress bar on a terminal, silence elsewhere.

    Gives the function to call with what is being done and the share of it that is done.
    """
    console = stderr()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as shown:
        bar = shown.add_task("reading", total=None)

        def report(activity: str, share: float) -> None:
            total = 1.0 if share > 0 else None
            shown.update(bar, description=activity, completed=share, total=total)

        yield report
