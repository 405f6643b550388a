"""Sequential MNIST: accuracy beside parameters, minutes, emissions and energy."""

from typing import Any

from paralesn.paper.catalogue import published, tasks
from paralesn.paper.protocols.mnist import OURS, TRAINED, paper_cost
from paralesn.paper.results import Row, as_data, notes
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.elements import LOOKS, Figure, Findings, Look, Note, Section, Table
from paralesn.report.tabular import as_element

TITLE = "Sequential MNIST"
# Hollow are the paper's figures here, so that deep models need markers of their own.
_LOOKS = LOOKS | {"ESN (deep)": Look(0, "triangle"), "ParalESN (deep)": Look(1, "diamond")}


def section(findings: Findings) -> Section:
    """A table and a trade-off of accuracy and time for each order of the pixels."""
    tables = findings.tables("mnist")
    if not tables:
        return Section("mnist", TITLE, missing="No run of these tables is on record.")
    names = [table.name for table in tables]
    cells = [cell for cell in findings.cells.values() if cell.task.name in names]
    return Section(
        "mnist",
        TITLE,
        "Ours over the paper's. Trained models are quoted from the paper until they are run here; "
        "its times are those of other hardware.",
        [
            *(_exchange(findings, name) for name in names),
            *map(as_element, tables),
            *map(Note, notes(cells)),
        ],
        data=as_data(cells),
        records=findings.behind(cells),
    )


def _exchange(findings: Findings, task: str) -> Figure:
    """Accuracy against minutes: filled where it is ours, hollow where it is the paper's."""
    scale, title = tasks()[task].scale, tasks()[task].title
    series, lines = [], []
    for model in (*TRAINED, *OURS):
        points: list[tuple[str, Any, float]] = []
        paper, minutes = published(task, model), paper_cost(task, model, "minutes")
        if paper is not None and minutes is not None:
            points.append(("paper", minutes[0], paper.mean / scale))
        cell = findings.cells.get((task, Row(model)))
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
        legend=list(dict.fromkeys(point.name for point in series)),
        looks=_LOOKS,
        data=Table(title, ["Model", "Whose", "Minutes", "Accuracy, %"], lines, text=(1,)),
    )  # fmt: skip
