"""The search: resumable after a kill, nothing lost or repeated, validation alone decides."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from paralesn.paper import bayesian, search  # noqa: E402
from paralesn.paper.bayesian import Study  # noqa: E402
from paralesn.paper.protocols import regression  # noqa: E402
from paralesn.paper.search import Budget  # noqa: E402
from paralesn.paper.studies import sensitivity, sensitivity_trials  # noqa: E402

STUDY = ("narma10", "ESN", "paper")


@pytest.fixture
def easy(monkeypatch):
    """A search whose loss is the distance of rho to 0.5, plus the penalty; counts evaluations."""
    seen = []

    def losses(task, model, configuration, penalties, seed):
        seen.append((configuration, seed))
        return abs(configuration["rho"] - 0.5) + 0.01 * configuration["tau"] + np.array(penalties)

    monkeypatch.setattr(bayesian, "losses", losses)
    return seen


def test_the_best_on_validation_is_chosen(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path), Budget(60))
    found = bayesian.tuned(*STUDY, str(tmp_path))
    assert (found.configuration["rho"], found.configuration["tau"], found.alpha) == (0.5, 0.1, 0.0)
    assert found.validation == pytest.approx(0.001)
    assert found.trials == 60
    assert {seed for _, seed in easy} == set(range(1000, 1009))  # never those that are reported


def test_a_configuration_drawn_twice_is_evaluated_once(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path), Budget(80))
    first = [tuple(sorted(c.items())) for c, seed in easy if seed == 1002]
    finalists = [tuple(sorted(c.items())) for c, seed in easy if seed == 1008]
    searched = list(first)
    for one in finalists:
        searched.remove(one)
    assert len(searched) == len(set(searched))


def test_most_configurations_are_given_up_early(easy, tmp_path, monkeypatch):
    monkeypatch.setattr(bayesian, "_starts", lambda *_: [])  # shipped ones are good from the start
    bayesian.work(*STUDY, str(tmp_path), Budget(60))
    study = bayesian.open_study(*STUDY, str(tmp_path))
    pruned = study.get_trials(states=(optuna.trial.TrialState.PRUNED,))
    assert 5 < len(pruned) < 55


def test_a_study_goes_on_where_it_stands(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path), Budget(10))
    count = len(easy)
    bayesian.work(*STUDY, str(tmp_path), Budget(10))
    assert len(easy) == count  # done is done
    bayesian.work(*STUDY, str(tmp_path), Budget(15))
    assert bayesian.finished(bayesian.open_study(*STUDY, str(tmp_path))) == 15
    assert bayesian.tuned(*STUDY, str(tmp_path)).trials == 15


def test_one_worker_finds_the_same_again_stopped_or_not(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path / "whole"), Budget(40))
    for trials in (12, 40):
        bayesian.work(*STUDY, str(tmp_path / "stopped"), Budget(trials))
    whole, stopped = (
        [trial.params for trial in bayesian.open_study(*STUDY, str(tmp_path / name)).trials]
        for name in ("whole", "stopped")
    )
    assert whole == stopped
    assert len({str(params) for params in whole}) > 20


@pytest.mark.slow
def test_time_is_a_budget_too(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path), Budget(10_000, seconds=1.0))
    assert 1 <= bayesian.finished(bayesian.open_study(*STUDY, str(tmp_path))) < 10_000


def test_what_cannot_be_computed_is_hopeless(monkeypatch):
    def fail(*_, **__):
        raise ValueError("states overflow")

    monkeypatch.setattr(regression, "validate", fail)
    found = bayesian.losses("narma10", "ESN", {"rho": 0.5}, (0.0, 1.0), 0)
    assert (found == found[0]).all()
    assert found[0] > 1e9


PROGRAM = """
import sys, time
import numpy as np
from paralesn.paper import bayesian, search  # noqa: E402
def losses(task, model, configuration, penalties, seed):
    time.sleep(0.05)
    with open(sys.argv[2], "a") as file:
        file.write(f"{sorted(configuration.items())} {seed}\\n")
    return abs(configuration["rho"] - 0.5) + np.array(penalties)
bayesian.losses = losses
bayesian.work("narma10", "ESN", "paper", sys.argv[1], search.Budget(25))
"""


@pytest.mark.slow
def test_a_killed_search_loses_and_repeats_nothing(tmp_path):
    program, log = tmp_path / "program.py", tmp_path / "evaluations"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, str(program), str(tmp_path / "studies"), str(log)]
    process = subprocess.Popen(command)
    for _ in range(600):
        time.sleep(0.05)
        if log.exists() and log.read_text().count("\n") > 15:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    study = bayesian.open_study(*STUDY, str(tmp_path / "studies"))
    before = {
        trial.number: (trial.params, trial.value)
        for trial in study.get_trials()
        if trial.state.is_finished()
    }
    assert 1 <= len(before) < 25
    subprocess.run(command, check=True)
    study = bayesian.open_study(*STUDY, str(tmp_path / "studies"))
    after = {trial.number: (trial.params, trial.value) for trial in study.get_trials()}
    assert all(after[number] == found for number, found in before.items())
    assert bayesian.finished(study) == 25
    assert bayesian.tuned(*STUDY, str(tmp_path / "studies")).configuration["rho"] == 0.5


@pytest.mark.slow
def test_processes_share_the_work(tmp_path):
    """The real thing, small: two studies on two processes."""
    studies = [("sinmem10", "SCR", "paper"), ("sinmem10", "ParalESN", "paper")]
    done = []
    search.search(studies, str(tmp_path), Budget(6), jobs=2, progress=done.append)
    assert sorted(done) == sorted(studies)
    for study in studies:
        assert 0 < bayesian.tuned(*study, str(tmp_path)).validation < 1.5


@pytest.mark.slow
def test_trials_of_a_search_say_what_matters(easy, tmp_path):
    bayesian.work(*STUDY, str(tmp_path), Budget(60))
    measured = sensitivity.effects(sensitivity_trials.of_search(Study(*STUDY), str(tmp_path)))
    assert measured.effects[0].name == "rho"
    assert measured.effects[0].explained.share > 0.5
    assert measured.effects[0].explained.p is None  # trials depend on earlier ones
    best = dict(zip(measured.effects[0].labels, measured.effects[0].scores, strict=True))
    assert best["0.5"].max() < best["0.1"].min()
    with pytest.raises(ValueError, match=r"must hold one of mg, ESN, paper space, got none"):
        sensitivity_trials.of_search(Study("mg", "ESN", "paper"), str(tmp_path))
    assert not bayesian.study_file("mg", "ESN", "paper", str(tmp_path)).exists()  # only looked for


def test_building_leaves_the_configuration_alone():
    from paralesn.paper.catalogue import models
    from paralesn.paper.protocols import regression

    given = {"rho": [0.1, 0.5], "layers": 2, "inter": {"rho": [0.1, 0.9]}}
    regression.build(models()["ParalESN (deep)"], given, seed=0)
    assert given == {"rho": [0.1, 0.5], "layers": 2, "inter": {"rho": [0.1, 0.9]}}
