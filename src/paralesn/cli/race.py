"""The command that lets all models run against the clock."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from paralesn.cli.shared import Json, app, console_for, folder, picture, print_json, wide


@app.command()
def race(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="smnist, psmnist; both by default.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", help="All by default; give it repeatedly.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Budget of each model.")] = 600.0,
    train: Annotated[int, typer.Option(min=100, help="Digits to train on.")] = 10_000,
    validation: Annotated[int, typer.Option(min=10, help="Digits to validate on.")] = 1_000,
    test: Annotated[int, typer.Option(min=10, help="Digits to test on.")] = 2_000,
    threads: Annotated[int, typer.Option(min=1, help="Threads of every model.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder of records and picture.")] = Path("race"),
    json: Json = False,
) -> None:
    """Train every model with the same budget; what is on record is not run again."""
    from paralesn.paper.catalogue import chosen
    from paralesn.paper.studies import race as racing
    from paralesn.paper.studies.race_report import plot, table

    console = console_for(json)
    folder(out)
    try:
        wanted_tasks = chosen(tasks or None, racing.TASKS, "tasks")
        wanted = chosen(models or None, racing.MODELS, "models")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    settings = racing.Settings(seconds, train, validation, test, threads=threads)
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=seconds)

        def report(what: str, used: float, accuracy: float) -> None:
            progress.update(bar, description=f"{what} {accuracy:.1%}", completed=used)

        try:
            found = racing.race(wanted_tasks, wanted, settings, out, report)
        except (ModuleNotFoundError, FileNotFoundError, ValueError) as error:
            console.print(str(error), markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
    for task in wanted_tasks:
        wide(console).print(table(found, task))
    console.print(f"Records: {out / 'race.jsonl'}", markup=False, soft_wrap=True)
    picture(console, out / "race.png", partial(plot, found))
    if json:
        print_json(found)
