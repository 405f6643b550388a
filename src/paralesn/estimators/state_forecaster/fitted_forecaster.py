"""Everything a forecaster learnt, as one frozen value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.estimators.components import check_readout, check_reservoir
from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.closed_loop import linear
from paralesn.estimators.state_forecaster.learning import Learnt
from paralesn.estimators.state_forecaster.windows import Windows
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.autonomous import ClosedLoop
from paralesn.reservoirs.base import Reservoir
from paralesn.scaling import Scaling


@register
@dataclass(frozen=True, eq=False)
class FittedStateForecaster:
    """The state of a fitted forecaster.

    Attributes
    ----------
    windows : Windows
        How observations become inputs and targets.
    reservoir, readout : the fitted ones
    state : State
        Of the reservoir, `horizon` steps before the newest observation.
    position : int
        Number of steps the reservoir has read.
    calibration : Calibration or None
        Of intervals.
    pending : (1 + horizon, targets)
        The newest observations, scaled: what follows `state`, and the one before.
    noisy : State or None
        As `state`, of what was learnt from, where there was noise on it.
    """

    windows: Windows
    reservoir: Reservoir
    readout: Any
    state: State
    position: Count
    calibration: Calibration | None
    pending: Floats
    noisy: State | None = None

    @property
    def learnt(self) -> Learnt:
        """What more observations change."""
        return Learnt(self.readout, self.state, self.position, self.calibration, self.noisy)

    def closed_loop(self) -> ClosedLoop:
        """The model as a dynamical system of its own."""
        windows = self.windows
        if windows.horizon != 1 or windows.known or not isinstance(self.readout, Ridge):
            raise AttributeError(
                "closed_loop_ needs horizon=1, a Ridge readout and no inputs known in advance, got "
                f"horizon={windows.horizon}, {type(self.readout).__name__} and {windows.known} "
                "inputs"
            )
        pending = windows.series(self.pending)
        newest = windows.changed(pending[:, 1:], pending[:, :1])[:, 0]
        mean, scale = np.zeros(windows.targets), np.ones(windows.targets)
        if windows.scaling is not None:
            mean, scale = windows.scaling.mean, windows.scaling.scale
        if windows.changes:  # values are changes, which have no level
            mean = np.zeros_like(mean)
        if windows.shared:
            mean, scale = mean[:, None], scale[:, None]
        return ClosedLoop(
            self.reservoir, *linear(windows, self.readout),
            difference=windows.difference and not windows.changes, state=self.state, newest=newest,
            mean=mean, scale=scale,
        )  # fmt: skip

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        windows, features = self.windows, self.reservoir.n_features_in_
        check_reservoir(self.reservoir)
        columns = self.reservoir.n_features_out_ // windows.n_readings
        check_readout(self.readout, columns)
        windows.check(features)
        right = (
            isinstance(self.position, int)
            and self.state.origin == self.reservoir.fingerprint_
            and self.pending.shape == (windows.horizon + 1, windows.targets)
            and np.isfinite(self.pending).all()
            and windows.patches == self.reservoir.patches_
            and (self.noisy is None or self.noisy.origin == self.state.origin)
        )
        if not right:
            raise ValueError("the parts of a StateForecaster do not fit together")
        if self.calibration is not None:
            check_readout(self.calibration.readout, columns)
            self.calibration.check(windows.horizon, features, windows.n_series)


class LearntAttributes:
    """What a fitted forecaster shows of its fitted state."""

    fitted_: FittedStateForecaster

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that was drawn."""
        return self.fitted_.reservoir

    @property
    def readout_(self) -> Any:
        """The fitted readout."""
        return self.fitted_.readout

    @property
    def state_(self) -> State:
        """State of the reservoir, `horizon` steps before the end of the observations."""
        return self.fitted_.state

    @property
    def horizon_(self) -> int:
        """Steps predicted directly."""
        return self.fitted_.windows.horizon

    @property
    def only_last_(self) -> bool:
        """Whether only the last step of the horizon is predicted."""
        return self.fitted_.windows.only_last

    @property
    def n_features_in_(self) -> int:
        """Number of series in y."""
        return self.fitted_.windows.targets

    @property
    def n_known_(self) -> int:
        """Number of inputs known in advance."""
        return self.fitted_.windows.known

    @property
    def target_names_(self) -> list[str] | None:
        """Names of the columns of y, where they had names."""
        return self.fitted_.windows.target_names

    @property
    def known_names_(self) -> list[str] | None:
        """Names of the columns of X, where they had names."""
        return self.fitted_.windows.known_names

    @property
    def scaling_(self) -> Scaling | None:
        """Mean and scale of the columns of y and X, or None."""
        return self.fitted_.windows.scaling

    @property
    def has_intervals_(self) -> bool:
        """Whether intervals were calibrated in training."""
        return self.fitted_.calibration is not None
