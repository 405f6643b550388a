"""Claims of trials: nothing twice, nothing beyond the budget, nothing lost; race by race."""

import pytest

optuna = pytest.importorskip("optuna")

from optuna.trial import TrialState  # noqa: E402

from paralesn.workflows import worker_signs  # noqa: E402
from paralesn.workflows.study_storage import storage_of  # noqa: E402
from paralesn.workflows.trial_claims import ENDED, KEY, Claims, slots  # noqa: E402
from paralesn.workflows.worker_signs import Signs  # noqa: E402

SIGNS = Signs(interval=60, grace=180, poll=0)


@pytest.fixture
def study():
    return optuna.create_study(sampler=optuna.samplers.RandomSampler())


@pytest.fixture
def claims(study):
    return Claims(study, SIGNS)


@pytest.fixture
def clock(monkeypatch):
    """The observer's clock, as a list of one time."""
    now = [0.0]
    monkeypatch.setattr(worker_signs.time, "monotonic", lambda: now[0])
    return now


def objective(trial):
    return trial.suggest_float("x", 0, 1)


def do(claims, most, **options):
    for trial, _ in claims.until_settled(most, **options):
        claims.run(trial, objective)


def ends(study):
    return [(trial.state.name, trial.user_attrs.get(ENDED)) for trial in study.trials]


def enqueue(study, x, key=None):
    study.enqueue_trial({"x": x}, user_attrs={KEY: key or f"start {x}"})


def test_what_two_workers_enqueued_at_once_is_done_once(study, claims):
    for x in (0.5, 0.5, 0.25):
        enqueue(study, x)
    do(claims, 10)
    assert ends(study) == [("COMPLETE", None), ("FAIL", "duplicate"), ("COMPLETE", None)]
    claims.enqueue("start 0.5", {"x": 0.5})
    claims.enqueue("another name", {"x": 0.25})
    assert len(study.trials) == 3


def test_of_two_workers_that_claim_the_same_one_drops_it(study, claims, monkeypatch):
    """The other worker claims the first of two while this one asks."""
    enqueue(study, 0.5)
    enqueue(study, 0.5)
    other = study.ask()
    assert claims._claim_any(10) is None
    study.tell(other, 1.0)
    assert ends(study) == [("COMPLETE", None), ("FAIL", "duplicate")]


def test_the_last_place_goes_to_one_worker(study, claims):
    do(claims, 2, propose=lambda: None)
    others = []

    def propose():  # another worker is a little faster
        if not others:
            others.append(study.ask())

    seen = []
    for trial, place in claims.until_settled(3, is_over=lambda: len(study.trials) > 3,
                                             propose=propose):  # fmt: skip
        seen.append((trial.number, place))
    assert seen == []
    assert ends(study)[2:] == [("RUNNING", None), ("FAIL", "beyond the budget")]
    study.tell(others[0], 1.0)
    do(claims, 3, propose=propose)
    assert len(study.trials) == 4


def test_what_was_enqueued_beyond_the_budget_waits_for_a_larger_one(study, claims):
    for x in (0.1, 0.2, 0.3):
        enqueue(study, x)
    do(claims, 2, propose=lambda: None)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "WAITING"]
    assert claims._claim_any(2) is None  # as if it had been claimed in a race
    do(claims, 2)
    assert ends(study)[2:] == [("FAIL", "interrupted"), ("WAITING", None)]
    do(claims, 3)
    assert [t.params["x"] for t in study.trials if t.state == TrialState.COMPLETE] == [
        0.1,
        0.2,
        0.3,
    ]


def test_a_retried_trial_keeps_its_place(study, claims):
    """Its place in the budget is not given away while it has failed."""
    first = study.ask()
    first.suggest_float("x", 0, 1)
    do(claims, 3, is_over=lambda: len(study.trials) == 3, propose=lambda: None)
    claims._fail(first.number, "worker lost")
    assert [slot.key for slot in slots(study)] == ["trial 0", "trial 1", "trial 2"]
    assert claims._claim_any(3) is None  # somebody wanted a new one
    done = [(trial.number, place) for trial, place in _done(claims, 3)]
    assert done == [(4, 0)]
    assert study.trials[4].params == first.params
    assert sum(trial.state == TrialState.COMPLETE for trial in study.trials) == 3


def _done(claims, most):
    for trial, place in claims.until_settled(most):
        claims.run(trial, objective)
        yield trial, place


def test_what_loses_worker_after_worker_is_given_up(study, claims):
    enqueue(study, 0.5)
    for _ in range(4):
        ((trial, _),) = [next(claims.until_settled(1))]
        claims._fail(trial.number, "worker lost")
    do(claims, 1)
    assert ends(study) == [("FAIL", "worker lost")] * 4
    assert slots(study) == []
    claims.enqueue("start 0.5", {"x": 0.5})
    assert len(study.trials) == 4


def test_interruptions_do_not_count(study, claims):
    enqueue(study, 0.5)
    for _ in range(6):
        with pytest.raises(KeyboardInterrupt):
            claims.run(next(claims.until_settled(1))[0], interrupt)
    do(claims, 1)
    assert ends(study) == [("FAIL", "interrupted")] * 6 + [("COMPLETE", None)]
    assert study.trials[-1].params == {"x": 0.5}


def interrupt(trial):
    raise KeyboardInterrupt


def test_an_error_is_raised_and_its_place_is_free(study, claims):
    def fail(trial):
        raise TypeError("a mistake")

    with pytest.raises(TypeError, match="a mistake"):
        claims.run(next(claims.until_settled(2, propose=lambda: None))[0], fail)
    do(claims, 2, propose=lambda: None)
    assert ends(study) == [("FAIL", "error: TypeError: a mistake"), *[("COMPLETE", None)] * 2]


def test_signs_of_life_are_judged_by_the_observers_clock(study, claims, clock):
    enqueue(study, 0.5)
    trial = study.ask()
    storage = storage_of(study)
    sign = {"machine": "elsewhere", "process": 1, "start": 2}
    storage.set_trial_user_attr(trial._trial_id, "worker", sign)
    for count in range(3):
        storage.set_trial_user_attr(trial._trial_id, "alive", count)
        claims._rescue()
        clock[0] += 170
        claims._rescue()
        assert ends(study) == [("RUNNING", None)]
    clock[0] += 11
    claims._rescue()
    assert ends(study) == [("FAIL", "worker lost"), ("WAITING", None)]
    assert study.trials[1].user_attrs == {KEY: "start 0.5"}  # nothing of the lost worker
    do(claims, 1)
    assert study.trials[1].params == {"x": 0.5}


def test_a_worker_that_was_taken_for_lost_does_not_count_twice(study, claims):
    enqueue(study, 0.5)

    def asleep(trial):
        claims._fail(trial.number, "worker lost")
        return 7.0

    claims.run(next(claims.until_settled(1))[0], asleep)

    def asleep_and_then_heard(trial):
        claims._fail(trial.number, "worker lost")
        trial.report(7.0, 0)
        return 7.0

    claims.run(next(claims.until_settled(1))[0], asleep_and_then_heard)
    do(claims, 1)
    assert ends(study) == [("FAIL", "worker lost")] * 2 + [("COMPLETE", None)]
    assert study.best_value == 0.5


def test_who_fails_a_trial_and_is_lost_before_it_is_enqueued_again(study, clock):
    enqueue(study, 0.5)
    trial = study.ask()
    claims = Claims(study, Signs(poll=1.0))
    Claims(study, SIGNS)._fail(trial.number, "worker lost")
    claims._rescue()
    assert len(study.trials) == 1  # perhaps the other one is about to
    clock[0] += 3
    claims._rescue()
    assert ends(study) == [("FAIL", "worker lost"), ("WAITING", None)]


def test_pruned_trials_are_finished(study, claims):
    def prune(trial):
        trial.report(1.0, 0)
        raise optuna.TrialPruned

    claims.run(next(claims.until_settled(1, propose=lambda: None))[0], prune)
    do(claims, 1, propose=lambda: None)
    assert ends(study) == [("PRUNED", None)]


def test_a_worker_that_was_killed_before_it_signed_its_trial_is_not_waited_for_long(study, clock):
    claims = Claims(study, Signs(interval=60, grace=180, poll=0))
    study.ask()  # and then it was killed
    claims._rescue()
    clock[0] = 9.0
    claims._rescue()
    assert ends(study) == [("RUNNING", None)]
    clock[0] = 11.0
    claims._rescue()
    assert ends(study)[0][0] == "FAIL"
    do(claims, 1)
    assert [state for state, _ in ends(study)] == ["FAIL", "COMPLETE"]
