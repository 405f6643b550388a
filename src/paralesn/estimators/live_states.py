"""Whether the state of a stream fits the model that is to continue from it."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators.feedback import without_output
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.fitted import Ends
from paralesn.estimators.forecaster.live_members import LiveMembers, Position
from paralesn.estimators.live_learning import LearntSteps, steps_of
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.layers.state import State
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir


def check_members(members: LiveMembers, position: Any, learnt: Any) -> None:
    """Check where the members of a forecaster are, and what they have learnt since."""
    if not isinstance(position, Position):
        raise ValueError("the state is of another kind of model")
    fresh = members.end()
    ends = _like(position.ends, fresh.ends)
    steady = replace(position, ends=ends, recent=fresh.recent, counts=fresh.counts)
    _same_form("state", steady, fresh)
    steps = position.ends.counts
    right = (position.counts.min(initial=1) >= 1) and (position.counts <= steps).all()
    if not right or np.isinf(position.recent).any():
        raise ValueError("the steps of the state do not fit together")
    if learnt is not None:
        if not isinstance(learnt, FittedEnsemble):
            raise ValueError("what was learnt is of another kind of model")
        learnt.check()
        _same_form("learnt", learnt, members.learner())


def check_steps(model: StateForecaster, state: Any, newest: np.ndarray, learnt: Any) -> None:
    """Check where a forecaster with one reservoir is, and what it has learnt since."""
    windows, reservoir = model.fitted_.windows, model.reservoir_
    count, units = windows.n_series, reservoir.n_features_out_
    _check_reached(reservoir, state, count)
    expected = ((count, windows.width),) if state is not None else ((0, 0),)
    _check_shape("newest", newest, expected)
    if learnt is None:
        return
    if not isinstance(learnt, LearntSteps):
        raise ValueError("what was learnt is of another kind of model")
    fresh = steps_of(model.fitted_, fresh=True)
    _same_form("learnt", learnt.readout, fresh.readout)
    most = windows.horizon
    for step in learnt.states:
        _check_reached(reservoir, step, count)
    waiting = max(len(learnt.states) - 1, 0), min(len(learnt.states), most)
    _check_shape("waiting", learnt.waiting, [(count, steps, units) for steps in waiting])
    values = [(count, len(learnt.states), windows.width)]
    _check_shape("values", learnt.values, values)
    if len(learnt.states) > most + 1 or learnt.position < 0:
        raise ValueError("the steps that were learnt from do not fit together")
    for part in (learnt.low, learnt.high):
        _check_shape("the range of what was learnt", part, [(windows.targets,)])


def check_rows(model: ReservoirRegressor, state: Any, newest: np.ndarray, learnt: Any) -> None:
    """Check where a regressor is, and what it has learnt since."""
    fitted = model.fitted_
    if fitted.feedback is None:
        _check_reached(model.reservoir_, state, None)
    elif state is not None:
        inner, _ = without_output(model.reservoir_, fitted.feedback, state, 1)
        _check_reached(model.reservoir_, inner, 1)
    if fitted.missing is not None:
        _check_shape("newest", newest, ((0, fitted.n_inputs), (1, fitted.n_inputs), (0, 0)))
    if learnt is not None:
        _same_form("learnt", learnt, model.readout_)


def _check_reached(reservoir: Reservoir, state: Any, count: int | None) -> None:
    """Check the state of a reservoir, None before the first row, as its next step does."""
    if state is None:
        return
    if not isinstance(state, State):
        raise ValueError("the state is of another kind of model")
    if any(h.ndim != (1 if count is None else 2) for h in state.layers):
        raise ValueError(f"the state must be of {count or 1} series")
    reservoir.stepper(state, batch=count)


def _check_shape(name: str, array: np.ndarray, expected: Any) -> None:
    if array.shape not in expected:
        shapes = " or ".join(map(str, expected))
        raise ValueError(f"{name} must be {shapes}, got {array.shape}")


def _like(ends: Ends, fresh: Ends) -> Ends:
    """Ends with the clock of others, once it is known to be the same."""
    if (ends.clock, ends.is_date) != (fresh.clock, fresh.is_date):
        raise ValueError(f"the state must follow the clock {fresh.clock}, got {ends.clock}")
    if ends.counts.min(initial=1) < 1:
        raise ValueError("every series of the state must have a step")
    return ends


def _same_form(name: str, value: Any, like: Any) -> None:
    """Raise unless a value is like another but for its numbers."""
    if isinstance(like, np.ndarray):
        form = f"{like.dtype} {like.shape}"
        if not isinstance(value, np.ndarray) or f"{value.dtype} {value.shape}" != form:
            got = getattr(value, "shape", type(value).__name__)
            raise ValueError(f"{name} must be {form}, got {got}")
    elif type(value) is not type(like):
        raise checks.fail(f"{name} of the state", type(value).__name__, type(like).__name__)
    elif isinstance(like, (tuple, list)):
        if len(value) != len(like):
            raise ValueError(f"{name} must have {len(like)} parts, got {len(value)}")
        for i, (part, other) in enumerate(zip(value, like, strict=True)):
            _same_form(f"{name}[{i}]", part, other)
    elif isinstance(like, Reservoir):
        if value.fingerprint_ != like.fingerprint_:
            raise ValueError(f"{name} must be the reservoir of the model")
    elif isinstance(like, Ridge):
        sizes = value.n_features_in_, value.fitted_.n_targets, value.fitted_.flat
        if sizes != (like.n_features_in_, like.fitted_.n_targets, like.fitted_.flat):
            raise ValueError(f"{name} must be a readout like that of the model")
    elif is_dataclass(like):
        for field in fields(like):
            parts = getattr(value, field.name), getattr(like, field.name)
            _same_form(f"{name}.{field.name}", *parts)
    elif isinstance(like, (str, bool)) and value != like:
        raise ValueError(f"{name} must be {like!r}, got {value!r}")
