"""Long-term forecasts beside published ones."""

from paralesn.paper.results import as_data
from paralesn.report.elements import Findings, Section
from paralesn.report.tabular import as_element

TITLE = "Long-term forecasting"


def section(findings: Findings) -> Section:
    """Mean squared errors of ETT, every step up to the horizon."""
    tables = findings.tables("long-term")
    if not tables:
        return Section("long-term", TITLE, missing="No run of it is on record.")
    cells = [cell for cell in findings.cells.values() if cell.protocol == "long-term"]
    lead = (
        "By the protocol of that literature: all seven features, all steps, standardised values. A "
        "linear reservoir that reads changes and is shared by the features."
    )
    content = list(map(as_element, tables))
    records = findings.behind(cells)
    return Section("long-term", TITLE, lead, content, data=as_data(cells), records=records)
