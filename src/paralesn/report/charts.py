"""Charts as SVG: readable without scripts, and annotated so that the page's script can do more.

Colours and fonts come from the style sheet of the page. A series is a group with `data-series`; the
`<title>` of a mark says what it means; plots with `data-zoom` describe their axes, so that the
script can zoom and draw new ticks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from markupsafe import Markup, escape

from paralesn.report.elements import LOOKS, Look
from paralesn.report.labels import Label, Spot, place_labels
from paralesn.report.scales import Scale, scale, short

WIDTH = 400
MARKERS = {
    "circle": "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "square": "M-3.3 -3.3h6.6v6.6h-6.6z",
    "triangle": "M0 -4.3L4.2 3.2H-4.2z",
    "diamond": "M0 -4.6L4.6 0L0 4.6L-4.6 0z",
}


@dataclass(frozen=True)
class Axis:
    """What an axis shows."""

    label: str
    log: bool = False
    margin: float = 0.05


@dataclass(frozen=True)
class Series:
    """Points of one name, and what to say of each of them."""

    name: str
    points: Sequence[tuple[float, float]]
    tips: Sequence[str]
    line: bool = True
    look: Look | None = None  # that of its name
    labels: Sequence[str] = field(default_factory=list)  # written beside points
    marks: bool = True  # whether points have any


def classes(look: Look) -> str:
    """Classes of the style sheet for a look."""
    return f"c{look.color}" + (" deep" if look.deep else "")


def mark(x: float, y: float, look: Look, tip: str) -> str:
    """A marker."""
    return (
        f'<path class="pt" transform="translate({x:.2f} {y:.2f})" d="{MARKERS[look.marker]}">'
        f"<title>{escape(tip)}</title></path>"
    )


def swatch(look: Look) -> Markup:
    """A sample of a series for a legend."""
    return Markup(
        f'<svg class="swatch {classes(look)}" viewBox="-12 -6 24 12" aria-hidden="true">'
        f'<path class="ln" d="M-11 0H11"/><path class="pt" d="{MARKERS[look.marker]}"/></svg>'
    )


def svg(label: str, height: float, body: str, attributes: str = "", width: float = WIDTH) -> Markup:
    """The whole drawing, named for those who do not see it."""
    return Markup(
        f'<svg class="chart" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}" {attributes}>{body}</svg>'
    )


def xy(label: str, x: Axis, y: Axis, series: Sequence[Series], height: float = 270) -> Markup:
    """Lines or points over two axes."""
    left, right, top, bottom = 46, WIDTH - 10, 12, height - 40
    across = scale((p[0] for s in series for p in s.points), left, right, x.log, x.margin)
    up = scale((p[1] for s in series for p in s.points), bottom, top, y.log, y.margin)
    spots = _label_spots(series, across, up)
    body = [
        f'<rect class="pane" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>',
        '<g class="ticks">' + _ticks(across, up) + "</g>",
        f'<text class="axis" x="{(left + right) / 2}" y="{height - 6}">{escape(x.label)}</text>',
        f'<text class="axis" transform="translate(11 {(top + bottom) / 2}) rotate(-90)">'
        f"{escape(y.label)}</text>",
        '<g class="marks">'
        + "".join(map(partial(_series, across=across, up=up), series, spots))
        + "</g>",
    ]
    kind = {True: "log", False: "linear"}
    zoom = (
        f'data-zoom="{left} {top} {right} {bottom}" '
        f'data-x="{kind[x.log]} {across.low!r} {across.high!r}" '
        f'data-y="{kind[y.log]} {up.low!r} {up.high!r}"'
    )
    return svg(label, height, "".join(body), zoom)


def _ticks(across: Scale, up: Scale) -> str:
    """Grid lines and their numbers, for both axes."""
    return _vertical_grid(across, up.end, up.start) + _horizontal_grid(up, across.start, across.end)


def _vertical_grid(across: Scale, top: float, bottom: float, most: int = 6) -> str:
    """Grid lines of the horizontal axis, with numbers below."""
    return "".join(
        f'<path d="M{across(value):.1f} {top}V{bottom}"/>'
        f'<text x="{across(value):.1f}" y="{bottom + 14}">{short(value)}</text>'
        for value in across.ticks(most)
    )


def _horizontal_grid(up: Scale, left: float, right: float, most: int = 6, gap: float = 5) -> str:
    """Grid lines of the vertical axis, with numbers on the left."""
    return "".join(
        f'<path d="M{left} {up(value):.1f}H{right}"/>'
        f'<text class="y" x="{left - gap}" y="{up(value) + 4:.1f}">{short(value)}</text>'
        for value in up.ticks(most)
    )


def _label_spots(series: Sequence[Series], across: Scale, up: Scale) -> list[list[Spot]]:
    """Places for the labels of each series, none of them over another."""
    labels = [
        Label(across(x), up(y), text)
        for curve in series
        for (x, y), text in zip(curve.points, curve.labels, strict=False)
    ]
    marks = [(across(x), up(y)) for curve in series for x, y in curve.points]
    spots = iter(place_labels(labels, marks, (across.start, up.end, across.end, up.start)))
    return [[next(spots) for _ in curve.labels] for curve in series]


def _series(curve: Series, spots: Sequence[Spot], across: Scale, up: Scale) -> str:
    """The line, marks and labels of a series."""
    look = curve.look or LOOKS.get(curve.name, Look(1))
    points = [(across(x), up(y)) for x, y in curve.points]
    path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    body = f'<polyline class="ln" points="{path}"/>' if curve.line and len(points) > 1 else ""
    if curve.marks:
        body += "".join(mark(*at, look, tip) for at, tip in zip(points, curve.tips, strict=True))
    for (x, y), text, spot in zip(points, curve.labels, spots, strict=False):
        if spot.is_far:
            end = "{:.1f} {:.1f}".format(*spot.leader_end)
            body += f'<path class="leader" transform="translate({x:.2f} {y:.2f})" d="M0 0L{end}"/>'
        body += (
            f'<text class="beside" text-anchor="{spot.anchor}" data-from="{x:.2f} {y:.2f}" '
            f'x="{x + spot.dx:.1f}" y="{y + spot.dy:.1f}">{escape(text)}</text>'
        )
    return _group(curve.name, look, body)


def _group(name: str, look: Look, body: str) -> str:
    """A series as a group that the page's script can hide."""
    return f'<g class="series {classes(look)}" data-series="{escape(name)}">{body}</g>'


def dots(
    label: str,
    x: Axis,
    rows: Mapping[str, Mapping[str, tuple[float, str]]],
    middle: float | None = None,
) -> Markup:
    """A row for each name, with a mark for each series at its value; `middle` is a line."""
    left, right, top, step = 104, WIDTH - 12, 10, 21
    bottom = top + step * len(rows)
    values = [value for row in rows.values() for value, _ in row.values()]
    across = scale([*values, *([] if middle is None else [middle])], left, right, x.log, x.margin)
    body = [f'<g class="ticks">{_vertical_grid(across, top, bottom, 5)}</g>']
    if middle is not None:
        body.append(f'<path class="middle" d="M{across(middle):.1f} {top}V{bottom}"/>')
    marks: dict[str, list[str]] = {}
    for i, (name, row) in enumerate(rows.items()):
        y = top + step * (i + 0.5)
        body.append(f'<text class="row" x="{left - 8}" y="{y + 4}">{escape(name)}</text>')
        spread = [across(value) for value, _ in row.values()]
        body.append(f'<path class="span" d="M{min(spread):.1f} {y}H{max(spread):.1f}"/>')
        for model, (value, tip) in row.items():
            look = LOOKS.get(model, Look(1))
            marks.setdefault(model, []).append(mark(across(value), y, look, tip))
    for model, drawn in marks.items():
        body.append(_group(model, LOOKS.get(model, Look(1)), "".join(drawn)))
    centre = (left + right) / 2
    body.append(f'<text class="axis" x="{centre}" y="{bottom + 32}">{escape(x.label)}</text>')
    return svg(label, bottom + 38, "".join(body))


@dataclass(frozen=True)
class Box:
    """Values of a metric at one value of a hyperparameter: best, quartiles and number."""

    label: str
    best: float
    quartiles: tuple[float, float, float]
    count: int


def boxes(label: str, values: Sequence[Box], log: bool) -> Markup:
    """A box from quartile to quartile for each value, its median a line and the best a point."""
    left, right, top, bottom, width = 40, 212, 8, 122, 220
    up = scale((v for box in values for v in (box.best, *box.quartiles)), bottom, top, log, 0.06)
    body = [f'<g class="ticks">{_horizontal_grid(up, left, right, 4, 4)}</g>']
    step = (right - left) / len(values)
    turned = step < 30
    for i, box in enumerate(values):
        x = left + step * (i + 0.5)
        body.append(_box(box, x, min(step * 0.32, 14), up))
        spot = f'x="{x:.1f}" y="{bottom + 14}"'
        if turned:
            spot = f'class="y" transform="translate({x + 4:.1f} {bottom + 10}) rotate(-45)"'
        body.append(f'<g class="ticks"><text {spot}>{escape(box.label)}</text></g>')
    below = 14 + 4 * max(len(box.label) for box in values) if turned else 20
    return svg(label, bottom + below, "".join(body), width=width)


def _box(box: Box, x: float, half: float, up: Scale) -> str:
    """One box, `half` to the left and right of `x`."""
    first, median, third = box.quartiles
    low, high = sorted((up(first), up(third)))
    tip = (
        f"{box.label}: best {box.best:.4g}, median {median:.4g}, quartiles {first:.4g} "
        f"to {third:.4g}, {box.count} trials"
    )
    return (
        f'<g class="series c1"><rect class="box" x="{x - half:.1f}" y="{low:.1f}" '
        f'width="{2 * half:.1f}" height="{max(high - low, 1):.1f}"><title>{escape(tip)}</title>'
        f'</rect><path class="ln" d="M{x - half:.1f} {up(median):.1f}h{2 * half:.1f}"/>'
        + mark(x, up(box.best), Look(1), tip)
        + "</g>"
    )


def ranks(
    label: str,
    names: Sequence[str],
    values: Sequence[float],
    cliques: Sequence[Sequence[str]],
) -> Markup:
    """Critical-difference diagram: average ranks on a line, bars over what is not told apart."""
    left, right, top, step = 138, WIDTH - 138, 30, 20
    across = Scale(1, len(names), left, right)
    body = [f'<path class="scale" d="M{left} {top}H{right}"/>', _rank_ticks(across, top)]
    bars = top + 12
    for i, clique in enumerate(cliques):
        start, end = (across(values[names.index(name)]) for name in (clique[0], clique[-1]))
        body.append(
            f'<path class="clique" d="M{start - 4:.1f} {bars + 9 * i}H{end + 4:.1f}">'
            f"<title>{escape('Not told apart: ' + ', '.join(clique))}</title></path>"
        )
    first, half = bars + 9 * len(cliques) + 14, (len(names) + 1) // 2
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        # The better half is named on the left, from above; the others on the right, from below.
        on_left = i < half
        y = first + step * (i if on_left else len(names) - 1 - i)
        end, anchor, gap = (left - 12, "end", -5) if on_left else (right + 12, "start", 5)
        look, at = LOOKS.get(name, Look(1)), across(value)
        line = f'<path class="ln" d="M{at:.1f} {top}V{y}H{end}"/>'
        text = (
            f'<text class="beside" text-anchor="{anchor}" x="{end + gap}" y="{y + 4}">'
            f'{escape(name)} <tspan class="soft">{value:.2f}</tspan></text>'
        )
        marker = mark(at, top, look, f"{name}: average rank {value:.2f}")
        body.append(_group(name, look, line + marker + text))
    return svg(label, first + step * half, "".join(body))


def _rank_ticks(across: Scale, top: float) -> str:
    """A tick and a number for every whole rank."""
    ticks = "".join(
        f'<path class="scale" d="M{across(rank):.1f} {top - 5}v5"/>'
        f'<text x="{across(rank):.1f}" y="{top - 10}">{rank}</text>'
        for rank in range(1, round(across.high) + 1)
    )
    return f'<g class="ticks">{ticks}</g>'
