"""Complex eigenvalues beside real ones: ParalESN and rParalESN over all regression tasks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.paper.catalogue import published, tasks, tasks_of
from paralesn.paper.results import Cells
from paralesn.report.charts import Axis, dots
from paralesn.report.comparison import LEAST_TASKS, LEVEL, pairwise
from paralesn.report.elements import Figure, Findings, Section, Table

TITLE = "Complex and real eigenvalues"
PAIRS = {"ParalESN": "rParalESN", "ParalESN (deep)": "rParalESN (deep)"}
_GROUPS = ("memory", "forecasting")
Figures = dict[tuple[str, str], float]  # by task and model


@dataclass(frozen=True)
class Pair:
    """A complex model beside its real one.

    Attributes
    ----------
    model : str
        The complex one.
    whose : str
        Whose figures they are: ours, ours in the paper's space, or the paper's.
    tasks : tuple of str
        Those that both models have a figure for.
    factors : dict of str to float
        How many times better the complex model is, by task.
    wins : int
        Tasks on which it has the better figure.
    p : float or None
        Of Wilcoxon's signed-rank test, one-sided; None for too few tasks.
    """

    model: str
    whose: str
    tasks: tuple[str, ...]
    factors: dict[str, float]
    wins: int
    p: float | None


def section(findings: Findings) -> Section:
    """Differences on each task, wins and tests."""
    ours, held = _measured(findings.cells, ""), _measured(findings.cells, "paper")
    sources = {"ours": ours, "ours, the paper's space": ours | held, "the paper's": _printed()}
    found = [compared(figures, m, whose) for whose, figures in sources.items() for m in PAIRS]
    pairs = [pair for pair in found if pair is not None]
    if not any(pair.whose == "ours" for pair in pairs):
        text = "No task is on record for both a complex model and its real-valued one."
        return Section("complex", TITLE, missing=text)
    return Section(
        "complex",
        TITLE,
        lead="ParalESN beside rParalESN, whose eigenvalues, weights and mixing are real, with as "
        "many units and searches as long.",
        content=[_figure(pairs), _tests(pairs), _differences(ours, pairs)],
        data=[
            {"model": p.model, "real": PAIRS[p.model], "whose": p.whose, "factors": p.factors,
             "wins": p.wins, "wilcoxon": p.p}
            for p in pairs
        ],
        records=findings.behind(
            cell for cell in findings.cells.values() if cell.row.model in {*PAIRS, *PAIRS.values()}
        ),
    )  # fmt: skip


def _measured(cells: Cells, space: str) -> Figures:
    """Means of the rows of a space."""
    return {(task, row.model): c.mean for (task, row), c in cells.items() if row.space == space}


def _printed() -> Figures:
    """What the paper prints."""
    names = [name for pair in PAIRS.items() for name in pair]
    known = {(t, m): published(t, m) for t in tasks_of(*_GROUPS) for m in names}
    return {key: figure.mean for key, figure in known.items() if figure is not None}


def compared(figures: Figures, model: str, whose: str) -> Pair | None:
    """A complex model beside its real one, or None where no task has both."""
    real = PAIRS[model]
    over = [t for t in tasks_of(*_GROUPS) if (t, model) in figures and (t, real) in figures]
    if not over:
        return None
    losses = np.array([[tasks()[t].loss(figures[t, m]) for m in (model, real)] for t in over])
    p = float(pairwise(losses)[0, 1]) if len(over) >= LEAST_TASKS else None
    factors = {t: _factor(t, figures[t, model], figures[t, real]) for t in over}
    wins = int((losses[:, 0] < losses[:, 1]).sum())
    return Pair(model, whose, tuple(over), factors, wins, p)


def _factor(task: str, own: float, other: float) -> float:
    """How many times better a figure is than another one."""
    return own / other if tasks()[task].better == "higher" else other / own


def _figure(pairs: list[Pair]) -> Figure:
    ours = [pair for pair in pairs if pair.whose == "ours"]
    rows: dict[str, dict[str, tuple[float, str]]] = {}
    for pair in ours:
        for task, factor in pair.factors.items():
            title = tasks()[task].title
            tip = f"{title}: {pair.model} is {factor:.3g} times as good as {PAIRS[pair.model]}"
            rows.setdefault(title, {})[pair.model] = (factor, tip)
    title = "How many times better complex eigenvalues are"
    return Figure(
        title,
        dots(title, Axis("times better than with real eigenvalues", log=True), rows, 1.0),
        "The error with real eigenvalues over that with complex ones; for memory capacity complex "
        "over real. Right of the dotted line complex ones do better.",
        legend=[pair.model for pair in ours],
    )


def _tests(pairs: list[Pair]) -> Table:
    rows = []
    for pair in pairs:
        count = len(pair.tasks)
        losses = sum(factor < 1 for factor in pair.factors.values())
        rows.append(
            [f"{pair.model}, {pair.whose}", count, pair.wins, losses,
             f"{np.median(list(pair.factors.values())):.2f}",
             "-" if pair.p is None else f"{pair.p:.2g}"]
        )  # fmt: skip
    note = (
        f"Wilcoxon's signed-rank test, one-sided: how likely such differences are if complex "
        f"eigenvalues are no better; {LEVEL:g} is the usual level. It needs {LEAST_TASKS} tasks. "
        "A factor is the error with real eigenvalues over that with complex ones, for memory "
        "capacity complex over real."
    )
    columns = ["Complex against real", "Tasks", "Better", "Worse", "Median factor", "p"]
    return Table("Wins and tests", columns, rows, note=note)


def _differences(ours: Figures, pairs: list[Pair]) -> Table:
    """A row for each task: both figures of each depth, and the differences beside the paper's."""
    known = {(pair.model, pair.whose): pair for pair in pairs}
    shown = [model for model in PAIRS if (model, "ours") in known]
    rows: list[list[Any]] = []
    for task in tasks_of(*_GROUPS).values():
        if not any(task.name in known[model, "ours"].tasks for model in shown):
            continue
        entries: list[Any] = []
        for model in shown:
            both = [ours.get((task.name, name)) for name in (PAIRS[model], model)]
            entries += ["-" if v is None else f"{v / task.scale:.2f}" for v in both]
            entries += [
                _percent(known.get((model, whose)), task.name) for whose in ("ours", "the paper's")
            ]
        unit = "" if task.scale == 1 else f" x {task.scale:g}"
        rows.append([f"{task.title}{unit}", *entries])
    heads = [head for m in shown for head in (PAIRS[m], m, "Difference", "In the paper")]
    note = (
        "Means over seeds, of the better space of each model. A difference is that of the complex "
        "model to the real one, in percent of the real one's figure: errors are to fall, MemCap is "
        "to rise."
    )
    return Table("Differences by task", ["Task", *heads], rows, note=note)


def _percent(pair: Pair | None, task: str) -> str:
    """The relative difference of the figures behind a factor."""
    if pair is None or task not in pair.factors:
        return "-"
    factor = pair.factors[task]
    ratio = factor if tasks()[task].better == "higher" else 1 / factor
    return f"{100 * (ratio - 1):+.0f} %"
