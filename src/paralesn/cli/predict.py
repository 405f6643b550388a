"""The command `predict`: a saved model and new data in, a CSV out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error, load_model
from paralesn.cli.console import print_json, progress, say, stderr

if TYPE_CHECKING:
    from paralesn.workflows.predict import Predictions

_KINDS = ("StateForecaster", "ReservoirClassifier", "ReservoirRegressor")


@app.command()
def predict(
    model: options.ModelFile,
    data: Annotated[
        Path, typer.Argument(help="New data, of the same columns.", exists=True, dir_okay=False)
    ],
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write.", show_default="print it")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to forecast.", show_default="the horizon")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="The rows continue those that the model has seen."),
    ] = False,
    interval: options.Interval = 0.9,
    time: Annotated[
        str | None, typer.Option(help="Column with the times.", show_default="as in training")
    ] = None,
    missing: options.Missing = "keep",
    gaps: options.Gaps = "keep",
    duplicates: options.Duplicates = "error",
    time_format: options.TimeFormat = None,
    case: options.Case = "case",
    value: options.Value = None,
    label: options.Label = "label",
    json: options.Json = False,
) -> None:
    """Predict from new data with a saved model.

    A forecaster forecasts the steps after the last row of a table. A classifier labels the series
    of a file, as `classify` does. A regressor predicts every row of a table.
    """
    from paralesn.workflows.predict import PredictionRequest, predict_file

    request = PredictionRequest(
        steps, follow, interval, time,
        options.cleaning(missing, gaps, duplicates, time_format),
        options.case_columns(case, time or "time", value, label),
    )  # fmt: skip
    with exit_on_error():
        with progress():
            fitted = load_model(model, *_KINDS)
            predictions = predict_file(fitted, data, request)
        _print_notes(predictions)
        if json:
            print_json(_record(type(fitted).__name__, predictions))
        _write(predictions, out, to_stdout=out is None and not json)


def _print_notes(predictions: "Predictions") -> None:
    for note in predictions.notes:
        say(stderr(), f"Note: {options.as_options(note)}.")
    evaluation = predictions.evaluation
    if evaluation is not None:
        say(stderr(), f"Accuracy on {evaluation.cases} cases: {evaluation.accuracy:.1%}")


def _write(predictions: "Predictions", out: Path | None, *, to_stdout: bool) -> None:
    """Write the predictions as CSV."""
    from paralesn.tables.writer import save_columns, write_columns

    if to_stdout:
        write_columns(sys.stdout, predictions.columns)
    if out is not None:
        save_columns(out, predictions.columns)
        say(stderr(), f"Predictions: {out}")


def _record(kind: str, predictions: "Predictions") -> dict[str, Any]:
    """Predictions for scripts."""
    from paralesn.workflows.classify import evaluation_record

    columns = predictions.columns
    record: dict[str, Any] = {"model": kind}
    if kind == "ReservoirClassifier":
        record |= evaluation_record(len(columns["case"]), predictions.evaluation)
    if kind == "StateForecaster":
        record["notes"] = [options.as_options(note) for note in predictions.notes]
    rows = zip(*columns.values(), strict=True)
    return record | {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}
