"""Commands about datasets: list, fetch, check."""

from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from paralesn.cli.application import FAILED, app
from paralesn.cli.console import console_for, print_json, say
from paralesn.cli.options import Json

data = typer.Typer(help="List, fetch and check datasets.", no_args_is_help=True)
app.add_typer(data, name="data")


@data.command("list")
def list_(json: Json = False) -> None:
    """List every dataset, where it comes from, and whether its files are here."""
    from paralesn import datasets

    entries = datasets.available()
    if json:
        print_json([entry._asdict() for entry in entries])
        return
    table = Table("dataset", "kind", "source", "here")
    for entry in entries:
        table.add_row(entry.name, entry.kind, entry.source, "yes" if entry.present else "no")
    Console().print(table)


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Datasets to fetch.")], json: Json = False
) -> None:
    """Download files that are not here, checking their sums."""
    from paralesn import datasets

    console, fetched = Console(quiet=json), {}
    for name in names:
        try:
            paths = datasets.fetch(name)
        except (ValueError, OSError, ModuleNotFoundError) as error:
            _give_up(error, json)
        fetched[name] = [str(path) for path in paths]
        for path in paths:
            say(console, f"{name}: {path}")
        if not paths:
            say(console, f"{name} is generated: there is nothing to fetch.")
    if json:
        print_json(fetched)


@data.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Datasets.", show_default="all whose files are here"),
    ] = None,
    json: Json = False,
) -> None:
    """Compare the sums of files with the recorded ones."""
    from paralesn import datasets

    if not names:
        names = [entry.name for entry in datasets.available() if entry.present]
    records = []
    for name in names:
        try:
            files = datasets.check(name)
        except (ValueError, OSError) as error:
            _give_up(error, json)
        records += [{"dataset": name, "file": file.name, "status": file.status} for file in files]
    if json:
        print_json(records)
    else:
        table = Table("dataset", "file", "status")
        for record in records:
            table.add_row(*record.values())
        Console().print(table)
    raise typer.Exit(any(record["status"] in ("damaged", "missing") for record in records))


def _give_up(error: Exception, json: bool) -> NoReturn:
    """Say why, where scripts do not read the result."""
    say(console_for(json), str(error))
    raise typer.Exit(FAILED) from None
