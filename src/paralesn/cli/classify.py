"""The command `classify`: labelled series in, a classifier and its accuracy out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli.shared import Json, Seed, app, failing, folder, print_json, progress, say

if TYPE_CHECKING:
    from paralesn.tables.cases import Columns
    from paralesn.workflows.classify import Classification, Evaluation

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
_LONG = "of a long table"
Case = Annotated[str, typer.Option("--case", help=f"Column {_LONG} that tells series apart.")]
TimeColumn = Annotated[str, typer.Option("--time", help=f"Column {_LONG} with the time.")]
Value = Annotated[
    list[str] | None,
    typer.Option(
        "--value", help=f"Column {_LONG} with a channel; repeatedly.", show_default="value"
    ),
]
Label = Annotated[str, typer.Option("--label", help=f"Column {_LONG} with the class.")]
MissingValues = Annotated[str, typer.Option(help="Missing values: error or interpolate.")]


def columns_of(case: str, time: str, value: list[str] | None, label: str) -> "Columns":
    """Names of the columns of a long table."""
    from paralesn.tables.cases import Columns

    return Columns(case, time, tuple(value or ["value"]), label)


def check_missing(missing: str) -> None:
    """Check what to do about missing values."""
    if missing not in ("error", "interpolate"):
        expected = f"expected error or interpolate, got {missing!r}"
        raise typer.BadParameter(expected, param_hint="--missing")


@app.command()
def classify(
    train: File,
    test: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("classification"),
    case: Case = "case",
    time: TimeColumn = "time",
    value: Value = None,
    label: Label = "label",
    missing: MissingValues = "error",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn to classify series, and classify those of a second file.

    Files are UCR's .tsv (a case per line, its label first), aeon's .ts, or long tables (CSV,
    Parquet) with a row for every time step of every case. A test file may lack labels.
    """
    from paralesn.workflows.classify import classify_files

    folder(out)
    check_missing(missing)
    columns = columns_of(case, time, value, label)
    with failing():
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
            scores = judgement(len(result.predictions), result.evaluation)
            record["test"] = {"file": test.name, **scores}
        record["written"] = _write(result, out)
    if json:
        print_json(record)
    else:
        _tell(record)


def _write(result: "Classification", out: Path) -> dict[str, str]:
    """Save the model and the predictions; the files by what they hold."""
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


def judgement(cases: int, evaluation: "Evaluation | None") -> dict[str, Any]:
    """How good predictions are, for scripts; only their number where labels are not known."""
    record: dict[str, Any] = {"cases": cases}
    if evaluation is None:
        return record
    record["accuracy"] = evaluation.accuracy
    if evaluation.majority_accuracy is not None:
        record["accuracy_of_most_frequent_class"] = evaluation.majority_accuracy
    if evaluation.unknown_labels:
        record["unknown_labels"] = list(evaluation.unknown_labels)
    return record


def _tell(result: dict[str, Any]) -> None:
    console, test = Console(), result.get("test")
    say(
        console,
        f"Learnt {len(result['classes'])} classes from {result['training']['cases']} cases of "
        f"{result['training']['file']}.",
    )
    if test is not None and "accuracy" in test:
        accuracy, usual = test["accuracy"], test["accuracy_of_most_frequent_class"]
        said = f"Accuracy on {test['cases']} cases of {test['file']}: {accuracy:.1%}"
        say(console, f"{said} (always the most frequent class: {usual:.1%}).")
        if accuracy <= usual:
            say(console, "The model does NOT beat always answering with the most frequent class.")
        if "unknown_labels" in test:
            say(console, f"Labels that were not learnt: {', '.join(test['unknown_labels'])}.")
    for name, path in result["written"].items():
        say(console, f"{name.capitalize()}: {path}")
