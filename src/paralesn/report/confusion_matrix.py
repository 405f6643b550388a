"""A confusion matrix as SVG: a square for each pair of classes, the darker the more cases."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup, escape

from paralesn.report.charts import WIDTH, svg
from paralesn.report.time_charts import WIDE

_LETTER = 6.4  # width of a letter, about
_MOST = 16  # letters of a label
MANY = 12  # classes that fit half the width of a page


def elided(labels: Sequence[str], most: int = _MOST) -> list[str]:
    """Labels cut to so many letters, and told apart by a number where they would be equal."""
    cut = [label if len(label) <= most else label[: most - 1] + "…" for label in labels]
    seen: dict[str, int] = {}
    found = []
    for label in cut:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} {seen[label]}")
    return found


def confusion(label: str, labels: Sequence[str], counts: np.ndarray) -> Markup:
    """Draw counts (classes, classes), rows the labels and columns the answers.

    Shades are shares of a row; `<title>` of a square tells its numbers.
    """
    names = elided(labels)
    longest = max(map(len, names)) * _LETTER
    width = WIDTH if len(labels) <= MANY else WIDE
    left, top = 30 + longest, 8.0
    cell = min((width - left - 10) / len(labels), 64.0 if width == WIDTH else 40.0)
    total = counts.sum(axis=1)
    body = []
    for i, name in enumerate(names):
        y = top + cell * i
        tip = f"<title>{escape(labels[i])}</title>"
        body.append(
            f'<text class="row" x="{left - 6:.1f}" y="{y + cell / 2 + 4:.1f}">{escape(name)}{tip}'
            "</text>"
        )
        for j in range(len(labels)):
            share = float(counts[i, j] / total[i]) if total[i] else 0.0
            body.append(_square(left + cell * j, y, cell, int(counts[i, j]), share,
                                f"{labels[i]} taken for {labels[j]}"))  # fmt: skip
    bottom = top + cell * len(labels)
    body.append(_columns(names, labels, left, bottom, cell))
    is_turned = longest + 4 > cell
    height = bottom + (0.71 * longest + 34 if is_turned else 36)
    middle = left + cell * len(labels) / 2
    body.append(f'<text class="axis" x="{middle:.1f}" y="{height - 4:.1f}">answer</text>')
    at = (top + bottom) / 2
    body.append(f'<text class="axis" transform="translate(10 {at:.1f}) rotate(-90)">label</text>')
    return svg(label, height, "".join(body), width=width)


def _square(x: float, y: float, size: float, count: int, share: float, words: str) -> str:
    tip = f"{words}: {count} ({share:.1%} of the row)"
    drawn = (
        f'<g class="c1"><rect class="cell" x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" '
        f'height="{size:.1f}" fill-opacity="{0.04 + 0.86 * share if count else 0:.2f}">'
        f"<title>{escape(tip)}</title></rect></g>"
    )
    if count and len(str(count)) * 7 <= size:
        on = " on" if share > 0.5 else ""
        drawn += (
            f'<text class="count{on}" x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}">{count}'
            f"<title>{escape(tip)}</title></text>"
        )
    return drawn


def _columns(
    names: Sequence[str], labels: Sequence[str], left: float, bottom: float, cell: float
) -> str:
    """Names of the columns, turned where they are too long."""
    is_turned = max(map(len, names)) * _LETTER + 4 > cell
    every = []
    for j, (name, label) in enumerate(zip(names, labels, strict=True)):
        x = left + cell * (j + 0.5)
        spot = f'class="axis" x="{x:.1f}" y="{bottom + 15:.1f}"'
        if is_turned:
            spot = f'class="row" transform="translate({x + 4:.1f} {bottom + 11:.1f}) rotate(-45)"'
        every.append(f"<text {spot}>{escape(name)}<title>{escape(label)}</title></text>")
    return "".join(every)
