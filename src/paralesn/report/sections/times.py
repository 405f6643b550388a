"""Seconds of training, by task and model."""

from paralesn.paper.catalogue import Task, models, tasks
from paralesn.paper.results import Cell
from paralesn.report.charts import Axis, dots
from paralesn.report.elements import Figure, Findings, Section, Table

TITLE = "Training times"
_GROUPS = {
    "memory": "Memory-based tasks",
    "forecasting": "Forecasting",
    "classification": "Classification",
    "mnist": "Sequential MNIST",
}
Cells = dict[str, Cell]  # by model


def section(findings: Findings) -> Section:
    """The paper's figure of training times, a panel for each group of tasks."""
    by_task: dict[str, Cells] = {}
    for (task, row), cell in findings.cells.items():
        if row.model in models() and not row.space:
            by_task.setdefault(task, {})[row.model] = cell
    if not by_task:
        return Section("times", TITLE, missing="No run is on record.")
    panels = {
        group: [task for task in tasks().values() if task.group == group and task.name in by_task]
        for group in _GROUPS
    }
    return Section(
        "times",
        TITLE,
        lead="Medians over seeds of the seconds from the input to the trained readout, on the "
        "machine named below. Runs that shared it with others took longer, and configurations "
        "differ, in the number of layers above all.",
        content=[
            _panel(_GROUPS[group], shown, by_task) for group, shown in panels.items() if shown
        ],
        data={
            task: {model: cell.seconds for model, cell in cells.items()}
            for task, cells in by_task.items()
        },
        records=findings.behind(
            cell
            for shown in panels.values()
            for task in shown
            for cell in by_task[task.name].values()
        ),
    )


def _panel(title: str, shown: list[Task], by_task: dict[str, Cells]) -> Figure:
    trained = {model for task in shown for model in by_task[task.name]}
    names = [model for model in models() if model in trained]
    rows = {
        task.title: {
            model: (cell.seconds, f"{model} on {task.title}: {cell.seconds:.3g} s")
            for model, cell in by_task[task.name].items()
        }
        for task in shown
    }
    lines = [[task.title, *(_text(by_task[task.name], m) for m in names)] for task in shown]
    return Figure(
        title,
        dots(f"Seconds of training, {title}", Axis("seconds of training", log=True), rows),
        f"{shown[0].units:,} units.",
        legend=names,
        data=Table("Seconds (ratio to the ESN's)", ["Task", *names], lines),
    )


def _text(cells: Cells, model: str) -> str:
    if model not in cells:
        return "-"
    seconds = cells[model].seconds
    return f"{seconds:.3g}" + (f" ({seconds / cells['ESN'].seconds:.2f})" if "ESN" in cells else "")
