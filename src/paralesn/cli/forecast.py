"""The command `forecast`: a CSV or Parquet file in, a tested forecast out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import console_for, picture, print_json, progress, say, stderr

if TYPE_CHECKING:
    from paralesn.tables.observations import Observations
    from paralesn.tables.panel import Panel
    from paralesn.workflows.forecast import ForecastResult


@app.command()
def forecast(
    data: options.TableFile,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to forecast; may be repeated.", show_default="the only column of numbers"
        ),
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Steps to forecast.")] = 24,
    time: Annotated[
        str | None,
        typer.Option(help="Column with the times.", show_default="the first with dates"),
    ] = None,
    exog: Annotated[
        list[str] | None,
        typer.Option(
            help="Extra input column; may be repeated. It is known in advance if the file has rows "
            "without targets for a whole horizon at its end, otherwise read like a target."
        ),
    ] = None,
    test: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the rows, at the end, to test on.")
    ] = 0.2,
    search: Annotated[
        str | None,
        typer.Option(help="Look for better settings for this long: 60s, 2m.", show_default="no"),
    ] = None,
    out: options.ResultFolder = Path("forecast"),
    season: Annotated[
        int | None,
        typer.Option(min=2, help="Rows of a season.", show_default="from the time column"),
    ] = None,
    interval: options.Interval = 0.9,
    missing: options.Missing = "keep",
    gaps: options.Gaps = "keep",
    duplicates: options.Duplicates = "error",
    time_format: options.TimeFormat = None,
    by: options.By = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Forecast columns of a table, tested on its last part beside naive forecasts."""
    from paralesn.tables.observations import read_observations
    from paralesn.tables.panel import read_panel
    from paralesn.workflows import forecast as workflow

    options.folder(out)
    cleaning = options.cleaning(missing, gaps, duplicates, time_format)
    reading = options.reading(sep, decimal, thousands)
    request = workflow.ForecastRequest(
        horizon, test, season, interval, options.seconds(search), seed
    )
    with exit_on_error():
        with progress() as report:
            if by:
                observations = _only_series(
                    read_panel(
                        data, by, target or (), exog or (), time=time, cleaning=cleaning,
                        reading=reading,
                    )
                )  # fmt: skip
            else:
                observations = read_observations(
                    data, target or (), exog or (), time=time, cleaning=cleaning, reading=reading
                )
            result = workflow.forecast(observations, request, progress=report)
        for note in result.notes:
            say(stderr(), f"Note: {options.as_options(note)}.")
        if not json:
            _print_test(result)
        record = _write(result, out, console_for(json))
        if json:
            print_json(record)


def _only_series(panel: "Panel") -> "Observations":
    """The series of a panel of one."""
    from paralesn.tables.reader import TableError

    if len(panel) > 1:
        raise TableError(
            f"{panel.path.name} has {len(panel)} series by {', '.join(panel.by)}, expected one",
            parameter="by",
        )
    return panel.series[0]


def _print_test(result: "ForecastResult") -> None:
    """Print how good the forecast is."""
    from paralesn.workflows import forecast_report as reports

    console = Console()
    console.print(reports.error_table(result))
    sentences = (
        reports.verdict(result), reports.search_summary(result), reports.coverage_summary(result),
    )  # fmt: skip
    for sentence in sentences:
        if sentence is not None:
            say(console, options.as_options(sentence))


def _write(result: "ForecastResult", out: Path, console: Console) -> dict[str, Any]:
    """Write the forecast, the model, a picture and a report, say where, and give the report."""
    import paralesn
    from paralesn.files import save_json
    from paralesn.workflows import forecast_report as reports

    record = reports.as_record(result)
    record["notes"] = [options.as_options(note) for note in record["notes"]]
    out.mkdir(exist_ok=True)
    paths = {
        "forecast": out / "forecast.csv", "model": out / "model.safetensors",
        "report": out / "report.json", "picture": out / "forecast.png",
    }  # fmt: skip
    reports.write_csv(result, paths["forecast"])
    paralesn.save(result.model, paths["model"])
    for name in ("forecast", "model"):
        say(console, f"{name.capitalize()}: {paths[name]}")
    if not picture(console, paths["picture"], partial(reports.plot, result)):
        del paths["picture"]
    record["written"] = {name: str(path) for name, path in paths.items()}
    save_json(record, paths["report"])
    say(console, f"Report: {paths['report']}")
    return record
