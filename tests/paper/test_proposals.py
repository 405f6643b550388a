"""What a study tries of its own accord: configurations of other studies, neighbours of its best."""

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from paralesn.paper import (  # noqa: E402
    bayesian,
    proposals,
    protocols,
    spaces,
)
from paralesn.paper import configurations as tuned  # noqa: E402
from paralesn.paper.catalogue import models, tasks  # noqa: E402
from paralesn.paper.search import Budget  # noqa: E402


@pytest.mark.parametrize(
    ("model", "space"),
    [(name, space) for name in models() for space in spaces.SPACES
     if spaces.exists(models()[name], space)],
)  # fmt: skip
def test_a_configuration_can_be_suggested_again(model, space, rng):
    one = models()[model]
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1)).ask()
    configuration = spaces.suggest(trial, one, space)
    told = optuna.trial.FixedTrial(spaces.hyperparameters(configuration, one, space))
    again = spaces.suggest(told, one, space)
    flat = [[c, c.pop("inter", {})] for c in (configuration, again)]
    for before, after in zip(*flat, strict=True):
        assert before.keys() == after.keys()
        for name, value in before.items():
            assert after[name] == (value if isinstance(value, str) else pytest.approx(value))


def test_what_a_space_does_not_hold_is_brought_to_its_edge_and_defaults_fill_the_rest():
    one = models()["ParalESN"]
    given = {"rho": [0.9, 0.9], "theta": [0.0, 6.283185307179586], "bias_scale": 0.0, "tau": 1.0}
    told = spaces.hyperparameters(given, one, "extended")
    assert told["bias_scale"] == 0.001
    assert told["rho max"] == pytest.approx(0.1)  # from one
    assert told["rho min"] == 1.0  # a share
    assert (told["phases"], told["input_scale"]) == ("random", 1.0)


def test_deep_models_begin_with_their_shallow_ones():
    layer = tuned.shipped("narma10", "ParalESN", "paper").configuration
    begun = proposals.starts("narma10", "ParalESN (deep)", "paper", [], [layer])
    ways = [(one["layers"], one["concat"]) for one in begun]
    assert sorted(ways) == [(n, concat) for n in (2, 3, 4, 5) for concat in (False, True)]
    for one in begun:
        found = spaces.suggest(optuna.trial.FixedTrial(one), models()["ParalESN (deep)"], "paper")
        assert found["inter"] == layer
        assert {name: found[name] for name in layer} == layer
    assert proposals.starts("narma10", "ParalESN", "paper", [], []) == []


def test_ways_to_put_a_task_are_suggested_told_and_begun_with_where_it_wanders():
    one, etth2 = models()["ESN (deep)"], tasks()["etth2"]
    for space, task, known in (("extended", etth2, True), ("paper", etth2, False),
                               ("extended", tasks()["mg84"], False)):  # fmt: skip
        found = spaces.suggest(optuna.create_study().ask(), one, space, task)
        assert ("protocol" in found) == known
        told = spaces.hyperparameters(found, one, space, task)
        again = spaces.suggest(optuna.trial.FixedTrial(told), one, space, task)
        assert again.get("protocol") == found.get("protocol")
    layer = tuned.shipped("etth2", "ESN", "paper").configuration
    begun = proposals.starts("etth2", "ESN", "extended", [layer], [])
    assert [(b["protocol inputs"], b["protocol targets"]) for b in begun] == [
        ("values", "values"),
        ("changes", "changes"),
    ]
    said = layer | {"protocol": {"inputs": "values", "targets": "changes"}}
    (kept,) = proposals.starts("etth2", "ESN", "extended", [said], [])
    assert (kept["protocol inputs"], kept["protocol targets"]) == ("values", "changes")


def test_every_model_is_put_a_task_in_the_same_ways():
    offered = {
        name: {p for p in trial.params if p.startswith("protocol ")}
        for name, model in models().items()
        if spaces.exists(model, "extended") and not model.only
        for trial in [optuna.create_study().ask()]
        if spaces.suggest(trial, model, "extended", tasks()["ettm1"])
    }
    assert len(offered) == 8
    assert all(each == {"protocol inputs", "protocol targets"} for each in offered.values())


def test_a_study_begins_with_what_is_shipped_where_there_are_no_studies(monkeypatch, tmp_path):
    monkeypatch.setattr(bayesian, "losses", lambda *_: _[2]["tau"] + np.array(_[3]))
    bayesian.work("narma10", "ESN (deep)", "paper", str(tmp_path), Budget(1))
    study = bayesian.open_study("narma10", "ESN (deep)", "paper", str(tmp_path))
    own = tuned.shipped("narma10", "ESN (deep)", "paper").configuration
    assert study.trials[0].user_attrs["configuration"] == own


def test_the_best_that_differ_in_their_eigenvalues_are_stacked():
    study = optuna.create_study()
    configurations = [{"rho": r, "tau": t} for r, t in ((1, 1), (1, 2), (2, 1), (3, 1), (3, 2))]
    for value, one in enumerate(configurations):
        trial = optuna.trial.create_trial(value=value, user_attrs={"configuration": one})
        study.add_trial(trial)
    assert proposals.various(study, 2) == [{"rho": 1, "tau": 1}, {"rho": 2, "tau": 1}]
    assert len(proposals.various(study, 9)) == 3


def test_a_deep_study_begins_with_the_stacked_shallow_one(monkeypatch, tmp_path):
    monkeypatch.setattr(bayesian, "losses", lambda *_: _[2]["tau"] + np.array(_[3]))
    bayesian.work("narma10", "ESN", "paper", str(tmp_path), Budget(8))
    bayesian.work("narma10", "ESN (deep)", "paper", str(tmp_path), Budget(3))
    study = bayesian.open_study("narma10", "ESN (deep)", "paper", str(tmp_path))
    for trial in study.trials[:3]:
        layer = {
            n: v
            for n, v in trial.user_attrs["configuration"].items()
            if n not in ("layers", "concat", "inter")
        }
        assert trial.user_attrs["configuration"]["inter"] == layer


def test_the_extended_space_begins_with_the_papers_best(monkeypatch, tmp_path):
    monkeypatch.setattr(
        bayesian, "losses", lambda *_: np.full(len(_[3]), 1.0) + _[2].get("tau", 0) + np.array(_[3])
    )
    bayesian.work("narma10", "ESN", "paper", str(tmp_path), Budget(8))
    best = bayesian.tuned("narma10", "ESN", "paper", str(tmp_path)).configuration
    bayesian.work("narma10", "ESN", "extended", str(tmp_path), Budget(2))
    first = bayesian.open_study("narma10", "ESN", "extended", str(tmp_path)).trials[0]
    assert first.params == spaces.hyperparameters(best, models()["ESN"], "extended")
    bayesian.work("narma10", "ESN", "extended", str(tmp_path), Budget(4))
    trials = bayesian.open_study("narma10", "ESN", "extended", str(tmp_path)).trials
    assert sum(one.params == first.params for one in trials) == 1  # begun once


def test_a_study_begins_with_what_was_good_for_other_tasks(monkeypatch, tmp_path):
    monkeypatch.setattr(bayesian, "losses", lambda *_: _[2]["tau"] + np.array(_[3]))
    bayesian.work("mg", "ESN", "paper", str(tmp_path), Budget(8))
    best = bayesian.tuned("mg", "ESN", "paper", str(tmp_path)).configuration
    bayesian.work("narma10", "ESN", "paper", str(tmp_path), Budget(1))
    study = bayesian.open_study("narma10", "ESN", "paper", str(tmp_path))
    assert study.trials[0].user_attrs["configuration"] == best


def test_finals_are_not_repeated_when_a_study_goes_on(monkeypatch, tmp_path):
    seen = []

    def losses(task, model, configuration, penalties, seed):
        seen.append(seed)
        return configuration["tau"] + np.array(penalties)

    monkeypatch.setattr(bayesian, "losses", losses)
    monkeypatch.setattr(bayesian.proposals, "neighbour", lambda *_: None)
    bayesian.work("mg", "ESN", "paper", str(tmp_path), Budget(60))
    judged = seen.count(1008)
    assert judged == protocols.of_kind("regression").judging.finalists
    bayesian.work("mg", "ESN", "paper", str(tmp_path), Budget(61))
    assert seen.count(1008) <= judged + 1


def test_neighbours_are_new_and_near_the_best(rng):
    study = optuna.create_study()
    names = [f"p{i}" for i in range(8)]
    space = {n: optuna.distributions.CategoricalDistribution([0, 1, 2]) for n in names}
    space["x"] = optuna.distributions.FloatDistribution(1e-3, 10, log=True)
    assert proposals.neighbour(study, rng) is None
    for value in range(12):
        params = {n: int(rng.integers(3)) for n in names} | {"x": float(rng.uniform(0.1, 1))}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=value))
    best = [trial.params for trial in study.trials[: proposals.BEST]]
    changes = []
    for _ in range(100):
        found = proposals.neighbour(study, rng)
        assert found not in [trial.params for trial in study.trials]
        assert 1e-3 <= found["x"] <= 10
        changes.append(min(sum(found[n] != one[n] for n in found) for one in best))
    assert min(changes) >= 1
    assert 1.2 < np.mean(changes) < 3


def test_every_task_and_model_has_a_shipped_configuration_of_the_papers_space():
    for task in protocols.of_kind("regression").tasks():
        for model in models().values():
            if model.only or model.trained or model.like:
                continue
            one = tuned.shipped(task, model.name, "paper")
            assert one is not None, (task, model.name)
            assert one.trials >= 150
