"""Long-term forecasts beside published ones."""

from paralesn.paper.results import as_data
from paralesn.report.elements import Findings, Section
from paralesn.report.tabular import as_element, tables_of

TITLE = "Long-term forecasting"


def section(found: Findings) -> Section:
    """Mean squared errors of ETT, every step up to the horizon."""
    tables = tables_of("long-term", found.cells)
    if not tables:
        return Section("long-term", TITLE, missing="No run of it is on record.")
    cells = [cell for cell in found.cells.values() if cell.protocol == "long-term"]
    lead = (
        "By the protocol of that literature: all seven features, all steps, standardised values. A "
        "linear reservoir that reads changes and is shared by the features."
    )
    content = list(map(as_element, tables))
    return Section("long-term", TITLE, lead, content, data=as_data(cells))
