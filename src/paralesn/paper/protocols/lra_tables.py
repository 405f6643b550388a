"""Tables of the Long Range Arena: what the paper prints, and ours below it."""

from collections.abc import Sequence

import numpy as np

from paralesn.paper.catalogue import read, tasks_of
from paralesn.paper.layout import scores
from paralesn.paper.results import Cell
from paralesn.paper.table import Column, Digits, Entry, Line, Number, Table

FILE = "lra.toml"
MODEL = "ParalESN (deep)"


def figures(model: str) -> list[float | None]:
    """What the paper prints in a row, in percent, its own average last."""
    row = read(FILE)["published"][model]
    names = list(tasks_of("lra"))
    return [row.get(name) for name in (*names, "average")]


def average(ours: Sequence[Cell | None]) -> float | None:
    """Our mean over the tasks, in percent, once there is a result of each."""
    means = [cell.mean / cell.task.scale for cell in ours if cell is not None]
    return float(np.mean(means)) if len(means) == len(ours) else None


def accuracies(ours: Sequence[Cell | None]) -> Table:
    """Our accuracies below those that the paper prints."""
    plain = Digits(".1f", "")
    titles = [task.title for task in tasks_of("lra").values()]
    columns = [
        Column(title, "higher", digits=Digits(".1f", ".1f"), paper=plain, latex=plain)
        for title in titles
    ]
    columns.append(Column("Avg", "higher", digits=plain, paper=plain))
    lines = [
        Line(
            row,
            [Entry(None, None if f is None else Number(f)) for f in figures(row)],
            whose="the paper",
            quoted=True,
        )
        for row in read(FILE)["published"]
    ]
    mean = average(ours)
    last = Entry(None if mean is None else Number(mean))
    lines.append(Line(MODEL, [*map(scores, ours), last], whose="ours", apart=True))
    return Table("lra", "Long Range Arena, accuracy in %", "model", columns, lines)


def seconds(ours: Sequence[Cell | None]) -> Table:
    """Seconds of features, training and testing."""
    columns = [Column(task.title, digits=Digits(".0f", "")) for task in tasks_of("lra").values()]
    lines = []
    for label, cost in (
        ("seconds of features", "features seconds"),
        ("seconds of training", "training seconds"),
        ("seconds of testing", "test seconds"),
    ):
        costs = [None if cell is None else cell.costs.get(cost) for cell in ours]
        lines.append(Line(label, [Entry(None if c is None else Number(c[0])) for c in costs]))
    return Table("lra-seconds", "Long Range Arena, seconds", MODEL, columns, lines)
