"""Long Range Arena: the paper's table as it is printed, and ours below it."""

from paralesn.paper.results import as_data, notes
from paralesn.report.elements import Element, Findings, Note, Section
from paralesn.report.tabular import as_element

TITLE = "Long Range Arena"


def section(findings: Findings) -> Section:
    """Accuracies of a deep ParalESN, and what they took."""
    tables = findings.tables("lra")
    if not tables:
        return Section("lra", TITLE, missing="No run of it is on record.")
    cells = [
        cell for cell in findings.cells.values() if cell.protocol == "lra" and not cell.row.space
    ]
    content: list[Element] = [*map(as_element, tables), *map(Note, notes(cells))]
    lead = "All rows but the last are as the paper prints them, most of them quoted there."
    records = findings.behind(cells)
    return Section("lra", TITLE, lead, content, data=as_data(cells), records=records)
