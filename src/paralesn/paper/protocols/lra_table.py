"""The paper's table of the Long Range Arena: its rows as quoted, and ours with their times."""

from collections.abc import Iterable

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.paper.catalogue import read, tasks, tasks_of
from paralesn.paper.protocols.lra import FILE, MODEL
from paralesn.paper.tables import Cell, _text

TITLE = "Long Range Arena, accuracy in %"
Cells = dict[tuple[str, str], Cell]


def figures(model: str) -> list[float | None]:
    """What the paper prints in a row, in percent, its own average last."""
    row = read(FILE)["published"][model]
    return [row.get(task) for task in (*tasks_of("lra"), "average")]


def average(ours: Iterable[Cell | None]) -> float | None:
    """Our mean over the tasks, in percent, once there is a result of each."""
    means = [None if cell is None else cell.mean / cell.task.scale for cell in ours]
    return None if None in means else float(np.mean(means))  # type: ignore[arg-type]


def ours_of(cells: Cells) -> list[Cell | None]:
    """Our cell of every task."""
    return [cells.get((task, MODEL)) for task in tasks_of("lra")]


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}"


def as_rich(cells: Cells) -> Table | None:
    """The table for the terminal: ours over the paper's, in brackets, and our seconds."""
    ours = ours_of(cells)
    if not any(ours):
        return None
    table = Table(title=f"{TITLE}; all rows but ours as the paper prints", title_justify="left")
    table.add_column("model")
    for task in tasks_of("lra"):
        table.add_column(f"↑ {tasks()[task].title}", justify="right")
    table.add_column("↑ Avg", justify="right")
    for row in read(FILE)["published"]:
        texts = ["-" if figure is None else f"({figure:.1f})" for figure in figures(row)]
        table.add_row(Text(f"{row}, the paper"), *texts)
    table.add_section()
    found = [Text("-") if cell is None else _text(cell, None) for cell in ours]
    table.add_row(Text(f"{MODEL}, ours"), *found, _number(average(ours)))
    for what, name in (
        ("seconds of features", "features seconds"),
        ("of training", "training seconds"),
        ("of testing", "test seconds"),
    ):
        costs = [None if cell is None else cell.costs.get(name) for cell in ours]
        table.add_row(what, *("-" if one is None else f"{one[0]:.0f}" for one in costs), "")
    return table


def as_latex(cells: Cells) -> str:
    """The table as LaTeX (booktabs); rows with a dagger are the paper's own figures."""
    ours = ours_of(cells)
    if not any(ours):
        return ""
    heads = " & ".join(rf"$\uparrow$ {tasks()[task].title}" for task in tasks_of("lra"))
    lines = [
        f"% {TITLE}; rows with a dagger are the paper's figures",
        r"\begin{tabular}{lccccc}",
        r"\toprule",
        rf"Model & {heads} & $\uparrow$ Avg \\",
        r"\midrule",
    ]
    rows = {row + r"$^\dagger$": figures(row) for row in read(FILE)["published"]}
    means = [None if cell is None else cell.mean / cell.task.scale for cell in ours]
    rows[MODEL] = [*means, average(ours)]
    for row, numbers in rows.items():
        lines.append(" & ".join([row, *map(_number, numbers)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
