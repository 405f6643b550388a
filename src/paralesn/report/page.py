"""Sections put together as one HTML page that needs nothing else."""

from collections.abc import Iterable, Sequence
from importlib.resources import files

from paralesn.report.charts import swatch
from paralesn.report.parts import Figure, Html, Section, Table, html


def page(title: str, lead: Html, sections: Sequence[Section], made: str) -> str:
    """The page; sections that have nothing to show are listed at its end."""
    there = [section for section in sections if not section.missing]
    absent = [section for section in sections if section.missing]
    links = [(section.key, section.title) for section in there]
    if absent:
        links.append(("absent", "Not on record"))
    contents = "".join(f'<li><a href="#{key}">{html(name)}</a></li>' for key, name in links)
    body = "".join(map(_section, there)) + _absent(absent)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html(title)}</title>
<link rel="icon" href="data:,">
<style>{_asset("style.css")}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{html(title)}</h1>{lead}</header>
<div class="frame">
<nav aria-label="Contents">
<details open><summary>Contents</summary><ol>{contents}</ol></details>
</nav>
<main id="content" tabindex="-1">{body}</main>
</div>
<footer><p>{html(made)}</p></footer>
<div id="tip" hidden></div>
<script>{_asset("script.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return files("paralesn.report").joinpath("assets", name).read_text(encoding="utf-8")


def _section(section: Section) -> str:
    lead = f'<p class="lead">{html(section.lead)}</p>' if section.lead else ""
    heading = f'<h2 id="{section.key}-title">{html(section.title)}</h2>'
    return (
        f'<section id="{section.key}" aria-labelledby="{section.key}-title">{heading}{lead}'
        f"{''.join(_runs(section.parts))}</section>"
    )


def _runs(parts: Sequence[Table | Figure | Html]) -> Iterable[str]:
    """Parts as HTML; figures and narrow tables that follow one another stand side by side."""
    beside: list[str] = []
    for part in (*parts, None):
        if isinstance(part, Figure) and not part.wide:
            beside.append(figure(part))
            continue
        if isinstance(part, Table) and part.narrow:
            beside.append(table(part))
            continue
        if beside:
            yield f'<div class="beside">{"".join(beside)}</div>'
            beside = []
        if isinstance(part, Table):
            yield table(part)
        elif isinstance(part, Figure):
            yield figure(part)
        elif part is not None:
            yield part


def _absent(sections: Sequence[Section]) -> str:
    if not sections:
        return ""
    entries = "".join(
        f"<dt>{html(section.title)}</dt><dd>{html(section.missing)}</dd>" for section in sections
    )
    return (
        '<section id="absent" aria-labelledby="absent-title"><h2 id="absent-title">Not on record'
        f'</h2><p class="lead">What this page would show, had it been run.</p><dl>{entries}</dl>'
        "</section>"
    )


def table(one: Table) -> str:
    """A table that scrolls sideways where it is too wide."""
    head = "".join(
        f'<th scope="col"{_kind(one, i)}>{html(name)}</th>' for i, name in enumerate(one.columns)
    )
    body = "".join(
        "<tr>"
        + f'<th scope="row">{html(row[0])}</th>'
        + "".join(_entry(one, i, value) for i, value in enumerate(row[1:], start=1))
        + "</tr>"
        for row in one.rows
    )
    note = f'<p class="note">{html(one.note)}</p>' if one.note else ""
    shown = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html(one.caption)}">'
        f"<table><caption>{html(one.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>{note}"
    )
    if one.folded:
        return f'<details class="fold"><summary>{html(one.caption)}</summary>{shown}</details>'
    return f'<div class="table">{shown}</div>'


def _kind(one: Table, column: int) -> str:
    return ' class="text"' if column == 0 or column in one.text else ""


def _entry(one: Table, column: int, value: object) -> str:
    """An entry; one that is a whole cell already stays as it is."""
    shown = html(value)
    return shown if shown.startswith("<td") else f"<td{_kind(one, column)}>{shown}</td>"


def figure(one: Figure) -> str:
    """A drawing with its title, legend, caption and numbers."""
    legend = "".join(
        f'<li data-series="{html(name)}">{swatch(one.looks[name])}{html(name)}</li>'
        for name in one.legend
    )
    legend = f'<ul class="legend">{legend}</ul>' if legend else ""
    data = ""
    if one.data is not None:
        data = f'<details class="numbers"><summary>Numbers</summary>{table(one.data)}</details>'
    return (
        f"<figure{' class=wide' if one.wide else ''}>"
        f'<div class="head"><h3>{html(one.title)}</h3></div>{legend}'
        f'<div class="plot">{one.svg}</div><figcaption>{html(one.caption)}</figcaption>{data}'
        "</figure>"
    )
