"""How our figures stand beside the paper's, at a glance."""

from markupsafe import Markup

from paralesn.paper.catalogue import models, tasks
from paralesn.paper.results import Cell, Cells, Row
from paralesn.report.charts import Axis, dots
from paralesn.report.elements import Figure, Findings, Section, Table, Tiles

TITLE = "Beside the paper"
Rows = dict[str, dict[str, tuple[float, str]]]  # factor and tip, by task and model


def section(findings: Findings) -> Section:
    """Counts of cells won and lost, and how many times better or worse every cell is."""
    every = findings.of_paper()
    cells = [cell for cell in every.values() if cell.row.model in models()]
    quoted = [c for c in cells if not c.row.space and c.paper is not None and c.mean > 0]
    if not quoted:
        return Section("overview", TITLE, missing="No run of the paper's tables is on record.")
    names = [model for model in models() if any(cell.row.model == model for cell in quoted)]
    counts = _counts(every)
    return Section(
        "overview",
        TITLE,
        lead="Every cell is the mean over seeds of a configuration chosen on validation data, in "
        "the paper's search space or in a wider one, whichever did better there.",
        content=[_tiles(cells, quoted), _figure(quoted, names), _counted(counts, names)],
        data={
            row.label: dict(zip(("better", "even", "worse"), each, strict=True))
            for row, each in counts.items()
        },
        records=findings.behind(quoted),
    )


def _tiles(cells: list[Cell], quoted: list[Cell]) -> Tiles:
    held = [cell for cell in cells if cell.row.space and cell.paper is not None]
    return Tiles(
        [
            (f"{sum(not cell.row.space for cell in cells)}", "results, each a mean over seeds"),
            (_share(quoted), "better than or even with the paper's figure"),
            *([(_share(held), "so with its own search space")] if held else []),
            _leader(quoted),
        ]
    )


def _figure(quoted: list[Cell], names: list[str]) -> Figure:
    rows = _rows(quoted)
    return Figure(
        "How many times better than the paper",
        dots(
            "Ratio of our figure to the paper's, by task and model; right of 1 is better",
            Axis("times better than the paper's figure", log=True),
            rows,
            1.0,
        ),
        "The paper's error over ours, or for memory capacity and accuracy ours over the "
        "paper's: to the right of the dotted line we do better.",
        legend=names,
        data=_numbers(rows, names),
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


def _rows(cells: list[Cell]) -> Rows:
    rows: Rows = {}
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


def _numbers(rows: Rows, names: list[str]) -> Table:
    lines = [
        [title, *[f"{row[name][0]:.2f}" if name in row else "-" for name in names]]
        for title, row in rows.items()
    ]
    return Table("Times better than the paper", ["Task", *names], lines)


def _counts(cells: Cells) -> dict[Row, tuple[int, int, int]]:
    """Cells of each row that are better than the paper's, even and worse; rows with any."""
    verdicts: dict[Row, list[str]] = {}
    for (_, row), cell in cells.items():
        if cell.verdict:
            verdicts.setdefault(row, []).append(cell.verdict)
    return {
        row: (each.count("win"), each.count("even"), each.count("loss"))
        for row, each in verdicts.items()
    }


def _counted(counts: dict[Row, tuple[int, int, int]], names: list[str]) -> Table:
    def words(row: Row) -> Markup | str:
        if row not in counts:
            return "-"
        spoken = "{} better, {} even, {} worse".format(*counts[row])
        shown = "{} / {} / {}".format(*counts[row])
        return Markup(f'<span aria-hidden="true">{shown}</span><span class="sr">{spoken}</span>')

    return Table(
        "Better / even / worse",
        ["Model", "Ours", "Ours, paper space"],
        [[name, words(Row(name)), words(Row(name, "paper"))] for name in names],
        note="Cells of the paper's tables. Even: within half a unit of the last digit that the "
        "paper prints. Paper space: held to the paper's own search space.",
        narrow=True,
    )
