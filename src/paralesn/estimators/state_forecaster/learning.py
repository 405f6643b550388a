"""Training of a forecaster: one pass over the states, calibrating intervals on the way."""

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster import calibration as intervals
from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.penalty_by_loop import can_choose_by_loop, loop_scores
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
    size = max(1, _VALUES // (count * (outputs + reservoir.n_features_out_)))  # of all patches
    first = 0
    for last in sorted({*(s for s in stops if s < total), *range(size, total, size), total}):
        z, state = reservoir.run(as_series(inputs[:, first:last]), state)
        yield Block(first, last, z, state)
        first = last


class Learnt(NamedTuple):
    """A fitted readout, the state at the end and the steps read, and intervals' calibration.

    `noisy` is the state at the end of what was learnt from, where there was noise on it.
    """

    readout: Any
    state: State
    position: int
    calibration: Calibration | None
    noisy: State | None = None


def learn(
    windows: Windows, reservoir: Reservoir, readout: Any, panel: np.ndarray, held_out: float,
    by_loop: bool = False,
) -> Learnt:  # fmt: skip
    """Fit the readout in one pass, calibrating on the held-out part before learning from it.

    `by_loop`: the penalty of a `Ridge` is chosen by closed loops into the held-out part.
    """
    inputs, noise = windows.inputs(panel), _Noise(windows, reservoir, panel)
    by_loop = by_loop and isinstance(readout, Ridge) and can_choose_by_loop(windows, readout)
    held = int(held_out * panel.shape[1])
    before = inputs.shape[1] - held  # states whose targets end before the held-out part
    calibrates = held > 1 and before > windows.washout
    lessons: list[tuple[np.ndarray, np.ndarray]] = []
    calibration, state, position = None, None, 0
    for block in run_blocks(windows, reservoir, inputs, None, [before] if calibrates else []):
        states, wanted = noise.lesson(panel, block)
        if len(wanted):
            if isinstance(readout, Ridge):
                if calibration is not None and not by_loop:
                    clean = windows.lesson(panel, block.states, block.first)
                    calibration.readout.validate(*clean)
                readout.partial_fit(states, wanted)
            else:  # it learns when all states are there
                lessons.append((states, wanted))
        state, position = block.state, block.last
        if calibrates and position == before:
            _solve(readout, lessons)
            judge = deepcopy(readout)
            calibration = intervals.calibrate(reservoir, judge, state, panel, inputs, held)
    if calibration is not None and isinstance(readout, Ridge):
        if by_loop:
            judge = calibration.readout
            judge.choose_by(loop_scores(calibration, reservoir, windows, judge.path_))
        readout.choose_as(calibration.readout)
    _solve(readout, lessons)
    assert state is not None
    return Learnt(readout, state, position, calibration, noise.state)


def learn_more(
    windows: Windows, reservoir: Reservoir, before: Learnt, panel: np.ndarray, inputs: np.ndarray,
    refit: bool,
) -> Learnt:  # fmt: skip
    """Run on from where the model stands and, with `refit`, learn from what is new."""
    readout, state = copy(before.readout) if refit else before.readout, before.state
    noise = None
    if refit:
        noise = _Noise(windows, reservoir, panel, before.position, before.noisy)
    for block in run_blocks(windows, reservoir, inputs, state):
        if noise is not None:
            states, wanted = noise.lesson(panel, block)
            if len(wanted):
                readout.learn_from(states, wanted)
        state = block.state
    if refit and windows.horizon == 1:  # of several steps, states are solved for as they come
        _solve(readout, [])
    noisy = state if windows.noise else None  # what was only read had no noise on it
    if noise is not None:
        noisy = noise.state
    return Learnt(readout, state, before.position + inputs.shape[1], before.calibration, noisy)


class _Noise:
    """Lessons from a panel, with noise on what the reservoir reads where that is wanted.

    `before` is the number of steps read before the panel, `state` the one they led to with noise.
    """

    def __init__(
        self, windows: Windows, reservoir: Reservoir, panel: np.ndarray, before: int = 0,
        state: State | None = None,
    ) -> None:  # fmt: skip
        self.windows, self.reservoir, self.before, self.state = windows, reservoir, before, state
        if windows.noise:
            self.read = windows.disturbed(panel, before)
            self.inputs = windows.inputs(self.read)

    def lesson(self, panel: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """States (n, units) and targets of a block that was run without noise."""
        if not self.windows.noise:
            return self.windows.lesson(panel, block.states, block.first, self.before)
        noisy = as_series(self.inputs[:, block.first : block.last])
        z, self.state = self.reservoir.run(noisy, self.state)
        return self.windows.lesson(panel, z, block.first, self.before, self.read)


def _solve(readout: Any, lessons: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Learn from everything now, so that predicting changes nothing."""
    if lessons:
        wanted = np.concatenate([lesson[1] for lesson in lessons])
        targets = wanted[:, 0] if wanted.shape[1] == 1 else wanted
        readout.fit(np.concatenate([lesson[0] for lesson in lessons]), targets)
    else:
        readout.coef_  # noqa: B018
