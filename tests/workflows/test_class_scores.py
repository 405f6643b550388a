"""Measures beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics

from paralesn.workflows.class_scores import log_loss, score_classes
from paralesn.workflows.number_scores import score_numbers


def test_measures_of_classes_are_those_of_scikit_learn(rng):
    truth = rng.integers(0, 4, 60)
    predicted = np.where(rng.random((3, 60)) < 0.6, truth, rng.integers(0, 5, (3, 60)))
    predicted[:, truth == 2] = 0  # a class that is never recognised, a fifth that is never there
    scores = score_classes(truth, predicted.astype(float), 5)
    labels = range(5)

    def mean(measure):
        return np.mean([measure(truth, answers) for answers in predicted], axis=0)

    assert scores.accuracy == pytest.approx(mean(metrics.accuracy_score))
    assert scores.spread == pytest.approx(
        np.std([metrics.accuracy_score(truth, answers) for answers in predicted], ddof=1)
    )
    recalls = [
        metrics.recall_score(truth, answers, average=None, labels=range(4)) for answers in predicted
    ]
    assert scores.balanced_accuracy == pytest.approx(np.mean(recalls))
    matrices = [metrics.confusion_matrix(truth, answers, labels=labels) for answers in predicted]
    np.testing.assert_array_equal(scores.confusion, np.sum(matrices, axis=0))
    for name, of_sklearn in (
        ("precision", metrics.precision_score),
        ("f1", metrics.f1_score),
    ):
        expected = [
            of_sklearn(truth, answers, average=None, labels=labels, zero_division=0)
            for answers in predicted
        ]
        np.testing.assert_allclose(getattr(scores, name), np.mean(expected, axis=0))
    np.testing.assert_allclose(scores.recall[:4], np.mean(recalls, axis=0))
    assert np.isnan(scores.recall[4])
    assert scores.macro_f1 == pytest.approx(
        mean(lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0))
    )


def test_cases_that_were_not_asked_for_do_not_count():
    truth, predicted = np.array([0, 0, 1, 1, 2]), np.array([[0, 1, 1, 1, np.nan]])
    scores = score_classes(truth, predicted, 3)
    assert scores.accuracy == 0.75
    assert scores.confusion.tolist() == [[1, 1, 0], [0, 2, 0], [0, 0, 0]]
    assert np.isnan(scores.f1[2])
    assert np.isnan(scores.spread)


def test_log_loss_is_that_of_scikit_learn(rng):
    p = rng.dirichlet(np.ones(3), 50)
    truth = rng.integers(0, 3, 50)
    assert log_loss(truth, p) == pytest.approx(metrics.log_loss(truth, p, labels=range(3)))
    unknown = log_loss(np.array([3]), p[:1])
    assert unknown == pytest.approx(-np.log(np.finfo(float).eps))


def test_measures_of_numbers_are_those_of_scikit_learn(rng):
    truth = rng.normal(size=40)
    predicted = truth + rng.normal(size=(2, 40))
    predicted[1, 7] = np.nan
    scores = score_numbers(truth, predicted)
    asked = np.arange(40) != 7
    pairs = [(truth, predicted[0]), (truth[asked], predicted[1, asked])]
    assert scores.r2 == pytest.approx(np.mean([metrics.r2_score(*pair) for pair in pairs]))
    assert scores.mae == pytest.approx(
        np.mean([metrics.mean_absolute_error(*pair) for pair in pairs])
    )
    assert scores.rmse == pytest.approx(
        np.mean([metrics.root_mean_squared_error(*pair) for pair in pairs])
    )
    assert np.isnan(score_numbers(np.ones(3), np.zeros((1, 3))).r2)
