"""The paper's tables: ours, the paper's, the difference."""

from dataclasses import replace

from paralesn.paper.results import as_data, notes
from paralesn.paper.table import Table
from paralesn.report.elements import Element, Findings, Note, Section
from paralesn.report.tabular import turned

_LEAD = (
    "Our mean and standard deviation over seeds, the best of a row in bold. Below it the paper's "
    "figure and the relative difference to it, and where ours came from a wider search space, what "
    "the paper's own, “its space”, gives."
)
_MAIN = ("memory", "forecasting")
_OF_ALL = ("rows-memory", "rows-forecasting")  # say again what the others do


def regression(findings: Findings) -> Section:
    """Memory-based tasks and forecasting."""
    tables = [table for table in findings.tables("regression") if table.name in _MAIN]
    return _section(findings, "regression", "Regression", tables)


def variants(findings: Findings) -> Section:
    """Real-valued and structured reservoirs, and the two draws."""
    shown = (*_MAIN, *_OF_ALL)
    tables = [table for table in findings.tables("regression") if table.name not in shown]
    return _section(findings, "variants", "Real-valued and structured reservoirs", tables)


def earlier(findings: Findings) -> Section:
    """Memory tasks as an earlier repository has them."""
    tables = findings.tables("earlier")
    return _section(findings, "earlier", "Memory-based tasks, by an earlier protocol", tables)


def classification(findings: Findings) -> Section:
    """The archives' tasks."""
    tables = findings.tables("classification")
    return _section(findings, "classification", "Time series classification", tables)


def _section(findings: Findings, key: str, title: str, tables: list[Table]) -> Section:
    if not tables:
        return Section(key, title, missing="No run of these tables is on record.")
    entries = [entry for table in tables for line in table.lines for entry in line.entries]
    own = {(entry.cell.task.name, entry.cell.row.model) for entry in entries if entry.cell}
    groups = {entry.cell.task.group for entry in entries if entry.cell}
    shown = [c for c in findings.cells.values() if (c.task.name, c.row.model) in own]
    # No energy is shown here.
    of_groups = [
        replace(c, estimate=False) for c in findings.cells.values() if c.task.group in groups
    ]
    content: list[Element] = [*map(turned, tables), *map(Note, notes(of_groups))]
    records = findings.behind(shown)
    return Section(key, title, _LEAD, content, data=as_data(shown), records=records)
