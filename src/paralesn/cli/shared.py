"""The application, and what its commands share.

Exit codes: 0 done; 1 something else went wrong, such as a package or a disk that is missing; 2 a
wrong call; 3 data or a model that cannot be used; 4 done, but lines of a stream were skipped;
130 interrupted.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

FAILED, UNUSABLE, SKIPPED = 1, 3, 4
CODES = (
    "Exit codes: 0 done, 1 failed otherwise, 2 wrong call, 3 data or model cannot be used, "
    "4 lines of a stream were skipped, 130 interrupted."
)


class UnusableError(ValueError):
    """A model file that cannot be used for what is wanted."""


app = typer.Typer(
    name="paralesn",
    help="Parallel echo state networks: reservoir computing at memory speed.",
    epilog=CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Seed = Annotated[int, typer.Option(min=0, help="Fixes the result.")]
ModelFile = Annotated[
    Path, typer.Argument(help="A saved model.", exists=True, dir_okay=False, readable=True)
]


def _version(asked: bool) -> None:
    if asked:
        from paralesn import __version__

        typer.echo(f"paralesn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def folder(out: Path, option: str = "--out") -> Path:
    """The folder, checked to be one or that it can be made."""
    if not out.parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} does not exist", param_hint=option)
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{out} is not a folder", param_hint=option)
    return out


def picture(console: Console, path: Path, draw: Callable[[Path], object]) -> bool:
    """Draw a picture if the packages for it are installed; otherwise say which are missing."""
    try:
        draw(path)
    except ModuleNotFoundError as error:
        console.print(f"No picture: {error}", markup=False, soft_wrap=True)
        return False
    console.print(f"Picture: {path}", soft_wrap=True)
    return True


def stderr() -> Console:
    """For what is not a result: notes, progress, errors."""
    return Console(stderr=True, highlight=False)


def console_for(json: bool) -> Console:
    """Where to talk to people: where scripts read the results, not among these."""
    return stderr() if json else Console()


def wide(console: Console) -> Console:
    """A console that does not fold tables where nobody looks at it."""
    if console.is_terminal:
        return console
    return Console(stderr=console.stderr, width=max(console.width, 200))


def say(console: Console, text: str) -> None:
    """Print text as it is."""
    console.print(text, markup=False, soft_wrap=True, highlight=False)


def print_json(value: Any) -> None:
    """Print a result for scripts."""
    typer.echo(json.dumps(value, allow_nan=False, ensure_ascii=False))


@contextmanager
def failing() -> Iterator[None]:
    """Turn errors into a line on standard error and the exit code that they mean."""
    try:
        yield
    except BrokenPipeError:  # whoever reads has gone: nothing to say
        raise
    except ValueError as error:  # whatever refused the data has said why
        say(stderr(), f"Error: {error}")
        raise typer.Exit(UNUSABLE) from None
    except (ModuleNotFoundError, OSError, MemoryError) as error:
        say(stderr(), f"Error: {error or 'out of memory'}")
        raise typer.Exit(FAILED) from None


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on a terminal, silence elsewhere; it is told what is going on and how far it got."""
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as shown:
        bar = shown.add_task("reading", total=None)

        def report(what: str, share: float) -> None:
            shown.update(bar, description=what, completed=share, total=1.0 if share > 0 else None)

        yield report


def seconds_of(text: str | None) -> float | None:
    """Seconds from 90, 60s, 2m, 1h or 500ms."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?\s*", text)
    if found is None:
        raise typer.BadParameter(f"expected a time such as 60s, 2m or 90 (seconds), got {text!r}")
    factor = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    return float(found[1]) * factor[found[2]]


def load_model(path: Path, *kinds: str) -> Any:
    """A saved model, of one of the kinds named."""
    import paralesn
    from paralesn.estimators import live  # noqa: F401 (registers what streams leave behind)

    try:
        model = paralesn.load(path)
    except ValueError as error:
        raise UnusableError(str(error)) from error
    if kinds and type(model).__name__ not in kinds:
        expected = " or ".join(kinds)
        raise UnusableError(f"{path} holds a {type(model).__name__}, expected a {expected}")
    return model
