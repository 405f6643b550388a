"""Models on live data: one row in, one prediction out, and a state that outlives the process."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.feedback import Loop
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.fitted import FittedLoop
from paralesn.estimators.forecaster.live_members import LiveMembers, Position
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.estimators.state_forecaster.windows import as_series
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge


@register
@dataclass(frozen=True, eq=False)
class LiveState:
    """Where a model on live data is: all that is needed to continue in another process.

    Attributes
    ----------
    state : Position, State or None
        Where the members of a `ReservoirForecaster` are; of other models the state of the
        reservoir, None before the first row of a fresh start.
    newest : (series, width)
        The newest observation of a `StateForecaster`, scaled as the reservoir reads it; of a
        `ReservoirRegressor` with ``missing="interpolate"`` the values known last. Empty for other
        models and before the first row.
    lines : int
        Lines read so far, for callers that count them.
    model : str
        Identifies the model, such as a digest of its file.
    """

    state: Position | State | None
    newest: np.ndarray
    lines: int = 0
    model: str = ""

    def __post_init__(self) -> None:
        right = (
            (self.state is None or isinstance(self.state, (Position, State)))
            and isinstance(self.newest, np.ndarray) and np.isfinite(self.newest).all()
            and isinstance(self.lines, int) and self.lines >= 0 and isinstance(self.model, str)
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a LiveState do not fit together")


class _Linear(NamedTuple):
    """The map of a fitted `Ridge`, for one row at a time."""

    weights: np.ndarray  # (features, outputs)
    intercept: np.ndarray

    def predict(self, z: np.ndarray) -> np.ndarray:
        return z @ self.weights + self.intercept


class Live:
    """Feed a fitted forecaster or regressor row by row.

    A forecaster reads an observation and forecasts its horizon from it; a regressor reads inputs
    and predicts. It continues where the model's training ended, or from zero if `fresh`. The model
    itself is never changed, and a row that is refused changes nothing.

    Parameters
    ----------
    model : ReservoirForecaster, SmootherBank, StateForecaster or ReservoirRegressor
        The first two take NaN for a missing value, and so does a regressor that was told what to do
        about these: with ``missing="interpolate"`` it repeats the value known last, as the next is
        not known yet, with "mask" it reads the mean of training.
    fresh : bool
        Start from zero, which smoothers cannot: they need a past.

    Attributes
    ----------
    state : LiveState
        Where the model is; assign one that was saved to continue from it.
    width : int
        Values of a row.
    may_miss : bool
        Whether values of a row may be missing, NaN.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.estimators.live import Live
    >>> y = np.sin(np.arange(600) / 9)
    >>> live = Live(pe.ReservoirForecaster(horizon=3).fit(y[:500]))
    >>> for value in y[500:510]:
    ...     ahead = live.read(np.array([value]))
    >>> bool(np.abs(ahead[:, 0] - y[510:513]).max() < 0.01)
    True
    """

    def __init__(self, model: Any, fresh: bool = False) -> None:
        self._reader: LiveMembers | StateForecaster | ReservoirRegressor
        self.model = model
        self.may_miss = False
        self.state = LiveState(None, np.zeros((0, 0)))
        if isinstance(model, Forecaster):
            if not isinstance(model.fitted_, FittedLoop):
                self._start_members(model, fresh)
                return
            model = model.fitted_.loop
        if not isinstance(model, (StateForecaster, ReservoirRegressor)):
            raise TypeError(
                f"live data need a forecaster or a ReservoirRegressor, got a {type(model).__name__}"
            )
        self._reader = model
        self.width = int(model.n_features_in_)
        self._readout = _of_one_row(model.readout_)
        if isinstance(model, StateForecaster):
            if model.n_known_:
                raise ValueError(
                    f"live data need a model without inputs known in advance, got {model.n_known_}"
                )
            if not fresh:
                self.state = _end_of(model)
            return
        self.may_miss = model.fitted_.missing is not None
        if not fresh and all(h.ndim == 1 for h in model.state_.layers):  # of a single series
            known = model.fitted_.missing
            last = np.zeros((0, 0)) if known is None else known.last.reshape(-1, self.width)
            self.state = replace(self.state, state=model.state_, newest=last)

    def _start_members(self, model: Forecaster, fresh: bool) -> None:
        """Begin with a forecaster whose members were weighed."""
        assert not isinstance(model.fitted_, FittedLoop)
        if fresh:
            raise ValueError(
                f"a {type(model).__name__} cannot start from zero: its smoothers need a past; fit "
                "one to the first values, or continue from the end of training"
            )
        members = LiveMembers(model.fitted_)
        self._reader, self.may_miss = members, True
        self.width = members.width
        self.state = replace(self.state, state=members.end())

    def read(self, row: np.ndarray, lines: int = 0) -> np.ndarray:
        """Read a row (width,): forecasts (horizon, targets), or predictions (1, targets).

        With `only_last`, the forecast of one step.
        """
        reader, before = self._reader, self.state.state
        if isinstance(reader, LiveMembers):
            if not isinstance(before, Position):
                raise ValueError("the state is of another kind of model")
            values, after = reader.read(row, before)
            self.state = replace(self.state, state=after, lines=lines)
            return values
        if isinstance(before, Position):
            raise ValueError("the state is of another kind of model")
        if isinstance(reader, StateForecaster):
            return self._forecast(reader, row, before, lines)
        x, newest, missing = row, self.state.newest, reader.fitted_.missing
        if missing is not None:
            x, last = missing.row(np.asarray(row, float), newest.ravel())
            newest = last.reshape(-1, self.width)
        x = x if reader.scaling_ is None else reader.scaling_.apply(x)
        if (feedback := reader.fitted_.feedback) is not None:
            loop = Loop(reader.reservoir_, self._readout, feedback, reader.scaling_)
            predicted, state = loop.read_row(x, before)
        else:
            z, state = reader.reservoir_.step(x, before)
            predicted = np.asarray(self._readout.predict(z[None])).reshape(1, -1)
        self.state = replace(self.state, state=state, newest=newest, lines=lines)
        return predicted

    def _forecast(
        self, model: StateForecaster, row: np.ndarray, start: State | None, lines: int
    ) -> np.ndarray:
        windows, before = model.fitted_.windows, self.state.newest
        newest = windows.series(windows.scaled(row[None]))[:, 0]  # (series, width)
        inputs = newest
        if windows.changes:
            inputs = newest - before if before.size else np.zeros_like(newest)
        z, state = model.reservoir_.step(inputs, start)
        values = windows.predictions(self._readout, z, newest)
        self.state = replace(self.state, state=state, newest=newest, lines=lines)
        return windows.restored(windows.flat(values))


def _of_one_row(readout: Any) -> Any:
    """The readout, without what checking and sharing out a large matrix costs."""
    if not isinstance(readout, Ridge):
        return readout
    weights = np.atleast_2d(np.asarray(readout.coef_)).T
    return _Linear(np.ascontiguousarray(weights), np.atleast_1d(readout.intercept_))


def _end_of(model: StateForecaster) -> LiveState:
    """At the newest observation; a forecaster's own state is a horizon before it."""
    windows = model.fitted_.windows
    pending = windows.series(model.fitted_.pending)
    inputs = windows.changed(pending[:, 1:], pending[:, :1])
    _, state = model.reservoir_.run(as_series(inputs), model.state_)
    return LiveState(state, np.ascontiguousarray(pending[:, -1]))


def reading(model: StateForecaster, y: np.ndarray, X: np.ndarray | None) -> StateForecaster:
    """A forecaster like `model` whose only observations are y (time, targets).

    X (time, inputs) where the model has inputs known in advance.
    """
    h, fitted = model.horizon_, model.fitted_
    if len(y) <= h:
        raise ValueError(f"y must be longer than the horizon ({h}) time steps, got {len(y)}")
    known = None if X is None else X[:h]
    first = fitted.windows.read(y[:h], known, model.reservoir_.real_dtype)
    observed = first[:, : model.n_features_in_]
    layers = tuple(np.zeros_like(states) for states in fitted.state.layers)
    reader = copy(model)
    reader.fitted_ = replace(
        fitted,
        pending=np.vstack([observed[:1], observed]),
        state=State(layers, fitted.state.origin),
    )
    return reader.update(y[h:], None if X is None else X[h:])
