"""Commands about the paper's tables: search, reproduce, sensitivity."""

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from paralesn.cli.shared import Json, app, console_for, folder, picture, print_json, wide

if TYPE_CHECKING:
    from paralesn.paper.reproduce import Reproduction
    from paralesn.paper.search import Budget

LONG_TERM, UCR = "long-term", "ucr"  # tables of their own
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
    from paralesn.runtime.threads import available

    return available()


def _refuse(error: Exception, hint: str) -> typer.BadParameter:
    return typer.BadParameter(str(error), param_hint=hint)


Trials = Annotated[int, typer.Option(min=1, help="Trials of each study.")]
Study = tuple[str, str, str]


def _search(
    console: Console, studies: list[Study], storage: str, budget: "Budget", jobs: int
) -> None:
    """Carry out studies (task, model, space), showing how far it got."""
    from paralesn.paper.search import search as carry_out

    with _progress(console) as progress:
        bar = progress.add_task("searching", total=len(studies))

        def done(study: Study) -> None:
            progress.update(bar, advance=1, description=", ".join(study))

        try:
            carry_out(studies, storage, budget, jobs, done)
        except ModuleNotFoundError as error:
            console.print(str(error), markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
    console.print(f"Studies: {storage}", markup=False, soft_wrap=True)


def _leave_out(console: Console, tasks: list[str]) -> list[str]:
    """The tasks whose data are there; the others are said to be absent."""
    from paralesn.paper.reproduce import missing

    absent = {task: why for task in tasks if (why := missing(task)) is not None}
    for why in absent.values():
        console.print(f"Left out: {why}", markup=False, soft_wrap=True)
    return [task for task in tasks if task not in absent]


@app.command()
def search(
    what: Annotated[list[str] | None, typer.Argument(help="Tasks or groups of them.")] = None,
    models: Models = None,
    spaces: Annotated[
        list[str] | None, typer.Option("--spaces", help="paper, extended; both by default.")
    ] = None,
    trials: Trials = 200,
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
    json: Json = False,
) -> None:
    """Search for configurations; studies that are done are not repeated, others go on."""
    from paralesn.paper import configurations as tuned
    from paralesn.paper import reproduce
    from paralesn.paper import spaces as known_spaces
    from paralesn.paper.catalogue import chosen, tasks_of
    from paralesn.paper.search import Budget
    from paralesn.paper.search import tuned as found_in

    console = console_for(json)
    if export is not None:
        folder(export.parent, "--export")
    try:
        tasks = reproduce.tasks_of(what)
        rows = reproduce.models_of(what, models)
        wanted_spaces = chosen(spaces, known_spaces.SPACES, "spaces")
        if set(tasks) & set(tasks_of("lra")):
            raise ValueError("candidates of lra are judged by `paralesn reproduce lra --search`")
    except ValueError as error:
        raise _refuse(error, "WHAT") from None
    everything = product(_leave_out(console, tasks), rows, wanted_spaces)
    studies = [study for study in everything if reproduce.is_study(*study)]
    _search(console, studies, storage, Budget(trials, seconds), jobs or _cores())
    results = [one for study in studies if (one := found_in(*study, storage)) is not None]
    for one in results:
        console.print(
            f"{one.task}, {one.model}, {one.space} space: validation {one.validation:.4g} after "
            f"{one.trials} trials", markup=False,
        )  # fmt: skip
    if export is not None:
        tuned.write(export, results)
        console.print(f"Configurations: {export}", markup=False, soft_wrap=True)
    if json:
        print_json([asdict(one) for one in results])


@app.command()
def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tasks, tables (memory, forecasting, structured, ...), regression, long-term, "
            "classification, mnist, ucr, lra, all. By default regression and long-term."
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--tasks", help="More of the same; give it repeatedly.")
    ] = None,
    models: Models = None,
    search: Annotated[
        bool, typer.Option("--search", help="First search for configurations, in both spaces.")
    ] = False,
    trials: Trials = 200,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs of each configuration.",
            show_default="10; 5 long-term; 3 MNIST; 1 ucr and LRA",
        ),
    ] = None,
    country: Annotated[
        str, typer.Option(help="Whose electricity counts, three letters; needs CodeCarbon.")
    ] = "ITA",
    jobs: Jobs = None,
    out: Out = Path("results"),
    studies: Annotated[
        str | None, typer.Option(help="Take configurations from these studies where they are.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the paper's tables: our mean and deviation, the paper's, the difference."""
    from paralesn.paper import tables
    from paralesn.paper.energy import checked_country
    from paralesn.paper.reproduce import models_of, tasks_of
    from paralesn.paper.reproduce import reproduce as carry_out

    console, jobs = console_for(json), jobs or _cores()
    everything = [*(what or ()), *(tasks or ())]
    named = [name for name in everything or ["regression"] if name not in (LONG_TERM, UCR)]
    try:
        chosen = tasks_of(named) if named else []
        rows = models_of(named, models)
        country = checked_country(country)
    except ValueError as error:
        raise _refuse(error, "--country" if "country" in str(error) else "WHAT") from None
    folder(out)
    if search:
        studies = studies or str(out / "studies")
        _search_first(console, chosen, rows, studies, trials, jobs, out)
    elif studies is not None and "://" not in studies and not Path(studies).is_dir():
        raise typer.BadParameter(f"the folder {studies} does not exist", param_hint="--studies")
    results: dict[str, Any] = {"left_out": {}}
    if chosen:
        with _counted(console, "running") as start:
            found = carry_out(
                chosen, rows, out, seeds, jobs, studies, start, models is not None, country
            )
        _show(console, found, named, rows)
        results = {"results": tables.rows(found.cells.values()), "left_out": found.absent}
    if not everything or {LONG_TERM, "all"} & set(everything):
        absent = results["left_out"]
        results["long_term"] = _long_term(console, out, seeds or 5, jobs, search, absent)
    if {UCR, "all"} & set(everything):
        results["ucr"] = _ucr(console, out, seeds or 1, jobs)
    if json:
        print_json(results)


def _search_first(
    console: Console,
    tasks: list[str],
    models: list[str],
    studies: str,
    trials: int,
    jobs: int,
    out: Path,
) -> None:
    """Look for configurations of models for tasks, in both spaces; of the arena, of candidates."""
    from paralesn.paper.catalogue import tasks_of
    from paralesn.paper.reproduce import is_study, search_lra
    from paralesn.paper.search import Budget
    from paralesn.paper.spaces import SPACES

    there = _leave_out(console, tasks)
    arena = [task for task in there if task in tasks_of("lra")]
    others = product([task for task in there if task not in arena], models, SPACES)
    wanted = [study for study in others if is_study(*study)]
    if wanted:
        _search(console, wanted, studies, Budget(trials), jobs)
    with _counted(console, "judging candidates") as start:
        search_lra(arena, out, start)


def _show(console: Console, found: "Reproduction", named: list[str], rows: list[str]) -> None:
    """Print the tables that results belong to."""
    from paralesn.paper import tables
    from paralesn.paper.catalogue import tasks_of
    from paralesn.paper.protocols import lra_table, mnist

    wanted = [name for name in named if name in tables.TABLES] or list(tables.TABLES)
    broad = wide(console)
    printed = [tables.as_rich(found.cells, name) for name in wanted]
    printed += [mnist.as_rich(found.cells, task) for task in tasks_of("mnist")]
    printed.append(lra_table.as_rich(found.cells))
    for table in (*printed, tables.times(found.cells, rows)):
        if table is not None and table.row_count:
            broad.print(table)
    for text in (*tables.notes(found.cells.values()), *tables.summary(found.cells)):
        console.print(text, markup=False, soft_wrap=True)
    for why in found.absent.values():
        console.print(f"Left out: {why}", markup=False, soft_wrap=True)
    _tell(console, found.written)


def _long_term(
    console: Console, out: Path, seeds: int, jobs: int, search: bool, absent: Container[str]
) -> list[dict[str, Any]]:
    """Run what is not on record, and print long-term forecasts beside published ones.

    Sets that are `absent` were said to be.
    """
    from paralesn.paper import tables
    from paralesn.paper.protocols.long_term import SETS
    from paralesn.paper.reproduce import long_term

    sets = _leave_out(console, [name for name in SETS if name not in absent])
    if not sets:
        console.print("Left out: long-term forecasts, for want of these files")
        return []
    with _counted(console, "long-term forecasts") as start:
        found, written = long_term(sets, out, seeds, jobs, search, start)
    wide(console).print(tables.long_term(found))
    _tell(console, written)
    return found


def _ucr(console: Console, out: Path, seeds: int, jobs: int) -> list[dict[str, Any]]:
    """Run what is not on record, and print accuracies on the archive beside published ones."""
    from paralesn.paper.protocols import ucr as archive
    from paralesn.paper.reproduce import ucr

    names = archive.at_hand()
    if not names:
        console.print("Left out: the UCR archive, for no folder of PARALESN_DATA holds any of it")
        return []
    with _counted(console, "UCR archive") as start:
        found, written = ucr(names, out, seeds, jobs, start)
    wide(console).print(archive.as_rich(found))
    _tell(console, written)
    return found


@contextmanager
def _counted(console: Console, what: str) -> Iterator[Callable[[int], Callable[..., None]]]:
    """A progress bar: told the number of runs, it gives what is to be called after each.

    That may also be called with a text, about how far a run got.
    """
    with _progress(console) as progress:
        bar = progress.add_task(what, total=None)

        def start(runs: int) -> Callable[..., None]:
            progress.update(bar, total=runs, completed=0)
            return tick

        def tick(text: str | None = None) -> None:
            progress.update(bar, advance=text is None, description=text or what)

        yield start


def _tell(console: Console, written: list[Path]) -> None:
    for path in written:
        console.print(f"Written: {path}", markup=False, soft_wrap=True)


@app.command()
def sensitivity(
    task: Annotated[str, typer.Argument(help="A task.")],
    model: Annotated[str, typer.Option(help="Whose trials to show.")] = "ParalESN",
    space: Annotated[str, typer.Option(help="paper or extended.")] = "paper",
    studies: Annotated[str, typer.Option(help="Folder or storage URL of the studies.")] = "studies",
    out: Out = Path("sensitivity"),
    json: Json = False,
) -> None:
    """Show what each hyperparameter does to the validation error, from the trials on record."""
    from functools import partial

    from paralesn.files import save_json
    from paralesn.paper.catalogue import chosen, models, tasks
    from paralesn.paper.spaces import SPACES
    from paralesn.paper.studies.sensitivity import as_record, effects, plot, table

    console = console_for(json)
    try:
        (task,) = chosen([task], tasks(), "task")
        (model,) = chosen([model], models(), "model")
        (space,) = chosen([space], SPACES, "space")
        found = effects(task, model, space, studies)
    except ValueError as error:
        raise _refuse(error, "TASK") from None
    folder(out).mkdir(exist_ok=True)
    console.print(table(found))
    name = f"{task}-{model.replace(' (deep)', '-deep').replace(' ', '-')}-{space}"
    save_json(as_record(found), out / f"{name}.json")
    _tell(console, [out / f"{name}.json"])
    picture(console, out / f"{name}.png", partial(plot, found))
    if json:
        print_json(as_record(found))
