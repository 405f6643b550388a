"""PathFinder: do the two discs of an image end the same dashed contour?

Images of 32 x 32 pixels with the parameters that the Long Range Arena publishes for its own, drawn
after the rules of Linsley et al. They are not the published files, so accuracies are comparable in
kind only.

Two long contours start near the middle and grow in turn. From dash to dash a contour turns by an
angle a, whose density is in proportion to cos(continuity a)^2, and it keeps its distance from all
that is drawn; where that cannot be, some dashes are taken back. Short contours distract, as many as
find room. Discs mark where one long contour starts and where it ends (label 1), or where the other
one ends (label 0). Dashes are dimmer than discs.
"""

import math
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.generated import splitmix
from paralesn.datasets.generated.ieee import strict
from paralesn.datasets.seeds import entropy
from paralesn.datasets.storage.prepared import Sequences, prepare

SIDE = 32
SIZES = {"train": 180_000, "test": 20_000}  # 20 000 of the training set are for validation
# As published; the rest of the published numbers are the constants below, all in pixels.
DIFFICULTY: dict[str, Any] = {"dashes": 14, "distractors": 5, "continuity": 1.0}
_DASH, _GAP, _THICKNESS = 2.0, 1.0, 0.5  # the gap is on both sides of a dash
_STARTS_APART = 7.0
_PADDING = 1.0  # to the edge of the image
_SHORT = 4  # dashes of a distractor
_RADIUS = 1.5  # of a disc
_DASH_LIGHT = 1.5  # of a pixel that a dash covers, before it is cut at one
_REACH = _THICKNESS / 2 + _GAP  # of a dash; those of two must not meet
_MIDDLE = (2 * _STARTS_APART, SIDE - 1 - 2 * _STARTS_APART)  # where the first contour starts
_TURNS = 30  # tries of a dash: enough to find room where there is some
_TAKEN_BACK = 6  # dashes, where the next one finds no room
_STEPS = 300  # with as many taken back, both long contours are begun anew
_PLACES = 5  # tries of a distractor, before it is left out
_AT_A_TIME = 256  # images
_CITATION = (
    "D. Linsley et al., Learning long-range spatial dependencies with horizontal gated recurrent "
    "units, NeurIPS 2018; Y. Tay et al., Long Range Arena, ICLR 2021"
)


@strict
def _distance(px, py, dash):  # type: ignore[no-untyped-def]
    """Distance of a point to a dash."""
    dx, dy = dash[2] - dash[0], dash[3] - dash[1]
    length = dx * dx + dy * dy
    along = 0.0
    if length > 0:
        along = min(1.0, max(0.0, ((px - dash[0]) * dx + (py - dash[1]) * dy) / length))
    return math.hypot(px - dash[0] - along * dx, py - dash[1] - along * dy)


@strict
def _fits(dash, ends, count, last):  # type: ignore[no-untyped-def]
    """Whether a dash is inside and away from `count` others, but for the one it follows."""
    edge = _PADDING + _REACH
    for coordinate in dash:
        if not edge <= coordinate <= SIDE - 1 - edge:
            return False
    for k in range(count):
        far = max(abs(dash[0] - ends[k, 0]), abs(dash[1] - ends[k, 1]))
        if k == last or far > 2 * (_DASH + _REACH):
            continue
        # Of two lines in a plane an end is nearest, or they cross; dashes are too short to cross
        # where their ends are that far apart.
        for e in range(0, 4, 2):
            if _distance(dash[e], dash[e + 1], ends[k]) < 2 * _REACH:
                return False
            if _distance(ends[k, e], ends[k, e + 1], dash) < 2 * _REACH:
                return False
    return True


@strict
def _begin(stream, x, y, dash):  # type: ignore[no-untyped-def]
    """Put the first dash of a contour at (x, y), in any direction."""
    angle = 2 * math.pi * splitmix.uniform(stream)
    dash[0], dash[1] = x, y
    dash[2], dash[3] = x + _DASH * math.cos(angle), y + _DASH * math.sin(angle)


@strict
def _grow(stream, continuity, ends, count, last):  # type: ignore[no-untyped-def]
    """Put the dash `count` behind the one `last`, turned in the middle between; whether it fits."""
    dash, before = ends[count], ends[last]
    dx, dy = (before[2] - before[0]) / _DASH, (before[3] - before[1]) / _DASH
    x, y, straight = before[2] + _GAP * dx, before[3] + _GAP * dy, math.atan2(dy, dx)
    for _ in range(_TURNS):
        turn = 0.0
        while True:  # by rejection
            turn = math.pi * (splitmix.uniform(stream) - 0.5) / continuity
            if splitmix.uniform(stream) < math.cos(continuity * turn) ** 2:
                break
        dx, dy = math.cos(straight + turn), math.sin(straight + turn)
        dash[0], dash[1] = x + _GAP * dx, y + _GAP * dy
        dash[2], dash[3] = dash[0] + _DASH * dx, dash[1] + _DASH * dy
        if _fits(dash, ends, count, last):
            return True
    return False


@strict
def _long_contours(stream, dashes, continuity, ends):  # type: ignore[no-untyped-def]
    """Draw both long contours into `ends`, a dash of one after one of the other; whether they fit.

    Where a dash finds no room, the last dashes of both are taken back.
    """
    low, high = _MIDDLE
    x = low + (high - low) * splitmix.uniform(stream)
    y = low + (high - low) * splitmix.uniform(stream)
    angle = 2 * math.pi * splitmix.uniform(stream)
    _begin(stream, x, y, ends[0])
    _begin(
        stream, x + _STARTS_APART * math.cos(angle), y + _STARTS_APART * math.sin(angle), ends[1]
    )
    if not (_fits(ends[0], ends, 0, 0) and _fits(ends[1], ends, 1, 1)):
        return False
    count = 2
    for _ in range(_STEPS):
        if count == 2 * dashes:
            return True
        if _grow(stream, continuity, ends, count, count - 2):
            count += 1
        else:
            count = max(2, count - _TAKEN_BACK)
    return False


@strict
def _distractor(stream, continuity, ends, count):  # type: ignore[no-untyped-def]
    """Draw a short contour behind `count` dashes; whether there is room."""
    x, y = (SIDE - 1) * splitmix.uniform(stream), (SIDE - 1) * splitmix.uniform(stream)
    _begin(stream, x, y, ends[count])
    if not _fits(ends[count], ends, count, count):
        return False
    k = count + 1
    while k < count + _SHORT and _grow(stream, continuity, ends, k, k - 1):
        k += 1
    return k == count + _SHORT


@strict
def _paint_dash(image, dash):  # type: ignore[no-untyped-def]
    """Light the pixels of a dash, by how much of each it covers."""
    half = _THICKNESS / 2
    for i in range(int(min(dash[1], dash[3])) - 1, int(max(dash[1], dash[3])) + 3):
        for j in range(int(min(dash[0], dash[2])) - 1, int(max(dash[0], dash[2])) + 3):
            covered = min(_THICKNESS, max(0.0, half + 0.5 - _distance(j, i, dash)))
            image[i, j] = max(image[i, j], np.uint8(255 * min(1.0, _DASH_LIGHT * covered)))


@strict
def _paint_disc(image, x, y):  # type: ignore[no-untyped-def]
    """Light a disc, with a smoothed edge."""
    for i in range(max(0, int(y) - 2), min(SIDE, int(y) + 4)):
        for j in range(max(0, int(x) - 2), min(SIDE, int(x) + 4)):
            light = min(1.0, max(0.0, _RADIUS + 0.5 - math.hypot(j - x, i - y)))
            image[i, j] = max(image[i, j], np.uint8(255 * light))


@strict
def _images(seed, split, first, images, labels, dashes, distractors, continuity):  # type: ignore[no-untyped-def]
    """Draw images (n, 32, 32) from case `first` on, and their labels."""
    stream = np.zeros(1, np.uint64)
    ends = np.zeros((2 * dashes + _SHORT * distractors, 4))
    for n in range(labels.size):
        splitmix.begin(stream, seed, split, first + n)
        labels[n] = splitmix.below(stream, 2)
        while not _long_contours(stream, dashes, continuity, ends):
            pass
        count = 2 * dashes
        for _ in range(distractors):
            for _ in range(_PLACES):
                if _distractor(stream, continuity, ends, count):
                    count += _SHORT
                    break
        for k in range(count):
            _paint_dash(images[n], ends[k])
        of_start = splitmix.below(stream, 2)
        of_end = of_start if labels[n] else 1 - of_start
        end = ends[2 * (dashes - 1) + of_end]
        _paint_disc(images[n], ends[of_start, 0], ends[of_start, 1])
        _paint_disc(images[n], end[2], end[3])


def pathfinder(
    count: int,
    seed: int | None = 0,
    split: int = 0,
    first: int = 0,
    dashes: int = DIFFICULTY["dashes"],
    distractors: int = DIFFICULTY["distractors"],
    continuity: float = DIFFICULTY["continuity"],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw images of dashed contours, labelled by whether two discs end the same contour.

    Parameters
    ----------
    count : int
    seed : int or None
    split, first : int
        Images first .. first + count of a split; each is the same whatever others are drawn.
    dashes, distractors : int
        Dashes of each of the two long contours, and most short ones.
    continuity : float
        How straight contours are: from dash to dash one turns by pi / 2 / continuity at most.

    Returns
    -------
    images : uint8 array (count, 32, 32)
    labels : int64 array (count,)
        1 where both discs end the same contour.
    """
    count, split, first = (
        checks.integer("count", count, 1),
        checks.integer("split", split, 0),
        checks.integer("first", first, 0),
    )
    dashes, distractors = (
        checks.integer("dashes", dashes, 2),
        checks.integer("distractors", distractors, 0),
    )
    if dashes > 14 or distractors > 20:
        raise ValueError(
            f"dashes must be at most 14 and distractors at most 20, for which there is room, got "
            f"{dashes} and {distractors}"
        )
    if not 0.5 <= continuity <= 1.2:  # straighter ones hardly ever find room
        raise ValueError(f"continuity must be from 0.5 to 1.2, got {continuity!r}")
    images, labels = np.zeros((count, SIDE, SIDE), np.uint8), np.zeros(count, np.int64)
    number = entropy(seed) % 2**63
    for done in range(0, count, _AT_A_TIME):  # Ctrl-C is heard in between
        some = slice(done, done + _AT_A_TIME)
        _images(
            number, split, first + done, images[some], labels[some],
            dashes, distractors, float(continuity),
        )  # fmt: skip
    return images, labels


def load_pathfinder(seed: int | None = 0) -> ClassificationDataset:
    """PathFinder drawn here, with the parameters and sizes of the Long Range Arena.

    Parameters
    ----------
    seed : int or None
        Decides what is drawn.

    Returns
    -------
    ClassificationDataset
        180 000 cases to train on, 20 000 to test: uint8 pixels (cases, 1024, 1), 0 to 255.
    """
    number = entropy(seed)

    def make(part: str) -> Sequences:
        images, labels = pathfinder(SIZES[part], number, list(SIZES).index(part), **DIFFICULTY)
        return Sequences(images.reshape(-1), np.arange(labels.size + 1) * SIDE**2, labels)

    difficulty = "-".join(f"{name}{value}" for name, value in DIFFICULTY.items())
    train, test = (prepare(f"pathfinder-{difficulty}-seed{number}", part, make) for part in SIZES)
    meta = {
        "kind": "classification",
        "seed": number,
        **DIFFICULTY,
        "note": "drawn with the published parameters, not the published files",
    }
    return ClassificationDataset(
        "lra-pathfinder",
        train.values.reshape(-1, SIDE**2, 1),
        train.labels,
        test.values.reshape(-1, SIDE**2, 1),
        test.labels,
        classes=np.arange(2),
        validation_fraction=20_000 / SIZES["train"],
        citation=_CITATION,
        meta=meta,
    )
