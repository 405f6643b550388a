"""What was run and where: configurations, versions, machines, files."""

from itertools import product
from typing import Any

from paralesn.paper.catalogue import models, tasks
from paralesn.paper.records import Record
from paralesn.paper.results import Row
from paralesn.report.elements import Findings, Section, Table
from paralesn.report.origin import machine, versions


def configurations(findings: Findings) -> Section:
    """Hyperparameters of every row of the tables."""
    title = "Configurations"
    chosen: dict[tuple[Row, str], list[Record]] = {}
    for row, run in findings.runs:
        if row.model in models():
            chosen.setdefault((row, run["task"]), []).append(run)
    if not chosen:
        return Section("configurations", title, missing="No run is on record.")
    shown = []
    for model in models():
        lines = []
        for task, row in product(tasks().values(), (Row(model), Row(model, "paper"))):
            runs = chosen.get((row, task.name))
            if runs and not (row.space and _same(chosen, row, task.name)):
                run = runs[0]
                alpha = "" if run.get("alpha") is None else f"{run['alpha']:.3g}"
                lines.append(
                    [task.title, run["space"], run.get("units", ""), len(runs), alpha,
                     _words(run["configuration"])]
                )  # fmt: skip
        if lines:
            columns = ["Task", "Space", "Units", "Seeds", "Penalty", "Hyperparameters"]
            shown.append(Table(model, columns, lines, text=(1, 5), folded=True))
    data = [
        {"row": row.label, "seeds": len(runs)}
        | {n: runs[0].get(n) for n in ("task", "space", "units", "alpha", "configuration")}
        for (row, _), runs in chosen.items()
    ]
    lead = (
        "As recorded with the runs. Where several configurations of a model are on record, the one "
        "that did best on validation data counts."
    )
    cells = [cell for cell in findings.cells.values() if cell.row.model in models()]
    behind = findings.behind(cells)
    return Section("configurations", title, lead, shown, data=data, records=behind)


def _same(chosen: dict[tuple[Row, str], list[Record]], row: Row, task: str) -> bool:
    """Whether the model's own row is that of the paper's space."""
    return bool(chosen[Row(row.model), task][0]["space"] == row.space)


def _words(configuration: dict[str, Any]) -> str:
    """Hyperparameters as text."""
    return ", ".join(f"{name} {_short(value)}" for name, value in configuration.items())


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"({_words(value)})"
    if isinstance(value, (list, tuple)):
        return " to ".join(map(_short, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def surroundings(findings: Findings) -> Section:
    """Versions, machines and files."""
    counted = findings.stored.surroundings()
    rows = []
    for around, count in counted:
        rows.append([f"{count:,}", versions(around), machine(around)])
    files = [[file.name, str(file.parent)] for file in findings.stored.files]
    files += [[name, "comes with the package"] for name in findings.stored.of_package]
    return Section(
        "surroundings",
        "Versions and machine",
        content=[
            Table("Where records were made", ["Records", "Versions", "Machine"], rows, text=(1, 2)),
            Table("Files read", ["File", "Folder"], files, text=(1,)),
        ],
        data=[around | {"records": count} for around, count in counted],
    )
