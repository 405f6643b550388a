"""Tables of the results: in the paper's layout, as rows for machines, CSV and LaTeX."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.paper.catalogue import Published, Task, published, tasks
from paralesn.paper.records import Record

MAIN = ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)")
# The paper's tables: title, group of tasks, models.
TABLES = {
    "memory": ("Memory-based tasks", "memory", MAIN),
    "forecasting": ("Forecasting tasks", "forecasting", MAIN),
    "real-memory": (
        "Complex and real-valued, memory", "memory",
        ("rParalESN", "rParalESN (deep)", "ParalESN", "ParalESN (deep)"),
    ),
    "real-forecasting": (
        "Complex and real-valued, forecasting", "forecasting",
        ("rParalESN", "rParalESN (deep)", "ParalESN", "ParalESN (deep)"),
    ),
    "structured-memory": (
        "Structured reservoirs, memory", "memory", ("ESN", "SCR", "Structured RC", "ParalESN"),
    ),
    "structured": (
        "Structured reservoirs, forecasting", "forecasting",
        ("ESN", "SCR", "Structured RC", "ParalESN"),
    ),
    "archives": ("Time series classification, accuracy in %", "classification", MAIN),
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A model's result on a task, beside the paper's."""

    task: Task
    model: str
    metric: str
    mean: float
    std: float
    seeds: int
    seconds: float
    metrics: dict[str, float]
    space: str
    paper: Published | None
    shipped: bool = False  # from records that come with the package
    # Mean and standard deviation of what else the records hold: parameters, seconds, energy.
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)
    estimate: bool = False  # energy by a typical power, not by counters

    @property
    def verdict(self) -> str:
        """Whether we do better than the paper, as well as it prints, or worse."""
        if self.paper is None:
            return ""
        # The paper rounds to a tenth of the unit it prints in.
        lead = (self.task.loss(self.paper.mean) - self.task.loss(self.mean)) / self.task.scale
        return "even" if abs(lead) <= 0.05 else "win" if lead > 0 else "loss"

    @property
    def difference(self) -> float:
        """Relative difference to the paper's figure."""
        return np.nan if self.paper is None else (self.mean - self.paper.mean) / self.paper.mean


def cells(results: Iterable[tuple[str, Record]]) -> dict[tuple[str, str], Cell]:
    """Mean and standard deviation over seeds, by task and row; `results` pairs rows and records."""
    grouped: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for row, record in results:
        grouped[record["task"], row].append(record)
    found = {}
    for (name, row), group in grouped.items():
        metric = group[0]["metric"]
        names = group[0]["metrics"]
        values = np.array([record["metrics"][metric] for record in group])
        found[name, row] = Cell(
            task=tasks()[name],
            model=row,
            metric=metric,
            mean=float(values.mean()),
            std=float(values.std()),
            seeds=len(group),
            seconds=float(np.median([record["seconds"] for record in group])),
            metrics={n: float(np.mean([record["metrics"][n] for record in group])) for n in names},
            space=group[0]["space"],
            paper=published(name, row.removesuffix(" [paper space]")),
            shipped=any(record.get("shipped") for record in group),
            costs=_costs(group),
            estimate=any((record.get("energy") or {}).get("estimate") for record in group),
        )
    return found


def _costs(group: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """What every record of a group says about its costs."""
    flat = [
        {
            "parameters": record.get("parameters"),
            "trained": record.get("trained"),
            **{f"{name} seconds": value for name, value in record.get("timing", {}).items()},
            **{name: (record.get("energy") or {}).get(name) for name in ("kwh", "kg")},
        }
        for record in group
    ]
    names = [name for name in flat[0] if all(one.get(name) is not None for one in flat)]
    values = {name: np.array([one[name] for one in flat], float) for name in names}
    return {name: (float(each.mean()), float(each.std())) for name, each in values.items()}


def rows(found: Iterable[Cell]) -> list[dict[str, Any]]:
    """One object per task and model, for machines."""
    return [
        {
            "task": cell.task.name,
            "model": cell.model,
            "metric": cell.metric,
            "mean": cell.mean,
            "std": cell.std,
            "seeds": cell.seeds,
            "paper": None if cell.paper is None else cell.paper.mean,
            "paper_std": None if cell.paper is None else cell.paper.std,
            "seconds": cell.seconds,
            "space": cell.space,
            "metrics": cell.metrics,
            "shipped": cell.shipped,
            "costs": {name: mean for name, (mean, _) in cell.costs.items()},
            **({"energy_is_estimate": cell.estimate} if "kwh" in cell.costs else {}),
            **({"note": cell.task.note} if cell.task.note else {}),
        }
        for cell in found
    ]


def as_csv(found: Iterable[Cell]) -> str:
    """All cells as comma-separated values."""
    text = io.StringIO()
    names = ("task", "model", "metric", "mean", "std", "seeds", "paper", "paper_std", "seconds",
             "space")  # fmt: skip
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(found))
    return text.getvalue()


def _columns(found: dict[tuple[str, str], Cell], group: str, models: Sequence[str]) -> list[Task]:
    """Tasks of a group for which one of the models has a result."""
    return [
        task
        for task in tasks().values()
        if task.group == group and any((task.name, model) in found for model in models)
    ]


def _heading(task: Task) -> str:
    power = "" if _plain(task) else f" x{task.scale:g}"
    return f"{'↑' if task.better == 'higher' else '↓'} {task.title}{power}"


def _plain(task: Task) -> bool:
    """Whether figures need no power of ten beside them: percent say so in the title."""
    return task.scale == 1 or task.kind != "regression"


def best(found: dict[tuple[str, str], Cell], task: Task, models: Sequence[str]) -> str | None:
    """The model with the best mean."""
    there = [found[task.name, model] for model in models if (task.name, model) in found]
    return min(there, key=lambda cell: task.loss(cell.mean)).model if there else None


def as_rich(found: dict[tuple[str, str], Cell], name: str) -> Table | None:
    """A table of the paper for the terminal: our mean and std, the paper's, and who wins."""
    title, group, models = TABLES[name]
    columns = _columns(found, group, models)
    if not columns:
        return None
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("model")
    for task in columns:
        table.add_column(_heading(task), justify="right")
    for row in (name for model in models for name in (model, f"{model} [paper space]")):
        there = [found[task.name, row] for task in columns if (task.name, row) in found]
        twin = row.removesuffix(" [paper space]")
        same = twin != row and all(found[c.task.name, twin].space == c.space for c in there)
        if not there or same:  # nothing, or nothing but what the row above says
            continue
        texts = []
        for task in columns:
            cell = found.get((task.name, row))
            texts.append(Text("-") if cell is None else _text(cell, best(found, task, models)))
        table.add_row(Text(row), *texts)
    return table


_STYLES = {"win": "green", "loss": "red", "even": "yellow", "": ""}


def _text(cell: Cell, winner: str | None) -> Text:
    """Ours over the paper's."""
    scale = cell.task.scale
    ours = f"{cell.mean / scale:.2f} ±{cell.std / scale:.2f}" + ("*" if cell.shipped else "")
    text = Text(ours, style="bold" if cell.model == winner else "")
    if cell.paper is not None:
        sign = {"win": "✓", "even": "=", "loss": "✗"}[cell.verdict]
        theirs = f"\n({cell.paper.mean / scale:.1f}) {cell.difference:+.0%} {sign}"
        text.append(theirs, style=_STYLES[cell.verdict])
    return text


def as_latex(found: dict[tuple[str, str], Cell], name: str) -> str:
    """A table of the paper as LaTeX (booktabs), the best of each column in bold."""
    title, group, models = TABLES[name]
    columns = _columns(found, group, models)
    if not columns:
        return ""
    head = " & ".join(
        (r"$\uparrow$ " if t.better == "higher" else r"$\downarrow$ ") + t.title
        + ("" if _plain(t) else rf" ($\cdot 10^{{{round(np.log10(t.scale))}}}$)")
        for t in columns
    )  # fmt: skip
    lines = [
        "% " + title,
        r"\begin{tabular}{l" + "c" * len(columns) + "}",
        r"\toprule",
        f"Model & {head} " + r"\\",
        r"\midrule",
    ]
    for model in models:
        entries = []
        for task in columns:
            cell = found.get((task.name, model))
            if cell is None:
                entries.append("--")
                continue
            number = f"{cell.mean / task.scale:.2f}_{{\\pm {cell.std / task.scale:.2f}}}"
            bold = best(found, task, models) == model
            entries.append(rf"$\mathbf{{{number}}}$" if bold else f"${number}$")
        lines.append(f"{model} & " + " & ".join(entries) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def times(found: dict[tuple[str, str], Cell], models: Sequence[str]) -> Table:
    """Seconds of training per task, and the ratio to the shallow ESN's."""
    models = [model for model in models if any(name == model for _, name in found)]
    table = Table(title="Seconds of training (ratio to ESN)", title_justify="left")
    table.add_column("task")
    for model in models:
        table.add_column(model, justify="right")
    for task in tasks().values():
        there = [found.get((task.name, model)) for model in models]
        if not any(there):
            continue
        base = found.get((task.name, "ESN"))
        texts = []
        for cell in there:
            ratio = f" ({cell.seconds / base.seconds:.2f})" if cell and base else ""
            texts.append(f"{cell.seconds:.3g}{ratio}" if cell else "-")
        table.add_row(task.title, *texts)
    return table


def notes(found: Iterable[Cell]) -> list[str]:
    """What has to be said beside the tables."""
    cells = list(found)
    tasks_there = {cell.task.name: cell.task for cell in cells}
    said = [f"{task.title}: {task.note}." for task in tasks_there.values() if task.note]
    if shipped := [cell for cell in cells if cell.shipped]:
        seeds = ", ".join(f"{cell.model} on {cell.task.title} {cell.seeds}" for cell in shipped)
        said.append(
            "* from records that come with the package; naming the model in --models runs it. "
            f"Seeds: {seeds}."
        )
    if any(cell.estimate for cell in cells):
        said.append(
            "Energy and emissions are estimates by CodeCarbon, from a typical power of the "
            "processor: the hardware shows no counters."
        )
    return said


def long_term(results: Sequence[dict[str, Any]]) -> Table:
    """Long-term forecasts beside published mean squared errors."""
    table = Table(title="Long-term forecasts, horizon 192, every step", title_justify="left")
    rivals = list(results[0]["published"])
    for name in ("set", "MSE", "MAE", "seconds of training", *rivals, "better than"):
        table.add_column(name, justify="left" if name in ("set", "better than") else "right")
    for one in results:
        beaten = [name for name in rivals if one["mean"] < one["published"][name]]
        table.add_row(
            tasks()[one["task"]].title,
            f"{one['mean']:.4f} ±{one['std']:.4f}",
            f"{one['metrics']['mae']:.4f}",
            f"{one['seconds']:.1f}",
            *(f"{one['published'][name]:.3f}" for name in rivals),
            ", ".join(beaten) or "none",
        )
    return table


def summary(found: dict[tuple[str, str], Cell]) -> list[str]:
    """How often each row does better than, as well as, and worse than the paper."""
    counted: dict[str, dict[str, int]] = defaultdict(lambda: {"win": 0, "even": 0, "loss": 0})
    for (_, row), cell in found.items():
        if cell.verdict:
            counted[row][cell.verdict] += 1
    return [
        f"{row}: better than the paper in {n['win']}, even in {n['even']}, worse in {n['loss']}"
        for row, n in counted.items()
    ]
