"""Sequential MNIST: accuracy beside parameters, minutes, emissions and energy."""

from typing import Any

from paralesn.paper.catalogue import MAIN, published, tasks, tasks_of
from paralesn.paper.protocols.mnist import OURS, TRAINED, paper_cost
from paralesn.paper.results import Cell, Row, as_data, notes
from paralesn.report import trade_off_figure
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.comparison import TradeOff, trade_off
from paralesn.report.comparison import as_data as trade_as_data
from paralesn.report.elements import LOOKS, Figure, Findings, Look, Note, Section, Table
from paralesn.report.tabular import as_element

TITLE = "Sequential MNIST"
# Hollow are the paper's figures here, so that deep models need markers of their own.
_COMPARED = (*TRAINED, *MAIN)
_LOOKS = LOOKS | {"ESN (deep)": Look(0, "triangle"), "ParalESN (deep)": Look(1, "diamond")}


def section(findings: Findings) -> Section:
    """A table and a trade-off of accuracy and time for each order of the pixels."""
    tables = findings.tables("mnist")
    if not tables:
        return Section("mnist", TITLE, missing="No run of these tables is on record.")
    names = [table.name for table in tables]
    cells = [cell for cell in findings.cells.values() if cell.task.name in names]
    trades = {"ours": _ours(cells), "paper": _papers()}
    return Section(
        "mnist",
        TITLE,
        "Ours over the paper's. Trained models are quoted from the paper until they are run here; "
        "its times are those of other hardware.",
        [
            *(_exchange(findings, name) for name in names),
            *_trade_offs(**trades),
            *map(as_element, tables),
            *map(Note, notes(cells)),
        ],
        data={
            "results": as_data(cells),
            "trade_off": {whose: trade_as_data(trade) for whose, trade in trades.items()},
        },
        records=findings.behind(cells),
    )


def _ours(cells: list[Cell]) -> TradeOff | None:
    """The trade-off of the models on record."""
    own = {(cell.task.name, cell.row.model): cell for cell in cells if not cell.row.space}
    scores = {key: cell.mean for key, cell in own.items()}
    seconds = {key: cell.seconds for key, cell in own.items()}
    return trade_off(scores, seconds, _COMPARED)


def _papers() -> TradeOff | None:
    """The trade-off of the figures that the paper prints."""
    scores, minutes = {}, {}
    for task in tasks_of("mnist"):
        for model in _COMPARED:
            score, cost = published(task, model), paper_cost(task, model, "minutes")
            if score is not None and cost is not None:
                scores[task, model], minutes[task, model] = score.mean, cost[0]
    return trade_off(scores, minutes, _COMPARED)


def _trade_offs(ours: TradeOff | None, paper: TradeOff | None) -> list[Figure]:
    """Both figures; ours where the ESN and another model were run."""
    shown = []
    if ours is not None:
        over = " and ".join(tasks()[task].title for task in ours.tasks)
        title, more = "Trade-off, ours", f"Over {over}, seconds of training on our machine."
        shown.append(trade_off_figure.figure(ours, title, more))
    if paper is not None:
        more = "From the accuracies and minutes that the paper prints."
        shown.append(trade_off_figure.figure(paper, "Trade-off, the paper's", more))
    return shown


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
