"""The command `inspect`: what is inside a saved model."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from paralesn.cli.application import app, exit_on_error, load_model
from paralesn.cli.console import console_for, picture, print_json
from paralesn.cli.options import Json, ModelFile, file_in_folder


@app.command()
def inspect(
    model: ModelFile,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the eigenvalues to this file.", dir_okay=False)
    ] = None,
    json: Json = False,
) -> None:
    """Show what is inside a saved model: its settings, sizes and eigenvalues."""
    from paralesn.workflows.describe import describe, drawn_reservoir

    file_in_folder(plot, "--plot")
    with exit_on_error():
        loaded = load_model(model)
        record = {"file": model.name, "bytes": model.stat().st_size, **describe(loaded)}
        if json:
            print_json(record)
        else:
            _print(record)
        if plot is not None:
            _plot(drawn_reservoir(loaded), plot, console_for(json))


def _plot(reservoir: Any, path: Path, console: Console) -> None:
    """Draw the eigenvalues of a reservoir, where there is one."""
    from paralesn.theory import plot_spectrum

    if reservoir is None:
        console.print("No picture: there is no drawn reservoir with eigenvalues in this file.")
    else:
        picture(console, path, partial(plot_spectrum, reservoir))


def _print(record: dict[str, Any]) -> None:
    from paralesn.tables.notes import shown

    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _lines(record):
        table.add_row(Text(shown(name)), Text(shown(value)))
    Console().print(table)


def _lines(record: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Names and values, one line each."""
    lines: list[tuple[str, str]] = []
    for name, value in record.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, dict):
            lines += _lines(value, f"{label}: " if name != "settings" else prefix)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, layer in enumerate(value, 1):
                lines += _lines(layer, f"{prefix}layer {number}: ")
        elif isinstance(value, list):
            lines.append((label, ", ".join(map(_text, value))))
        else:
            lines.append((label, _text(value)))
    return lines


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
