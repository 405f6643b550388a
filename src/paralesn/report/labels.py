"""Where to write the labels of points, so that nothing is printed over anything else."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 7.0, 13.0  # of a letter and of a line, in the largest letters of the style sheet
MARK = 6.0  # half the side of a marker, with some air
Point = tuple[float, float]
_SHIFTS = (0.0, 14.0, 28.0, 42.0, 56.0, 70.0)  # up or down from the place beside the point
# A place costs its rank among the candidates, and more for every line it crosses or area it shares.
_CROSSING, _AREA = 60.0, 1000.0


class Spot(NamedTuple):
    """Where a label begins, ends or has its middle (`anchor`), relative to its point."""

    dx: float
    dy: float
    anchor: str
    is_far: bool = False  # so far that a line must join the two

    @property
    def leader_end(self) -> Point:
        """Where the line from the point meets the label, relative to the point."""
        if self.anchor != "middle":
            return self.dx * 0.7, self.dy - 0.3 * HEIGHT
        return self.dx, self.dy + (0.25 * HEIGHT if self.dy < 0 else -0.8 * HEIGHT)


class Box(NamedTuple):
    """A rectangle: its edges."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Area that two rectangles share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)

    @property
    def area(self) -> float:
        """Area of the rectangle."""
        return (self.right - self.left) * (self.bottom - self.top)

    @property
    def diagonals(self) -> "list[Line]":
        """Lines of which a line through the rectangle crosses at least one."""
        return [
            ((self.left, self.top), (self.right, self.bottom)),
            ((self.left, self.bottom), (self.right, self.top)),
        ]


Line = tuple[Point, Point]


class Label(NamedTuple):
    """A text and the point it belongs to."""

    x: float
    y: float
    text: str

    def box(self, spot: Spot) -> Box:
        """Room that the text takes at a place."""
        width = WIDTH * len(self.text)
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[spot.anchor]
        left, baseline = self.x + spot.dx - share * width, self.y + spot.dy
        return Box(left, baseline - 0.8 * HEIGHT, left + width, baseline + 0.2 * HEIGHT)

    def leader(self, spot: Spot) -> list[Line]:
        """The line from the point to the text, if there is one."""
        dx, dy = spot.leader_end
        return [((self.x, self.y), (self.x + dx, self.y + dy))] if spot.is_far else []


def place_labels(
    labels: Sequence[Label], marks: Sequence[Point], pane: tuple[float, float, float, float]
) -> list[Spot]:
    """Give each label a place that no other label, no mark and no edge of the pane claims.

    Labels are placed from top to bottom. Each tries the right and left of its point, above and
    below it, then places farther up and down, to which a line leads. Where every place is taken,
    the one with the least overlap is chosen.

    Parameters
    ----------
    labels : sequence of Label
    marks : sequence of (x, y)
        All points, with a label or without.
    pane : (left, top, right, bottom)

    Returns
    -------
    list of Spot
        In the order of `labels`.

    Examples
    --------
    >>> labels = [Label(50.0, 50.0, "one"), Label(52.0, 50.0, "two")]
    >>> [spot.anchor for spot in place_labels(labels, [], (0.0, 0.0, 200.0, 100.0))]
    ['start', 'end']
    """
    frame = Box(*pane)
    boxes = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in marks]
    lines: list[Line] = []
    spots: dict[int, Spot] = {}
    for i in sorted(range(len(labels)), key=lambda i: labels[i].y):
        label = labels[i]
        spots[i] = _best_spot(label, frame, boxes, lines)
        boxes.append(label.box(spots[i]))
        lines += label.leader(spots[i])
        lines += boxes[-1].diagonals
    return [spots[i] for i in range(len(labels))]


def _best_spot(label: Label, frame: Box, boxes: list[Box], lines: list[Line]) -> Spot:
    """The first place that costs nothing, else the cheapest."""
    cheapest, least = Spot(0.0, 0.0, "middle"), float("inf")
    for rank, spot in enumerate(_candidates(label.x > (frame.left + frame.right) / 2)):
        box, leader = label.box(spot), label.leader(spot)
        shared = box.area - box.overlap(frame) + sum(box.overlap(other) for other in boxes)
        crossed = sum(_cross(a, b) for a in leader + box.diagonals for b in lines)
        cost = rank + _CROSSING * crossed + _AREA * shared
        if cost < least:
            cheapest, least = spot, cost
    return cheapest


def _candidates(prefer_left: bool) -> Iterator[Spot]:
    """Places around a point, the nearest first."""
    sides = [Spot(9.0, 4.0, "start"), Spot(-9.0, 4.0, "end")]
    if prefer_left:
        sides.reverse()
    above, below = Spot(0.0, -9.0, "middle"), Spot(0.0, 17.0, "middle")
    yield from (*sides, above, below)
    for shift in _SHIFTS[1:]:
        for side in sides:
            for way in (-1, 1):
                yield Spot(2 * side.dx, side.dy + way * shift, side.anchor, True)
        yield above._replace(dy=above.dy - shift, is_far=True)
        yield below._replace(dy=below.dy + shift, is_far=True)


def _cross(one: Line, other: Line) -> bool:
    """Whether two lines have a point in common that is not an end of one of them."""

    def side(line: Line, point: Point) -> float:
        (ax, ay), (bx, by) = line
        return (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)

    apart = side(one, other[0]) * side(one, other[1]) < 0
    return apart and side(other, one[0]) * side(other, one[1]) < 0
