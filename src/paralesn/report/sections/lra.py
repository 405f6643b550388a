"""Long Range Arena: the paper's table as it is printed, and ours below it."""

from paralesn.paper.catalogue import read, tasks, tasks_of
from paralesn.paper.protocols.lra import FILE, MODEL
from paralesn.paper.protocols.lra_table import average, figures, ours_of
from paralesn.paper.tables import notes, rows
from paralesn.report.elements import Element, Entry, Findings, Note, Section, Table

TITLE = "Long Range Arena"
_TIMES = (
    ("Features", "features seconds"),
    ("Training", "training seconds"),
    ("Test", "test seconds"),
)


def section(found: Findings) -> Section:
    """Accuracies of a deep ParalESN, and what they took."""
    cells = ours_of(found.cells)
    there = [cell for cell in cells if cell is not None]
    if not there:
        return Section("lra", TITLE, missing="`paralesn reproduce lra` runs it.")
    names = [tasks()[name].title for name in tasks_of("lra")]
    lines: list[list[str | Entry]] = [
        [f"{row}, the paper", *map(_number, figures(row))] for row in read(FILE)["published"]
    ]
    ours = [None if cell is None else cell.mean / cell.task.scale for cell in cells]
    lines.append([f"{MODEL}, ours", *(Entry(_number(one)) for one in (*ours, average(cells)))])
    times = [
        [
            what,
            *(
                "-" if c is None or name not in c.costs else f"{c.costs[name][0]:.0f}"
                for c in cells
            ),
        ]
        for what, name in _TIMES
    ]
    content: list[Element] = [
        Table("Accuracy in %", ["Model", *names, "Average"], lines),
        Table("Seconds", ["", *names], times),
        *map(Note, notes(there)),
    ]
    lead = "All rows but the last are as the paper prints them, most of them quoted there."
    return Section("lra", TITLE, lead, content, data=rows(there))


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}"
