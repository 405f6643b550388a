"""Protocols that do not come with the package: the tables that they make."""

from paralesn.paper import protocols
from paralesn.paper.results import as_data
from paralesn.report.elements import Findings, Section
from paralesn.report.tabular import as_element


def sections(findings: Findings) -> list[Section]:
    """A section for each added protocol that has results."""
    made = []
    for protocol in protocols.added():
        cells = [cell for cell in findings.cells.values() if cell.protocol == protocol.name]
        tables = [as_element(table) for table in findings.tables(protocol.name)]
        if tables:
            made.append(Section(protocol.name, protocol.title, "", tables, data=as_data(cells)))
    return made
