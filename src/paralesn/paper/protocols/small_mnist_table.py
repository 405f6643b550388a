"""The table of MNIST with 14 x 14 pixels: accuracy beside parameters, minutes and energy."""

from collections.abc import Iterable

from paralesn.paper.catalogue import Task
from paralesn.paper.layout import over_seeds, scores
from paralesn.paper.protocols.mnist import OURS, TRAINED
from paralesn.paper.results import Cell, Cells, Row, best
from paralesn.paper.table import Column, Digits, Entry, Line, Table

MODELS = (*TRAINED, *OURS)
_COLUMNS = (
    Column("Params.", suffix="k", digits=Digits(".1f", "")),
    Column("Accuracy", "higher"),
    Column("Time (min.)", "lower", digits=Digits(".3g", ".1g")),
    Column("Energy (kWh)", "lower", digits=Digits(".3g", ".1g")),
    Column("Epochs", digits=Digits(".0f", "")),
)
_NOTE = (
    "Trained parameters; minutes of one core, of training and test; energy of training. 10 000 "
    "digits of 14 x 14 pixels to train on, a tenth of them to stop by, 10 000 to test."
)


def tables(cells: Cells, tasks: Iterable[Task]) -> list[Table]:
    """A table of each task that has results."""
    return [table(cells, task) for task in tasks if any(of == task.name for of, _ in cells)]


def table(cells: Cells, task: Task) -> Table:
    """The table of a task."""
    winner = best(cells, task, MODELS)
    own = [(model, cells.get((task.name, Row(model)))) for model in MODELS]
    lines = [
        Line(model, _entries(cell, model == winner)) for model, cell in own if cell is not None
    ]
    return Table(task.name, f"{task.title}, accuracy in %", "model", _COLUMNS, lines, _NOTE)


def _entries(cell: Cell, is_best: bool) -> list[Entry]:
    return [
        _cost(cell, "trained", 1e3),
        scores(cell, is_best),
        _cost(cell, "total seconds", 60.0),
        _cost(cell, "kwh"),
        _cost(cell, "epochs"),
    ]


def _cost(cell: Cell, name: str, divisor: float = 1.0) -> Entry:
    ours = cell.costs.get(name)
    return Entry(None if ours is None else over_seeds(cell, *ours, divisor))
