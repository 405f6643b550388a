"""The application: its version, its exit codes, and how errors become them.

Exit codes: 0 done; 1 failed for another reason, such as a missing package or a full disk; 2 a wrong
call; 3 data or a model that cannot be used; 4 done, but lines of a stream were skipped; 130
interrupted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from paralesn.cli.console import say, stderr
from paralesn.cli.options import as_options
from paralesn.files import DISK_ERRORS

FAILED, UNUSABLE, SKIPPED, INTERRUPTED = 1, 3, 4, 130

app = typer.Typer(
    name="paralesn",
    help="Forecast, classify and model time series with parallel echo state networks.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong call, 3 data or model cannot be used, "
    "4 lines of a stream were skipped, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # so that lines of docstrings are filled
)


class UnusableError(ValueError):
    """A model file that cannot be used for the purpose."""


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from paralesn import __version__

        typer.echo(f"paralesn {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn errors into a line on standard error and the exit code that they mean."""
    try:
        yield
    except BrokenPipeError:  # nobody reads any more: nothing to say
        raise
    except ValueError as error:  # the data or the model were refused
        say(stderr(), f"Error: {as_options(str(error))}")
        raise typer.Exit(UNUSABLE) from None
    except (ModuleNotFoundError, OSError, MemoryError) as error:
        say(stderr(), f"Error: {failure(error)}")
        raise typer.Exit(FAILED) from None


def failure(error: Exception) -> str:
    """What went wrong; a disk error without the name of a file is one of what is printed."""
    if isinstance(error, OSError) and error.errno in DISK_ERRORS and error.filename is None:
        return f"standard output cannot be written: {error}"
    return str(error) or "out of memory"


def load_model(path: Path, *kinds: str) -> Any:
    """Load a saved model, which must be of one of the kinds named."""
    import paralesn

    try:
        model = paralesn.load(path)
    except ValueError as error:
        raise UnusableError(str(error)) from error
    if kinds and type(model).__name__ not in kinds:
        expected = " or ".join(kinds)
        raise UnusableError(f"{path} holds a {type(model).__name__}, expected a {expected}")
    return model
