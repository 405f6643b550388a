"""Long Range Arena: the paper's table as it is printed, and ours below it."""

from paralesn.paper.results import as_data, notes
from paralesn.report.elements import Element, Findings, Note, Section
from paralesn.report.tabular import as_element, tables_of

TITLE = "Long Range Arena"


def section(found: Findings) -> Section:
    """Accuracies of a deep ParalESN, and what they took."""
    tables = tables_of("lra", found.cells)
    if not tables:
        return Section("lra", TITLE, missing="No run of it is on record.")
    cells = [cell for cell in found.cells.values() if cell.protocol == "lra" and not cell.row.space]
    content: list[Element] = [*map(as_element, tables), *map(Note, notes(cells))]
    lead = "All rows but the last are as the paper prints them, most of them quoted there."
    return Section("lra", TITLE, lead, content, data=as_data(cells))
