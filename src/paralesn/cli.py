"""The command line: thin, it parses, calls and prints."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    name="paralesn",
    help="Parallel echo state networks: reservoir computing at memory speed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from paralesn import __version__

        typer.echo(f"paralesn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    units: Annotated[int, typer.Option(min=1, help="Units of both reservoirs.")] = 128,
    steps: Annotated[
        int, typer.Option(min=1000, help="Time steps, half of them to train.")
    ] = 10_000,
    horizon: Annotated[int, typer.Option(min=1, help="Steps to look ahead.")] = 84,
    seed: Annotated[int, typer.Option(min=0, help="Fixes the result.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("demo.png"),
) -> None:
    """Predict chaotic series with the estimators, beside a plain echo state network."""
    from paralesn.experiments.demo import demonstrate, plot

    console = Console()
    if not out.parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} does not exist", param_hint="--out")
    with console.status("compiling on the first run, then predicting ..."):
        result = demonstrate(units, steps, horizon, seed)
    table = Table(title=f"Mackey-Glass, {horizon} steps ahead, {units} units")
    table.add_column("reservoir")
    table.add_column("test NRMSE", justify="right")
    table.add_column("fit and predict", justify="right")
    for outcome in (result.paralesn, result.esn):
        table.add_row(outcome.name, f"{outcome.error:.4f}", f"{outcome.seconds * 1e3:.1f} ms")
    console.print(table)
    ratio = result.esn.seconds / result.paralesn.seconds
    console.print(f"ReservoirRegressor was {ratio:.0f} times faster.")
    console.print(
        f"ReservoirForecaster: Lorenz-63 in closed loop, good for {result.valid_time:.1f} Lyapunov "
        "times."
    )
    console.print(f"ReservoirClassifier: {result.accuracy:.0%} of noisy tones told apart.")
    try:
        plot(result, out)
    except ModuleNotFoundError as error:
        console.print(f"No picture: {error}. Install it with: pip install 'paralesn\\[plot]'")
        return
    console.print(f"Picture: {out}")


def main() -> None:
    """Entry point of the `paralesn` command."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
