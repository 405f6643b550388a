r"""A table of figures, as data, and its forms: terminal (rich), LaTeX and CSV.

A table has a line for each model (or dataset) and a column for each task (or quantity). An entry
holds our figure, the paper's, or both. Reports make HTML of the same tables.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn.tables.writer import write_rows

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

    from paralesn.paper.results import Cell

ARROWS = {"higher": "↑", "lower": "↓"}
SIGNS = {"win": "✓", "even": "=", "loss": "✗"}
STYLES = {"win": "green", "loss": "red", "even": "yellow", "": ""}


@dataclass(frozen=True)
class Digits:
    """Formats of a figure and of its deviation, which is not shown where that is empty."""

    mean: str = ".2f"
    spread: str = ".2f"


@dataclass(frozen=True)
class Number:
    """A figure and its deviation over seeds, if there are some."""

    mean: float
    std: float | None = None

    def text(self, digits: Digits) -> str:
        """As it is printed."""
        spread = "" if self.std is None or not digits.spread else f" ±{self.std:{digits.spread}}"
        return f"{self.mean:{digits.mean}}{spread}"

    def latex(self, digits: Digits) -> str:
        """As it is typeset, without dollars."""
        if self.std is None or not digits.spread:
            return f"{self.mean:{digits.mean}}"
        return f"{self.mean:{digits.mean}}_{{\\pm {self.std:{digits.spread}}}}"


@dataclass(frozen=True)
class Column:
    """A heading, and how the figures below it are written.

    Attributes
    ----------
    title : str
    better : str
        "higher", "lower", or empty where neither is.
    unit : float
        What a figure is to be multiplied with.
    suffix : str
        Written after each figure.
    digits, paper : Digits
        Of our figures and of the paper's.
    latex, latex_paper : Digits, optional
        The same in LaTeX, where they differ.
    rounded : bool
        Whether the paper's figures are approximate.
    """

    title: str
    better: str = ""
    unit: float = 1.0
    suffix: str = ""
    digits: Digits = Digits()
    paper: Digits = Digits(".1f", ".1f")
    latex: Digits | None = None
    latex_paper: Digits | None = None
    rounded: bool = False

    @property
    def heading(self) -> str:
        """The title with an arrow and the unit."""
        power = "" if self.unit == 1 else f" x{self.unit:g}"
        return f"{ARROWS.get(self.better, '')} {self.title}{power}".strip()

    def ours(self, value: Number | str) -> str:
        """Our figure as text."""
        return value if isinstance(value, str) else value.text(self.digits) + self.suffix

    def theirs(self, value: Number) -> str:
        """The paper's figure as text."""
        return ("≈" if self.rounded else "") + value.text(self.paper) + self.suffix


@dataclass(frozen=True)
class Entry:
    """Our figure (or a word), the paper's, and how they compare."""

    value: Number | str | None = None
    paper: Number | None = None
    difference: float | None = None  # relative, of ours to the paper's
    verdict: str = ""  # "win", "even" or "loss"
    best: bool = False
    mark: str = ""  # points to a note below the table
    cell: "Cell | None" = None  # where the figure is from
    repeats: bool = False  # what the line above says already


@dataclass(frozen=True)
class Line:
    """A row of entries.

    Attributes
    ----------
    name : str
    entries : sequence of Entry
    whose : str
        Added to the name where several have the same.
    quoted : bool
        Whether all figures are the paper's own.
    aside : bool
        Whether the line adds to the one above: the same model, held to the paper's search space.
    apart : bool
        Whether a rule separates it from the one above.
    """

    name: str
    entries: Sequence[Entry]
    whose: str = ""
    quoted: bool = False
    aside: bool = False
    apart: bool = False

    @property
    def label(self) -> str:
        """The name of the line, for people."""
        return f"{self.name}, {self.whose}" if self.whose else self.name


@dataclass(frozen=True)
class Table:
    """Lines of entries under the same columns; `head` says what a line is."""

    name: str
    title: str
    head: str
    columns: Sequence[Column]
    lines: Sequence[Line]
    note: str = ""


# -- for the terminal ------------------------------------------------------------------------------


def as_rich(table: Table) -> "RichTable":
    """The table for the terminal: ours over the paper's, the best of a column in bold."""
    from rich.table import Table as RichTable
    from rich.text import Text

    double = any(_is_double(entry) for line in table.lines for entry in line.entries)
    shown = RichTable(title=table.title, title_justify="left", show_lines=double)
    shown.add_column(table.head)
    words = [_is_text(table, i) for i in range(len(table.columns))]
    for column, word in zip(table.columns, words, strict=True):
        shown.add_column(column.heading, justify="left" if word else "right")
    for line in table.lines:
        if line.apart:
            shown.add_section()
        pairs = zip(table.columns, line.entries, strict=True)
        shown.add_row(Text(line.label), *(_text(column, entry) for column, entry in pairs))
    if table.note:
        shown.caption, shown.caption_justify = table.note, "left"
    return shown


def _is_double(entry: Entry) -> bool:
    return entry.value is not None and entry.paper is not None


def _is_text(table: Table, column: int) -> bool:
    """Whether a column holds words: nothing in it begins with a digit or a sign."""
    values = [line.entries[column].value for line in table.lines]
    words = [value for value in values if isinstance(value, str) and value]
    numbers = any(isinstance(value, Number) for value in values)
    return bool(words) and not numbers and all(word[0].isalpha() for word in words)


def _text(column: Column, entry: Entry) -> "Text":
    """Ours over the paper's, which stands in brackets."""
    from rich.text import Text

    theirs = "" if entry.paper is None else f"({column.theirs(entry.paper)})"
    if entry.value is None:
        return Text(theirs or "-")
    text = Text().append(column.ours(entry.value) + entry.mark, "bold" if entry.best else "")
    if theirs:
        if entry.difference is not None:
            theirs += f" {entry.difference:+.0%} {SIGNS[entry.verdict]}"
        text.append(f"\n{theirs}", style=STYLES[entry.verdict])
    return text


# -- for papers ------------------------------------------------------------------------------------


def as_latex(table: Table) -> str:
    r"""The table in LaTeX (booktabs).

    The best of each column is bold, unless lines with a dagger quote the paper's own figures. Lines
    that only add to the one above are left out.
    """
    dagger = any(line.quoted for line in table.lines)
    said = "; rows with a dagger are the paper's own figures" if dagger else ""
    heads = " & ".join(map(_latex_heading, table.columns))
    rows = [
        "% " + table.title + said,
        r"\begin{tabular}{l" + "c" * len(table.columns) + "}",
        r"\toprule",
        f"{table.head.capitalize()} & {heads} " + r"\\",
        r"\midrule",
    ]
    for line in table.lines:
        if not line.aside:
            pairs = zip(table.columns, line.entries, strict=True)
            name = line.name + (r"$^\dagger$" if line.quoted else "")
            rows.append(" & ".join([name, *(_latex(c, e, not dagger) for c, e in pairs)]) + r" \\")
    return "\n".join([*rows, r"\bottomrule", r"\end{tabular}", ""])


def _latex_heading(column: Column) -> str:
    arrow = {"higher": r"$\uparrow$ ", "lower": r"$\downarrow$ "}.get(column.better, "")
    unit = column.unit
    return (
        arrow + column.title
        + ("" if unit == 1 else rf" ($\cdot 10^{{{round(np.log10(unit))}}}$)")
    )  # fmt: skip


def _latex(column: Column, entry: Entry, bold: bool) -> str:
    """Ours, or the paper's where we have none."""
    if isinstance(entry.value, str):
        return entry.value.replace("%", r"\%").replace("_", r"\_")
    if entry.value is not None:
        return (
            _math(entry.value, column.latex or column.digits, bold and entry.best) + column.suffix
        )
    if entry.paper is None:
        return "--"
    digits = column.latex_paper or column.paper
    if column.rounded:
        return rf"$\approx {entry.paper.latex(digits)}${column.suffix}"
    return _math(entry.paper, digits, False) + column.suffix


def _math(number: Number, digits: Digits, bold: bool) -> str:
    text = number.latex(digits)
    if bold:
        return rf"$\mathbf{{{text}}}$"
    return text if "pm" not in text else f"${text}$"


# -- for machines ----------------------------------------------------------------------------------


def as_csv(table: Table) -> str:
    """The table as comma-separated values, all digits of them."""
    rows: list[list[Any]] = [[table.head, *(column.title for column in table.columns)]]
    for line in table.lines:
        values = [entry.value for entry in line.entries]
        rows.append([line.label, *[v.mean if isinstance(v, Number) else v for v in values]])
    text = io.StringIO()
    write_rows(text, rows)
    return text.getvalue()
