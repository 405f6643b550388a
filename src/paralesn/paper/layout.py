"""Tables in the paper's layout: a line for each model, a column for each task."""

from collections.abc import Sequence

from paralesn.paper.catalogue import Task
from paralesn.paper.results import Cell, Cells, Row, best
from paralesn.paper.table import Column, Entry, Line, Number, Table


def over_seeds(cell: Cell, mean: float, std: float, unit: float = 1.0) -> Number:
    """A figure and its deviation over seeds, which a single run does not have."""
    return Number(mean / unit, std / unit if cell.seeds > 1 else None)


def scores(cell: Cell | None, is_best: bool = False, repeats: bool = False) -> Entry:
    """A result in the unit that the paper prints it in, beside the paper's."""
    if cell is None:
        return Entry()
    scale = cell.task.scale
    return Entry(
        over_seeds(cell, cell.mean, cell.std, scale),
        None if cell.paper is None else Number(cell.paper.mean / scale),
        None if cell.paper is None else cell.difference,
        cell.verdict,
        is_best,
        "*" if cell.shipped else "",
        cell,
        repeats,
    )


def models_by_tasks(
    name: str,
    title: str,
    tasks: Sequence[Task],
    models: Sequence[str],
    cells: Cells,
    unit: bool = True,
) -> Table | None:
    """A table of models and tasks, or None where none of the models has a result.

    `unit` says whether headings name the power of ten that figures are to be multiplied with.
    """
    of_models = {task for task, row in cells if row.model in models and not row.space}
    shown = [task for task in tasks if task.name in of_models]
    if not shown:
        return None
    winners = {task.name: best(cells, task, models) for task in shown}
    lines = []
    for model in models:
        own = [cells.get((task.name, Row(model))) for task in shown]
        if any(own):
            entries = [scores(c, c is not None and winners[c.task.name] == model) for c in own]
            lines.append(Line(model, entries))
        if (line := held_to_the_paper(model, shown, cells)) is not None:
            lines.append(line)
    columns = [Column(t.title, t.better, t.scale if unit else 1.0) for t in shown]
    return Table(name, title, "model", columns, lines)


def held_to_the_paper(model: str, tasks: Sequence[Task], cells: Cells) -> Line | None:
    """Results of the paper's own search space, where any differs from the line above."""
    row = Row(model, "paper")
    pairs = [(cells.get((t.name, Row(model))), cells.get((t.name, row))) for t in tasks]
    entries, differs = [], False
    for own, held in pairs:
        repeats = own is not None and held is not None and own.space == held.space
        differs = differs or (held is not None and not repeats)
        entries.append(scores(held, False, repeats))
    return Line(row.label, entries, aside=True) if differs else None
