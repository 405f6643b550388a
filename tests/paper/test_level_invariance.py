"""Tasks put to a model in changes: no row is seen early, and errors are those of the values."""

from types import SimpleNamespace

import numpy as np
import pytest

import paralesn as pe
from paralesn.datasets.dataset import Split
from paralesn.paper import protocols, runs
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocols import regression
from paralesn.paper.protocols.levels import Levels

CHANGES = Levels("changes", "changes")


def ahead(series, horizon=3):
    return Split(series[..., :-horizon, :], series[..., horizon:, :])


@pytest.mark.parametrize("shape", [(50, 2), (4, 50, 2)])
def test_changes_are_those_from_the_row_before_in_each_series(shape, rng):
    split = ahead(rng.normal(size=shape))
    given = CHANGES.given(split)
    assert (given[..., 0, :] == 0).all()
    np.testing.assert_array_equal(given[..., 1:, :], np.diff(split.inputs, axis=-2))
    np.testing.assert_array_equal(CHANGES.known(split), split.inputs)
    assert Levels().given(split) is split.inputs
    assert Levels().known(split) == 0.0


def test_no_row_depends_on_later_ones(rng):
    series = rng.normal(size=(60, 1))
    reservoir = pe.ParalESN(units=5, seed=0)
    other = np.concatenate([series[:40], rng.normal(size=(20, 1))])
    seen = [regression.scored(reservoir, ahead(s), 10, CHANGES) for s in (series, other)]
    first = 40 - 10  # rows after the washout whose inputs are the same
    for name in ("states", "known"):
        before, after = (getattr(each, name)[:first] for each in seen)
        np.testing.assert_array_equal(before, after)


def test_a_level_that_was_never_seen_changes_nothing(monkeypatch, rng):
    walk = rng.normal(size=(300, 1)).cumsum(axis=0)

    def made(level):
        splits = {"train": ahead(walk), "validation": ahead(walk + level), "test": ahead(walk)}
        return SimpleNamespace(**splits, washout=20, metric="mse")

    errors = {}
    for level in (0.0, 1000.0):
        monkeypatch.setattr(regression, "data", lambda *_, level=level: made(level))
        reservoir = pe.ParalESN(units=10, seed=1)
        for put in (Levels(), CHANGES):
            errors[put, level] = regression.validate("any", reservoir, [0.1], 0, put)[0]
    assert errors[CHANGES, 1000.0] == pytest.approx(errors[CHANGES, 0.0])
    assert errors[Levels(), 1000.0] > 100 * errors[Levels(), 0.0]


def test_what_is_scored_are_values(monkeypatch, rng):
    series = rng.normal(size=(200, 2)).cumsum(axis=0)
    split = ahead(series)
    made = SimpleNamespace(train=split, validation=split, test=split, washout=20, metric="nrmse")
    monkeypatch.setattr(regression, "data", lambda *_: made)
    reservoir = pe.ESN(units=10, seed=2)
    (score,) = regression.validate("any", reservoir, [1e12], 0, CHANGES)
    # So large a penalty leaves the mean change alone.
    x, y = split.inputs[20:], split.targets[20:]
    predicted = x + (y - x).mean(axis=0)
    assert score == pytest.approx(np.sqrt(((predicted - y) ** 2).mean() / (y**2).mean()))
    outcome = regression.measure("any", reservoir, 1e12, 0, CHANGES)
    assert outcome.metrics["nrmse"] == pytest.approx(score)
    assert outcome.metrics["mse"] == pytest.approx(((predicted - y) ** 2).mean())


def test_targets_that_are_no_later_inputs_are_refused(rng):
    split = Split(rng.normal(size=(30, 1)), rng.normal(size=(30, 2)))
    with pytest.raises(ValueError, match="targets must be later values of the inputs"):
        CHANGES.known(split)
    with pytest.raises(ValueError, match="inputs must be 'values' or 'changes', got 'levels'"):
        Levels("levels")


def test_a_run_on_record_says_how_the_task_was_put(monkeypatch, tmp_path, rng):
    split = ahead(rng.normal(size=(100, 1)).cumsum(axis=0))
    made = SimpleNamespace(train=split, validation=split, test=split, washout=20, metric="nrmse")
    monkeypatch.setattr(regression, "data", lambda *_: made)
    done = {}
    for name, way in (("values", {}), ("changes", {"protocol": vars(CHANGES)})):
        tuned = Tuned("etth1", "ESN", "extended", {"rho": 0.5} | way, 0.1, 1.0, 5, 1.0, 3)
        plan = runs.plan(protocols.of_kind("regression"), tuned, seeds=1)
        (done[name],) = runs.run(plan, tmp_path / "records.jsonl", jobs=1)
    assert done["changes"]["configuration"]["protocol"] == vars(CHANGES)
    assert done["changes"]["metrics"] != done["values"]["metrics"]
