"""Sequential MNIST: accuracy beside parameters, minutes, emissions and energy."""

from typing import Any

from markupsafe import Markup, escape

from paralesn.paper.catalogue import published, read, tasks, tasks_of
from paralesn.paper.protocols.mnist import COLUMNS, OURS, TRAINED, paper_cost
from paralesn.paper.tables import MAIN, Cell, best, notes, rows
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.chosen import PAPER
from paralesn.report.elements import LOOKS, Entry, Figure, Findings, Look, Note, Section, Table
from paralesn.report.sections.results import result

TITLE = "Sequential MNIST"
# Hollow are the paper's figures here, so that deep models need markers of their own.
_LOOKS = LOOKS | {"ESN (deep)": Look(0, "triangle"), "ParalESN (deep)": Look(1, "diamond")}


def section(found: Findings) -> Section:
    """A table and a trade-off of accuracy and time for each order of the pixels."""
    names = [name for name in tasks_of("mnist") if any(task == name for task, _ in found.cells)]
    if not names:
        return Section("mnist", TITLE, missing="`paralesn reproduce mnist` runs these tables.")
    cells = [cell for cell in found.cells.values() if cell.task.name in names]
    return Section(
        "mnist",
        TITLE,
        "Ours over the paper's. Trained models are quoted from the paper until they are run here; "
        "its times are those of other hardware.",
        [
            *(_exchange(found, name) for name in names),
            *(_table(found, name) for name in names),
            *map(Note, notes(cells)),
        ],
        data=rows(cells),
    )


def _table(found: Findings, task: str) -> Table:
    winner = best(found.cells, tasks()[task], OURS)
    lines = []
    for model in (*TRAINED, *OURS):
        cell = found.cells.get((task, model))
        if cell is None and model not in (*TRAINED, *MAIN):
            continue
        costs = [_cost(cell, task, model, *column[1:]) for column in COLUMNS]
        accuracy = _accuracy(found, task, model, model == winner)
        lines.append([model, _parameters(cell, model), accuracy, *costs])
    heads = ("Params.", "↑ Accuracy, %", *(f"↓ {one[0]}" for one in COLUMNS))
    return Table(tasks()[task].title, ["Model", *heads], lines)


def _parameters(cell: Cell | None, model: str) -> Markup:
    paper = read("classification.toml")["cost"].get(model)
    theirs = "" if paper is None else f"≈{paper['parameters'] / 1e3:.0f}k"
    return _over("" if cell is None else f"{cell.costs['trained'][0] / 1e3:.1f}k", theirs)


def _over(ours: str, theirs: str, kind: str = "") -> Markup:
    """Ours where there is one, the paper's below it."""
    quoted = f'<span class="theirs {kind}">paper {escape(theirs)}</span>' if theirs else ""
    return Markup(f"{escape(ours)}{quoted}" if ours or quoted else "-")


def _accuracy(found: Findings, task: str, model: str, winner: bool) -> Entry | Markup:
    cell, scale = found.cells.get((task, model)), tasks()[task].scale
    if cell is None:
        paper = published(task, model)
        if paper is None or paper.std is None:
            return Markup("-")
        return _over("", f"{paper.mean / scale:.1f} ±{paper.std / scale:.1f}")
    return result(cell, found.cells.get((task, model + PAPER)), winner)


def _cost(
    cell: Cell | None, task: str, model: str, name: str, divisor: float, theirs: str
) -> Markup:
    paper = paper_cost(task, model, theirs)
    quoted = "" if paper is None else f"{paper[0]:g} ±{paper[1]:g}"
    ours = None if cell is None else cell.costs.get(name)
    if ours is None:
        return _over("", quoted)
    return _over(f"{ours[0] / divisor:.3g} ±{ours[1] / divisor:.1g}", quoted)


def _exchange(found: Findings, task: str) -> Figure:
    """Accuracy against minutes: filled where it is ours, hollow where it is the paper's."""
    scale, title = tasks()[task].scale, tasks()[task].title
    series, lines = [], []
    for model in (*TRAINED, *OURS):
        points: list[tuple[str, Any, float]] = []
        paper, minutes = published(task, model), paper_cost(task, model, "minutes")
        if paper is not None and minutes is not None:
            points.append(("paper", minutes[0], paper.mean / scale))
        cell = found.cells.get((task, model))
        if cell is not None and "total seconds" in cell.costs:
            points.append(("ours", cell.costs["total seconds"][0] / 60, cell.mean / scale))
        look = _LOOKS[model]
        for who, at, accuracy in points:
            tip = f"{model}, {who}: {accuracy:.2f} % in {at:.3g} minutes"
            shown = Look(look.color, look.marker, who == "paper")
            series.append(Series(model, [(at, accuracy)], [tip], False, shown))
            lines.append([model, who, f"{at:.3g}", f"{accuracy:.2f}"])
    return Figure(
        f"{title}: accuracy against minutes",
        xy(
            f"Accuracy on {title} against minutes of training and test",
            Axis("minutes", True, 0.12), Axis("accuracy, %", margin=0.1), series,
        ),
        "Hollow: the paper's, on its hardware. Filled: ours, on the machine named below.",
        legend=list(dict.fromkeys(one.name for one in series)),
        looks=_LOOKS,
        data=Table(title, ["Model", "Whose", "Minutes", "Accuracy, %"], lines, text=(1,)),
    )  # fmt: skip
