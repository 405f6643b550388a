"""The command of the study of sensitivity: what each hyperparameter does."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from paralesn.cli.application import app
from paralesn.cli.console import console_for, picture, print_json, say, wide
from paralesn.cli.options import Json, check_name, file_in_folder, folder
from paralesn.cli.paper import Jobs, cores, counted, saying_what_stays

if TYPE_CHECKING:
    from paralesn.paper.bayesian import Study
    from paralesn.paper.records import Record
    from paralesn.paper.studies.sensitivity_trials import Trials

_STUDIES = "studies"  # where a search keeps them unless another folder is named


@app.command()
def sensitivity(
    task: Annotated[str, typer.Argument(help="A task.")],
    model: Annotated[str, typer.Option(help="Whose trials to show.")] = "ParalESN",
    space: Annotated[str, typer.Option(help="paper or extended.")] = "paper",
    random: Annotated[
        int | None,
        typer.Option(min=10, max=1_000_000, help="First do so many random trials, and show those."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random trials.")] = 0,
    jobs: Jobs = None,
    studies: Annotated[
        str | None,
        typer.Option(help="Show the trials of a search in this folder or storage URL."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("sensitivity"),
    export: Annotated[
        Path | None, typer.Option(help="Add the trials to this file of condensed trials.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what each hyperparameter does to the validation error.

    From random trials in the folder of results, otherwise from the trials of a search in the folder
    studies, otherwise from random trials that come with the package.
    """
    console = console_for(json)
    folder(out)
    file_in_folder(export, "--export")
    if studies is not None and "://" not in studies:
        check_name(Path(studies), "--studies")
    if random is not None and studies is not None:
        raise typer.BadParameter("it does not go with --studies", param_hint="--random")
    study = _study(task, model, space)
    if random is not None:
        trials = _random(console, study, random, seed, out, jobs or cores())
    else:
        trials = _on_record(study, seed, out, studies)
    record = _show(console, trials, out)
    if export is not None:
        _export(console, trials, export)
    if json:
        print_json(record)


def _study(task: str, model: str, space: str) -> "Study":
    """What is asked for, as the catalogue spells it."""
    from paralesn.paper.bayesian import Study, judging
    from paralesn.paper.catalogue import chosen, models, tasks
    from paralesn.paper.spaces import SPACES, exists

    try:
        (task,) = chosen([task], tasks(), "task")
        (model,) = chosen([model], models(), "model")
        (space,) = chosen([space], SPACES, "space")
        judging(task, model)
        if not exists(models()[model], space):
            raise ValueError(f"space must be one of {model}, got {space!r}")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="TASK") from None
    return Study(task, model, space)


def _random(
    console: Console, study: "Study", trials: int, seed: int, out: Path, jobs: int
) -> "Trials":
    """Random trials, those done now that are not on record."""
    from paralesn.paper.records import check_regular
    from paralesn.paper.studies import random_trials
    from paralesn.paper.studies.sensitivity_trials import of_records

    path = random_trials.file_of(study, out)
    try:
        check_regular(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    with saying_what_stays(console, path), counted(console, str(study)) as start:
        done = random_trials.run(study, trials, seed, path, jobs, start(trials))
    say(console, f"Trials: {path}")
    return of_records(done)


def _on_record(study: "Study", seed: int, out: Path, studies: str | None) -> "Trials":
    """Trials of the search that is named, or those that there are."""
    from paralesn.paper.studies import sensitivity_trials

    try:
        if studies is not None:
            return sensitivity_trials.of_search(study, studies)
        return sensitivity_trials.on_record(study, out, seed, _STUDIES)
    except ValueError as error:
        few = isinstance(error, sensitivity_trials.TooFewTrialsError)
        hint = f": `paralesn sensitivity {study.task} --random 1000` does random ones"
        raise typer.BadParameter(f"{error}{hint if few else ''}", param_hint="TASK") from None


def _show(console: Console, trials: "Trials", out: Path) -> "Record":
    """Print what was found, and write the record and the picture."""
    from paralesn.files import save_json
    from paralesn.paper.studies import sensitivity_report as texts
    from paralesn.paper.studies.random_trials import name_of
    from paralesn.paper.studies.sensitivity import as_record, effects
    from paralesn.paper.studies.sensitivity_plot import plot

    measured = effects(trials)
    record = as_record(measured)
    for table in texts.tables(record):
        wide(console).print(table)
    for line in (*texts.verdicts(record), texts.origin(record)):
        say(console, line)
    name = name_of(trials.study) + ("-random" if trials.source == "random" else "")
    out.mkdir(exist_ok=True)
    save_json(record, out / f"{name}.json")
    say(console, f"Written: {out / f'{name}.json'}")
    picture(console, out / f"{name}.png", partial(plot, measured))
    return record


def _export(console: Console, trials: "Trials", path: Path) -> None:
    """Keep trials as those of the package are kept."""
    from paralesn.paper.studies.sensitivity_trials import export

    try:
        export(trials, path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--export") from None
    say(console, f"Condensed trials: {path}")
