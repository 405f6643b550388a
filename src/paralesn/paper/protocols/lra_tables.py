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


def average(accuracies: Sequence[float | None]) -> float | None:
    """Mean over the tasks with the published data, or data by the same law, if all are there.

    Images of PathFinder are alike in kind only, so that a mean with them would not compare.
    """
    asked = zip(tasks_of("lra"), accuracies, strict=True)
    counted = [accuracy for task, accuracy in asked if task not in read(FILE)["outside_average"]]
    known = [accuracy for accuracy in counted if accuracy is not None]
    return float(np.mean(known)) if len(known) == len(counted) else None


def accuracies(ours: Sequence[Cell | None]) -> Table:
    """Our accuracies below those that the paper prints."""
    plain = Digits(".1f", "")
    titles = [task.title for task in tasks_of("lra").values()]
    columns = [
        Column(title, "higher", digits=Digits(".1f", ".1f"), paper=plain, latex=plain)
        for title in titles
    ]
    outside = ", ".join(tasks_of("lra")[task].title for task in read(FILE)["outside_average"])
    averages = ("Avg", f"Avg without {outside}")
    columns += [Column(title, "higher", digits=plain, paper=plain) for title in averages]
    lines = []
    for row in read(FILE)["published"]:
        printed = figures(row)
        numbers = [None if f is None else Number(f) for f in (*printed, average(printed[:-1]))]
        entries = [Entry(None, number) for number in numbers]
        lines.append(Line(row, entries, whose="the paper", quoted=True))
    mean = average([None if cell is None else cell.mean / cell.task.scale for cell in ours])
    last = Entry(None if mean is None else Number(mean))
    lines.append(Line(MODEL, [*map(scores, ours), Entry(None), last], whose="ours", apart=True))
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
