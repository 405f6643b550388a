"""Commands about datasets: list, fetch, check."""

from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from paralesn.cli.shared import Json, app, print_json, say, stderr

data = typer.Typer(help="Datasets: what there is, fetch files, check them.", no_args_is_help=True)
app.add_typer(data, name="data")
Names = Annotated[list[str] | None, typer.Argument(help="Datasets; all whose files are there.")]


@data.command("list")
def list_(json: Json = False) -> None:
    """Every dataset, where it comes from, and whether it is at hand."""
    from paralesn import datasets

    if json:
        print_json([entry._asdict() for entry in datasets.available()])
        return
    table = Table()
    for column in ("dataset", "kind", "source", "at hand"):
        table.add_column(column)
    for entry in datasets.available():
        table.add_row(entry.name, entry.kind, entry.source, "yes" if entry.present else "no")
    Console().print(table)


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Datasets to fetch.")], json: Json = False
) -> None:
    """Download files that are not at hand, checking their sums."""
    from paralesn import datasets

    console, fetched = Console(quiet=json), {}
    for name in names:
        try:
            paths = datasets.fetch(name)
        except (ValueError, OSError, ModuleNotFoundError) as error:
            _give_up(error, json)
        fetched[name] = [str(path) for path in paths]
        for path in paths:
            console.print(f"{name}: {path}", markup=False, soft_wrap=True)
        if not paths:
            console.print(f"{name} is generated: there is nothing to fetch.", markup=False)
    if json:
        print_json(fetched)


@data.command()
def check(names: Names = None, json: Json = False) -> None:
    """Compare the sums of files with the recorded ones."""
    from paralesn import datasets

    found = []
    if not names:
        names = [entry.name for entry in datasets.available() if entry.present]
    table = Table()
    for column in ("dataset", "file", "status"):
        table.add_column(column)
    for name in names:
        try:
            files = datasets.check(name)
        except (ValueError, OSError) as error:
            _give_up(error, json)
        for file in files:
            found.append({"dataset": name, "file": file.name, "status": file.status})
            table.add_row(name, file.name, file.status)
    if json:
        print_json(found)
    else:
        Console().print(table)
    raise typer.Exit(any(one["status"] in ("damaged", "missing") for one in found))


def _give_up(error: Exception, json: bool) -> NoReturn:
    """Say why; where scripts read, not among the results."""
    say(stderr() if json else Console(), str(error))
    raise typer.Exit(1) from None
