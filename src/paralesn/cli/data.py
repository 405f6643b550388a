"""Commands about datasets: list, fetch, check."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from paralesn.cli.shared import app

data = typer.Typer(help="Datasets: what there is, fetch files, check them.", no_args_is_help=True)
app.add_typer(data, name="data")
Names = Annotated[list[str] | None, typer.Argument(help="Datasets; all whose files are there.")]


@data.command("list")
def list_() -> None:
    """Every dataset, where it comes from, and whether it is at hand."""
    from paralesn import datasets

    table = Table()
    for column in ("dataset", "kind", "source", "at hand"):
        table.add_column(column)
    for entry in datasets.available():
        table.add_row(entry.name, entry.kind, entry.source, "yes" if entry.present else "no")
    Console().print(table)


@data.command()
def fetch(names: Annotated[list[str], typer.Argument(help="Datasets to fetch.")]) -> None:
    """Download files that are not at hand, checking their sums."""
    from paralesn import datasets

    console = Console()
    for name in names:
        try:
            paths = datasets.fetch(name)
        except (ValueError, OSError, ModuleNotFoundError) as error:
            console.print(str(error), markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        for path in paths:
            console.print(f"{name}: {path}", markup=False, soft_wrap=True)
        if not paths:
            console.print(f"{name} is generated: there is nothing to fetch.", markup=False)


@data.command()
def check(names: Names = None) -> None:
    """Compare the sums of files with the recorded ones."""
    from paralesn import datasets

    console, damaged = Console(), False
    if not names:
        names = [entry.name for entry in datasets.available() if entry.present]
    table = Table()
    for column in ("dataset", "file", "status"):
        table.add_column(column)
    for name in names:
        try:
            found = datasets.check(name)
        except (ValueError, OSError) as error:
            console.print(str(error), markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
        for file in found:
            damaged |= file.status in ("damaged", "missing")
            table.add_row(name, file.name, file.status)
    console.print(table)
    raise typer.Exit(1 if damaged else 0)
