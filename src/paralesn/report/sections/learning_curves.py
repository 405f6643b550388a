"""Accuracy against seconds, every model with the same budget: from a race on record."""

from typing import Any

from paralesn.paper.catalogue import tasks
from paralesn.paper.records import Record
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.elements import Entry, Figure, Findings, Section, Table

TITLE = "Accuracy against seconds"


def section(findings: Findings) -> Section:
    """A figure for each task, and a table of test accuracies."""
    runs = findings.stored.of_kind("race")
    if not runs:
        return Section("race", TITLE, missing="No race is on record.")
    figures, tables = [], []
    data: dict[str, Any] = {}
    shown: list[Record] = []
    for task in dict.fromkeys(run["task"] for run in runs):
        # Only what had the budget of the last one can be compared.
        settings = [run for run in runs if run["task"] == task][-1]["settings"]
        same = [run for run in runs if run["task"] == task and run["settings"] == settings]
        latest = {run["model"]: run for run in same}
        shown += latest.values()
        figures.append(_figure(task, latest, settings))
        tables.append(_table(task, latest))
        data[task] = {
            model: {name: run[name] for name in ("accuracy", "seconds", "parameters", "points")}
            for model, run in latest.items()
        }
    lead = "Reservoirs and trained sequence models on the same digits, with the same budget."
    return Section("race", TITLE, lead, [*figures, *tables], data=data, records=shown)


def _figure(task: str, runs: dict[str, Any], settings: dict[str, Any]) -> Figure:
    series, rows = [], []
    for model, run in runs.items():
        best: list[tuple[float, float]] = []
        for at, accuracy in run["points"]:
            best.append((at, max([accuracy, *(value for _, value in best[-1:])])))
        tips = [f"{model} after {at:.3g} s: {value:.2%}" for at, value in best]
        series.append(Series(model, best, tips))
        rows += [[model, f"{at:.3g}", f"{value:.4f}"] for at, value in best]
    title = f"{tasks()[task].title}: validation accuracy by seconds"
    return Figure(
        title,
        xy(title, Axis("seconds of wall clock", True), Axis("best accuracy so far"), series),
        f"{settings['train']:,} digits to train on, {settings['validation']:,} to validate, "
        f"{settings['seconds']:g} s each (a validation begun is ended), "
        f"on {_cores(settings['threads'])}.",
        legend=list(runs),
        data=Table(title, ["Model", "Seconds", "Accuracy"], rows),
    )


def _cores(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def _table(task: str, runs: dict[str, Any]) -> Table:
    best = max(run["accuracy"] for run in runs.values())
    rows = []
    for model, run in runs.items():
        accuracy = Entry(f"{run['accuracy']:.2%}", best=run["accuracy"] == best)
        rows.append([model, accuracy, f"{run['seconds']:.1f}", f"{run['parameters']:,}",
                     str(run["configuration"])])  # fmt: skip
    columns = ["Model", "Test accuracy", "Seconds", "Trained parameters", "What"]
    return Table(f"{tasks()[task].title}: test accuracy", columns, rows, text=(4,))
