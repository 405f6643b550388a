"""Folds: stratified, complete, reproducible, as many as fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paralesn.tables.errors import TableError
from paralesn.workflows.cross_validation import (
    FoldPlan,
    deal_classes,
    deal_numbers,
    fit_seconds,
    plan_folds,
    splits,
)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(2, 7), st.integers(0, 99))
def test_classes_are_spread_evenly(sizes, folds, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    dealt = deal_classes(codes, folds, np.random.default_rng(seed))
    for code, size in enumerate(sizes):
        counts = np.bincount(dealt[codes == code] + 1, minlength=folds + 1)
        if size == 1:
            assert counts.tolist() == [1] + [0] * folds
        else:
            assert counts[0] == 0
            assert counts[1:].max() - counts[1:].min() <= 1
    held_out = np.bincount(dealt[dealt >= 0], minlength=folds)
    assert held_out.max() - held_out.min() <= 1
    again = deal_classes(codes, folds, np.random.default_rng(seed))
    np.testing.assert_array_equal(dealt, again)


def test_numbers_are_spread_evenly(rng):
    targets = rng.normal(size=50)
    dealt = deal_numbers(targets, 5, rng)
    ranks = targets.argsort().argsort()
    for fold in range(5):  # one of every five neighbours
        assert sorted(ranks[dealt == fold] // 5) == list(range(10))


def test_every_class_is_learnt_wherever_it_is_tested(rng):
    codes = np.repeat([0, 1, 2, 3], [2, 1, 9, 3])
    plan = FoldPlan(4, 1, 4)
    seen = []
    for rows, held_out in splits(deal_classes(codes, 4, rng), plan):
        assert sorted([*rows, *held_out]) == list(range(codes.size))
        assert set(codes[held_out]) <= set(codes[rows])
        seen += held_out.tolist()
    assert sorted(seen) == [k for k, code in enumerate(codes) if code != 1]


@pytest.mark.parametrize(
    ("counts", "values", "given", "expected"),
    [
        ([4, 4], 8 * 70, {}, (4, 10, 4)),
        ([6] * 5, 30 * 470, {}, (6, 10, 6)),
        ([125, 125], 250 * 720, {}, (5, 10, 5)),
        ([1846, 1755], 3601 * 500, {}, (5, 1, 5)),
        ([30_000, 30_000], 60_000 * 500, {}, (5, 1, 1)),
        ([30_000, 30_000], 60_000 * 500, {"folds": 3}, (3, 1, 3)),
        ([50, 50], 100, {"folds": 2, "repeats": 3}, (2, 3, 2)),
        ([1, 1, 1], 30, {}, None),
        ([50, 50], 100, {"repeats": 0}, None),
    ],
)
def test_folds_and_repeats_fit_the_cases(counts, values, given, expected):
    assert plan_folds(np.array(counts), values, **given) == expected


def test_wrong_folds_are_refused():
    with pytest.raises(TableError, match="`folds=5` is more than the 4 cases"):
        plan_folds(np.array([4, 3]), 100, 5)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2, got 1"):
        plan_folds(np.array([4, 3]), 100, 1)
    with pytest.raises(TypeError, match="repeats must be"):
        plan_folds(np.array([4, 3]), 100, None, 1.5)


def test_more_takes_longer():
    assert fit_seconds(100, 10_000) < fit_seconds(100, 20_000) < fit_seconds(2000, 20_000)
