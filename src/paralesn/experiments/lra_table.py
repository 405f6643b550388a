"""The paper's table of the Long Range Arena: its rows as quoted, and ours with their times."""

from collections.abc import Iterable

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.experiments.catalogue import published, read, tasks, tasks_of
from paralesn.experiments.lra import FILE, MODEL
from paralesn.experiments.tables import Cell, _text

TITLE = "Long Range Arena, accuracy in %"
Cells = dict[tuple[str, str], Cell]


def _figures(model: str) -> list[float | None]:
    """What the paper prints in a row, in percent."""
    found = [(published(task, model), tasks()[task].scale) for task in tasks_of("lra")]
    return [None if paper is None else paper.mean / scale for paper, scale in found]


def _average(figures: Iterable[float | None]) -> float:
    return float(np.mean([figure for figure in figures if figure is not None]))


def _ours(cells: Cells) -> list[Cell | None]:
    return [cells.get((task, MODEL)) for task in tasks_of("lra")]


def as_rich(cells: Cells) -> Table | None:
    """The table for the terminal: ours over the paper's, in brackets, and our seconds."""
    ours = _ours(cells)
    if not any(ours):
        return None
    table = Table(title=f"{TITLE}; all rows but ours as the paper prints", title_justify="left")
    table.add_column("model")
    for task in tasks_of("lra"):
        table.add_column(f"↑ {tasks()[task].title}", justify="right")
    table.add_column("↑ Avg", justify="right")
    for row in read(FILE)["published"]:
        figures = _figures(row)
        texts = ["-" if figure is None else f"({figure:.1f})" for figure in figures]
        table.add_row(Text(f"{row}, the paper"), *texts, f"({_average(figures):.1f})")
    table.add_section()
    texts = [Text("-") if cell is None else _text(cell, None) for cell in ours]
    means = [None if cell is None else cell.mean / cell.task.scale for cell in ours]
    whole = "-" if None in means else f"{_average(means):.1f}"
    table.add_row(Text(f"{MODEL}, ours"), *texts, whole)
    for what, name in (
        ("seconds of features", "features seconds"),
        ("of training", "training seconds"),
        ("of testing", "test seconds"),
    ):
        found = [None if cell is None else cell.costs.get(name) for cell in ours]
        table.add_row(what, *("-" if one is None else f"{one[0]:.0f}" for one in found), "")
    return table


def as_latex(cells: Cells) -> str:
    """The table as LaTeX (booktabs); rows with a dagger are the paper's own figures."""
    ours = _ours(cells)
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
    rows = {row + r"$^\dagger$": _figures(row) for row in read(FILE)["published"]}
    rows[MODEL] = [None if cell is None else cell.mean / cell.task.scale for cell in ours]
    for row, figures in rows.items():
        entries = ["--" if figure is None else f"${figure:.1f}$" for figure in figures]
        average = (
            "--" if all(figure is None for figure in figures) else f"${_average(figures):.1f}$"
        )
        lines.append(" & ".join([row, *entries, average]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
