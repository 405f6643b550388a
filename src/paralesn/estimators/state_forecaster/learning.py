"""Training of a forecaster: one pass over the states, calibrating intervals on the way."""

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster import calibration as intervals
from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.windows import Windows, as_series
from paralesn.layers.state import State
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir

_VALUES = 1 << 22  # states and targets that exist at a time


class Block(NamedTuple):
    """States (series, steps, units) of the steps from `first` to before `last`, and the end's."""

    first: int
    last: int
    states: np.ndarray
    state: State


def run_blocks(
    windows: Windows,
    reservoir: Reservoir,
    inputs: np.ndarray,
    state: State | None,
    stops: Iterable[int] = (),
) -> Iterator[Block]:
    """Run over inputs (series, time, features) in blocks of bounded size, which end at `stops`."""
    count, total, _ = inputs.shape
    outputs = windows.width * (1 if windows.only_last else windows.horizon)
    size = max(1, _VALUES // (count * (outputs + reservoir.n_features_out_)))
    first = 0
    for last in sorted({*(s for s in stops if s < total), *range(size, total, size), total}):
        z, state = reservoir.run(as_series(inputs[:, first:last]), state)
        yield Block(first, last, z, state)
        first = last


class Learnt(NamedTuple):
    """A fitted readout, the state at the end and the steps read, and intervals' calibration."""

    readout: Any
    state: State
    position: int
    calibration: Calibration | None


def learn(
    windows: Windows, reservoir: Reservoir, readout: Any, panel: np.ndarray, held_out: float
) -> Learnt:
    """Fit the readout in one pass, calibrating on the held-out part before learning from it."""
    inputs = windows.inputs(panel)
    held = int(held_out * panel.shape[1])
    before = inputs.shape[1] - held  # states whose targets end before the held-out part
    calibrates = held > 1 and before > windows.washout
    lessons: list[tuple[np.ndarray, np.ndarray]] = []
    calibration, state, position = None, None, 0
    for block in run_blocks(windows, reservoir, inputs, None, [before] if calibrates else []):
        states, wanted = windows.lesson(panel, block.states, block.first)
        if len(wanted):
            if isinstance(readout, Ridge):
                if calibration is not None:
                    calibration.readout.validate(states, wanted)
                readout.partial_fit(states, wanted)
            else:  # it learns when all states are there
                lessons.append((states, wanted))
        state, position = block.state, block.last
        if calibrates and position == before:
            _solve(readout, lessons)
            judge = deepcopy(readout)
            calibration = intervals.calibrate(reservoir, judge, state, panel, inputs, held)
    if calibration is not None and isinstance(readout, Ridge):
        readout.choose_as(calibration.readout)
    _solve(readout, lessons)
    assert state is not None
    return Learnt(readout, state, position, calibration)


def learn_more(
    windows: Windows, reservoir: Reservoir, before: Learnt, panel: np.ndarray, inputs: np.ndarray,
    refit: bool,
) -> Learnt:  # fmt: skip
    """Run on from where the model stands and, with `refit`, learn from what is new."""
    readout, state = copy(before.readout) if refit else before.readout, before.state
    for block in run_blocks(windows, reservoir, inputs, state):
        if refit:
            states, wanted = windows.lesson(panel, block.states, block.first, before.position)
            if len(wanted):
                readout.learn_from(states, wanted)
        state = block.state
    if refit and windows.horizon == 1:  # of several steps, states are solved for as they come
        _solve(readout, [])
    return Learnt(readout, state, before.position + inputs.shape[1], before.calibration)


def _solve(readout: Any, lessons: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Learn from everything now, so that predicting changes nothing."""
    if lessons:
        wanted = np.concatenate([lesson[1] for lesson in lessons])
        targets = wanted[:, 0] if wanted.shape[1] == 1 else wanted
        readout.fit(np.concatenate([lesson[0] for lesson in lessons]), targets)
    else:
        readout.coef_  # noqa: B018
