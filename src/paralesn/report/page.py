"""Sections put together as one HTML page, a single file that loads nothing else."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from paralesn.report.charts import swatch
from paralesn.report.elements import Element, Entry, Section


def page(title: str, lead: str, sections: Sequence[Section], made: str) -> str:
    """Render the page; sections that have nothing to show are listed at its end.

    Parameters
    ----------
    title, lead : str
        Heading of the page and the paragraph below it.
    sections : sequence of Section
    made : str
        The footer: what made the page, and when.

    Returns
    -------
    str
        HTML, with style sheet and script inside.
    """
    template = _environment().get_template("page.html")
    return template.render(
        title=title,
        lead=lead,
        made=made,
        shown=[section for section in sections if not section.missing],
        missing=[section for section in sections if section.missing],
        style=_asset("style.css"),
        script=_asset("script.js"),
    )


def groups(content: Sequence[Element]) -> Iterator[tuple[bool, list[Element]]]:
    """Narrow elements that follow one another stand side by side; each other is alone."""
    for narrow, run in groupby(content, key=lambda element: element.narrow):
        if narrow:
            yield True, list(run)
        else:
            yield from ((False, [element]) for element in run)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("paralesn.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["groups"] = groups
    environment.globals["swatch"] = swatch
    environment.tests["entry"] = lambda value: isinstance(value, Entry)
    return environment


def _asset(name: str) -> Markup:
    """A style sheet or script of the package."""
    return Markup(files("paralesn.report").joinpath("assets", name).read_text(encoding="utf-8"))
