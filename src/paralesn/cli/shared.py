"""The application, and what its commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(
    name="paralesn",
    help="Parallel echo state networks: reservoir computing at memory speed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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


def picture(console: Console, path: Path, draw: Callable[[Path], None]) -> None:
    """Draw a picture if matplotlib is there, and say so."""
    try:
        draw(path)
    except ModuleNotFoundError as error:
        console.print(f"No picture: {error}. Install it with: pip install 'paralesn\\[plot]'")
        return
    console.print(f"Picture: {path}", soft_wrap=True)
