"""The command `classify`: labelled series in, a classifier and its accuracy out."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli.shared import Json, Seed, app, failing, folder, print_json, progress, say

if TYPE_CHECKING:
    import numpy as np

    from paralesn.tables.cases import Columns, Labelled

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
    from paralesn import save
    from paralesn.tables.cases import read_cases
    from paralesn.tables.reader import TableError

    folder(out)
    check_missing(missing)
    columns = columns_of(case, time, value, label)
    with failing():
        with progress() as report:
            learnt = read_cases(train, columns, missing)
            asked = None if test is None else read_cases(test, columns, missing)
            if learnt.labels is None:
                raise TableError(f"{train.name} has no column {label!r} (--label) to learn from")
            report("learning", 0.0)
            model = _fit(train, learnt, asked, seed)
            report("classifying", 0.0)
            found = None if asked is None else predicted(model, asked)
        out.mkdir(exist_ok=True)
        save(model, out / "model.safetensors")
        result: dict[str, Any] = {
            "training": {"file": train.name, "cases": len(learnt.names)},
            "classes": [str(one) for one in model.classes_.tolist()],
            "seed": seed,
        }
        written = {"model": str(out / "model.safetensors")}
        if test is not None and asked is not None and found is not None:
            write_predictions(out / "predictions.csv", asked, found)
            written["predictions"] = str(out / "predictions.csv")
            result["test"] = {"file": test.name, **judged(model, asked, found, learnt.labels)}
        result["written"] = written
    if json:
        print_json(result)
    else:
        _tell(result)


def _fit(path: Path, learnt: "Labelled", asked: "Labelled | None", seed: int) -> Any:
    from paralesn.estimators.classifier import ReservoirClassifier
    from paralesn.estimators.defaults import classifying_reservoir
    from paralesn.tables.formats import labels_array
    from paralesn.tables.reader import TableError

    both = [learnt.labels or []]
    if asked is not None and asked.labels is not None:
        both.append(asked.labels)  # so that 1 and 1.0 stay one label
    labels = labels_array(*both)[0]
    reservoir = classifying_reservoir().set_params(seed=seed)
    try:
        return ReservoirClassifier(reservoir, standardize=True).fit(learnt.series, labels)
    except ValueError as error:
        raise TableError(f"{path.name} cannot be learnt from: {error}") from error


def predicted(model: Any, cases: "Labelled") -> "np.ndarray":
    """Labels of cases, which must have the channels of the training series."""
    from paralesn.tables.reader import TableError

    channels = cases.series[0].shape[1]
    if channels != model.n_features_in_:
        raise TableError(
            f"the series to classify have {channels} channels, those learnt from had "
            f"{model.n_features_in_}"
        )
    try:
        return model.predict(cases.series)
    except ValueError as error:
        raise TableError(f"the series cannot be classified: {error}") from error


def judged(
    model: Any, cases: "Labelled", found: "np.ndarray", learnt: list[str] | None = None
) -> dict[str, Any]:
    """How many cases, and where labels are known, how many are right, also by always one class."""
    from paralesn.tables.cases import as_classes

    result: dict[str, Any] = {"cases": len(found)}
    if cases.labels is None:
        return result
    labels = as_classes(cases.labels, model.classes_)
    right = [one == other for one, other in zip(labels.tolist(), found.tolist(), strict=True)]
    result["accuracy"] = sum(right) / len(right)
    if learnt is not None:
        usual = Counter(as_classes(learnt, model.classes_).tolist()).most_common(1)[0][0]
        always = [one == usual for one in labels.tolist()]
        result["accuracy_of_most_frequent_class"] = sum(always) / len(always)
    known = set(model.classes_.tolist())
    unknown = sorted({str(one) for one in labels.tolist() if one not in known})
    if unknown:
        result["unknown_labels"] = unknown
    return result


def rows_of(cases: "Labelled", found: "np.ndarray") -> dict[str, list[Any]]:
    """A row for each case."""
    rows: dict[str, list[Any]] = {"case": cases.names, "predicted": found.tolist()}
    if cases.labels is not None:
        rows["label"] = cases.labels
    return rows


def write_predictions(path: Path, cases: "Labelled", found: "np.ndarray") -> None:
    """Write a row for each case."""
    import csv

    from paralesn.files import replacing

    rows = rows_of(cases, found)
    with replacing(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))


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
