"""The paper's tables: ours, the paper's, the difference."""

from dataclasses import replace

from paralesn.paper.results import as_data, notes
from paralesn.paper.table import Table
from paralesn.report.elements import Element, Findings, Note, Section
from paralesn.report.tabular import tables_of, turned

_LEAD = (
    "Our mean and standard deviation over seeds, the best of a row in bold. Below it the paper's "
    "figure and the relative difference to it, and where ours came from a wider search space, what "
    "the paper's own, “its space”, gives."
)
_MAIN = ("memory", "forecasting")


def regression(found: Findings) -> Section:
    """Memory-based tasks and forecasting."""
    tables = tables_of("regression", found.cells, _MAIN)
    return _section(found, "regression", "Regression", tables)


def variants(found: Findings) -> Section:
    """Real-valued and structured reservoirs."""
    tables = [t for t in tables_of("regression", found.cells) if t.name not in _MAIN]
    return _section(found, "variants", "Real-valued and structured reservoirs", tables)


def classification(found: Findings) -> Section:
    """The archives' tasks."""
    tables = tables_of("classification", found.cells)
    return _section(found, "classification", "Time series classification", tables)


def _section(found: Findings, key: str, title: str, tables: list[Table]) -> Section:
    if not tables:
        return Section(key, title, missing="No run of these tables is on record.")
    entries = [entry for table in tables for line in table.lines for entry in line.entries]
    own = {(entry.cell.task.name, entry.cell.row.model) for entry in entries if entry.cell}
    groups = {entry.cell.task.group for entry in entries if entry.cell}
    shown = [c for c in found.cells.values() if (c.task.name, c.row.model) in own]
    # No energy is shown here.
    of_groups = [replace(c, estimate=False) for c in found.cells.values() if c.task.group in groups]
    content: list[Element] = [*map(turned, tables), *map(Note, notes(of_groups))]
    return Section(key, title, _LEAD, content, data=as_data(shown))
