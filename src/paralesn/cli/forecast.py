"""The command `forecast`: a table in, a tested forecast out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import console_for, picture, print_json, progress, say, stderr

if TYPE_CHECKING:
    from paralesn.tables.cleaning import Cleaning
    from paralesn.tables.file_panel import Panel
    from paralesn.tables.observations import Observations
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
    horizon: Annotated[
        int | None,
        typer.Option(min=1, help="Steps to forecast.", show_default="two seasons, or 8"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column with the times.", show_default="the first with dates"),
    ] = None,
    by: options.By = None,
    exog: Annotated[
        list[str] | None,
        typer.Option(
            help="Extra input column; may be repeated. It is known in advance if the file has rows "
            "without targets for a whole horizon at its end, otherwise only up to now."
        ),
    ] = None,
    season: Annotated[str, typer.Option(help="Rows of a season, 1 for none, or auto.")] = "auto",
    interval: options.Interval = 0.9,
    calendar: Annotated[
        str | None,
        typer.Option(
            help="Inputs from the times: hour, weekday, weekend, day, week, month, quarter, with "
            "commas between several, or auto.",
            show_default="none",
        ),
    ] = None,
    test: Annotated[
        float,
        typer.Option(
            min=0.01, max=0.9, help="Share of the rows, at the end, to test on; at least a horizon."
        ),
    ] = 0.2,
    search: Annotated[
        str | None,
        typer.Option(help="Look for better settings for this long: 60s, 2m.", show_default="no"),
    ] = None,
    out: options.ResultFolder = Path("forecast"),
    missing: options.Missing = None,
    gaps: options.Gaps = None,
    duplicates: options.Duplicates = None,
    time_format: options.TimeFormat = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Forecast columns of a table, tested on its last part beside naive forecasts.

    What did best in the test is written to forecast.csv; report.html shows it all.
    """
    from paralesn.workflows import forecast as workflow

    options.folder(out)
    cleaning = options.cleaning(missing, gaps, duplicates, time_format)
    reading = options.reading(sep, decimal, thousands)
    request = workflow.ForecastRequest(
        horizon, test, options.season(season), interval, options.calendar(calendar),
        options.seconds(search), seed,
    )  # fmt: skip
    columns = {"targets": target or (), "exog": exog or (), "time": time}
    with exit_on_error():
        with progress() as report:
            table = _read(data, by, columns | {"cleaning": cleaning, "reading": reading})
            result = workflow.forecast(table, request, progress=report)
        for note in result.notes:
            say(stderr(), f"Note: {options.as_options(note)}.")
        if not json:
            _print_test(result)
        record = _write(result, cleaning, out, console_for(json))
        if json:
            print_json(record)


def _read(data: Path, by: list[str] | None, given: dict[str, Any]) -> "Observations | Panel":
    """The series of a file, many of them where `by` tells them apart."""
    from paralesn.tables.file_panel import read_panel
    from paralesn.tables.observations import read_observations

    return read_panel(data, by, **given) if by else read_observations(data, **given)


def _print_test(result: "ForecastResult") -> None:
    """Print how good the forecast is."""
    from paralesn.workflows import forecast_report as reports

    console = Console()
    table = reports.error_table(result)
    if table is not None:
        console.print(table)
    more = (reports.coverage_summary(result), reports.search_summary(result))
    for sentence in (*reports.verdicts(result), *more):
        if sentence is not None:
            say(console, options.as_options(sentence))


def _write(
    result: "ForecastResult", cleaning: "Cleaning", out: Path, console: Console
) -> dict[str, Any]:
    """Write the forecast, the model, a picture and reports, say where, and give the record."""
    from paralesn.files import save_json, save_text
    from paralesn.report import own_forecast
    from paralesn.workflows import forecast_report as reports
    from paralesn.workflows.forecast_picture import plot
    from paralesn.workflows.trained_file import save_forecaster

    record = reports.as_record(result)
    record["notes"] = [options.as_options(note) for note in record["notes"]]
    out.mkdir(exist_ok=True)
    paths = {
        "forecast": out / "forecast.csv", "model": out / "model.safetensors",
        "picture": out / "forecast.png", "page": out / "report.html", "report": out / "report.json",
    }  # fmt: skip
    by = sorted(set(result.methods))
    # What is drawn from people's names and numbers comes first: nothing is written if it fails.
    page = own_forecast.made(result, options.as_options)
    if not picture(console, paths["picture"], partial(plot, result)):
        del paths["picture"]
    reports.write_csv(result, paths["forecast"])
    say(console, f"Forecast: {paths['forecast']} (by the {' and the '.join(by)})")
    save_forecaster(result, cleaning, paths["model"])
    say(console, f"Model: {paths['model']}")
    save_text(page, paths["page"])
    say(console, f"Page: {paths['page']}")
    record["written"] = {name: str(path) for name, path in paths.items()}
    save_json(record, paths["report"])
    say(console, f"Report: {paths['report']}")
    return record
