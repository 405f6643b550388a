"""PathFinder against the geometry that it is drawn by: contours, discs, labels, random access."""

import numpy as np
import pytest
from scipy import ndimage

from paralesn.datasets import pathfinder
from paralesn.datasets.generated import pathfinder as generator
from paralesn.datasets.generated import splitmix
from paralesn.datasets.seeds import entropy


def discs(image):
    """Middles of the two discs: the places where most light lies within three pixels."""
    light = ndimage.uniform_filter(image.astype(float), 3)
    found = []
    for _ in range(2):
        place = np.unravel_index(light.argmax(), light.shape)
        found.append(place)
        y, x = np.indices(light.shape)
        light[(y - place[0]) ** 2 + (x - place[1]) ** 2 < 12] = 0
    return found


def test_contours_join_the_discs_where_labels_say_so():
    images, labels = pathfinder(400, seed=5, dashes=3, distractors=0)
    joined = []
    for image in images:
        first, second = discs(image)
        near = ndimage.binary_closing(np.pad(image > 5, 3))[3:-3, 3:-3]  # over gaps of two pixels
        parts, _ = ndimage.label(near, np.ones((3, 3)))
        joined.append(parts[first] == parts[second] > 0)
    assert np.mean(np.array(joined)[labels == 1]) > 0.7
    assert np.mean(np.array(joined)[labels == 0]) < 0.4  # contours may come as near to each other


@pytest.mark.parametrize("continuity", [0.7, 1.0])
def test_long_contours_are_smooth_and_keep_apart(continuity):
    ends, stream, drawn = np.zeros((28, 4)), np.zeros(1, np.uint64), 0
    turns = []
    for case in range(200):
        splitmix.begin(stream, 0, 0, case)
        if not generator._long_contours(stream, 14, continuity, ends):
            continue
        drawn += 1
        begin, end = ends[:, :2], ends[:, 2:]
        np.testing.assert_allclose(np.hypot(*(end - begin).T), 2.0)
        points = begin[:, None] + np.linspace(0, 1, 41)[:, None] * (end - begin)[:, None]
        for k in range(28):
            others = [j for j in range(28) if abs(j - k) not in (0, 2)]
            gaps = points[k][:, None, None] - points[others][None]
            assert np.hypot(*np.moveaxis(gaps, -1, 0)).min() >= 2.5 - 1e-9
        for contour in (ends[::2], ends[1::2]):  # dashes of both are drawn in turn
            ahead = contour[:, 2:] - contour[:, :2]
            angles = np.arctan2(ahead[:, 1], ahead[:, 0])
            turns += [(a + np.pi) % (2 * np.pi) - np.pi for a in np.diff(angles)]
            middle = contour[:-1, 2:] + ahead[:-1] / 2  # a gap ahead, where the next one turns
            np.testing.assert_allclose(np.hypot(*(contour[1:, :2] - middle).T), 1.0)
    assert drawn > 20
    assert np.abs(turns).max() <= np.pi / 2 / continuity
    density, _ = np.histogram(np.abs(turns), 5, (0, np.pi / 2 / continuity))
    assert (np.diff(density) < 0).all()  # the straighter, the more often


def test_discs_are_at_the_ends_that_labels_say():
    images, labels = pathfinder(60, seed=9)
    ends, stream = np.zeros((28, 4)), np.zeros(1, np.uint64)
    for case, (image, label) in enumerate(zip(images, labels, strict=True)):
        splitmix.begin(stream, entropy(9) % 2**63, 0, case)
        assert splitmix.below(stream, 2) == label
        while not generator._long_contours(stream, 14, 1.0, ends):
            pass
        starts, stops = ends[:2, :2], ends[-2:, 2:]
        lit = [
            [image[round(y), round(x)] == 255 for x, y in places] for places in (starts, stops)
        ]  # nothing but discs is as light
        first = lit[0].index(True)
        assert lit[1][first if label else 1 - first]


def test_pathfinder_is_balanced_and_distance_tells_little():
    images, labels = pathfinder(3000, seed=6)
    assert abs(labels.mean() - 0.5) < 0.03
    assert images.dtype == np.uint8
    assert images.max() == 255
    apart = np.array([np.hypot(*np.subtract(*discs(image))) for image in images])
    bins = np.searchsorted(np.quantile(apart, np.linspace(0, 1, 11)[1:-1]), apart)
    shares = [labels[bins == k].mean() for k in range(10)]
    assert np.mean(np.maximum(shares, 1 - np.array(shares))) < 0.6
    light = images.reshape(len(images), -1).mean(axis=1)  # nor does the amount of light
    assert abs(light[labels == 1].mean() - light[labels == 0].mean()) < 0.02 * light.mean()


def test_pathfinder_is_random_access_and_reproducible():
    images, labels = pathfinder(30, seed=1)
    some, their = pathfinder(5, seed=1, first=12)
    np.testing.assert_array_equal(images[12:17], some)
    np.testing.assert_array_equal(labels[12:17], their)
    assert not np.array_equal(pathfinder(30, seed=2)[0], images)
    assert not np.array_equal(pathfinder(30, seed=1, split=1)[0], images)
    plain, _ = pathfinder(30, seed=1, distractors=0)
    assert plain.sum() < images.sum()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"dashes": 15}, "dashes must be at most 14"),
        ({"distractors": 21}, "distractors at most 20"),
        ({"continuity": 3.0}, "continuity must be from 0.5 to 1.2, got 3.0"),
        ({"dashes": 1}, "dashes must be a whole number of at least 2"),
    ],
)
def test_pathfinder_refuses_what_has_no_room(arguments, said):
    with pytest.raises(ValueError, match=said):
        pathfinder(1, **arguments)
