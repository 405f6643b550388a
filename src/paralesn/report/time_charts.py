"""Charts of series over time as SVG: lines, bands, marked spans; histograms and correlations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from paralesn.report.charts import WIDTH, classes, svg
from paralesn.report.elements import Look
from paralesn.report.scales import Scale, scale, short
from paralesn.report.time_axis import TimeAxis

WIDE = 860  # of a chart that has the page to itself; on phones it is drawn anew
_POINTS = 700  # of a line, about


@dataclass(frozen=True)
class Line:
    """A line over time, broken where values are missing, with a band around it if there is one."""

    name: str
    times: np.ndarray
    values: np.ndarray
    look: Look
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None


def timeline(
    label: str, lines: Sequence[Line], marked: tuple[np.ndarray, str] | None = None,
    height: float = 300,
) -> Markup:  # fmt: skip
    """Lines over time, for wide pages and for phones; a span of time may be marked.

    Parameters
    ----------
    marked : (times, str), optional
        First and last time of the span, and what it is called.
    """
    wide = _timeline(label, lines, marked, WIDE, height)
    narrow = _timeline(label, lines, marked, WIDTH, 240)
    return Markup('<div class="roomy">{}</div><div class="tight">{}</div>').format(wide, narrow)


def small_timeline(label: str, lines: Sequence[Line], height: float = 170) -> Markup:
    """Lines over time in half the width of a page."""
    return _timeline(label, lines, None, WIDTH, height)


def _timeline(
    label: str, lines: Sequence[Line], marked: tuple[np.ndarray, str] | None, width: float,
    height: float,
) -> Markup:  # fmt: skip
    left, right, top, bottom = 46, width - 10, 12, height - 24
    across = TimeAxis.over(np.concatenate([line.times for line in lines]), left, right)
    every = [part for line in lines for part in (line.values, line.lower, line.upper)
             if part is not None]  # fmt: skip
    up = _vertical(np.concatenate(every), bottom, top)
    body = [_span(marked, across, top, bottom)] if marked is not None else []
    body.append(_grid(across, up, left, right, top, bottom, int(width // 90)))
    body += [_line(line, across, up) for line in lines]
    return svg(label, height, "".join(body), width=width)


def _vertical(values: np.ndarray, bottom: float, top: float) -> Scale:
    seen = values[np.isfinite(values)]
    return scale(seen.tolist() if seen.size else [0.0, 1.0], bottom, top)


def _grid(
    across: TimeAxis, up: Scale, left: float, right: float, top: float, bottom: float, most: int
) -> str:
    vertical = "".join(
        f'<path d="M{x:.1f} {top}V{bottom}"/><text x="{x:.1f}" y="{bottom + 15}">{text}</text>'
        for x, text in across.ticks(most)
        if left <= x <= right
    )
    horizontal = "".join(
        f'<path d="M{left} {up(value):.1f}H{right}"/>'
        f'<text class="y" x="{left - 5}" y="{up(value) + 4:.1f}">{short(value)}</text>'
        for value in up.ticks(5)
    )
    return f'<g class="ticks">{vertical}{horizontal}</g>'


def _span(marked: tuple[np.ndarray, str], across: TimeAxis, top: float, bottom: float) -> str:
    first, last = across(marked[0]).tolist()
    return (
        f'<rect class="marked" x="{first:.1f}" y="{top}" width="{max(last - first, 2):.1f}" '
        f'height="{bottom - top}"/><text class="axis" x="{(first + last) / 2:.1f}" '
        f'y="{top + 11}">{escape(marked[1])}</text>'
    )


def _line(line: Line, across: TimeAxis, up: Scale) -> str:
    body = ""
    if line.lower is not None and line.upper is not None and np.isfinite(line.lower).all():
        x = across(line.times)
        there = [f"{a:.1f},{up(v):.1f}" for a, v in zip(x, line.upper, strict=True)]
        back = [f"{a:.1f},{up(v):.1f}" for a, v in zip(x[::-1], line.lower[::-1], strict=True)]
        body += f'<polygon class="band" points="{" ".join(there + back)}"/>'
    times, values = thinned(line.times, line.values)
    if len(values) == 1:
        body += f'<circle class="pt" cx="{across(times)[0]:.1f}" cy="{up(values[0]):.1f}" r="3"/>'
    for run in _runs(values):
        x, y = across(times[run]), [up(v) for v in values[run]]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        body += f'<polyline class="ln" points="{points}"/>'
    name = escape(line.name)
    return f'<g class="series {classes(line.look)}" data-series="{name}">{body}</g>'


def _runs(values: np.ndarray) -> list[slice]:
    """Stretches of at least two values without a missing one; one alone is joined to itself."""
    seen = np.flatnonzero(np.isfinite(values))
    if not seen.size:
        return []
    pieces = np.split(seen, np.flatnonzero(np.diff(seen) > 1) + 1)
    return [slice(int(p[0]), int(p[-1]) + 1) for p in pieces]


def thinned(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same line with fewer points: of every stretch the smallest and the largest value."""
    if len(values) <= 2 * _POINTS:
        return times, values
    chosen: list[int] = [0]
    for part in np.array_split(np.arange(len(values)), _POINTS):
        seen = part[np.isfinite(values[part])]
        if seen.size:
            extremes = {int(seen[values[seen].argmin()]), int(seen[values[seen].argmax()])}
            chosen += sorted(extremes)
        else:
            chosen.append(int(part[0]))
    chosen.append(len(values) - 1)
    at = np.unique(chosen)
    return times[at], values[at]


def histogram(label: str, values: np.ndarray, name: str) -> Markup:
    """How often values occur."""
    left, right, top, bottom, height = 46, WIDTH - 10, 12, 200, 240
    counts, edges = np.histogram(values, bins=min(40, max(8, int(np.sqrt(values.size)))))
    across, up = Scale(edges[0], edges[-1], left, right), Scale(0, counts.max() * 1.05, bottom, top)
    bars = "".join(
        f'<rect class="box" x="{across(a):.1f}" y="{up(n):.1f}" '
        f'width="{across(b) - across(a):.1f}" height="{bottom - up(n):.1f}">'
        f"<title>{n} from {a:.4g} to {b:.4g}</title></rect>"
        for n, a, b in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    )
    return _numeric(label, across, up, f'<g class="series c1">{bars}</g>', name, height)


def correlations(label: str, values: np.ndarray, chance: float, name: str) -> Markup:
    """Autocorrelations at lags 1, 2, …; within the lines they may be chance."""
    left, right, top, bottom, height = 46, WIDTH - 10, 12, 200, 240
    reach = max(1.2 * chance, float(np.abs(values).max(initial=0.0)) * 1.1, 0.1)
    across = Scale(0, len(values) + 1, left, right)
    up = Scale(-reach, reach, bottom, top)
    stems = "".join(
        f'<path class="ln" d="M{across(k):.1f} {up(0):.1f}V{up(v):.1f}">'
        f"<title>lag {k}: {v:.2f}</title></path>"
        for k, v in enumerate(values.tolist(), 1)
    )
    lines = "".join(f'<path class="middle" d="M{left} {up(c):.1f}H{right}"/>'
                    for c in (-chance, chance))  # fmt: skip
    return _numeric(label, across, up, f'{lines}<g class="series c1">{stems}</g>', name, height)


def _numeric(label: str, across: Scale, up: Scale, marks: str, name: str, height: float) -> Markup:
    """Marks over two axes of numbers."""
    axis = TimeAxis(across, False)
    grid = _grid(axis, up, across.start, across.end, up.end, up.start, 6)
    middle = (across.start + across.end) / 2
    text = f'<text class="axis" x="{middle}" y="{height - 6}">{escape(name)}</text>'
    return svg(label, height, grid + marks + text)
