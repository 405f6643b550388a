"""Many processes on one study: each trial and each finalist once, kills and budgets included."""

import json
import os
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

import servers

optuna = pytest.importorskip("optuna")
pytest.importorskip("redis", reason="needs the extra storage")
pytest.importorskip("psycopg", reason="needs the extra storage")

from optuna.trial import TrialState  # noqa: E402
from shared_workers import START, STUDY, Nursery, Workers  # noqa: E402

from paralesn.paper import bayesian, protocols, selection  # noqa: E402
from paralesn.paper.studies import sensitivity_trials  # noqa: E402
from paralesn.workflows import study_storage  # noqa: E402
from paralesn.workflows.trial_claims import ENDED, KEY  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="servers and signals of POSIX systems"),
]

JUDGING = protocols.of_kind("regression").judging
FINAL = bayesian.FIRST_SEED + JUDGING.seeds  # the first seed that only finalists see


@pytest.fixture(scope="module")
def nursery():
    found = Nursery()
    yield found
    found.close()


@pytest.fixture(scope="module")
def new_database():
    with servers.postgresql() as new:
        yield new


@contextmanager
def opened(kind, folder, request):
    """A new storage: how it is named."""
    if kind == "postgresql":
        yield request.getfixturevalue("new_database")()
    elif kind == "grpc":
        with servers.grpc_proxy(request.getfixturevalue("new_database")()) as url:
            yield url
    elif kind == "redis":
        with servers.redis() as url:
            yield url
    else:
        yield {"folder": f"{folder}/studies", "sqlite": f"sqlite:///{folder}/studies.db"}[kind]


@pytest.fixture
def workers(request, nursery, tmp_path):
    with opened(request.param, tmp_path, request) as storage:
        found = Workers(nursery, storage, tmp_path)
        yield found
        found.end_all()
        study_storage.disconnect()


def on(*kinds):
    return pytest.mark.parametrize("workers", kinds, indirect=True)


def trials(workers):
    return bayesian.existing_study(*STUDY, workers.storage).get_trials()


def times(workers):
    """How often each configuration was judged by each seed."""
    return Counter((json.dumps(c, sort_keys=True), s) for c, s, _ in workers.evaluations())


def check_that_all_was_done_once(workers, budget):
    states = Counter(trial.state for trial in trials(workers))
    assert states[TrialState.COMPLETE] + states[TrialState.PRUNED] == budget
    assert states.keys() <= {TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL}
    keys = [t.user_attrs.get(KEY) for t in trials(workers) if t.state != TrialState.FAIL]
    assert keys.count(bayesian._key(START)) == 1  # a sampler may draw the same
    different = {json.dumps(t.user_attrs["configuration"], sort_keys=True)
                 for t in trials(workers) if t.state == TrialState.COMPLETE}  # fmt: skip
    for seed in range(FINAL, bayesian.FIRST_SEED + JUDGING.final_seeds):
        judged = [count for (_, s), count in times(workers).items() if s == seed]
        assert judged == [1] * min(JUDGING.finalists, len(different))
    chosen = bayesian.tuned(*STUDY, workers.storage)
    assert chosen.trials == budget
    assert (chosen.configuration["rho"], chosen.configuration["tau"]) == (0.5, 0.1)


@on("postgresql", "redis", "grpc", "sqlite", "folder")
def test_three_starters_on_an_empty_storage(workers):
    workers.start(3, trials=10)
    workers.finish()
    check_that_all_was_done_once(workers, 10)
    assert len({process for *_, process in workers.evaluations()}) > 1


@on("postgresql", "redis", "grpc", "sqlite", "folder")
def test_a_killed_start_is_judged_by_another_worker(workers):
    (killed,) = workers.start(hold_from=0)
    workers.wait_for(1)
    workers.end(killed)
    assert [trial.state for trial in trials(workers)] == [TrialState.RUNNING]
    workers.start(2, trials=4)
    workers.finish()
    check_that_all_was_done_once(workers, 4)
    lost, *others = trials(workers)
    assert (lost.state, lost.user_attrs[ENDED]) == (TrialState.FAIL, "worker lost")
    again = [t for t in others if t.user_attrs.get(KEY) == bayesian._key(START)]
    assert [t.params for t in again if t.state == TrialState.COMPLETE] == [START]


@on("postgresql", "redis", "grpc")
def test_a_worker_that_was_killed_on_another_machine_is_missed(workers):
    """Nobody can look for its process, so it is lost when its signs of life stop."""
    (killed,) = workers.start(hold_from=0, machine="elsewhere")
    workers.wait_for(1)
    workers.start(trials=2, pause=0.6)  # which is not lost: it shows that it is alive
    workers.wait_for(2)
    workers.end(killed)
    workers.start(trials=2, machine="a third")
    workers.finish()
    check_that_all_was_done_once(workers, 2)
    failed = [trial for trial in trials(workers) if trial.state == TrialState.FAIL]
    begun = [trial for trial in failed if "worker" in trial.user_attrs]  # not dropped in a race
    assert [trial.params for trial in begun] == [START]


@on("folder")
def test_a_killed_finalist_is_judged_by_another_worker(workers):
    (killed,) = workers.start(trials=6, hold_from=FINAL)
    workers.wait_for(1, seed=FINAL)
    workers.end(killed)
    before = workers.evaluations()
    workers.start(2, trials=6)
    workers.finish()
    name = f"{', '.join(STUDY)} space, finalists"
    finals = study_storage.load_study(
        study_storage.storage_of(bayesian.existing_study(*STUDY, workers.storage)), name
    ).get_trials()
    assert [trial.user_attrs.get(ENDED) for trial in finals].count("worker lost") == 1
    later = workers.evaluations()[len(before) :]
    assert all(seed >= FINAL for _, seed, _ in later)  # the search itself was done
    assert set(Counter((json.dumps(c), s) for c, s, _ in later).values()) == {1}
    assert bayesian.tuned(*STUDY, workers.storage).trials == 6


@on("folder", "postgresql")
def test_an_interrupted_worker_gives_its_trial_back(workers):
    (interrupted,) = workers.start(hold_from=0)
    workers.wait_for(1)
    workers.end(interrupted, signal.SIGINT)
    (given_back,) = trials(workers)
    assert (given_back.state, given_back.user_attrs[ENDED]) == (TrialState.FAIL, "interrupted")
    workers.start(trials=1)
    workers.finish()
    check_that_all_was_done_once(workers, 1)


@on("redis", "folder")
def test_a_budget_smaller_than_the_number_of_workers(workers):
    workers.start(5, trials=3, pause=0)
    workers.finish()
    check_that_all_was_done_once(workers, 3)
    workers.start(2, trials=5)
    workers.finish()
    assert bayesian.tuned(*STUDY, workers.storage).trials == 5


@on("postgresql", "redis", "grpc", "sqlite", "folder")
def test_reading_makes_nothing(workers, tmp_path):
    before = sorted(Path(tmp_path).rglob("*"))
    assert bayesian.tuned(*STUDY, workers.storage) is None
    protocol = protocols.of("narma10", "ESN")
    assert selection.configurations(protocol, "narma10", "ESN", workers.storage)
    with pytest.raises(sensitivity_trials.TooFewTrialsError, match="got none in") as error:
        sensitivity_trials.of_search(bayesian.Study(*STUDY), workers.storage)
    assert "sesame" not in str(error.value)
    assert sorted(Path(tmp_path).rglob("*")) == before
    opened = study_storage.opened(workers.storage, "none", create=False)
    assert opened is None or opened.get_all_studies() == []
    if workers.storage.startswith("postgresql"):
        assert opened is None  # there are no tables
