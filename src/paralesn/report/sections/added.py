"""Protocols that do not come with the package: the tables that they make."""

from paralesn.paper import protocols
from paralesn.paper.results import as_data
from paralesn.report.elements import Findings, Section
from paralesn.report.tabular import as_element


def sections(found: Findings) -> list[Section]:
    """A section for each added protocol that has results."""
    made = []
    for protocol in protocols.added():
        cells = [cell for cell in found.cells.values() if cell.protocol == protocol.name]
        tables = [as_element(table) for table in protocol.tables(found.cells)]
        if tables:
            made.append(Section(protocol.name, protocol.title, "", tables, data=as_data(cells)))
    return made
