"""A state is compared with the model that is to continue from it, before any row is read."""

from dataclasses import replace

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.live import Live
from paralesn.estimators.live_learning import steps_of
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.workflows import stream

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 2))
WAVE = np.sin(np.arange(80) / 5) + 0.1 * RNG.normal(size=80)


def regressor():
    return Live(pe.ReservoirRegressor(pe.ESN(8), washout=5).fit(X, X), learn=True)


def states():
    return Live(StateForecaster(pe.ESN(8), horizon=2, washout=5).fit(X), learn=True)


def members():
    return Live(pe.ReservoirForecaster(pe.ESN(8), horizon=2).fit(WAVE), learn=True)


def feedback():
    return Live(pe.ReservoirRegressor(pe.ESN(8), feedback=True).fit(X, X))


def other(state, **changes):
    return replace(state, state=replace(state.state, **changes))


def other_learnt(state, **changes):
    return replace(state, learnt=replace(state.learnt, **changes))


REFUSED = {
    "no state": (regressor, lambda s: None, "state must be a LiveState"),
    "another model's": (regressor, lambda s: other(s, origin="x"), "must come from this model"),
    "another width": (
        regressor, lambda s: other(s, layers=(np.zeros(7),)), "state of layer 1 must have shape",
    ),
    "a batch": (regressor, lambda s: other(s, layers=(np.zeros((1, 8)),)), "must be of 1 series"),
    "another kind": (regressor, lambda s: replace(s, state=members().state.state), "another kind"),
    "another readout": (
        regressor, lambda s: replace(s, learnt=pe.Ridge().fit(X[:, :1], X)), "a readout like that",
    ),
    "no output fed back": (
        feedback, lambda s: other(s, layers=s.state.layers[:1]), "be of 1 series|of layer 1",
    ),
    "no series": (states, lambda s: other(s, layers=(np.zeros(8),)), "must be of 1 series"),
    "fewer values": (states, lambda s: replace(s, newest=s.newest[:, :1]), r"newest must be \(1, 2"),
    "another learner": (
        states, lambda s: replace(s, learnt=pe.Ridge().fit(X, X)), "learnt is of another kind",
    ),
    "fewer steps": (
        states, lambda s: other_learnt(s, values=s.learnt.values[:, 1:]), r"values must be \(1, 3, 2",
    ),
    "too many steps": (
        states, lambda s: other_learnt(s, states=s.learnt.states * 2), "values must be",
    ),
    "another clock": (
        members,
        lambda s: other(s, ends=replace(s.state.ends, kind="numbers", step=2.0)),
        "must follow the clock None, got every 2",
    ),
    "fewer smoothers": (
        members, lambda s: other(s, smoothers=s.state.smoothers[:, :-1]), "state.smoothers must be",
    ),
    "no steps": (
        members,
        lambda s: other(s, recent=np.zeros(0), counts=np.zeros(1, int)),
        "steps of the state do not fit",
    ),
    "another horizon": (
        members, lambda s: replace(s, learnt=Live(pe.ReservoirForecaster(
            pe.ESN(8), horizon=3).fit(WAVE), learn=True).state.learnt), "must be",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_state_that_does_not_fit_is_refused(name, tmp_path):
    make, change, message = REFUSED[name]
    live = make()
    before = live.state
    wrong = change(before)
    with pytest.raises((TypeError, ValueError), match=message):
        live.state = wrong
    if wrong is not None:
        with pytest.raises(ValueError, match=rf"{tmp_path / 'state'} cannot be continued from"):
            stream.resume(live, wrong, tmp_path / "state")
    assert live.state is before


@pytest.mark.parametrize("make", [regressor, states, members, feedback])
def test_a_state_of_any_length_is_taken(make):
    live, again = make(), make()
    for number in range(6):
        row = np.sin(np.arange(live.width) + number)
        expected = live.read(row, number)
        again.state = again.state
        np.testing.assert_array_equal(again.read(row, number), expected)
        again.state = live.state


def test_a_fresh_state_is_taken():
    model = StateForecaster(pe.ESN(8), horizon=2, washout=5).fit(X)
    live, again = (Live(model, fresh=True, learn=True) for _ in range(2))
    assert live.state.learnt.states == steps_of(model.fitted_, fresh=True).states == ()
    for row in X[:5]:
        again.state = live.state
        np.testing.assert_array_equal(live.read(row), again.read(row))
