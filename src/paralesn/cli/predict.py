"""The command `predict`: a saved model and new data in, a CSV out."""

import csv
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from paralesn.cli.classify import (
    Case,
    Label,
    Value,
    columns_of,
    judgement,
)
from paralesn.cli.forecast import Duplicates, Gaps, Missing, TimeFormat, choices_of
from paralesn.cli.shared import (
    Json,
    ModelFile,
    app,
    failing,
    load_model,
    print_json,
    progress,
    say,
    stderr,
)

Rows = dict[str, Any]  # columns by name
_KINDS = ("ReservoirForecaster", "ReservoirClassifier", "ReservoirRegressor")


@app.command()
def predict(
    model: ModelFile,
    data: Annotated[
        Path,
        typer.Argument(help="New data, as the model learnt from.", exists=True, dir_okay=False),
    ],
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write.", show_default="print it")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to forecast.", show_default="the horizon")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="The rows follow on those the model has seen.")
    ] = False,
    interval: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="Share that intervals should hold.")
    ] = 0.9,
    time: Annotated[
        str | None, typer.Option("--time", help="Column of times.", show_default="as in training")
    ] = None,
    missing: Missing = "error",
    gaps: Gaps = "keep",
    duplicates: Duplicates = "error",
    time_format: TimeFormat = None,
    case: Case = "case",
    value: Value = None,
    label: Label = "label",
    json: Json = False,
) -> None:
    """Predict with a saved model: the time after a table, labels of series, or rows of a table.

    A forecaster reads the table and forecasts what follows on it. A classifier takes the files that
    `classify` takes; a regressor predicts every row from the columns it learnt.
    """
    from paralesn.tables.observations import read_series

    choices = choices_of(missing, gaps, duplicates, time_format)
    with failing():
        with progress():
            fitted = load_model(model, *_KINDS)
            kind = type(fitted).__name__
            if kind == "ReservoirClassifier":
                columns = columns_of(case, time or "time", value, label)
                rows, more = _classes(fitted, data, columns, missing)
            elif kind == "ReservoirRegressor":
                rows, more = _values(fitted, data, time, choices, follow), {}
            else:
                reading = partial(read_series, data, time=time, choices=choices)
                rows, more = _ahead(fitted, reading, steps, follow, interval)
        for text in more.pop("said", []):
            say(stderr(), text)
        if json:
            names = list(rows)
            table = [dict(zip(names, row, strict=True)) for row in zip(*rows.values(), strict=True)]
            print_json({"model": kind, **more, "predictions": table})
        elif out is None:
            _write(sys.stdout, rows)
        if out is not None:
            from paralesn.files import replacing

            with replacing(out) as path, path.open("w", newline="", encoding="utf-8") as file:
                _write(file, rows)
            say(stderr(), f"Predictions: {out}")


def _write(file: Any, rows: Rows) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows)
    writer.writerows(zip(*rows.values(), strict=True))


def _classes(fitted: Any, data: Path, columns: Any, missing: str) -> tuple[Rows, dict[str, Any]]:
    """Labels of series."""
    from paralesn.tables.cases import read_cases
    from paralesn.workflows.classify import evaluate, predict_labels, prediction_columns

    cases = read_cases(data, columns, missing)
    predictions = predict_labels(fitted, cases)
    more = judgement(len(predictions), evaluate(fitted, cases, predictions))
    if "accuracy" in more:
        more["said"] = [f"Accuracy on {more['cases']} cases: {more['accuracy']:.1%}"]
    return prediction_columns(cases, predictions), more


def _values(fitted: Any, data: Path, time: str | None, choices: Any, follow: bool) -> Rows:
    """Predictions for every row of a table."""
    import numpy as np

    from paralesn.tables.observations import read_series
    from paralesn.tables.reader import TableError, column_names

    names = [str(name) for name in getattr(fitted, "feature_names_in_", column_names(data))]
    if len(names) != fitted.n_features_in_:
        raise TableError(
            f"{data.name} has the columns {', '.join(names)}, expected {fitted.n_features_in_} "
            "inputs as the model learnt from"
        )
    observed = read_series(data, names, time=time, choices=choices)
    state = None
    if follow:
        state = fitted.state_
        if any(h.ndim != 1 for h in state.layers):
            raise TableError("--follow needs a model that learnt from one series")
    found = np.asarray(fitted.predict(observed.y, state=state)).reshape(len(observed.y), -1)
    ending = [""] if found.shape[1] == 1 else [f"_{k}" for k in range(1, found.shape[1] + 1)]
    columns = {f"prediction{e}": found[:, k].tolist() for k, e in enumerate(ending)}
    return {"row": list(range(1, len(found) + 1)), **columns}


def _ahead(
    fitted: Any, read: Callable[..., Any], steps: int | None, follow: bool, interval: float
) -> tuple[Rows, dict[str, Any]]:
    """Forecasts of what follows on a table."""
    from math import ceil

    from paralesn.estimators.live import reading
    from paralesn.tables.clock import written
    from paralesn.tables.reader import TableError
    from paralesn.workflows.forecast_report import columns

    targets, exog = fitted._names["y"], fitted._names["X"] or []
    if targets is None or (fitted.n_known_ and not exog):
        raise TableError(
            "the model does not know the names of its columns: fit it to pandas frames"
        )
    observed = read(targets=targets, exog=exog)
    h, rows = fitted.horizon_, observed.rows
    steps = steps or h
    X = observed.X if exog else None
    whole = ceil(steps / h) * h
    if X is not None and observed.future < whole:
        raise TableError(
            f"{', '.join(exog)} must be known for {whole} rows after the last target, got "
            f"{observed.future}"
        )
    notes, known = list(observed.notes), None if X is None else X[:rows]
    ahead = None if X is None else X[rows : rows + whole]
    try:
        if follow:
            model = fitted.update(observed.y, known)
        else:
            model = reading(fitted, observed.y, known)
            if rows < fitted.washout + h:
                notes.append(f"{rows} rows are few to begin from zero with; --follow goes on")
        values, lower, upper = _bounded(model, steps, ahead, interval, notes)
    except ValueError as error:
        raise TableError(f"{observed.path.name}: {error}") from error
    when = written(observed.ahead(steps))[-len(values) :]
    made = columns(tuple(targets), values, lower, upper)
    found = {observed.time or "step": when} | {k: v.tolist() for k, v in made.items()}
    return found, {"notes": notes, "said": [f"Note: {note}." for note in notes]}


def _bounded(
    model: Any, steps: int, X: Any, level: float, notes: list[str]
) -> tuple[Any, Any, Any]:
    """A forecast and its interval, (steps, targets) each, or None where there can be none."""
    width = model.n_features_in_
    try:
        found = model.forecast(steps, X, interval=level)
    except ValueError as error:
        values = model.forecast(steps, X).reshape(-1, width)
        notes.append(f"no intervals: {error}")
        return values, None, None
    values, lower, upper = (part.reshape(-1, width) for part in found)
    return values, lower, upper
