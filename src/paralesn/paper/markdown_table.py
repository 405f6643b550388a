"""Tables in Markdown, for pages: ours, and the paper's in brackets."""

from paralesn.paper.table import Column, Entry, Table


def as_markdown(table: Table) -> str:
    """The table in Markdown: the best of each column in bold, its title above, its note below."""
    heads = [table.head, *(column.heading for column in table.columns)]
    lines = [f"**{table.title}**", "", _line(heads), _line(["---"] * len(heads))]
    for line in table.lines:
        pairs = zip(table.columns, line.entries, strict=True)
        lines.append(_line([line.label, *(_cell(column, entry) for column, entry in pairs)]))
    return "\n".join([*lines, *(["", table.note] if table.note else []), ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _cell(column: Column, entry: Entry) -> str:
    """Ours and the paper's, which stands in brackets."""
    ours = "" if entry.value is None else column.ours(entry.value) + entry.mark
    ours = f"**{ours}**" if entry.best else ours
    theirs = "" if entry.paper is None else f"({column.theirs(entry.paper)})"
    return f"{ours} {theirs}".strip()
