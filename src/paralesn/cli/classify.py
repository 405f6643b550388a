"""The command `classify`: labelled series in, a tested model of classes or numbers out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from paralesn.cli import options
from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import console_for, print_json, progress, say, stderr, wide

if TYPE_CHECKING:
    from paralesn.workflows.case_result import CaseResult


@app.command()
def classify(
    train: options.CaseFile,
    test: Annotated[
        Path | None,
        typer.Argument(
            help="Other series, to test on if they have labels.", exists=True, dir_okay=False,
            show_default=False,
        ),
    ] = None,
    out: options.ResultFolder = Path("classification"),
    case: options.Case = None,
    time: options.CaseTime = None,
    value: options.Value = None,
    label: options.Label = None,
    regress: Annotated[
        bool | None,
        typer.Option(
            "--regress/--no-regress",
            help="Labels are numbers to predict, or classes.",
            show_default="numbers where more than 10 differ and not all are whole",
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            help="balanced, so that rare classes count as much as others; or LABEL=WEIGHT, which "
            "may be repeated.",
            show_default="every case counts the same",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Folds of the cross-validation.", show_default="5 or 10, by size"),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=0, help="How often folds are dealt; 0: no evaluation.",
            show_default="1 to 10, by size",
        ),
    ] = None,
    missing: options.CaseMissing = "error",
    time_format: options.TimeFormat = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Learn the class of series, or a number for each, tested beside naive answers.

    Files are UCR's .tsv (a case per line, its label first), aeon's .ts, or long tables (CSV, Excel,
    Parquet) with a row for every time step of every case. Without a test file that has labels, the
    model is tested by cross-validation. report.html shows it all.
    """
    from dataclasses import replace

    from paralesn.tables.cases import CaseColumns
    from paralesn.workflows.case_result import CaseRequest
    from paralesn.workflows.classify import classify_files

    options.folder(out)
    options.case_missing(missing)
    columns = CaseColumns(**options.case_columns(case, time, value, label))
    reading = replace(options.reading(sep, decimal, thousands), time_format=time_format)
    request = CaseRequest(options.class_weight(class_weight), folds, repeats, seed)
    with exit_on_error():
        with progress() as report:
            result = classify_files(
                train, test, columns=columns, missing=missing, reading=reading, regress=regress,
                request=request, progress=report,
            )  # fmt: skip
        for note in result.notes:
            say(stderr(), f"Note: {options.as_options(note)}.")
        if not json:
            _print(result, train, test)
        record = _write(result, missing, train, test, out, console_for(json))
        if json:
            print_json(record)


def _print(result: "CaseResult", train: Path, test: Path | None) -> None:
    """Print what was learnt, and how good it is."""
    from paralesn.workflows import classify_report as reports
    from paralesn.workflows.case_result import Classification

    console = wide(Console())
    cases, what = len(result.train.names), "numbers"
    if isinstance(result, Classification):
        what = f"{result.model.classes_.size} classes"
    say(console, f"Learnt {what} from {cases} cases of {train.name}.")
    tables = [reports.score_table(result, None if test is None else test.name)]
    if isinstance(result, Classification):
        tables += [reports.class_table(result), reports.confusion_table(result)]
    for table in tables:
        if table is not None:
            console.print(table)
    for sentence in reports.verdicts(result):
        say(console, options.as_options(sentence))


def _write(
    result: "CaseResult", missing: str, train: Path, test: Path | None, out: Path,
    console: Console,
) -> dict[str, Any]:  # fmt: skip
    """Write predictions, the model and reports, say where, and give the record."""
    from paralesn.files import save_json, save_text
    from paralesn.report import own_cases
    from paralesn.tables.writer import save_columns
    from paralesn.workflows import case_record
    from paralesn.workflows.trained_cases import save_cases_model

    names = (train.name, None if test is None else test.name)
    record = case_record.as_record(result, *names)
    record["notes"] = [options.as_options(note) for note in record["notes"]]
    columns = case_record.prediction_columns(result)
    page = own_cases.made(result, *names, words=options.as_options)
    out.mkdir(exist_ok=True)
    paths = {"model": out / "model.safetensors"}
    if columns is not None:
        paths["predictions"] = out / "predictions.csv"
        save_columns(paths["predictions"], columns)
    save_cases_model(result, paths["model"], missing)
    paths |= {"page": out / "report.html", "report": out / "report.json"}
    save_text(page, paths["page"])
    record["written"] = {name: str(path) for name, path in paths.items()}
    save_json(record, paths["report"])
    for name, path in paths.items():
        say(console, f"{name.capitalize()}: {path}")
    return record
