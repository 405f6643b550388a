"""The penalty of a readout, chosen by closed loops into data that were not learnt from.

The best penalty for a single step is rarely the best one for many: small penalties follow the last
digits of the states, which the loop does not reproduce, and errors then grow faster than those of
the system itself.
"""

import numpy as np

from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.closed_loop import linear_loop
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
_COARSE = 3  # of the penalties, every so many are tried before the neighbours of the best one


def can_choose_by_loop(windows: Windows, readout: Ridge) -> bool:
    """Whether there is a loop of single steps, and one penalty for all targets."""
    return windows.horizon == 1 and not readout.per_target


def loop_scores(
    calibration: Calibration, reservoir: Reservoir, windows: Windows, path: RidgePath
) -> np.ndarray:
    """Scores (penalties,) of closed loops, lower is better; infinite where none was run.

    The mean, over starts and steps, of the logarithm of the error until the forecast is lost. It
    tells how small the first error is and how fast errors grow, also where the held-out part is too
    short for good forecasts to be lost.
    """
    loops = _Loops(calibration, reservoir, windows)
    scores = np.full(len(path.alphas), np.inf)
    order = np.argsort(path.alphas)
    tried = order[:: min(_COARSE, max(1, len(order) // 4))]
    for i in tried.tolist():
        scores[i] = loops.score(path.coefs[i], path.intercepts[i])
    best = int(np.flatnonzero(order == scores.argmin())[0])
    for i in order[max(0, best - _COARSE + 1) : best + _COARSE].tolist():
        if np.isinf(scores[i]):
            scores[i] = loops.score(path.coefs[i], path.intercepts[i])
    return scores


class _Loops:
    """Starts of closed loops in the held-out part, and the truth that follows them."""

    def __init__(self, calibration: Calibration, reservoir: Reservoir, windows: Windows) -> None:
        count = _ORIGINS if windows.patches is None else _FIELDS
        chosen = np.unique(np.linspace(0, len(calibration.origins) - 1, count).astype(int))
        part = calibration.part(chosen)
        steps = min(_MOST_STEPS, part.panel.shape[1] - 1 - int(part.origins.min()))
        self.reservoir, self.windows = reservoir, windows
        self.start = part.start(windows, steps)
        observed = part.panel[..., : windows.width]
        spread = observed.std(axis=(0, 1))
        self.spread = np.where(spread > 0, spread, 1.0)

    def score(self, coef: np.ndarray, intercept: np.ndarray) -> float:
        """Mean logarithm of the error of one readout's loops, until they are lost."""
        layers, newest, known, truth = self.start
        state = State(layers, self.reservoir.fingerprint_)
        call = (np.ascontiguousarray(coef.T), intercept, state, newest, known, truth.shape[1])
        predicted = linear_loop(self.windows, self.reservoir, *call)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((predicted - truth) / self.spread) ** 2
            errors = np.sqrt(squares.mean(axis=2))
        ended = np.isnan(truth[:, :, 0])
        lost = np.maximum.accumulate(~(errors < _LOST) & ~ended, axis=1)
        logs = np.log(np.clip(np.where(lost, _LOST, errors), _SMALLEST, _LOST))
        return float(logs[~ended].mean()) if not ended.all() else np.inf
