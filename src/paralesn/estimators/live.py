"""Models on live data: one row in, one prediction out, and a state that outlives the process."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn import checks
from paralesn.estimators.feedback import Loop
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.fitted import FittedLoop
from paralesn.estimators.forecaster.live_members import LiveMembers, Position
from paralesn.estimators.live_learning import (
    LearntSteps,
    forecaster_after,
    loop_after,
    steps_of,
)
from paralesn.estimators.live_states import check_members, check_rows, check_steps
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.estimators.state_forecaster.windows import as_series
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.stepper import Stepper


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
    learnt : None, Ridge, LearntSteps or FittedEnsemble
        What was learnt from the rows read: of a regressor the readout, of other models with what
        they have yet to learn from. None where nothing is learnt.
    """

    state: Position | State | None
    newest: Floats
    lines: Count = 0
    model: str = ""
    learnt: Ridge | LearntSteps | FittedEnsemble | None = None

    def __post_init__(self) -> None:
        right = (
            (self.state is None or isinstance(self.state, (Position, State)))
            and isinstance(self.newest, np.ndarray) and np.isfinite(self.newest).all()
            and isinstance(self.lines, int) and self.lines >= 0 and isinstance(self.model, str)
            and (self.learnt is None
                 or isinstance(self.learnt, (Ridge, LearntSteps, FittedEnsemble)))
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a LiveState do not fit together")


class _Linear(NamedTuple):
    """The map of a fitted `Ridge`, for one row at a time."""

    weights: np.ndarray  # (features, outputs)
    intercept: np.ndarray

    def predict(self, z: np.ndarray) -> np.ndarray:
        return z @ self.weights + self.intercept


class _ReadOut(NamedTuple):
    """A `Ridge` that goes on learning."""

    readout: Ridge

    def predict(self, z: np.ndarray) -> np.ndarray:
        return self.readout.read_out(np.asarray(z, float))


class Live:
    """Feed a fitted forecaster or regressor row by row.

    A forecaster reads an observation and forecasts its horizon from it; a regressor reads inputs
    and predicts. It continues where the model's training ended, or from zero if `fresh`. The model
    itself is never changed, and a row that is refused changes nothing.

    With `learn` it learns from what it reads, as `partial_fit` does: a regressor from rows that
    hold targets after the inputs, which it predicts first; a forecaster from every observation,
    before it forecasts. What was learnt is part of the state, and `learnt_model` makes a model of
    it.

    Parameters
    ----------
    model : ReservoirForecaster, SmootherBank, StateForecaster or ReservoirRegressor
        The first two take NaN for a missing value, and so does a regressor that was told what to do
        about these: with ``missing="interpolate"`` it repeats the value known last, as the next is
        not known yet, with "mask" it reads the mean of training.
    fresh : bool
        Start from zero, which smoothers cannot: they need a past.
    learn : bool
        Learn from rows; the readout must be a `Ridge`.
    forget : float in (0, 1]
        What everything learnt is multiplied by before each row.

    Attributes
    ----------
    state : LiveState
        Where the model is; assign one that was saved to continue from it. One that does not fit the
        model is refused.
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

    def __init__(
        self, model: Any, fresh: bool = False, *, learn: bool = False, forget: float = 1.0
    ) -> None:
        self.learns = checks.flag("learn", learn)
        self._factor = checks.number("forget", forget, 0, 1, open_left=True)
        if self._factor < 1 and not self.learns:
            raise checks.fail("forget", forget, "1 without learn")
        self._reader: LiveMembers | StateForecaster | ReservoirRegressor
        self.model = model
        self.may_miss = False
        self._stepper: Stepper | None = None
        self._reached: State | None = None  # where the stepper stands
        self._state = LiveState(None, np.zeros((0, 0)))
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
                self._state = _end_of(model)
            if self.learns:
                self._state = replace(self._state, learnt=steps_of(model.fitted_, fresh))
            return
        self.may_miss = model.fitted_.missing is not None
        if self.learns:
            if not isinstance(model.readout_, Ridge):
                kind = type(model.readout_).__name__
                raise TypeError(f"learning by the row needs a Ridge readout, got a {kind}")
            if model.fitted_.feedback is not None:
                raise ValueError(
                    "live learning needs a regressor without feedback: learn from blocks with "
                    "partial_fit"
                )
            self._state = replace(self._state, learnt=model.readout_)
        if not fresh and all(h.ndim == 1 for h in model.state_.layers):  # of a single series
            known = model.fitted_.missing
            last = np.zeros((0, 0)) if known is None else known.last.reshape(-1, self.width)
            self._state = replace(self._state, state=model.state_, newest=last)

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
        learnt = members.learner() if self.learns else None
        self._state = replace(self._state, state=members.end(), learnt=learnt)

    @property
    def state(self) -> LiveState:
        """Where the model is."""
        return self._state

    @state.setter
    def state(self, state: LiveState) -> None:
        """Continue from another state, once it is known to fit the model."""
        if not isinstance(state, LiveState):
            raise checks.fail("state", state, "a LiveState", TypeError)
        reader = self._reader
        if isinstance(reader, LiveMembers):
            check_members(reader, state.state, state.learnt)
        else:
            check = check_steps if isinstance(reader, StateForecaster) else check_rows
            check(reader, state.state, state.newest, state.learnt)  # type: ignore[arg-type]
        self._state = state

    def read(self, row: np.ndarray, lines: int = 0) -> np.ndarray:
        """Read a row (width,): forecasts (horizon, targets), or predictions (1, targets).

        A row that makes a state or a prediction too large for its precision is refused.
        """
        before = self.state
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            values = self._read(row, lines)
        if not np.isfinite(values).all():
            self.state = before
            raise ValueError(f"row must be small enough, got predictions {values} for {row}")
        return values

    def _read(self, row: np.ndarray, lines: int) -> np.ndarray:
        """The same, whatever the predictions are.

        With `only_last`, the forecast of one step. Where a regressor learns, targets may follow
        the inputs in the row; they are learnt from after the prediction, unless one is NaN.
        """
        reader, before = self._reader, self.state.state
        if isinstance(reader, LiveMembers):
            known = self.state.learnt
            assert isinstance(before, Position)
            assert known is None or isinstance(known, FittedEnsemble)
            factor = self._factor if self.learns else None
            values, after, learnt = reader.read(row, before, known, factor)
            self._state = replace(self._state, state=after, learnt=learnt, lines=lines)
            return values
        assert not isinstance(before, Position)
        if isinstance(reader, StateForecaster):
            return self._forecast(reader, row, before, lines)
        row, targets = row[: self.width], row[self.width :]
        x, newest, missing = row, self.state.newest, reader.fitted_.missing
        if missing is not None:
            x, last = missing.row(np.asarray(row, float), newest.ravel())
            newest = last.reshape(-1, self.width)
        x = x if reader.scaling_ is None else reader.scaling_.apply(x)
        learnt = self.state.learnt
        if (feedback := reader.fitted_.feedback) is not None:
            loop = Loop(reader.reservoir_, self._readout, feedback, reader.scaling_)
            predicted, state = loop.read_row(x, before)
        else:
            z, state = self._step(reader.reservoir_, x, before)
            predicted = np.asarray(self._current(learnt).predict(z[None])).reshape(1, -1)
            if targets.size and not np.isnan(targets).any():
                learnt = self._taught(learnt, z[None].astype(float), targets[None])
        self._state = replace(self._state, state=state, newest=newest, lines=lines, learnt=learnt)
        return predicted

    @property
    def n_targets(self) -> int:
        """Targets that may follow the inputs in a row: those of a regressor that learns."""
        learnt = self.state.learnt
        return learnt.fitted_.n_targets if self.learns and isinstance(learnt, Ridge) else 0

    def _current(self, learnt: Any) -> Any:
        """What predicts: the readout of training, or what it has become."""
        return self._readout if learnt is None else _ReadOut(learnt)

    def _taught(self, learnt: Any, z: np.ndarray, targets: np.ndarray) -> Ridge:
        """The readout after a row."""
        if not self.learns or not isinstance(learnt, Ridge):
            raise ValueError(f"row must hold {self.width} values, got targets: nothing is learnt")
        readout = copy(learnt)
        if self._factor < 1:
            readout.forget(self._factor)
        return readout.learn_from(z, targets)

    def learnt_model(self) -> Any:
        """A model like the one given that has learnt from the rows read, and follows on them.

        A forecaster remembers of these rows what forecasts need; those before count as missing.
        """
        model, state = copy(self.model), self.state
        if state.learnt is None:
            raise ValueError("a learnt model needs learn=True")
        if isinstance(state.learnt, FittedEnsemble):
            assert isinstance(state.state, Position)
            model.fitted_ = forecaster_after(model.fitted_, state.learnt, state.state)
        elif isinstance(state.learnt, LearntSteps):
            is_loop = isinstance(model.fitted_, FittedLoop)
            after = loop_after if is_loop else LearntSteps.model
            arguments = (model.fitted_, state.learnt)
            model.fitted_ = after(*(arguments if is_loop else arguments[::-1]))
        else:
            own = {} if state.state is None else {"state": state.state}
            missing = model.fitted_.missing
            if missing is not None and state.newest.size:
                own["missing"] = replace(missing, last=state.newest.ravel())
            model.fitted_ = replace(model.fitted_, readout=state.learnt, **own)
        return model

    def _step(
        self, reservoir: Reservoir, x: np.ndarray, before: State | None
    ) -> tuple[np.ndarray, State]:
        """One step of the reservoir; another stepper is made where the state was set from outside.

        So it is after a row that was refused: the stepper has read it, the state has not.
        """
        if self._stepper is None or self._reached is not before:
            count = len(x) if x.ndim == 2 else None
            self._stepper = reservoir.stepper(before, batch=count)
        z = self._stepper(x)
        self._reached = self._stepper.state
        return z, self._reached

    def _forecast(
        self, model: StateForecaster, row: np.ndarray, start: State | None, lines: int
    ) -> np.ndarray:
        windows, before = model.fitted_.windows, self.state.newest
        newest = windows.series(windows.scaled(row[None]))[:, 0]  # (series, width)
        inputs = newest
        if windows.changes:
            inputs = newest - before if before.size else np.zeros_like(newest)
        z, state = self._step(model.reservoir_, inputs, start)
        learnt = self.state.learnt
        assert learnt is None or isinstance(learnt, LearntSteps)
        if learnt is not None and self.learns:
            learnt = learnt.read(windows, newest, z, state, self._factor)
        readout = self._current(None if learnt is None else learnt.readout)
        values = windows.predictions(readout, z, newest)
        self._state = replace(self._state, state=state, newest=newest, lines=lines, learnt=learnt)
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
