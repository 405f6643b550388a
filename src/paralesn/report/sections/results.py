"""The paper's tables: ours, the paper's, the difference."""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from paralesn.paper.catalogue import Task, tasks
from paralesn.paper.tables import TABLES, Cell, best, notes, rows
from paralesn.report.chosen import PAPER
from paralesn.report.elements import Entry, Findings, Note, Section, Table

_SIGNS = {"win": ("✓", "better"), "even": ("=", "even"), "loss": ("✗", "worse")}
_LEAD = (
    "Our mean and standard deviation over seeds, the best of a row in bold. Below it the paper's "
    "figure and the relative difference to it, and where ours came from a wider search space, what "
    "the paper's own, “its space”, gives."
)


def regression(found: Findings) -> Section:
    """Memory-based tasks and forecasting."""
    names = ("memory", "forecasting")
    return _section(found, "regression", "Regression", names, "`paralesn reproduce`")


def variants(found: Findings) -> Section:
    """Real-valued and structured reservoirs."""
    names = [name for name in TABLES if name.startswith(("real", "structured"))]
    title = "Real-valued and structured reservoirs"
    return _section(found, "variants", title, names, "`paralesn reproduce`")


def classification(found: Findings) -> Section:
    """The archives' tasks."""
    title, run = "Time series classification", "`paralesn reproduce classification`"
    return _section(found, "classification", title, ["archives"], run)


def _section(found: Findings, key: str, title: str, names: Sequence[str], command: str) -> Section:
    shown = [table for name in names if (table := paper_table(found.cells, name)) is not None]
    if not shown:
        return Section(key, title, missing=f"{command} runs these tables.")
    groups = {TABLES[name][1] for name in names}
    of_groups = [cell for cell in found.cells.values() if cell.task.group in groups]
    models = {model for name in names for model in TABLES[name][2]}
    plain = [replace(cell, estimate=False) for cell in of_groups]  # no energy is shown here
    mine = [cell for cell in of_groups if cell.model.removesuffix(PAPER) in models]
    return Section(key, title, _LEAD, [*shown, *map(Note, notes(plain))], data=rows(mine))


def paper_table(cells: dict[tuple[str, str], Cell], name: str) -> Table | None:
    """A table of the paper, turned: a row for each task, a column for each model."""
    title, group, models = TABLES[name]
    there = [task for task in tasks().values() if task.group == group]
    lines = []
    for task in there:
        if any((task.name, model) in cells for model in models):
            winner = best(cells, task, models)
            entries = [_entry(cells, task, model, winner) for model in models]
            lines.append([_heading(task), *entries])
    return Table(title, ["Task", *models], lines) if lines else None


def _heading(task: Task) -> Markup:
    """The name of a task, its unit, and which way is up."""
    way = ("↑", "higher is better") if task.better == "higher" else ("↓", "lower is better")
    unit = "%" if task.scale == 0.01 and task.better == "higher" else f"x {task.scale:g}"
    unit = "" if task.scale == 1 else f" {unit}"
    return Markup(
        f'<span class="name">{escape(task.title)}</span> <span class="small">'
        f'<span aria-hidden="true">{way[0]}</span><span class="sr">{way[1]}</span>{unit}</span>'
    )


def _entry(
    cells: dict[tuple[str, str], Cell], task: Task, model: str, winner: str | None
) -> Entry | Markup:
    cell = cells.get((task.name, model))
    if cell is None:
        return Markup('<span class="soft">-</span>')
    return result(cell, cells.get((task.name, model + PAPER)), model == winner)


def result(cell: Cell, held: Cell | None, best: bool) -> Entry:
    """Ours, below it the paper's, and below that ours in the paper's space."""
    scale = cell.task.scale
    text = f' <span class="std">±{cell.std / scale:.2f}{"*" if cell.shipped else ""}</span>'
    text += _paper_line(cell)
    if held is not None and held.space != cell.space:
        text += _held_line(held)
    data = {"task": cell.task.name, "model": cell.model, "mean": repr(cell.mean)}
    return Entry(f"{cell.mean / scale:.2f}", Markup(text), best, data)


def _paper_line(cell: Cell) -> str:
    """The paper's figure and the difference to it."""
    if cell.paper is None:
        return ""
    return (
        f'<span class="theirs">paper {cell.paper.mean / cell.task.scale:.1f} '
        f'<span class="{cell.verdict}">{cell.difference:+.0%}</span>{_verdict(cell)}</span>'
    )


def _held_line(held: Cell) -> str:
    """What the paper's own search space gives."""
    return (
        f'<span class="theirs">its space {held.mean / held.task.scale:.2f}{_verdict(held)}</span>'
    )


def _verdict(cell: Cell) -> str:
    """A sign, and a word for those who do not see it."""
    if not cell.verdict:
        return ""
    sign, word = _SIGNS[cell.verdict]
    return (
        f' <span class="{cell.verdict}"><span aria-hidden="true">{sign}</span>'
        f'<span class="sr">{word} than the paper</span></span>'
    ).replace("even than", "even with")
