"""Training of a forecaster: one pass over the states, calibrating intervals on the way."""

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster import calibration as intervals
from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.penalty_by_loop import (
    Loops,
    can_choose_by_loop,
    loop_scores,
)
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


class Training:
    """A readout that learns from a panel: up to the held-out part, and on to the end.

    In between it is judged, so that of several candidates only the best one has to go on. With
    `by_loop` the penalty of a `Ridge` is chosen by closed loops into the held-out part.

    Attributes
    ----------
    loop_score : float or None
        Of the penalty chosen by loops, lower is better; None where no loops were run.
    best_so_far : array or None
        As in `LoopScores`: what loops of another candidate have to `beat`, or they are given up.
    """

    def __init__(
        self, windows: Windows, reservoir: Reservoir, readout: Any, panel: np.ndarray,
        held_out: float, by_loop: bool = False, beat: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.windows, self.reservoir, self.readout, self.panel = windows, reservoir, readout, panel
        self.inputs, self.noise = windows.inputs(panel), _Noise(windows, reservoir, panel)
        held = int(held_out * panel.shape[1])
        before = self.inputs.shape[1] - held  # states whose targets end before the held-out part
        calibrates = held > 1 and before > windows.washout
        by_loop = by_loop and isinstance(readout, Ridge) and can_choose_by_loop(windows, readout)
        self.lessons: list[tuple[np.ndarray, np.ndarray]] = []
        self.judge: Any = None
        self.loop_score: float | None = None
        self.best_so_far = beat
        stops = [before] if calibrates else []
        self.blocks = run_blocks(windows, reservoir, self.inputs, None, stops)
        if not calibrates:
            return
        for block in self.blocks:
            self._learn(block)
            if block.last == before:
                break
        _solve(readout, self.lessons)
        self.state = block.state
        self.origins = intervals.held_out_origins(panel.shape[1], held)
        # What a Ridge has learnt is replaced, never changed.
        self.judge = copy(readout) if isinstance(readout, Ridge) else deepcopy(readout)
        if by_loop:
            starts = (self.state, panel, self.inputs, self.origins)
            judged = loop_scores(Loops(windows, reservoir, *starts), self.judge.path_, beat)
            self.judge.choose_by(judged.values)
            self.loop_score, self.best_so_far = float(judged.values.min()), judged.best_so_far

    def _learn(self, block: Block) -> None:
        """Learn from a block; where there is a judge that was given no choice, it chooses by it."""
        states, wanted = self.noise.lesson(self.panel, block)
        if not len(wanted):
            return
        if not isinstance(self.readout, Ridge):  # it learns when all states are there
            self.lessons.append((states, wanted))
            return
        if self.judge is not None and self.loop_score is None:
            clean = self.windows.lesson(self.panel, block.states, block.first)
            self.judge.validate(*clean)
        self.readout.partial_fit(states, wanted)

    def finished(self) -> Learnt:
        """Learn from the held-out part, too, after calibrating on it."""
        calibration, state, position = None, None, 0
        if self.judge is not None:
            call = (self.state, self.panel, self.inputs, self.origins)
            calibration = intervals.calibrate(self.reservoir, self.judge, *call)
        for block in self.blocks:
            self._learn(block)
            state, position = block.state, block.last
        if self.judge is not None and isinstance(self.readout, Ridge):
            self.readout.choose_as(self.judge)
        _solve(self.readout, self.lessons)
        assert state is not None
        return Learnt(self.readout, state, position, calibration, self.noise.state)


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
