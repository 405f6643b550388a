"""The paper's table of sequential MNIST: accuracy beside parameters, minutes, emissions, energy."""

from typing import Any

from rich.table import Table
from rich.text import Text

from paralesn.paper.catalogue import published, read, tasks
from paralesn.paper.tables import _STYLES, MAIN, Cell, _text

TRAINED = ("LSTM", "Transformer", "S4", "LRU", "Mamba")  # by gradients: quoted unless we ran them
# Heading, what our records call it, by how much to divide it, what the paper's figures are called.
COLUMNS = (
    ("Time (min.)", "total seconds", 60.0, "minutes"),
    ("Emissions (kg)", "kg", 1.0, "emissions"),
    ("Energy (kWh)", "kwh", 1.0, "energy"),
)
OURS = (*MAIN, "ParalESN (pooled)")
Cells = dict[tuple[str, str], Cell]


def paper_cost(task: str, model: str, name: str) -> tuple[float, float] | None:
    """Mean and standard deviation of what the paper prints about a model's costs."""
    found = read("classification.toml")["cost"].get(model, {}).get(task)
    return None if found is None else (float(found[name][0]), float(found[name][1]))


def _rows(cells: Cells, task: str) -> list[tuple[str, Cell | None]]:
    """Names and cells of the rows, those of models trained by gradients first."""
    rows: list[tuple[str, Cell | None]] = [(name, cells.get((task, name))) for name in TRAINED]
    for model in OURS:
        best = cells.get((task, model))
        paper = cells.get((task, f"{model} [paper space]"))
        if best is not None or model in MAIN:
            rows.append((model, best))
        if best is not None and paper is not None and best.space != paper.space:
            rows.append((paper.model, paper))
    return rows


def as_rich(cells: Cells, task: str) -> Table | None:
    """The table of a task for the terminal: ours over the paper's, in brackets."""
    if not any(name == task for name, _ in cells):
        return None
    title = tasks()[task].title
    table = Table(title=f"{title}, ours (the paper's)", title_justify="left", show_lines=True)
    table.add_column("model")
    for heading in ("Params.", "↑ Accuracy", *(f"↓ {one[0]}" for one in COLUMNS)):
        table.add_column(heading, justify="right")
    for row, cell in _rows(cells, task):
        model = row.removesuffix(" [paper space]")
        figures = [_cost(cell, task, model, *column[1:]) for column in COLUMNS]
        parameters = _parameters(cell, model)
        table.add_row(Text(row), parameters, _accuracy(cell, task, model), *figures)
    return table


def _parameters(cell: Cell | None, model: str) -> Text:
    paper = read("classification.toml")["cost"].get(model)
    theirs = "" if paper is None else f"(≈{paper['parameters'] / 1e3:.0f}k)"
    if cell is None or "trained" not in cell.costs:
        return Text(theirs)
    return Text(f"{cell.costs['trained'][0] / 1e3:.1f}k\n{theirs}".rstrip())


def _accuracy(cell: Cell | None, task: str, model: str) -> Text:
    if cell is not None:
        return _text(cell, None)
    paper, scale = published(task, model), tasks()[task].scale
    if paper is None or paper.std is None:
        return Text("-")
    return Text(f"({paper.mean / scale:.1f} ±{paper.std / scale:.1f})")


def _cost(cell: Cell | None, task: str, model: str, name: str, divisor: float, theirs: str) -> Text:
    """Ours over the paper's; green where it is less."""
    paper = paper_cost(task, model, theirs)
    quoted = "" if paper is None else f"({paper[0]:g} ±{paper[1]:g})"
    ours = None if cell is None else cell.costs.get(name)
    if ours is None:
        return Text(quoted or "-")
    mean, std = ours[0] / divisor, ours[1] / divisor
    text = Text(f"{mean:.3g} ±{std:.1g}")
    if paper is not None:
        text.append(f"\n{quoted}", style=_STYLES["win" if mean <= paper[0] else "loss"])
    return text


def as_latex(cells: Cells, task: str) -> str:
    """The table of a task as LaTeX (booktabs): ours where we have it, else as the paper prints."""
    if not any(name == task for name, _ in cells):
        return ""
    heads = (r"$\uparrow$ Accuracy", *(rf"$\downarrow$ {one[0]}" for one in COLUMNS))
    lines = [
        f"% {tasks()[task].title}; rows with a dagger are the paper's own figures",
        r"\begin{tabular}{lccccc}",
        r"\toprule",
        "Model & Params. & " + " & ".join(heads) + r" \\",
        r"\midrule",
    ]
    for row, cell in _rows(cells, task):
        lines.append(" & ".join(_latex(row, cell, task)) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex(row: str, cell: Cell | None, task: str) -> list[str]:
    """Entries of a row."""

    def number(pair: Any, digits: str, divisor: float = 1.0) -> str:
        if pair is None:
            return "--"
        return f"${pair[0] / divisor:{digits}}_{{\\pm {pair[1] / divisor:{digits}}}}$"

    if cell is None:
        paper, scale = published(task, row), tasks()[task].scale
        count = read("classification.toml")["cost"][row]["parameters"]
        accuracy = None
        if paper is not None and paper.std is not None:
            accuracy = paper.mean / scale, paper.std / scale
        costs = [number(paper_cost(task, row, one[3]), ".2f") for one in COLUMNS]
        return [
            row + r"$^\dagger$",
            rf"$\approx {count / 1e3:.0f}$k",
            number(accuracy, ".1f"),
            *costs,
        ]
    trained = cell.costs.get("trained")
    accuracy = (cell.mean / cell.task.scale, cell.std / cell.task.scale)
    costs = [number(cell.costs.get(one[1]), ".4f", one[2]) for one in COLUMNS]
    count = "--" if trained is None else f"{trained[0] / 1e3:.1f}k"
    return [row, count, number(accuracy, ".2f"), *costs]
