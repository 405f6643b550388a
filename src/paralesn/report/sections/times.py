"""Seconds of training, by task and model."""

from paralesn.experiments.catalogue import models, tasks
from paralesn.report.charts import Axis, dots
from paralesn.report.parts import Figure, Findings, Section, Table

TITLE = "Training times"


def section(found: Findings) -> Section:
    """The paper's figure of training times, and the numbers with their ratio to the ESN's."""
    names = [m for m in models() if any(row == m for _, row in found.cells)]
    if not names:
        return Section("times", TITLE, missing="`paralesn reproduce` measures them.")
    rows: dict[str, dict[str, tuple[float, str]]] = {}
    lines = []
    for task in tasks().values():
        cells = {m: found.cells[task.name, m] for m in names if (task.name, m) in found.cells}
        if not cells:
            continue
        rows[task.title] = {
            m: (cell.seconds, f"{m} on {task.title}: {cell.seconds:.3g} s, {_layers(found, m)}")
            for m, cell in cells.items()
        }
        base = cells["ESN"].seconds if "ESN" in cells else None
        lines.append([task.title, *(_text(cells, m, base) for m in names)])
    return Section(
        "times",
        TITLE,
        lead="Medians over seeds of the seconds from the input to the trained readout, on the "
        "machine named below. Runs that shared it with others took longer.",
        parts=[
            Figure(
                "Seconds of training",
                dots("Seconds of training by task and model", Axis("seconds", log=True), rows),
                "Each row is a task. Configurations differ, in layers above all: what was best on "
                "validation data was trained.",
                legend=names,
                data=Table("Seconds (ratio to the ESN's)", ["Task", *names], lines),
                wide=True,
            )
        ],
        data={task: {m: seconds for m, (seconds, _) in row.items()} for task, row in rows.items()},
    )


def _layers(found: Findings, model: str) -> str:
    units = {cell.task.units for (_, row), cell in found.cells.items() if row == model}
    return "/".join(f"{n:,}" for n in sorted(units)) + " units"


def _text(cells: dict, model: str, base: float | None) -> str:
    if model not in cells:
        return "-"
    seconds = cells[model].seconds
    return f"{seconds:.3g}" + (f" ({seconds / base:.2f})" if base else "")
