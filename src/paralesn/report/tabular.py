"""Tables of results, as the paper's protocols make them, as elements of the page."""

from markupsafe import Markup, escape

from paralesn.paper.table import ARROWS, SIGNS, Column, Entry, Line, Number, Table
from paralesn.report import elements

_WORDS = {"win": "better than", "even": "even with", "loss": "worse than"}
_WAYS = {"higher": "higher is better", "lower": "lower is better"}
_NOTHING = Markup('<span class="soft">-</span>')


def as_element(table: Table, caption: str = "") -> elements.Table:
    """A table with a row for each line."""
    rows = [
        [line.label, *_entries(table, line, _added(table, i))]
        for i, line in enumerate(table.lines)
        if not line.aside
    ]
    heads = [table.head.capitalize(), *(column.heading for column in table.columns)]
    return elements.Table(caption or table.title, heads, rows, note=table.note)


def turned(table: Table) -> elements.Table:
    """A table of models and tasks with a row for each task, a column for each model."""
    lines = [(line, _added(table, i)) for i, line in enumerate(table.lines) if not line.aside]
    columns = [_entries(table, line, added) for line, added in lines]
    rows = [
        [_heading(column), *(entries[i] for entries in columns)]
        for i, column in enumerate(table.columns)
    ]
    return elements.Table(table.title, ["Task", *(line.name for line, _ in lines)], rows)


def _added(table: Table, index: int) -> Line | None:
    """The line that only adds to another one, if that is followed by such."""
    later = table.lines[index + 1 : index + 2]
    return later[0] if later and later[0].aside else None


def _heading(column: Column) -> Markup:
    """The name of a task, its unit, and which way is up."""
    unit = "" if column.unit == 1 else f" x {column.unit:g}"
    return Markup(
        f'<span class="name">{escape(column.title)}</span> <span class="small">'
        f'<span aria-hidden="true">{ARROWS[column.better]}</span>'
        f'<span class="sr">{_WAYS[column.better]}</span>{unit}</span>'
    )


def _entries(table: Table, line: Line, added: Line | None) -> list[elements.Entry | str]:
    held = added.entries if added is not None else [None] * len(line.entries)
    return [
        _entry(column, line, entry, more)
        for column, entry, more in zip(table.columns, line.entries, held, strict=True)
    ]


def _entry(column: Column, line: Line, entry: Entry, held: Entry | None) -> elements.Entry | str:
    """Ours, below it the paper's, and below that ours in the paper's space."""
    if isinstance(entry.value, str):
        return entry.value
    if entry.value is None:
        if entry.paper is None:
            return _NOTHING
        return column.theirs(entry.paper) if line.whose else Markup(_theirs(column, entry))
    more = _spread(column, entry)
    if entry.paper is not None:
        more += _theirs(column, entry)
    if held is not None and isinstance(held.value, Number) and held.cell and not held.repeats:
        figure = f"{held.value.mean:{column.digits.mean}}"
        more += f'<span class="theirs">its space {figure}{_verdict(held)}</span>'
    data = {}
    if entry.cell is not None:
        cell = entry.cell
        data = {"task": cell.task.name, "model": cell.row.model, "mean": repr(cell.mean)}
    shown = f"{entry.value.mean:{column.digits.mean}}{column.suffix}"
    return elements.Entry(shown, Markup(more), entry.best, data)


def _spread(column: Column, entry: Entry) -> str:
    assert isinstance(entry.value, Number)
    if entry.value.std is None or not column.digits.spread:
        return ""
    text = f"±{entry.value.std:{column.digits.spread}}{entry.mark}"
    return f' <span class="std">{escape(text)}</span>'


def _theirs(column: Column, entry: Entry) -> str:
    """The paper's figure and, where it is comparable, the difference to it."""
    assert entry.paper is not None
    text = f"paper {escape(column.theirs(entry.paper))}"
    if entry.difference is not None:
        text += f' <span class="{entry.verdict}">{entry.difference:+.0%}</span>{_verdict(entry)}'
    return f'<span class="theirs">{text}</span>'


def _verdict(entry: Entry) -> str:
    """A sign, and a word for those who do not see it."""
    if not entry.verdict:
        return ""
    return (
        f' <span class="{entry.verdict}"><span aria-hidden="true">{SIGNS[entry.verdict]}</span>'
        f'<span class="sr">{_WORDS[entry.verdict]} the paper</span></span>'
    )
