"""What a page consists of: sections of tables, figures and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from paralesn.paper.tables import Cell
from paralesn.report.stored import Stored


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(value: Any) -> Html:
    """Anything as HTML: text is escaped, `Html` left as it is."""
    return value if isinstance(value, Html) else Html(escape(str(value)))


@dataclass(frozen=True)
class Look:
    """How a series is drawn: a colour of the page, a marker, dashed and hollow or not."""

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
    "ParalESN (pooled)": Look(1, "square"),
    "LSTM": Look(5, "square"),
    "Transformer": Look(4, "triangle"),
    "S4": Look(2, "diamond"),
    "LRU": Look(3, "square"),
    "Mamba": Look(5, "diamond"),
}


@dataclass(frozen=True)
class Table:
    """A table; the first entry of a row is its heading. `text` columns are not numbers."""

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

    `looks` are those of the series, `wide` a figure that nothing stands beside.
    """

    title: str
    svg: Html
    caption: Any
    legend: Sequence[str] = ()
    looks: Mapping[str, Look] = field(default_factory=lambda: LOOKS)
    data: Table | None = None
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; `missing` says why there is nothing in it."""

    key: str
    title: str
    lead: Any = ""
    parts: Sequence[Table | Figure | Html] = ()
    data: Any = None  # for scripts
    missing: str = ""


@dataclass(frozen=True)
class Findings:
    """What sections are made from: what is stored, and the cells of the tables."""

    stored: Stored
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
