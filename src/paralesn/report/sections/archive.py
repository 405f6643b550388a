"""The default classifier on datasets of the UCR archive, beside published rivals."""

from markupsafe import Markup

from paralesn.paper.protocols import ucr
from paralesn.paper.results import as_data
from paralesn.report.elements import Findings, Section
from paralesn.report.tabular import as_element

TITLE = "UCR archive"


def section(findings: Findings) -> Section:
    """Accuracies on every dataset there are records of."""
    cells = [cell for cell in findings.cells.values() if cell.protocol == "ucr"]
    if not cells:
        return Section("ucr", TITLE, missing="No run of it is on record.")
    cells.sort(key=lambda cell: cell.task.name)
    compared = ucr.comparison(cells)
    content = [as_element(ucr.accuracies(cells, list(compared)))]
    if compared:
        content.append(as_element(ucr.ahead(cells)))
    lead = Markup("<code>ReservoirClassifier()</code> by default, nothing chosen for a dataset.")
    data = {"datasets": as_data(cells), "rivals": compared}
    return Section("ucr", TITLE, lead, content, data=data, records=findings.behind(cells))
