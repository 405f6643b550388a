"""Commands about the paper's regression tables: search, reproduce, sensitivity."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from paralesn.cli.shared import app, folder, picture

Out = Annotated[Path, typer.Option(help="Folder of records and tables.")]
Models = Annotated[
    list[str] | None, typer.Option("--models", help="Models, all by default; give it repeatedly.")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Processes, one core each.", show_default="every core")
]


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True)


def _cores() -> int:
    from paralesn.engines.threads import available

    return available()


def _refuse(error: Exception, hint: str) -> typer.BadParameter:
    return typer.BadParameter(str(error), param_hint=hint)


@app.command()
def search(
    what: Annotated[list[str] | None, typer.Argument(help="Tasks or groups of them.")] = None,
    models: Models = None,
    spaces: Annotated[
        list[str] | None, typer.Option("--spaces", help="paper, extended; both by default.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials of each study.")] = 200,
    seconds: Annotated[
        float, typer.Option(min=0, help="Most seconds of each study.", show_default="no limit")
    ] = float("inf"),
    storage: Annotated[
        str, typer.Option(help="Folder of the studies, or an Optuna storage URL.")
    ] = "studies",
    jobs: Jobs = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the chosen configurations to this TOML file.")
    ] = None,
) -> None:
    """Search for configurations; studies that are done are not repeated, others go on."""
    from paralesn.experiments import reproduce, tuned
    from paralesn.experiments import spaces as known_spaces
    from paralesn.experiments.catalogue import chosen
    from paralesn.experiments.search import Budget
    from paralesn.experiments.search import search as carry_out
    from paralesn.experiments.search import tuned as found_in

    console = Console()
    if export is not None:
        folder(export.parent, "--export")
    try:
        tasks = reproduce.tasks_of(what)
        rows = reproduce.models_of(what, models)
        wanted_spaces = chosen(spaces, known_spaces.SPACES, "spaces")
    except ValueError as error:
        raise _refuse(error, "WHAT") from None
    absent = {task: why for task in tasks if (why := reproduce.missing(task)) is not None}
    for why in absent.values():
        console.print(f"Left out: {why}", markup=False, soft_wrap=True)
    studies = [
        (task, model, space)
        for space in wanted_spaces
        for task in tasks
        if task not in absent
        for model in rows
    ]
    with _progress(console) as progress:
        bar = progress.add_task("searching", total=len(studies))

        def done(study: tuple[str, str, str]) -> None:
            progress.update(bar, advance=1, description=", ".join(study))

        try:
            carry_out(studies, storage, Budget(trials, seconds), jobs or _cores(), done)
        except ModuleNotFoundError as error:
            console.print(f"{error}. Install it with: pip install 'paralesn\\[search]'")
            raise typer.Exit(1) from None
    results = [one for study in studies if (one := found_in(*study, storage)) is not None]
    for one in results:
        console.print(
            f"{one.task}, {one.model}, {one.space} space: validation {one.validation:.4g} after "
            f"{one.trials} trials", markup=False,
        )  # fmt: skip
    console.print(f"Studies: {storage}", markup=False, soft_wrap=True)
    if export is not None:
        tuned.write(export, results)
        console.print(f"Configurations: {export}", markup=False, soft_wrap=True)


@app.command()
def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Tasks, tables (memory, forecasting, structured, ...) or regression."),
    ] = None,
    models: Models = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each configuration.")] = 10,
    jobs: Jobs = None,
    out: Out = Path("results"),
    studies: Annotated[
        str | None, typer.Option(help="Take configurations from these studies where they are.")
    ] = None,
) -> None:
    """Print the paper's regression tables: our mean and deviation, the paper's, the difference."""
    from paralesn.experiments import tables
    from paralesn.experiments.reproduce import models_of, tasks_of
    from paralesn.experiments.reproduce import reproduce as carry_out

    console = Console()
    try:
        tasks, rows = tasks_of(what), models_of(what, models)
    except ValueError as error:
        raise _refuse(error, "WHAT") from None
    folder(out)
    if studies is not None and "://" not in studies and not Path(studies).is_dir():
        raise typer.BadParameter(f"the folder {studies} does not exist", param_hint="--studies")
    with _progress(console) as progress:
        bar = progress.add_task("running", total=None)

        def start(runs: int) -> Callable[[], None]:
            progress.update(bar, total=runs)
            return lambda: progress.advance(bar)

        found = carry_out(tasks, rows, out, seeds, jobs or _cores(), studies, start)
    wanted = [name for name in what or () if name in tables.TABLES] or list(tables.TABLES)
    wide = Console(width=max(console.width, 200)) if not console.is_terminal else console
    for name in wanted:
        table = tables.as_rich(found.cells, name)
        if table is not None:
            wide.print(table)
    wide.print(tables.times(found.cells, rows))
    for text in tables.summary(found.cells):
        console.print(text, markup=False)
    for why in found.absent.values():
        console.print(f"Left out: {why}", markup=False, soft_wrap=True)
    for path in found.written:
        console.print(f"Written: {path}", markup=False, soft_wrap=True)


@app.command()
def sensitivity(
    task: Annotated[str, typer.Argument(help="A regression task.")],
    model: Annotated[str, typer.Option(help="Whose trials to show.")] = "ParalESN",
    space: Annotated[str, typer.Option(help="paper or extended.")] = "paper",
    studies: Annotated[str, typer.Option(help="Folder or storage URL of the studies.")] = "studies",
    out: Out = Path("sensitivity"),
) -> None:
    """Show what each hyperparameter does to the validation error, from the trials on record."""
    from functools import partial

    from paralesn.experiments.catalogue import chosen, models, tasks
    from paralesn.experiments.sensitivity import effects, plot, table
    from paralesn.experiments.spaces import SPACES

    console = Console()
    try:
        (task,) = chosen([task], tasks(), "task")
        (model,) = chosen([model], models(), "model")
        (space,) = chosen([space], SPACES, "space")
        found = effects(task, model, space, studies)
    except ValueError as error:
        raise _refuse(error, "TASK") from None
    folder(out).mkdir(exist_ok=True)
    console.print(table(found))
    name = f"{task}-{model.replace(' ', '-')}-{space}.png"
    picture(console, out / name, partial(plot, found))
