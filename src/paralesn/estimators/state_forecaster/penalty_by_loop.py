"""The penalty of a readout, chosen by closed loops into data that were not learnt from.

The best penalty for a single step is rarely the best one for many: small penalties follow the last
digits of the states, which the loop does not reproduce, and errors then grow faster than those of
the system itself.
"""

from typing import NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster.calibration import calibrate
from paralesn.estimators.state_forecaster.windows import Windows
from paralesn.layers.state import State
from paralesn.readouts.ridge import Ridge
from paralesn.readouts.ridge_path import RidgePath
from paralesn.reservoirs.base import Reservoir

_ORIGINS = 12
_FIELDS = 4  # of a field of patches, each of which tells as much as many series do
_MOST_STEPS = 400
_LOST = 1.0  # the error, in standard deviations, from which on a forecast says nothing
_SMALLEST = 1e-12  # errors below it are all the same
_SEGMENTS = (25, 50, 100, 200, _MOST_STEPS)  # steps after which lost forecasts are given up
# Behind the best by so much in the mean logarithm, loops hardly ever catch up. It was chosen as the
# margin that changed none of the choices in 62 fits to 31 series (27 chaotic systems, noise and
# walks; 1 000 and 4 000 steps); half of it changed one.
_FAR_BEHIND = 2.0
_COARSE = 3  # of the penalties, every so many are tried before the neighbours of the best one


def can_choose_by_loop(windows: Windows, readout: Ridge) -> bool:
    """Whether there is a loop of single steps, and one penalty for all targets."""
    return windows.horizon == 1 and not readout.per_target


class LoopScores(NamedTuple):
    """What closed loops said of penalties.

    Attributes
    ----------
    values : (penalties,)
        The mean, over starts and steps, of the logarithm of the error until the forecast is lost;
        lower is better. Infinite where loops were not run to their end.
    best_so_far : (segments,)
        The same mean of the best penalty over the first steps, to the end of each segment.
    """

    values: np.ndarray
    best_so_far: np.ndarray


def loop_scores(loops: "Loops", path: RidgePath, beat: np.ndarray | None = None) -> LoopScores:
    """Choose among penalties, every third one first, then those beside the best.

    The mean logarithm of the error tells how small the first error is and how fast errors grow,
    also where the held-out part is too short for good forecasts to be lost. Penalties that are far
    behind at the end of a segment are given up: behind the best of these, or behind another
    candidate, whose `best_so_far` is to `beat`.
    """
    scores = np.full(len(path.alphas), np.inf)
    order = np.argsort(path.alphas)
    tried = order[:: min(_COARSE, max(1, len(order) // 4))]
    beat = np.full(len(_SEGMENTS), np.inf) if beat is None else beat
    scores[tried], means = loops.scores(path, tried, beat)
    if np.isinf(scores).all():
        return LoopScores(scores, beat)
    best = int(scores.argmin())
    curve = means[tried == best][0]
    place = int(np.flatnonzero(order == best)[0])
    beside = order[max(0, place - _COARSE + 1) : place + _COARSE]
    beside = beside[~np.isin(beside, tried)]
    scores[beside], means = loops.scores(path, beside, np.minimum(beat, curve))
    if scores.argmin() != best:
        curve = means[beside == scores.argmin()][0]
    return LoopScores(scores, curve)


class Loops:
    """Starts of closed loops in the held-out part, and the truth that follows them.

    Parameters
    ----------
    reservoir, state, panel, inputs
        As in `calibrate`.
    origins : (K,)
        Of all forecasts into the held-out part, some of which are taken.
    """

    def __init__(
        self, windows: Windows, reservoir: Reservoir, state: State, panel: np.ndarray,
        inputs: np.ndarray, origins: np.ndarray,
    ) -> None:  # fmt: skip
        count = _ORIGINS if windows.patches is None else _FIELDS
        chosen = np.unique(np.linspace(0, len(origins) - 1, count).astype(int))
        part = calibrate(reservoir, None, state, panel, inputs, origins[chosen])
        steps = min(_MOST_STEPS, part.panel.shape[1] - 1 - int(part.origins.min()))
        self.reservoir, self.windows = reservoir, windows
        self.start = part.start(windows, steps)
        self.ended = np.isnan(self.start.truth[:, :, 0])
        observed = part.panel[..., : windows.width]
        spread = observed.std(axis=(0, 1))
        self.spread = np.where(spread > 0, spread, 1.0)

    def scores(
        self, path: RidgePath, chosen: np.ndarray, beat: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean logarithm of the error of some readouts' loops, and means (readouts, segments)."""
        starts, steps = self.ended.shape
        logs = np.zeros((len(chosen) * starts, steps))  # of lost ones: that is an error of _LOST
        means = np.full((len(chosen), len(_SEGMENTS)), np.inf)
        running, going, first = _Running(self, path, chosen), np.arange(len(chosen)), 0
        for segment, last in enumerate(min(end, steps) for end in _SEGMENTS):
            rows = running.rows
            if last > first and rows.size:
                logs[rows, first:last] = running.advance(first, last)
            first, counted = last, ~self.ended[:, :last]
            so_far = logs.reshape(len(chosen), starts, steps)[going, :, :last][:, counted]
            if not so_far.size:
                return np.full(len(chosen), np.inf), means
            means[going, segment] = [row.mean() for row in so_far]
            bound = min(means[:, segment].min(), beat[segment]) + _FAR_BEHIND
            going = going[means[going, segment] <= bound]
            running.keep_readouts(going)
        result = np.full(len(chosen), np.inf)
        result[going] = means[going, -1]
        return result, means


class _Running:
    """Loops that are not lost yet, those of several readouts together.

    Attributes
    ----------
    rows : (B,)
        Which loops they are, of all readouts' starts.
    which : (B,)
        The readout of each.
    """

    def __init__(self, loops: Loops, path: RidgePath, chosen: np.ndarray) -> None:
        layers, newest, _, _ = loops.start
        starts, windows = len(newest), loops.windows
        self.loops = loops
        self.weights = np.ascontiguousarray(path.coefs[chosen].swapaxes(1, 2))
        self.intercepts = path.intercepts[chosen]
        self.rows = np.arange(len(chosen) * starts)
        self.which = self.rows // starts
        at = self.rows % starts
        self.layers = tuple(h[at] for h in layers)
        self.fed = windows.changed(newest[:, 1:], newest[:, :1])[at, 0]
        self.level = newest[at, -1]

    def advance(self, first: int, last: int) -> np.ndarray:
        """Logarithms of the errors of some steps; loops that end there or are lost are left."""
        loops, windows, reservoir = self.loops, self.loops.windows, self.loops.reservoir
        _, _, known, truth = loops.start
        at = self.rows % len(truth)
        inputs = np.zeros((last - first, len(at), windows.width + windows.known))
        inputs[0, :, : windows.width] = self.fed
        inputs[:, :, windows.width :] = known[at, first:last].swapaxes(0, 1)
        state = State(self.layers, reservoir.fingerprint_)
        # Where changes are read, the change predicted is what is fed back.
        difference = windows.difference and not windows.changes
        readouts = self.weights, self.intercepts, self.which
        fed, state = reservoir.close_loops(inputs, state, *readouts, difference)
        values = fed.swapaxes(0, 1)
        if windows.changes:
            values = self.level[:, None] + values.cumsum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((values - truth[at, first:last]) / loops.spread) ** 2
            errors = np.sqrt(squares.mean(axis=2))
        ended = loops.ended[at, first:last]
        lost = np.maximum.accumulate(~(errors < _LOST) & ~ended, axis=1)
        self._keep(~(lost | ended)[:, -1], fed[-1], values[:, -1], state)
        return np.asarray(np.log(np.clip(np.where(lost, _LOST, errors), _SMALLEST, _LOST)))

    def keep_readouts(self, going: np.ndarray) -> None:
        """Go on with some of the readouts."""
        if self.rows.size and not np.isin(self.which, going).all():
            state = State(self.layers, self.loops.reservoir.fingerprint_)
            self._keep(np.isin(self.which, going), self.fed, self.level, state)

    def _keep(self, going: np.ndarray, fed: np.ndarray, level: np.ndarray, state: State) -> None:
        """Go on with some of the loops."""
        self.rows, self.which = self.rows[going], self.which[going]
        self.fed, self.level = fed[going], level[going]
        self.layers = tuple(h[going] for h in state.layers)
