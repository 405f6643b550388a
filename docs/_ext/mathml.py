"""Equations as MathML, which browsers draw themselves: no script, no font, no network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
_ACCENT = re.compile(r"\\bar(\\[A-Za-z]+_\w)")  # an index outside the bar would land below it


def _mathml(node: nodes.Element, equation: str, as_block: bool = False) -> str:
    equation = equation.replace(r"\dots", r"\ldots")
    equation = _ACCENT.sub(r"\\bar{\1}", equation)
    try:
        return tex2mathml(equation, as_block=as_block)
    except MathError as error:
        _LOG.warning("equation cannot be drawn: %s in %r", error, equation, location=node)
        return ""


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_mathml(node, node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    """Every paragraph of a block is an equation of its own, as in `sphinx.ext.mathjax`."""
    writer.body.append('<div class="equation">')
    for equation in node.astext().split("\n\n"):
        if equation.strip():
            writer.body.append(_mathml(node, equation.strip(), as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
