"""The penalty of a readout, chosen by closed loops into data that were not learnt from.

The best penalty for a single step is rarely the best one for many: small penalties follow the last
digits of the states, which the loop does not reproduce, and errors then grow faster than those of
the system itself.
"""

import numpy as np

from paralesn.estimators.state_forecaster.calibration import Calibration, calibrate
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
_COARSE = 3  # of the penalties, every so many are tried before the neighbours of the best one


def can_choose_by_loop(windows: Windows, readout: Ridge) -> bool:
    """Whether there is a loop of single steps, and one penalty for all targets."""
    return windows.horizon == 1 and not readout.per_target


def loop_scores(loops: "Loops", path: RidgePath) -> np.ndarray:
    """Scores (penalties,) of closed loops, lower is better; infinite where none was run.

    The mean, over starts and steps, of the logarithm of the error until the forecast is lost. It
    tells how small the first error is and how fast errors grow, also where the held-out part is too
    short for good forecasts to be lost.
    """
    scores = np.full(len(path.alphas), np.inf)
    order = np.argsort(path.alphas)
    tried = order[:: min(_COARSE, max(1, len(order) // 4))]
    scores[tried] = loops.scores(path, tried)
    best = int(np.flatnonzero(order == scores.argmin())[0])
    beside = order[max(0, best - _COARSE + 1) : best + _COARSE]
    beside = beside[np.isinf(scores[beside])]
    scores[beside] = loops.scores(path, beside)
    return scores


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

    def scores(self, path: RidgePath, chosen: np.ndarray) -> np.ndarray:
        """Mean logarithm of the error of some readouts' loops, until they are lost."""
        starts, steps = self.ended.shape
        logs = np.zeros((len(chosen) * starts, steps))  # of lost ones: that is an error of _LOST
        running = _Running(self, path, chosen)
        first = 0
        for last in (min(end, steps) for end in _SEGMENTS):
            rows = running.rows
            if last > first and rows.size:
                logs[rows, first:last] = running.advance(first, last)
            first = last
        counted = logs.reshape(len(chosen), starts, steps)[:, ~self.ended]
        return np.array([row.mean() if row.size else np.inf for row in counted])


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
        """Logarithms of the errors of some steps; loops that they are the last steps of are left."""
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

    def _keep(self, going: np.ndarray, fed: np.ndarray, level: np.ndarray, state: State) -> None:
        """Go on with some of the loops."""
        self.rows, self.which = self.rows[going], self.which[going]
        self.fed, self.level = fed[going], level[going]
        self.layers = tuple(h[going] for h in state.layers)
