"""How our figures stand beside the paper's, at a glance."""

from markupsafe import Markup

from paralesn.paper.catalogue import models, tasks
from paralesn.paper.results import Cell, Row
from paralesn.report.charts import Axis, dots
from paralesn.report.elements import Figure, Findings, Section, Table, Tiles

TITLE = "Beside the paper"


def section(found: Findings) -> Section:
    """Counts of cells won and lost, and how many times better or worse every cell is."""
    cells = [cell for cell in found.cells.values() if cell.row.model in models()]
    own = [cell for cell in cells if not cell.row.space]
    quoted = [cell for cell in own if cell.paper is not None and cell.mean > 0]
    if not quoted:
        return Section("overview", TITLE, missing="No run of the paper's tables is on record.")
    held = [cell for cell in cells if cell.row.space and cell.paper is not None]
    tiles = [
        (f"{len(own)}", "results, each a mean over seeds"),
        (_share(quoted), "better than or even with the paper's figure"),
        *([(_share(held), "so with its own search space")] if held else []),
        _leader(quoted),
    ]
    names = [model for model in models() if any(cell.row.model == model for cell in quoted)]
    return Section(
        "overview",
        TITLE,
        lead="Every cell is the mean over seeds of a configuration chosen on validation data, in "
        "the paper's search space or in a wider one, whichever did better there.",
        content=[
            Tiles(tiles),
            Figure(
                "How many times better than the paper",
                dots(
                    "Ratio of our figure to the paper's, by task and model; right of 1 is better",
                    Axis("times better than the paper's figure", log=True),
                    _rows(quoted),
                    1.0,
                ),
                "The paper's error over ours, or for memory capacity and accuracy ours over the "
                "paper's: to the right of the dotted line we do better.",
                legend=names,
                data=_numbers(quoted, names),
            ),
            _counted(found, names),
        ],
        data={
            row.label: dict(zip(("better", "even", "worse"), _counts(found, row), strict=True))
            for row in dict.fromkeys(row for _, row in found.cells)
            if any(_counts(found, row))
        },
    )


def factor(cell: Cell) -> float:
    """How many times better than the paper's a figure is."""
    assert cell.paper is not None
    ratio = cell.mean / cell.paper.mean
    return ratio if cell.task.better == "higher" else 1 / ratio


def _share(cells: list[Cell]) -> str:
    return f"{sum(cell.verdict != 'loss' for cell in cells)} of {len(cells)}"


def _leader(cells: list[Cell]) -> tuple[str, str]:
    """The cell that is furthest ahead."""
    ours = [cell for cell in cells if cell.row.model.startswith("ParalESN")]
    best = max(ours or cells, key=factor)
    return f"{factor(best):.3g} x", f"ahead of the paper: {best.row.model} on {best.task.title}"


def _rows(cells: list[Cell]) -> dict[str, dict[str, tuple[float, str]]]:
    rows: dict[str, dict[str, tuple[float, str]]] = {}
    for task in tasks().values():
        for cell in cells:
            if cell.task.name == task.name and cell.paper is not None:
                scale = task.scale
                tip = (
                    f"{cell.row.model} on {task.title}: {cell.mean / scale:.2f}, the paper "
                    f"{cell.paper.mean / scale:.1f} ({factor(cell):.2f} times better)"
                )
                rows.setdefault(task.title, {})[cell.row.model] = factor(cell), tip
    return rows


def _numbers(cells: list[Cell], names: list[str]) -> Table:
    rows = [
        [title, *(f"{row[name][0]:.2f}" if name in row else "-" for name in names)]
        for title, row in _rows(cells).items()
    ]
    return Table("Times better than the paper", ["Task", *names], rows)


def _counts(found: Findings, row: Row) -> list[int]:
    """Cells of a row that are better than the paper's, even and worse."""
    verdicts = [cell.verdict for (_, other), cell in found.cells.items() if other == row]
    return [verdicts.count(name) for name in ("win", "even", "loss")]


def _counted(found: Findings, names: list[str]) -> Table:
    def words(row: Row) -> Markup | str:
        counts = _counts(found, row)
        if not any(counts):
            return "-"
        spoken = "{} better, {} even, {} worse".format(*counts)
        shown = "{} / {} / {}".format(*counts)
        return Markup(f'<span aria-hidden="true">{shown}</span><span class="sr">{spoken}</span>')

    return Table(
        "Better / even / worse",
        ["Model", "Ours", "Ours, paper space"],
        [[name, words(Row(name)), words(Row(name, "paper"))] for name in names],
        note="Cells of the paper's tables. Even: within half a unit of the last digit that the "
        "paper prints. Paper space: held to the paper's own search space.",
        narrow=True,
    )
