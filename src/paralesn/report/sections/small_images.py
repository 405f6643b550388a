"""MNIST of 14 x 14 pixels, on which every model is trained here: accuracy beside minutes."""

from paralesn.paper.catalogue import models
from paralesn.paper.protocols import small_mnist
from paralesn.paper.protocols.small_mnist_table import MODELS
from paralesn.paper.results import Row, as_data, notes
from paralesn.report import trade_off_figure
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.comparison import as_data as trade_as_data
from paralesn.report.comparison import trade_off
from paralesn.report.elements import LOOKS, Figure, Findings, Look, Note, Section, Table
from paralesn.report.tabular import as_element

_KEY, _TITLE = "small-mnist", "MNIST of 14 x 14 pixels, every model trained"
_COMPARED = [model for model in MODELS if not models()[model].only]  # run on both tasks
_LOOKS = LOOKS | {"ESN (deep)": Look(0, "triangle"), "ParalESN (deep)": Look(1, "diamond")}


def section(findings: Findings) -> Section:
    """A table and a trade-off of accuracy and time for each order of the pixels."""
    tables = findings.tables(_KEY)
    if not tables:
        return Section(_KEY, _TITLE, missing="No run of it is on record.")
    cells = [cell for cell in findings.cells.values() if cell.protocol == _KEY]
    scores = {(cell.task.name, cell.row.model): cell.mean for cell in cells}
    seconds = {(cell.task.name, cell.row.model): cell.seconds for cell in cells}
    trade = trade_off(scores, seconds, _COMPARED, small_mnist.tasks())
    return Section(
        _KEY,
        _TITLE,
        "All models on the same 10 000 digits, on one thread of a processor: nothing is quoted.",
        [
            *(_exchange(findings, table.name) for table in tables),
            *([] if trade is None else [trade_off_figure.figure(trade)]),
            *map(as_element, tables),
            *map(Note, notes(cells)),
        ],
        data={"results": as_data(cells), "trade_off": trade_as_data(trade)},
        records=findings.behind(cells),
    )


def _exchange(findings: Findings, task: str) -> Figure:
    """Accuracy against minutes of a core."""
    known = small_mnist.tasks()[task]
    series, lines = [], []
    for model in MODELS:
        cell = findings.cells.get((task, Row(model)))
        if cell is None:
            continue
        at, accuracy = cell.costs["total seconds"][0] / 60, cell.mean / known.scale
        tip = f"{model}: {accuracy:.2f} % in {at:.3g} minutes"
        series.append(Series(model, [(at, accuracy)], [tip], False, _LOOKS[model]))
        lines.append([model, f"{at:.3g}", f"{accuracy:.2f}"])
    return Figure(
        f"{known.title}: accuracy against minutes",
        xy(
            f"Accuracy on {known.title} against minutes of training and test",
            Axis("minutes of a core", True, 0.12), Axis("accuracy, %", margin=0.1), series,
        ),
        "Means over seeds, on the machine named below.",
        legend=[point.name for point in series],
        looks=_LOOKS,
        data=Table(known.title, ["Model", "Minutes", "Accuracy, %"], lines),
    )  # fmt: skip
