"""Commands about the paper's tables: search, reproduce."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from paralesn.cli.application import FAILED, INTERRUPTED, app
from paralesn.cli.console import console_for, print_json, say, wide
from paralesn.cli.options import Json, check_name, file_in_folder, folder

if TYPE_CHECKING:
    from paralesn.paper.dask_cluster import Cluster
    from paralesn.paper.reproduce import Reproduction
    from paralesn.paper.scope import Absent, Wanted
    from paralesn.paper.search import Budget, Study

What = Annotated[
    list[str] | None,
    typer.Argument(
        help="Tasks, tables or groups: narma10, memory, forecasting, structured, regression, "
        "long-term, classification, mnist, small-mnist, ucr, lra, all. By default regression and "
        "long-term."
    ),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--tasks", help="Further names; give it repeatedly.")
]
Models = Annotated[
    list[str] | None, typer.Option("--models", help="Models, all by default; give it repeatedly.")
]
Spaces = Annotated[
    list[str] | None, typer.Option("--spaces", help="paper, extended; both by default.")
]
Trials = Annotated[int, typer.Option(min=1, max=1_000_000, help="Trials of each study.")]
Seconds = Annotated[
    float, typer.Option(min=0, help="Most seconds of each study.", show_default="no limit")
]
Storage = Annotated[
    str,
    typer.Option(
        help="Folder of the studies, or sqlite:///FILE, postgresql://, mysql://, redis:// or "
        "grpc://HOST:PORT; any number of machines may share it.",
        envvar="PARALESN_STORAGE",
    ),
]
Studies = Annotated[
    str | None, typer.Option(help="Take configurations from these studies where they are done.")
]
Export = Annotated[
    Path | None, typer.Option(help="Write the chosen configurations to this TOML file.")
]
Search = Annotated[
    bool, typer.Option("--search", help="First search for configurations, in every space.")
]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000,
        help="Runs of each configuration.",
        show_default="10; 5 classification, long-term, ucr; 3 MNIST, small-mnist, LRA",
    ),
]
Country = Annotated[
    str, typer.Option(help="Whose electricity counts, three letters; needs CodeCarbon.")
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, max=1_024, help="Processes, one core each.", show_default="every core"),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of a Dask scheduler, such as tcp://scheduler:8786; or local: on "
        "--jobs workers of this machine.",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder of records and tables.")]


@app.command()
def search(
    what: What = None,
    models: Models = None,
    spaces: Spaces = None,
    trials: Trials = 200,
    seconds: Seconds = float("inf"),
    storage: Storage = "studies",
    jobs: Jobs = None,
    out: Out = Path("results"),
    export: Export = None,
    json: Json = False,
) -> None:
    """Search for configurations; studies that were stopped resume."""
    from paralesn.paper import configurations, protocols, runs
    from paralesn.paper.search import Budget, outcome
    from paralesn.workflows.study_storage import checked

    console = console_for(json)
    folder(out)
    if "://" not in storage:
        check_name(Path(storage), "--storage")
    try:
        checked(storage)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--storage") from None
    file_in_folder(export, "--export")
    studies = _studies(console, _resolve(what or ["regression"], models), spaces)
    path = _records(out)
    _search(console, studies, storage, Budget(trials, seconds), jobs or cores(), path)
    known = runs.known(path).values()
    every = (outcome(protocols.of(*study[:2]), study, storage, known) for study in studies)
    chosen = [tuned for tuned in every if tuned is not None]
    for tuned in chosen:
        say(console, f"{tuned.task}, {tuned.model}, {tuned.space} space: validation "
            f"{tuned.validation:.4g} after {tuned.trials} trials")  # fmt: skip
    if export is not None:
        configurations.write(export, chosen)
        say(console, f"Configurations: {export}")
    if json:
        print_json([asdict(tuned) for tuned in chosen])


@app.command()
def reproduce(
    what: What = None,
    tasks: Tasks = None,
    models: Models = None,
    search: Search = False,
    trials: Trials = 200,
    seeds: Seeds = None,
    country: Country = "ITA",
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = Path("results"),
    studies: Studies = None,
    json: Json = False,
) -> None:
    """Print the paper's tables: our mean and deviation, the paper's, the difference."""
    from paralesn.paper import reproduce as paper
    from paralesn.paper.search import Budget

    if dask not in (None, "local") and jobs is not None and not search:
        here = "it is for processes of this machine, and the scheduler has workers of its own"
        raise typer.BadParameter(here, param_hint="--jobs")
    console, jobs = console_for(json), jobs or cores()
    names = [*(what or ()), *(tasks or ())] or None
    wanted, country = _resolve(names, models), _country(country)
    path = _records(folder(out))
    if studies is not None and "://" not in studies:
        check_name(Path(studies), "--studies")
    if search:
        studies = studies or str(out / "studies")
        looked_for = _studies(console, wanted, None)
        _search(console, looked_for, studies, Budget(trials), jobs, path)
    elif studies is not None and "://" not in studies and not Path(studies).is_dir():
        raise typer.BadParameter(f"the folder {studies} does not exist", param_hint="--studies")
    with (
        saying_what_stays(console, path),
        _cluster(console, dask, jobs) as cluster,
        counted(console, "running") as start,
    ):
        done = paper.reproduce(
            names, models, out, seeds=seeds, jobs=jobs, storage=studies, start=start,
            slow=models is not None, country=country, cluster=cluster,
        )  # fmt: skip
    _show(console, done)
    if json:
        left_out = {absent.key: _reason(absent) for absent in done.absent}
        print_json({"results": [], **done.data(), "left_out": left_out})


# -- arguments -------------------------------------------------------------------------------------


def cores() -> int:
    """Cores that this process may use."""
    from paralesn.runtime.threads import available

    return available()


def _records(out: Path) -> Path:
    """The file of records in a folder, checked to be one if it is there."""
    from paralesn.paper.records import check_regular

    path = out / "records.jsonl"
    try:
        check_regular(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    return path


def _resolve(names: Sequence[str] | None, models: Sequence[str] | None) -> list["Wanted"]:
    """Tasks and models that names stand for."""
    from paralesn.paper.scope import resolve

    try:
        return resolve(names, models)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="WHAT") from None


def _country(code: str) -> str:
    from paralesn.paper.energy import checked_country

    try:
        return checked_country(code)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--country") from None


def _studies(
    console: Console, wanted: Sequence["Wanted"], spaces: list[str] | None
) -> list["Study"]:
    """Searches for what can be run here; what cannot is said to be left out."""
    from paralesn.paper.catalogue import chosen
    from paralesn.paper.scope import unavailable
    from paralesn.paper.search import Study
    from paralesn.paper.spaces import SPACES

    try:
        allowed = chosen(spaces, SPACES, "spaces")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--spaces") from None
    absent = unavailable(wanted)
    for entry in absent:
        say(console, f"Left out: {_reason(entry)}")
    lacking = {entry.task for entry in absent}
    return [
        Study(task, model, space)
        for protocol, task, model in wanted
        for space in protocol.searched(model)
        if space in allowed and task not in lacking
    ]


# -- work ------------------------------------------------------------------------------------------


def _search(
    console: Console,
    studies: list["Study"],
    storage: str,
    budget: "Budget",
    jobs: int,
    records: Path,
) -> None:
    """Carry out studies, showing how far all workers got."""
    from paralesn.files import DamagedFileError
    from paralesn.paper.search import NoTrialError
    from paralesn.paper.search import search as carry_out
    from paralesn.workflows.study_storage import hidden

    counts = dict.fromkeys(studies, 0)
    with _progress(console) as progress:
        bar = progress.add_task("searching", total=len(studies) * budget.trials)

        def count(study: "Study", trials: int = budget.trials) -> None:
            counts[study] = max(counts[study], min(trials, budget.trials))
            progress.update(bar, completed=sum(counts.values()), description=str(study))

        def tell(text: str) -> None:
            progress.update(bar, description=text)

        try:
            carry_out(studies, storage, budget, jobs, count, records, watch=count, tell=tell)
        except (ModuleNotFoundError, ConnectionError, NoTrialError, DamagedFileError) as error:
            say(console, str(error))
            raise typer.Exit(FAILED) from None
    say(console, f"Studies: {hidden(storage)}")


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True)


@contextmanager
def counted(console: Console, what: str) -> Iterator[Callable[[int], Callable[..., None]]]:
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


@contextmanager
def _cluster(console: Console, address: str | None, jobs: int) -> Iterator["Cluster | None"]:
    """The cluster at an address, and a word about it; None where there is none."""
    if address is None:
        yield None
        return
    from paralesn.paper.dask_cluster import connected
    from paralesn.paper.dask_worker import ClusterError

    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(connected(address, jobs))
        except (ValueError, ClusterError) as error:
            raise typer.BadParameter(str(error), param_hint="--dask") from None
        threads = cluster.threads
        runs = f"{threads} at a time" if threads else "as soon as it has workers"
        at = f", dashboard: {cluster.dashboard}" if cluster.dashboard else ""
        say(console, f"Runs on Dask, {runs}{at}")
        yield cluster


@contextmanager
def saying_what_stays(console: Console, records: Path) -> Iterator[None]:
    """Say where runs are that were done before an interruption or a failure of workers."""
    from paralesn.datasets import MissingFileError
    from paralesn.files import DamagedFileError
    from paralesn.paper.dask_worker import ClusterError
    from paralesn.paper.process_pool import KilledError

    stays = f"Runs that are done are on record in {records}; the same command resumes."
    try:
        yield
    except KeyboardInterrupt:
        say(console, f"Interrupted. {stays}")
        raise typer.Exit(INTERRUPTED) from None
    except (
        ClusterError, DamagedFileError, KilledError, MissingFileError, ModuleNotFoundError
    ) as error:  # fmt: skip
        say(console, f"Error: {error}. {stays}")
        raise typer.Exit(FAILED) from None


# -- what is printed -------------------------------------------------------------------------------


def _show(console: Console, done: "Reproduction") -> None:
    """Print tables, notes, what was left out and the files that were written."""
    from paralesn.paper.catalogue import models
    from paralesn.paper.results import notes, shipped_notes, summary, times
    from paralesn.paper.table import as_rich

    broad = wide(console)
    for table in (*done.tables, times(done.cells, list(models()))):
        if table.lines:
            broad.print(as_rich(table))
    cells = done.cells.values()
    for text in (*notes(cells), *shipped_notes(cells), *summary(done.cells)):
        say(console, text)
    if any(cell.shipped for cell in cells):
        say(console, "--models runs models whose records come with the package.")
    for entry in done.absent:
        say(console, f"Left out: {_reason(entry)}")
    for path in done.written:
        say(console, f"Written: {path}")


def _reason(absent: "Absent") -> str:
    """Why something was left out, and what to do about it."""
    hints = {
        "configuration": f": `paralesn search {absent.task}` finds one",
        "record": f": --models '{absent.model.split(' [')[0]}' runs it",
    }
    return absent.why + hints.get(absent.lacks, "")
