"""The command `predict`: a saved model and new data in, a CSV out."""

import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error, load_model
from paralesn.cli.console import print_json, progress, say, stderr

if TYPE_CHECKING:
    from paralesn.workflows.predict import Predictions

_FORECASTERS = ("ReservoirForecaster", "SmootherBank", "StateForecaster")
_OF_CASES = ("ReservoirClassifier", "ReservoirSeriesRegressor")
_KINDS = (*_FORECASTERS, *_OF_CASES, "ReservoirRegressor")


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
        typer.Option(
            "--follow",
            help="Rows without times continue those that the model has seen. Times tell by "
            "themselves.",
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="The rows are a series of their own, whatever their times."),
    ] = False,
    interval: options.Interval = 0.9,
    time: Annotated[
        str | None, typer.Option(help="Column with the times.", show_default="as in training")
    ] = None,
    missing: options.Missing = None,
    gaps: options.Gaps = None,
    duplicates: options.Duplicates = None,
    time_format: options.TimeFormat = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    case: options.Case = None,
    value: options.Value = None,
    label: options.Label = None,
    json: options.Json = False,
) -> None:
    """Predict from new data with a saved model.

    A forecaster reads the table as it did in training, goes on from the rows after those it has
    seen, and forecasts the steps after the last. A model of `classify` finds the columns it learnt
    from and gives every series its class, with probabilities, or its number. A regressor predicts
    every row of a table.
    """
    from dataclasses import replace

    from paralesn.workflows.predict import PredictionRequest, predict_file
    from paralesn.workflows.trained_cases import load_case_training
    from paralesn.workflows.trained_file import load_training

    options.file_in_folder(out, "--out")
    is_tidied = any((missing, gaps, duplicates))
    cleaning = options.cleaning(missing, gaps, duplicates) if is_tidied else None
    reading = options.reading(sep, decimal, thousands)
    request = PredictionRequest(
        steps, follow, fresh, interval, replace(reading, time=time, time_format=time_format),
        cleaning, options.case_columns(case, time, value, label),
    )  # fmt: skip
    with exit_on_error():
        with progress():
            fitted = load_model(model, *_KINDS)
            training = load_training(model) or load_case_training(model)
            predictions = predict_file(fitted, data, request, training=training)
        _print_notes(predictions)
        if json:
            print_json(_record(type(fitted).__name__, predictions))
        _write(predictions, out, to_stdout=out is None and not json)


def _print_notes(predictions: "Predictions") -> None:
    for note in predictions.notes:
        say(stderr(), f"Note: {options.as_options(note)}.")
    evaluation = predictions.evaluation
    if evaluation is None:
        return
    from paralesn.workflows.classify_report import measures
    from paralesn.workflows.yardsticks import MODEL

    found = ", ".join(f"{name} {text}" for name, text in measures(evaluation, MODEL).items())
    say(stderr(), f"On {evaluation.cases} cases: {found}.")


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
    from paralesn.workflows.case_record import evaluation_record

    columns = predictions.columns
    record: dict[str, Any] = {"model": kind}
    if kind in _OF_CASES:
        record |= evaluation_record(len(columns["case"]), predictions.evaluation)
    if kind in (*_FORECASTERS, *_OF_CASES):
        record["notes"] = [options.as_options(note) for note in predictions.notes]
    rows = zip(*(map(_plain, column) for column in columns.values()), strict=True)
    return record | {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    return None if isinstance(value, float) and not isfinite(value) else value
