"""Results: the runs of one configuration summed up, beside what the paper prints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from paralesn.paper.catalogue import Published, Task, models, published, tasks
from paralesn.paper.records import Record
from paralesn.paper.table import Column, Entry, Line, Number, Table


class Row(NamedTuple):
    """A row of the tables: a model, with the best of its configurations or those of one space."""

    model: str
    space: str = ""  # the only search space that counts; empty where the best of all does

    @property
    def label(self) -> str:
        """The row's name, for people."""
        return f"{self.model} [{self.space} space]" if self.space else self.model


@dataclass(frozen=True)
class Cell:
    """A model's result on a task, beside the paper's."""

    protocol: str
    task: Task
    row: Row
    metric: str
    mean: float
    std: float
    seeds: int
    seconds: float
    metrics: dict[str, float]
    space: str  # that the configuration is from
    paper: Published | None
    shipped: bool = False  # from records that come with the package
    # Mean and standard deviation of what else the records hold: parameters, seconds, energy.
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)
    estimate: bool = False  # energy by a typical power, not by counters
    rivals: Mapping[str, float] = field(default_factory=dict)  # as others published
    sizes: Mapping[str, int] = field(default_factory=dict)  # of the task's data
    transferred: str = ""  # the task that the configuration was searched for, if not this one

    @property
    def verdict(self) -> str:
        """Whether we do better than the paper, as well as it prints, or worse."""
        return "" if self.paper is None else self.against(self.paper)

    def against(self, printed: Published) -> str:
        """Whether we do better than a figure of the paper ("win"), as well as it, or worse."""
        # The paper rounds to a tenth of the unit it prints in.
        lead = (self.task.loss(printed.mean) - self.task.loss(self.mean)) / self.task.scale
        return "even" if abs(lead) <= 0.05 else "win" if lead > 0 else "loss"

    @property
    def difference(self) -> float:
        """Relative difference to the paper's figure."""
        return np.nan if self.paper is None else (self.mean - self.paper.mean) / self.paper.mean


Cells = dict[tuple[str, Row], Cell]


def cell(protocol: str, task: Task, row: Row, runs: Sequence[Record], **more: Any) -> Cell:
    """The runs of a row on a task as one result; `more` are further fields, or other values."""
    metric = runs[0]["metric"]
    names = [name for name in runs[0]["metrics"] if all(name in run["metrics"] for run in runs)]
    values = np.array([run["metrics"][metric] for run in runs])
    fields: dict[str, Any] = {
        "metric": metric,
        "mean": float(values.mean()),
        "std": float(values.std()),
        "seeds": len(runs),
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "metrics": {n: float(np.mean([run["metrics"][n] for run in runs])) for n in names},
        "space": runs[0].get("space", ""),
        "transferred": runs[0].get("transferred", ""),
        "paper": _printed(task, row.model),
        "shipped": any(run.get("shipped") for run in runs),
        "costs": _costs(runs),
        "estimate": any((run.get("energy") or {}).get("estimate") for run in runs),
    }
    return Cell(protocol, task, row, **fields | more)


def _printed(task: Task, model: str) -> Published | None:
    """What the paper prints for a model on a task, or for what these are other readings of."""
    known = models().get(model)
    if task.name not in tasks():
        return None
    return published(task.like or task.name, (known.like if known else "") or model)


def _costs(runs: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """What every one of the runs says about its costs."""
    flat = [
        {
            "parameters": run.get("parameters"),
            "trained": run.get("trained"),
            "epochs": run.get("epochs"),
            **{f"{name} seconds": value for name, value in run.get("timing", {}).items()},
            **{name: (run.get("energy") or {}).get(name) for name in ("kwh", "kg")},
        }
        for run in runs
    ]
    names = [name for name in flat[0] if all(costs.get(name) is not None for costs in flat)]
    values = {name: np.array([costs[name] for costs in flat], float) for name in names}
    return {name: (float(each.mean()), float(each.std())) for name, each in values.items()}


def best(cells: Cells, task: Task, models: Sequence[str]) -> str | None:
    """The model with the best mean."""
    present = [cells[task.name, Row(m)] for m in models if (task.name, Row(m)) in cells]
    return min(present, key=lambda cell: task.loss(cell.mean)).row.model if present else None


def as_data(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """One object for each cell, for machines."""
    return [
        {
            "task": cell.task.name,
            "model": cell.row.model,
            "held_to": cell.row.space or None,
            "metric": cell.metric,
            "mean": cell.mean,
            "std": cell.std,
            "seeds": cell.seeds,
            "paper": None if cell.paper is None else cell.paper.mean,
            "paper_std": None if cell.paper is None else cell.paper.std,
            "seconds": cell.seconds,
            "space": cell.space,
            **({"transferred": cell.transferred} if cell.transferred else {}),
            "metrics": cell.metrics,
            "shipped": cell.shipped,
            "costs": {name: mean for name, (mean, _) in cell.costs.items()},
            **({"energy_is_estimate": cell.estimate} if "kwh" in cell.costs else {}),
            **({"published": dict(cell.rivals)} if cell.rivals else {}),
            **cell.sizes,
            **({"note": cell.task.note} if cell.task.note else {}),
        }
        for cell in cells
    ]


_LISTED = ("model", "metric", "mean", "std", "seeds", "paper", "paper_std", "seconds", "space",
           "held_to")  # fmt: skip


def as_list(cells: Iterable[Cell]) -> Table:
    """All cells below one another, as a spreadsheet likes them."""
    lines = []
    for data in as_data(cells):
        values = [data[name] for name in _LISTED]
        entries = [Entry(Number(v) if isinstance(v, float) else str("" if v is None else v))
                   for v in values]  # fmt: skip
        lines.append(Line(data["task"], entries))
    return Table("results", "Results", "task", [Column(name) for name in _LISTED], lines)


def times(cells: Cells, models: Sequence[str]) -> Table:
    """Seconds of training of each task and model, and the ratio to the shallow ESN's."""
    rows = {row for _, row in cells}
    models = [model for model in models if Row(model) in rows]
    lines = []
    for task in tasks().values():
        present = [cells.get((task.name, Row(model))) for model in models]
        if not any(present):
            continue
        base = cells.get((task.name, Row("ESN")))
        texts = []
        for each in present:
            ratio = f" ({each.seconds / base.seconds:.2f})" if each and base else ""
            texts.append(Entry(f"{each.seconds:.3g}{ratio}") if each else Entry())
        lines.append(Line(task.title, texts))
    columns = [Column(model) for model in models]
    return Table("times", "Seconds of training (ratio to ESN)", "task", columns, lines)


def notes(cells: Iterable[Cell]) -> list[str]:
    """What has to be said beside the tables."""
    cells = list(cells)
    shown = {cell.task.name: cell.task for cell in cells}
    said = [f"{task.title}: {task.note}." for task in shown.values() if task.note]
    if moved := [cell for cell in cells if cell.transferred]:
        sources = ", ".join(
            f"{c.row.label} on {c.task.title} that of {_title(c.transferred)}" for c in moved
        )
        said.append(
            "Configurations searched for another task, chosen among those of several on a part of "
            f"the training set: {sources}."
        )
    if any(cell.estimate for cell in cells):
        said.append(
            "Energy and emissions are estimates by CodeCarbon, from a typical power of the "
            "processor: the hardware shows no counters."
        )
    return said


def shipped_notes(cells: Iterable[Cell]) -> list[str]:
    """What has to be said of cells from records that come with the package."""
    shipped = [cell for cell in cells if cell.shipped]
    seeds = ", ".join(f"{c.row.label} on {c.task.title} {c.seeds}" for c in shipped)
    return [f"* from records that come with the package. Seeds: {seeds}."] if shipped else []


def _title(task: str) -> str:
    """What people call a task."""
    return tasks()[task].title if task in tasks() else task


def summary(cells: Cells) -> list[str]:
    """How often each row does better than, as well as, and worse than the paper.

    Then, where it prints several reservoirs, where a row does worse than the best of them.
    """
    counted: dict[Row, dict[str, int]] = {}
    for (_, row), cell in cells.items():
        # Of a model that is searched in the paper's space alone both rows are the same.
        if cell.verdict and not (row.space and models()[row.model].spaces == (row.space,)):
            counted.setdefault(row, {"win": 0, "even": 0, "loss": 0})[cell.verdict] += 1
    said = [
        f"{row.label}: better than the paper in {n['win']}, even in {n['even']}, worse in "
        f"{n['loss']}"
        for row, n in counted.items()
    ]
    return said + [_beside_the_best(row, cells) for row in counted]


def _beside_the_best(row: Row, cells: Cells) -> str:
    """Where a row does worse than the best that the paper prints for any reservoir."""
    own = [cell for (_, other), cell in cells.items() if other == row and cell.verdict]
    worse = [cell.task.title for cell in own if cell.against(_best_printed(cell.task)) == "loss"]
    where = f", namely {', '.join(worse)}" if worse else ""
    return (
        f"{row.label}: worse than the best reservoir that the paper prints in {len(worse)} of "
        f"{len(own)}{where}"
    )


def _best_printed(task: Task) -> Published:
    """The best figure that the paper prints for a reservoir on a task, where it prints one."""
    known = (published(task.like or task.name, m.name) for m in models().values() if not m.trained)
    return min((p for p in known if p is not None), key=lambda printed: task.loss(printed.mean))
