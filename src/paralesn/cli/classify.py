"""The command `classify`: labelled series in, a classifier and its accuracy out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import print_json, progress, say

if TYPE_CHECKING:
    from paralesn.workflows.classify import Classification


@app.command()
def classify(
    train: options.CaseFile,
    test: Annotated[
        Path | None,
        typer.Argument(help="Series to classify.", exists=True, dir_okay=False, show_default=False),
    ] = None,
    out: options.ResultFolder = Path("classification"),
    case: options.Case = "case",
    time: options.CaseTime = "time",
    value: options.Value = None,
    label: options.Label = "label",
    missing: options.CaseMissing = "error",
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Learn to classify series, and classify those of a second file.

    Files are UCR's .tsv (a case per line, its label first), aeon's .ts, or long tables (CSV,
    Parquet) with a row for every time step of every case. A test file may lack labels.
    """
    from paralesn.workflows.classify import classify_files, evaluation_record

    options.folder(out)
    options.case_missing(missing)
    columns = options.case_columns(case, time, value, label)
    with exit_on_error():
        with progress() as report:
            result = classify_files(
                train, test, columns=columns, missing=missing, seed=seed, progress=report
            )
        record: dict[str, Any] = {
            "training": {"file": train.name, "cases": len(result.train.names)},
            "classes": [str(name) for name in result.model.classes_.tolist()],
            "seed": seed,
        }
        if test is not None and result.predictions is not None:
            scores = evaluation_record(len(result.predictions), result.evaluation)
            record["test"] = {"file": test.name, **scores}
        record["written"] = _write(result, out)
    if json:
        print_json(record)
    else:
        _print(record)


def _write(result: "Classification", out: Path) -> dict[str, str]:
    """Save the model and the predictions; the paths by what they hold."""
    from paralesn import save
    from paralesn.tables.writer import save_columns
    from paralesn.workflows.classify import prediction_columns

    out.mkdir(exist_ok=True)
    written = {"model": str(out / "model.safetensors")}
    save(result.model, out / "model.safetensors")
    if result.test is not None and result.predictions is not None:
        columns = prediction_columns(result.test, result.predictions)
        save_columns(out / "predictions.csv", columns)
        written["predictions"] = str(out / "predictions.csv")
    return written


def _print(record: dict[str, Any]) -> None:
    console, train, test = Console(), record["training"], record.get("test")
    classes = len(record["classes"])
    say(console, f"Learnt {classes} classes from {train['cases']} cases of {train['file']}.")
    if test is not None and "accuracy" in test:
        accuracy, majority = test["accuracy"], test["accuracy_of_most_frequent_class"]
        scored = f"Accuracy on {test['cases']} cases of {test['file']}: {accuracy:.1%}"
        say(console, f"{scored} (always the most frequent class: {majority:.1%}).")
        if accuracy <= majority:
            say(console, "The model does NOT beat always answering with the most frequent class.")
        if "unknown_labels" in test:
            say(console, f"Labels that were not learnt: {', '.join(test['unknown_labels'])}.")
    for name, path in record["written"].items():
        say(console, f"{name.capitalize()}: {path}")
