"""Commands of studies beside the tables: demo, complexity, universality, race."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from paralesn.cli.application import app
from paralesn.cli.console import console_for, picture, print_json, say, stderr, wide
from paralesn.cli.options import Json, file_in_folder, finite_seconds, folder

if TYPE_CHECKING:
    from paralesn.paper.studies.demo import Demonstration


@app.command()
def demo(
    units: Annotated[int, typer.Option(min=1, max=100_000, help="Units of both reservoirs.")] = 128,
    steps: Annotated[
        int, typer.Option(min=1000, max=10_000_000, help="Time steps, half of them to train.")
    ] = 10_000,
    horizon: Annotated[int, typer.Option(min=1, max=100_000, help="Steps to look ahead.")] = 84,
    seed: Annotated[int, typer.Option(min=0, help="Fixes the result.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("demo.png"),
    json: Json = False,
) -> None:
    """Predict chaotic series with the estimators, beside an echo state network."""
    from paralesn.paper.studies.demo import demonstrate, plot

    file_in_folder(out, "--out")
    with stderr().status("compiling on the first run, then predicting ..."):
        result = demonstrate(units, steps, horizon, seed)
    if not json:
        _show_demo(Console(), result)
    picture(stderr() if json else Console(), out, partial(plot, result))
    if json:
        by_model = {outcome.name: {"nrmse": outcome.error, "seconds": outcome.seconds}
                    for outcome in (result.paralesn, result.esn)}  # fmt: skip
        print_json({"mackey_glass": by_model, "lyapunov_times": result.valid_time,
                    "accuracy": result.accuracy, "picture": str(out)})  # fmt: skip


def _show_demo(console: Console, result: "Demonstration") -> None:
    """Print errors and times of both reservoirs, and how the other estimators did."""
    table = Table(title=f"Mackey-Glass, {result.horizon} steps ahead, {result.units} units")
    table.add_column("reservoir")
    table.add_column("test NRMSE", justify="right")
    table.add_column("fit and predict", justify="right")
    for outcome in (result.paralesn, result.esn):
        table.add_row(outcome.name, f"{outcome.error:.4f}", f"{outcome.seconds * 1e3:.1f} ms")
    console.print(table)
    ratio = result.esn.seconds / result.paralesn.seconds
    console.print(f"ParalESN was {ratio:.1f} times faster.")
    console.print(
        f"ReservoirForecaster: Lorenz-63 in closed loop, good for {result.valid_time:.1f} Lyapunov "
        "times."
    )
    console.print(f"ReservoirClassifier: {result.accuracy:.0%} of noisy tones told apart.")


def _memory_size(value: float) -> float:
    """GiB that a process can be given."""
    if not 0.001 <= value <= 1e6:
        raise typer.BadParameter(f"expected GiB between 0.001 and 1,000,000, got {value:g}")
    return value


@app.command()
def complexity(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("complexity"),
    largest_dense: Annotated[
        int | None,
        typer.Option(min=1, max=1 << 24, help="Most units of the ESN.", show_default="16384"),
    ] = None,
    largest: Annotated[
        int | None,
        typer.Option(min=1, max=1 << 30, help="Most units of the others.", show_default="131072"),
    ] = None,
    longest: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Most time steps.", show_default="1000000")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Medians are over so many.", show_default="5"),
    ] = None,
    memory_limit: Annotated[
        float, typer.Option(callback=_memory_size, help="GiB that a reservoir may take.")
    ] = 8.0,
    random_digits: Annotated[
        bool, typer.Option("--random-digits", help="Random numbers for digits of MNIST.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, in seconds.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure everything anew.")] = False,
    json: Json = False,
) -> None:
    """Measure time, memory and parameters of reservoirs by size and by length of the series."""
    from paralesn.paper.studies.complexity import collect, settings
    from paralesn.paper.studies.complexity_plot import plot, plot_digits
    from paralesn.paper.studies.complexity_report import tables

    console, path = console_for(json), folder(out) / "complexity.json"
    is_there = not fresh and _holds_measurements(path)
    limit, digits = round(memory_limit * 2**30), _digits(console, random_digits)
    wanted = settings(largest_dense, largest, longest, rounds, quick, limit, digits)
    with _progress(console) as report:
        try:
            record, taken = collect(wanted, path, fresh, report)
        except RuntimeError as error:
            console.print(f"{error}. What is finished is in {path}.", markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
    for table in tables(record, taken):
        console.print(table)
    if is_there and not taken:
        console.print(
            f"The measurements in {path} were made with other versions or rounds, another limit of "
            "memory, or on another machine, and were replaced."
        )
    console.print(f"Measurements: {path}", soft_wrap=True)
    picture(console, out / "complexity.png", partial(plot, record))
    if digits is not None:
        picture(console, out / "complexity-digits.png", partial(plot_digits, record))
    if json:
        print_json(record)


def _holds_measurements(path: Path) -> bool:
    """Whether the file is there; what holds something else is refused."""
    from paralesn.paper.studies.complexity import read

    try:
        return path.exists() and bool(read(path))
    except ValueError as error:
        raise typer.BadParameter(f"{error}; --fresh replaces it", param_hint="--out") from None


def _digits(console: Console, random: bool) -> str | None:
    """What reservoirs read for digits; None where there are none, which is said."""
    from paralesn.paper.studies import complexity_digits

    if random:
        return complexity_digits.RANDOM
    if complexity_digits.at_hand():
        return complexity_digits.MNIST
    say(
        console,
        "MNIST is not here, so that no digits are read: `paralesn data fetch smnist` fetches it, "
        "--random-digits reads random numbers instead.",
    )
    return None


@app.command()
def universality(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("universality"),
    seeds: Annotated[int, typer.Option(min=1, max=1_000, help="Reservoirs of each size.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Few sizes, little data.")] = False,
    json: Json = False,
) -> None:
    """Approximate a nonlinear filter with linear reservoirs and a perceptron."""
    from paralesn.paper.studies.universality import approximate, plot, settings, table

    console, path = console_for(json), folder(out) / "universality.json"
    with _progress(console) as report:
        try:
            record = approximate(settings(seeds, quick), path, report)
        except ModuleNotFoundError as error:
            console.print(str(error), markup=False, soft_wrap=True)
            raise typer.Exit(1) from None
    console.print(table(record))
    console.print(f"Errors: {path}", soft_wrap=True)
    picture(console, out / "universality.png", partial(plot, record))
    if json:
        print_json(record)


@app.command()
def race(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="smnist, psmnist; both by default.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", help="All by default; give it repeatedly.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(callback=finite_seconds, help="Budget of each model.")
    ] = 600.0,
    train: Annotated[int, typer.Option(min=100, help="Digits to train on.")] = 10_000,
    validation: Annotated[int, typer.Option(min=10, help="Digits to validate on.")] = 1_000,
    test: Annotated[int, typer.Option(min=10, help="Digits to test on.")] = 2_000,
    threads: Annotated[int, typer.Option(min=1, max=1_024, help="Threads of every model.")] = 2,
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
    with _progress(console) as report:

        def tell(what: str, used: float, accuracy: float) -> None:
            report(f"{what} {accuracy:.1%}", used, seconds)

        try:
            runs = racing.race(wanted_tasks, wanted, settings, out, tell)
        except (ModuleNotFoundError, FileNotFoundError, ValueError) as error:
            say(console, str(error))
            raise typer.Exit(1) from None
    for task in wanted_tasks:
        wide(console).print(table(runs, task))
    say(console, f"Records: {out / 'race.jsonl'}")
    picture(console, out / "race.png", partial(plot, runs))
    if json:
        print_json(runs)


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str, float, float], None]]:
    """A progress bar, and a function to tell it the current work, the amount done and the total."""
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=None)

        def report(what: str, done: float, total: float) -> None:
            progress.update(bar, description=what, completed=done, total=total)

        yield report
