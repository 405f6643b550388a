"""Labels that differ stay different classes, however large; those that cannot are refused."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.series_targets import ClassTask
from paralesn.readouts.mlp_targets import labels_or_targets

X = np.random.default_rng(0).normal(size=(40, 30))
X[::2] += 9 * np.sin(np.arange(30))


@pytest.mark.parametrize(
    "y",
    [
        np.array([2**53, 2**53 + 1] * 20),
        np.array([2**63, 2**63 + 1] * 20, np.uint64),
        np.array([-(2**63), 2**63 - 1] * 20),
        np.array([2**53, 2**53 + 1] * 20, object),
        [2**53 + 1, 2**53] * 20,
        np.array(["1e30", "2e30"] * 20),
        np.array([2.0**53 - 1, 2.0**53 - 2] * 20),
        np.array([2**23, 2**23 + 1] * 20, np.float32),
    ],
    ids=["int64", "uint64", "ends", "object", "list", "text", "float64", "float32"],
)
def test_they_stay_apart(y):
    model = pe.ReservoirClassifier().fit(X, y)
    assert model.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
    assert model.predict(X).tolist() == np.asarray(y).tolist()
    learner = pe.ReservoirClassifier(readout=pe.Ridge()).partial_fit(X, y)
    assert learner.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize(
    "y",
    [
        np.array([2.0**53, 2.0**53 + 2] * 20),
        np.array([1e30, 2e30] * 20),
        [2**53 + 1, 1.0] * 20,  # of which NumPy makes 2**53
        [-1, 2**63] * 20,
        np.array([10**30, 2 * 10**30] * 20, object),
        np.array([2**24, 2**24 + 2] * 20, np.float32),
    ],
    ids=["float64", "huge", "mixed", "signs", "beyond 64 bits", "float32"],
)
def test_those_that_might_merge_are_refused(y):
    message = "y must be integers within 64 bits, or text, where they are this large, got"
    with pytest.raises(ValueError, match=message):
        pe.ReservoirClassifier().fit(X, y)
    with pytest.raises(ValueError, match=message):
        pe.ReservoirClassifier(readout=pe.Ridge()).partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        labels_or_targets(np.asarray(y), 40, "classification")


def test_surveys_of_signed_and_unsigned_labels_merge_to_integers():
    task = ClassTask()
    one = task.survey(np.array([2**53, 2**53 + 1]), 2, None)
    other = task.survey(np.array([2**63, 2**53 + 1], np.uint64), 2, None)
    both = one.merged(other)
    assert both.classes.tolist() == [2**53, 2**53 + 1, 2**63]
    assert both.counts.tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match="y must be integers within 64 bits"):
        other.merged(task.survey(np.array([-1, 1]), 2, None))
