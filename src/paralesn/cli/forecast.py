"""The command `forecast`: a CSV or Parquet file in, a tested forecast out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli.shared import (
    Json,
    Seed,
    app,
    failing,
    folder,
    picture,
    print_json,
    progress,
    say,
    seconds_of,
    stderr,
)

if TYPE_CHECKING:
    from paralesn.tables.observations import Observed
    from paralesn.workflows.forecast import Made, Wanted

Data = Annotated[
    Path, typer.Argument(help="CSV (also .gz, .xz) or Parquet.", exists=True, dir_okay=False)
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target", help="Column to forecast; give it repeatedly.", show_default="the only numbers"
    ),
]
Exog = Annotated[
    list[str] | None,
    typer.Option(
        "--exog",
        help="Column that helps. Known in advance if the file goes on, with empty targets, for a "
        "horizon; else read as it comes.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option("--time", help="Column of times.", show_default="the first of ISO dates"),
]
TimeFormat = Annotated[
    str | None, typer.Option(help="How dates are written, as in strptime.", show_default="ISO")
]
Missing = Annotated[str, typer.Option(help="Empty values: error or interpolate.")]
Gaps = Annotated[
    str, typer.Option(help="Times that are skipped: keep (equal steps) or fill (interpolate).")
]
Duplicates = Annotated[
    str, typer.Option(help="Times that come again with other values: error, first, last or mean.")
]


def choices_of(missing: str, gaps: str, duplicates: str, time_format: str | None) -> Any:
    """Check what to do about holes."""
    from paralesn.tables import observations as observed

    for option, value, allowed in (
        ("--missing", missing, observed.MISSING),
        ("--gaps", gaps, observed.GAPS),
        ("--duplicates", duplicates, observed.DUPLICATES),
    ):
        if value not in allowed:
            expected = f"expected {' or '.join(allowed)}, got {value!r}"
            raise typer.BadParameter(expected, param_hint=option)
    return observed.Choices(missing, gaps, duplicates, time_format)


@app.command()
def forecast(
    data: Data,
    target: Target = None,
    horizon: Annotated[int, typer.Option(min=1, help="Steps to forecast.")] = 24,
    time: Time = None,
    exog: Exog = None,
    test: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of rows, at the end, to test on.")
    ] = 0.2,
    search: Annotated[
        str | None,
        typer.Option(help="Look for better settings for so long: 60s, 2m.", show_default="no"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("forecast"),
    season: Annotated[
        int | None,
        typer.Option(min=2, help="Rows of a season.", show_default="by the time column"),
    ] = None,
    interval: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="Share that intervals should hold.")
    ] = 0.9,
    missing: Missing = "error",
    gaps: Gaps = "keep",
    duplicates: Duplicates = "error",
    time_format: TimeFormat = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Forecast columns of a table; tested on its last part beside naive forecasts."""
    from paralesn.tables.observations import read_series
    from paralesn.workflows.forecast import Wanted, make

    folder(out)
    choices = choices_of(missing, gaps, duplicates, time_format)
    wanted = Wanted(horizon, test, season, interval, seconds_of(search), seed)
    with failing():
        with progress() as report:
            observed = read_series(data, target or (), exog or (), time, choices)
            notes = list(observed.notes)
            made = make(observed, wanted, report, notes)
        _tell(observed, made, wanted, notes, out, json)


def _tell(
    observed: "Observed", made: "Made", wanted: "Wanted", notes: list[str], out: Path, json: bool
) -> None:
    """Write files, and print what came out."""
    import paralesn
    from paralesn.files import save_json
    from paralesn.workflows import forecast_report as reports

    out.mkdir(exist_ok=True)
    console, aside = Console(), stderr()
    for note in notes:
        say(aside, f"Note: {note}.")
    quiet = Console(quiet=True) if json else console
    paths = {
        "forecast": out / "forecast.csv", "model": out / "model.safetensors",
        "report": out / "report.json", "picture": out / "forecast.png",
    }  # fmt: skip
    reports.write_csv(paths["forecast"], observed, made)
    paralesn.save(made.model, paths["model"])
    draw = partial(reports.plot, observed=observed, made=made, wanted=wanted)
    quiet.print(reports.table(observed, made))
    say(quiet, reports.verdict(made))
    if made.tuned is not None:
        say(quiet, reports.searched(made.tuned))
    if (held := reports.covered(made, wanted)) is not None:
        say(quiet, held)
    say(quiet, f"Forecast: {paths['forecast']}")
    say(quiet, f"Model: {paths['model']}")
    if not picture(aside if json else console, paths["picture"], draw):
        del paths["picture"]
    found = reports.as_data(observed, made, wanted, notes)
    found["written"] = {name: str(path) for name, path in paths.items()}
    save_json(found, paths["report"])
    if json:
        print_json(found)
    else:
        say(console, f"Report: {paths['report']}")
