"""Everything a forecaster learnt, as one frozen value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.estimators.components import check_readout, check_reservoir
from paralesn.estimators.state_forecaster.calibration import Calibration
from paralesn.estimators.state_forecaster.learning import Learnt
from paralesn.estimators.state_forecaster.windows import Windows
from paralesn.layers.state import State
from paralesn.persistence import register
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
    """

    windows: Windows
    reservoir: Reservoir
    readout: Any
    state: State
    position: int
    calibration: Calibration | None
    pending: np.ndarray

    @property
    def learnt(self) -> Learnt:
        """What more observations change."""
        return Learnt(self.readout, self.state, self.position, self.calibration)

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        windows, features = self.windows, self.reservoir.n_features_in_
        check_reservoir(self.reservoir)
        check_readout(self.readout, self.reservoir.n_features_out_)
        windows.check(features)
        right = (
            isinstance(self.position, int)
            and self.state.origin == self.reservoir.fingerprint_
            and self.pending.shape == (windows.horizon + 1, windows.targets)
            and np.isfinite(self.pending).all()
        )
        if not right:
            raise ValueError("the parts of a StateForecaster do not fit together")
        if self.calibration is not None:
            check_readout(self.calibration.readout, self.reservoir.n_features_out_)
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
