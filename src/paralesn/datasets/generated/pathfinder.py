"""PathFinder: do the two discs of an image end the same dashed contour?

Images after Linsley et al. and the Long Range Arena, drawn at 32 x 32 pixels. They are not the
published ones, so accuracies are comparable in kind only.

An image holds two long contours of `dashes` dashes, give or take one, and `distractors` short ones
of two, all of one brightness, none near another. A contour is a walk that turns by at most `bend`
radians from dash to dash. Discs mark both ends of the first long contour (label 1), or one end of
each (label 0). In that case they are as far apart as the ends of the first, within a pixel, or the
image is redrawn: the distance of the discs alone does not give the label away.
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
DIFFICULTY: dict[str, Any] = {"dashes": 5, "distractors": 4, "bend": 0.5}
_DASH, _GAP = 2.0, 1.5  # pixels
_APART = 3.0  # least distance between contours
_MARGIN = 2.0  # to the edge of the image
_SHORT = 2  # dashes of a distractor
_TRIES = 50  # walks before an image is begun anew
_RADIUS = 1.9  # of a disc
_ALIKE = 1.0  # pixels by which distances of discs may differ
_CITATION = (
    "D. Linsley et al., Learning long-range spatial dependencies with horizontal gated recurrent "
    "units, NeurIPS 2018; Y. Tay et al., Long Range Arena, ICLR 2021"
)


@strict
def _walk(stream, dashes, bend, ends):  # type: ignore[no-untyped-def]
    """Draw a contour into `ends` (dashes, 4): where each dash begins and ends; whether it fits."""
    inside = SIDE - 1 - 2 * _MARGIN
    x = _MARGIN + inside * splitmix.uniform(stream)
    y = _MARGIN + inside * splitmix.uniform(stream)
    angle = 2 * math.pi * splitmix.uniform(stream)
    for k in range(dashes):
        dx, dy = math.cos(angle), math.sin(angle)
        ends[k, 0], ends[k, 1] = x, y
        ends[k, 2], ends[k, 3] = x + _DASH * dx, y + _DASH * dy
        for coordinate in ends[k]:
            if not _MARGIN <= coordinate <= SIDE - 1 - _MARGIN:
                return False
        x, y = x + (_DASH + _GAP) * dx, y + (_DASH + _GAP) * dy
        angle += bend * (2 * splitmix.uniform(stream) - 1)
    return True


@strict
def _clear(ends, first, stop, others):  # type: ignore[no-untyped-def]
    """Whether dashes first .. stop are far from the `others` before them, ends and middles."""
    for k in range(first, stop):
        for j in range(others):
            for s in range(3):
                px = ends[k, 0] + (ends[k, 2] - ends[k, 0]) * s / 2
                py = ends[k, 1] + (ends[k, 3] - ends[k, 1]) * s / 2
                if _distance(px, py, ends[j]) < _APART:
                    return False
        for j in range(first, k - 1):  # nor does a contour come back to itself
            if _distance(ends[k, 2], ends[k, 3], ends[j]) < _APART:
                return False
    return True


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
def _contours(stream, dashes, distractors, bend, ends, tips):  # type: ignore[no-untyped-def]
    """Draw all contours into `ends`, the two long ones first: how many dashes, 0 without room.

    tips (4, 4)   both ends of the first contour, then of the second, as dashes without length
    """
    done = 0
    for contour in range(2 + distractors):
        size = dashes - 1 + splitmix.below(stream, 3) if contour < 2 else _SHORT
        for _ in range(_TRIES):
            contour_ends = ends[done : done + size]
            if _walk(stream, size, bend, contour_ends) and _clear(ends, done, done + size, done):
                break
        else:
            return 0
        if contour < 2:
            tips[2 * contour, :2] = tips[2 * contour, 2:] = ends[done, :2]
            tips[2 * contour + 1, :2] = tips[2 * contour + 1, 2:] = ends[done + size - 1, 2:]
        done += size
    return done


@strict
def _matching_ends(tips):  # type: ignore[no-untyped-def]
    """Indices of an end of each contour, as far apart as those of the first; 0, 0 without any."""
    apart = _distance(tips[0, 0], tips[0, 1], tips[1])
    least, first, second = _ALIKE, 0, 0
    for a in range(2):
        for b in range(2, 4):
            off = abs(_distance(tips[a, 0], tips[a, 1], tips[b]) - apart)
            if off < least:
                least, first, second = off, a, b
    return first, second


@strict
def _paint(image, dash, reach):  # type: ignore[no-untyped-def]
    """Paint the pixels within `reach` of a dash, with a smoothed edge."""
    low_x, high_x = min(dash[0], dash[2]) - reach - 1, max(dash[0], dash[2]) + reach + 1
    low_y, high_y = min(dash[1], dash[3]) - reach - 1, max(dash[1], dash[3]) + reach + 1
    for i in range(max(0, int(low_y)), min(SIDE, int(high_y) + 1)):
        for j in range(max(0, int(low_x)), min(SIDE, int(high_x) + 1)):
            light = min(1.0, max(0.0, reach + 0.5 - _distance(j, i, dash)))
            image[i, j] = max(image[i, j], np.uint8(255 * light))


@strict
def _images(seed, split, first, images, labels, dashes, distractors, bend):  # type: ignore[no-untyped-def]
    """Draw images (n, 32, 32) from case `first` on, and their labels."""
    stream = np.zeros(1, np.uint64)
    ends = np.zeros((2 * dashes + 2 + _SHORT * distractors, 4))
    tips = np.zeros((4, 4))
    for n in range(labels.size):
        splitmix.begin(stream, seed, split, first + n)
        labels[n] = splitmix.below(stream, 2)
        disc = other_disc = drawn = 0
        while not other_disc:
            drawn = _contours(stream, dashes, distractors, bend, ends, tips)
            if drawn:
                disc, other_disc = (0, 1) if labels[n] else _matching_ends(tips)
        for k in range(drawn):
            _paint(images[n], ends[k], 0.5)
        _paint(images[n], tips[disc], _RADIUS)
        _paint(images[n], tips[other_disc], _RADIUS)


def pathfinder(
    count: int,
    seed: int | None = 0,
    split: int = 0,
    first: int = 0,
    dashes: int = DIFFICULTY["dashes"],
    distractors: int = DIFFICULTY["distractors"],
    bend: float = DIFFICULTY["bend"],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw images of dashed contours, labelled by whether two discs end the same contour.

    Parameters
    ----------
    count : int
    seed : int or None
    split, first : int
        Images first .. first + count of a split; each is the same whatever others are drawn.
    dashes, distractors : int
        Dashes of each of the two long contours, give or take one, and number of short ones.
    bend : float
        Most radians by which a contour turns from one dash to the next.

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
        checks.integer("dashes", dashes, 3),
        checks.integer("distractors", distractors, 0),
    )
    if dashes > 6 or distractors > 6:
        raise ValueError(
            f"dashes must be at most 6 and distractors at most 6, for which there is room, got "
            f"{dashes} and {distractors}"
        )
    if not 0 <= bend <= 1:
        raise ValueError(f"bend must be from 0 to 1, got {bend!r}")
    images, labels = np.zeros((count, SIDE, SIDE), np.uint8), np.zeros(count, np.int64)
    number = entropy(seed) % 2**63
    _images(number, split, first, images, labels, dashes, distractors, float(bend))
    return images, labels


def load_pathfinder(seed: int | None = 0) -> ClassificationDataset:
    """PathFinder of our own, with the sizes of the Long Range Arena.

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
        "note": "images of our own, not the published ones",
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
