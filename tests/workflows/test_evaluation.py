"""Evaluation beside loops written out, and comparisons beside their formula."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.workflows.cross_validation import FoldPlan, deal_classes, deal_numbers
from paralesn.workflows.evaluation import (
    BETTER,
    UNCLEAR,
    WORSE,
    ClassEvaluation,
    Comparison,
    NumberEvaluation,
    ask_other,
    cross_validate,
)
from paralesn.workflows.series_tasks import MAJORITY, MEAN, ClassTask, NumberTask
from paralesn.workflows.yardsticks import MODEL


@pytest.fixture
def waves(rng):
    t, codes = np.arange(50), np.arange(24) % 3
    codes[-1] = 3  # the only one of its class
    periods = 5 + 0.7 * codes
    noise = 1.2 * rng.normal(size=(24, 50))
    X = np.sin(t / periods[:, None] + rng.uniform(0, 6, (24, 1))) + noise
    return X[..., None], codes, periods


@pytest.mark.parametrize("seed", [0, 5])
def test_cross_validation_is_the_loop_it_says(waves, seed):
    X, codes, _ = waves
    classes = np.array(["a", "b", "c", "d"])
    asked = cross_validate(ClassTask(codes, classes, None, seed), X, FoldPlan(4, 2, 4), seed=seed)
    assert list(asked.answers) == [MODEL, MAJORITY, "1-NN, DTW"]
    p = np.zeros((24, 4))
    for repeat in range(2):
        dealt = deal_classes(codes, 4, np.random.default_rng([seed, repeat]))
        expected = np.full((3, 24), np.nan)
        for fold in range(4):
            held_out, rows = np.flatnonzero(dealt == fold), np.flatnonzero(dealt != fold)
            model = pe.ReservoirClassifier(pe.FilterBank(seed=seed)).fit(
                X[rows], classes[codes[rows]]
            )
            expected[0, held_out] = np.searchsorted(classes, model.predict(X[held_out]))
            p[held_out] += model.predict_proba(X[held_out]) / 2
            expected[1, held_out] = np.bincount(codes[rows]).argmax()
        for row, method in zip(expected[:2], (MODEL, MAJORITY), strict=True):
            np.testing.assert_array_equal(asked.answers[method][repeat], row)
        assert np.isnan(asked.answers["1-NN, DTW"][repeat]).tolist() == (codes == 3).tolist()
    np.testing.assert_allclose(asked.probabilities[:23], p[:23])
    assert np.isnan(asked.probabilities[23]).all()


def test_numbers_are_cross_validated_with_means_and_neighbours(waves):
    X, _, targets = waves
    targets = targets + 0.01 * np.arange(24)
    asked = cross_validate(NumberTask(targets), list(X), FoldPlan(4, 1, 4))
    dealt = deal_numbers(targets, 4, np.random.default_rng([0, 0]))
    for fold in range(4):
        held_out, rows = dealt == fold, dealt != fold
        model = pe.ReservoirSeriesRegressor().fit(X[rows], targets[rows])
        np.testing.assert_allclose(asked.answers[MODEL][0, held_out], model.predict(X[held_out]))
        assert asked.answers[MEAN][0, held_out] == pytest.approx(targets[rows].mean())
        assert set(asked.answers["1-NN, DTW"][0, held_out]) <= set(targets[rows])
    assert asked.probabilities is None


def test_a_single_fold_is_held_out_where_there_is_no_time(waves):
    X, codes, _ = waves
    task = ClassTask(codes, np.arange(4))
    asked = cross_validate(task, X, FoldPlan(4, 1, 1))
    dealt = deal_classes(codes, 4, np.random.default_rng([0, 0]))
    assert np.isfinite(asked.answers[MODEL][0]).tolist() == (dealt == 0).tolist()


def test_other_series_are_asked_for(waves):
    X, codes, _ = waves
    task = ClassTask(codes, np.arange(4))
    model = task.fit(X)
    asked = ask_other(task, model, X, X[:5])
    assert asked.answers["1-NN, DTW"][0].tolist() == codes[:5].tolist()  # each is its own neighbour
    assert asked.answers[MAJORITY][0].tolist() == [0] * 5
    np.testing.assert_array_equal(asked.answers[MODEL][0], model.predict(X[:5]))


def test_a_model_is_compared_case_by_case(rng):
    truth = np.repeat([0, 1], 50)
    model = np.where(rng.random((2, 100)) < 0.9, truth, 1 - truth).astype(float)
    answers = {MODEL: model, MAJORITY: np.zeros((2, 100))}
    (found,) = ClassEvaluation(truth, answers, None, ("a", "b"), 2).comparisons()
    less = (truth != 0) - (model != truth).mean(axis=0)
    assert found.difference == pytest.approx(less.mean())
    assert found.error == pytest.approx(less.std(ddof=1) / 10)
    assert found.verdict == BETTER
    numbers = NumberEvaluation(truth.astype(float), {MODEL: truth + 1.0 + 0 * model, MEAN: model})
    (found,) = numbers.comparisons()
    assert found.difference == pytest.approx(np.abs(model - truth).mean() - 1)
    assert found.verdict == WORSE
    assert Comparison("x", 0.1, 0.06).verdict == Comparison("x", 0.0, 0.0).verdict == UNCLEAR


def test_the_answer_that_came_most_often():
    answers = np.array([[0.0, 1, np.nan], [1, 1, np.nan], [1, 0, np.nan], [0, 1, np.nan]])
    p = np.array([[0.4, 0.6], [0.5, 0.5], [np.nan, np.nan]])
    found = ClassEvaluation(np.zeros(3, int), {MODEL: answers}, None, ("a", "b"), 2, p)
    assert found.consensus.tolist() == [1, 1, -1]  # of equal ones, the likelier
    assert found.losses(MODEL)[:2].tolist() == [0.5, 0.75]
    assert found.cases == 2
    numbers = NumberEvaluation(np.zeros(3), {MODEL: answers})
    assert numbers.consensus[:2].tolist() == [0.5, 0.75]
