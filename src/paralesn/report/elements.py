"""The elements of the page: sections made of tables, figures, tiles and notes.

Elements hold text and numbers. Text is escaped where the page is put together; only `Markup` is
taken for HTML. The template of an element is the macro named by `macro`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from markupsafe import Markup

from paralesn.paper import protocols
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.table import Table as ResultTable
from paralesn.report.stored import Stored


@dataclass(frozen=True)
class Look:
    """How a series is drawn: a colour of the page, a marker; deep ones are dashed and hollow."""

    color: int
    marker: str = "circle"
    deep: bool = False


LOOKS = {
    "ESN": Look(0, "square"),
    "ESN (deep)": Look(0, "square", True),
    "SCR": Look(2, "triangle"),
    "Structured RC": Look(3, "diamond"),
    "rParalESN": Look(4, "triangle"),
    "rParalESN (deep)": Look(4, "triangle", True),
    "ParalESN": Look(1, "circle"),
    "ParalESN (deep)": Look(1, "circle", True),
    "ParalESN, authors' draw": Look(1, "triangle"),
    "ParalESN, authors' draw (deep)": Look(1, "triangle", True),
    "ParalESN (pooled)": Look(1, "square"),
    "LSTM": Look(5, "square"),
    "Transformer": Look(4, "triangle"),
    "S4": Look(2, "diamond"),
    "LRU": Look(3, "square"),
    "Mamba": Look(5, "diamond"),
}


@dataclass(frozen=True)
class Entry:
    """A result in a table: `shown` is bold where it is the best, `more` follows it.

    `data` becomes `data-` attributes, for scripts.
    """

    shown: str
    more: str | Markup = ""
    best: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table; the first entry of a row is its heading. `text` columns are not numbers."""

    macro: ClassVar = "table"
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: Any = ""
    text: Sequence[int] = ()
    folded: bool = False  # under a heading that opens it
    narrow: bool = False  # with room for a figure beside it


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption; `legend` names series that can be hidden, `data` is a table.

    `looks` are those of the series; nothing stands beside a `wide` figure.
    """

    macro: ClassVar = "figure"
    title: str
    svg: Markup
    caption: Any
    legend: Sequence[str] = ()
    looks: Mapping[str, Look] = field(default_factory=lambda: LOOKS)
    data: Table | None = None
    wide: bool = False

    @property
    def narrow(self) -> bool:
        """Whether there is room for another figure beside it."""
        return not self.wide


@dataclass(frozen=True)
class Tiles:
    """Figures to be seen first: pairs of a figure and what it counts."""

    macro: ClassVar = "tiles"
    narrow: ClassVar = False
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Note:
    """A paragraph in small letters."""

    macro: ClassVar = "note"
    narrow: ClassVar = False
    text: Any


Element = Table | Figure | Tiles | Note


@dataclass(frozen=True)
class Section:
    """Elements under a heading; `missing` says why there are none.

    `records` are those that it is made of: runs and records of studies.
    """

    key: str
    title: str
    lead: Any = ""
    content: Sequence[Element] = ()
    data: Any = None  # for scripts
    missing: str = ""
    records: Sequence[Record] = ()


@dataclass(frozen=True)
class Findings:
    """What sections are made from.

    Attributes
    ----------
    stored : Stored
        Everything on record.
    cells : Cells
        Results by task and row.
    runs : sequence of (Row, Record)
        The runs that these results sum up.
    """

    stored: Stored
    cells: Cells = field(default_factory=dict)
    runs: Sequence[tuple[Row, Record]] = ()
    _tables: dict[str, list[ResultTable]] = field(default_factory=dict, init=False, repr=False)

    def tables(self, protocol: str) -> list[ResultTable]:
        """Tables of a protocol, made once; none where it has no results."""
        if protocol not in self._tables:
            known = protocols.of_kind(protocol)
            made = [] if known is None else known.tables(self.cells)
            self._tables[protocol] = _marked(made)
        return self._tables[protocol]

    def of_paper(self) -> Cells:
        """Results of the paper's own tables, not of protocols beside them."""
        in_paper = [protocol.name for protocol in protocols.protocols() if protocol.in_paper]
        return {key: cell for key, cell in self.cells.items() if cell.protocol in in_paper}

    def behind(self, cells: Iterable[Cell]) -> list[Record]:
        """The runs that cells sum up."""
        keys = {(cell.task.name, cell.row) for cell in cells}
        # Rows that took the paper's own space share their runs with those held to it.
        found = {id(run): run for row, run in self.runs if (run["task"], row) in keys}
        return list(found.values())


def _marked(tables: list[ResultTable]) -> list[ResultTable]:
    """Tables without marks of shipped results where all of them are."""
    entries = [entry for table in tables for line in table.lines for entry in line.entries]
    if not all(entry.cell.shipped for entry in entries if entry.cell is not None):
        return tables
    return [
        replace(table, lines=[
            replace(line, entries=[replace(entry, mark="") for entry in line.entries])
            for line in table.lines
        ])
        for table in tables
    ]  # fmt: skip
