"""Forecasting: the next steps of a series from itself and from what is known in advance."""

from copy import copy
from dataclasses import replace
from math import ceil
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, scaling, sources
from paralesn.estimators import defaults
from paralesn.estimators.components import own_readout, own_reservoir
from paralesn.estimators.forecaster.spread import Forecast
from paralesn.estimators.online import forgetful
from paralesn.estimators.state_forecaster import calibration
from paralesn.estimators.state_forecaster.closed_loop import check_bounded, close_loop
from paralesn.estimators.state_forecaster.fitted_forecaster import (
    FittedStateForecaster,
    LearntAttributes,
)
from paralesn.estimators.state_forecaster.learning import Training, learn_more, run_blocks
from paralesn.estimators.state_forecaster.penalty_by_loop import can_choose_by_loop
from paralesn.estimators.state_forecaster.windows import Windows, as_series, names_of, read_table
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.autonomous import ClosedLoop
from paralesn.reservoirs.base import Reservoir
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.memory import require_room
from paralesn.tunable import TunableDefaults


class Begun(NamedTuple):
    """A forecaster that has learnt up to the held-out part."""

    training: Training
    pending: np.ndarray  # as in `FittedStateForecaster`


@register
class StateForecaster(TunableDefaults, LearntAttributes, BaseEstimator):
    r"""Forecast a series, univariate or multivariate.

    At every step t the reservoir reads :math:`[y_t, x_{t+h}]`, the newest observation and what is
    known of h = `horizon` steps later, and a readout predicts :math:`y_{t+1}, \dots, y_{t+h}` from
    its state. With ``horizon=1``, forecasts of any length come from the closed loop: predictions
    are fed back as observations. With a longer one, all its steps are predicted directly, and
    longer forecasts feed that many predictions back at a time.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default: one layer of 256 units.
    readout : regressor, optional
        Default: `Ridge` with penalties from 1e-8 to 100.
    horizon : int
        Steps predicted directly.
    only_last : bool
        Learn and predict only the last step of the horizon.
    washout : int
        First time steps that are not learnt from.
    difference : bool or "inputs"
        Predict differences to the newest observation. "inputs": and let the reservoir read changes
        from step to step, so that forecasts do not depend on the level of the series at all.
    held_out : float
        Share of the training series, at its end, that chooses the penalty of a `Ridge` and that
        intervals are calibrated on. The readout learns from it afterwards. 0: no intervals, and the
        penalty is chosen by generalised cross-validation, which trusts neighbouring steps too much.
    standardize : bool
        Bring y and X to zero mean and unit variance; forecasts are in the units of y.
    shared : bool
        Forecast every target from itself alone (and from X), all by the same reservoir and readout,
        which learn from all of them: often better than one model of many targets together.
    noise : float
        Standard deviation of Gaussian noise on the observations that are learnt from, in the units
        the reservoir reads (with `standardize`, standard deviations of the series); the targets are
        without noise. So the model learns to come back to where it belongs: closed loops stay
        bounded, at the price of a larger error of a single step. The noise is always the same.
    by_loop : bool
        Choose the penalty of a `Ridge` by closed loops into the held-out part, instead of by single
        steps; with ``horizon=1``.
    every : int
        Learn from every so many steps only. Neighbouring steps of a long horizon have nearly the
        same targets: little is lost, and training is that much faster.

    Attributes
    ----------
    reservoir_, readout_ : the fitted ones
    state_ : State
        State of the reservoir `horizon` steps before the end of the observations. A batch: of one
        series or, where `shared`, of one for each target.
    horizon_, only_last_ : int, bool
        As they were in training.
    n_features_in_, n_known_ : int
        Number of series in y, and of inputs known in advance.
    target_names_, known_names_ : list of str or None
        Names of the columns of y and X in training.
    scaling_ : Scaling or None
        Mean and scale of the columns of y and X.
    has_intervals_ : bool
        Whether intervals were calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.estimators.state_forecaster.forecaster import StateForecaster
    >>> y = np.sin(np.arange(1200) / 9) * np.cos(np.arange(1200) / 31)
    >>> model = StateForecaster().fit(y[:1000])
    >>> bool(np.abs(model.forecast(50) - y[1000:1050]).max() < 0.01)
    True
    >>> values, lower, upper = model.update(y[1000:1100]).forecast(20, interval=0.9)
    >>> values.shape
    (20,)
    """

    fitted_: FittedStateForecaster
    DEFAULT_COMPONENTS: ClassVar = {
        "reservoir": lambda model: defaults.forecasting_reservoir(),
        "readout": lambda model: defaults.forecasting_readout(),
    }

    def __init__(
        self,
        reservoir: Reservoir | None = None,
        readout: Any = None,
        *,
        horizon: int = 1,
        only_last: bool = False,
        washout: int = 100,
        difference: bool | str = True,
        held_out: float = 0.2,
        standardize: bool = True,
        shared: bool = False,
        noise: float = 0.0,
        by_loop: bool = False,
        every: int = 1,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.horizon = horizon
        self.only_last = only_last
        self.washout = washout
        self.difference = difference
        self.held_out = held_out
        self.standardize = standardize
        self.shared = shared
        self.noise = noise
        self.by_loop = by_loop
        self.every = every

    # -- learning --------------------------------------------------------------------------------

    def fit(self, y: Any, X: Any = None) -> Self:
        """Fit to a series.

        Parameters
        ----------
        y : array-like (time,) or (time, targets)
        X : array-like (time,) or (time, inputs), optional
            What is known in advance, such as the hour or a plan: row t belongs to row t of y.
        """
        return self.finish(self.begin(y, X))

    def begin(self, y: Any, X: Any = None, beat: np.ndarray | None = None) -> "Begun":
        """Learn up to the held-out part: what it takes to judge this model beside others.

        `beat` is the `best_so_far` of the training of another one.
        """
        self._check_parameters()
        default = defaults.forecasting_reservoir
        reservoir = own_reservoir(self.reservoir, default, bool(self.standardize))
        readout = own_readout(self.readout, defaults.forecasting_readout, "regression")
        observed, is_flat = read_table(y, "y")
        rows = observed
        if X is not None:
            known, _ = read_table(X, "X", len(observed), "as y has")
            rows = np.hstack([observed, known])
        if len(rows) <= self.washout + self.horizon:
            least = f"washout + horizon ({self.washout} + {self.horizon})"
            raise ValueError(f"y must be longer than {least} time steps, got {len(rows)}")
        windows = Windows(
            targets=observed.shape[1],
            known=rows.shape[1] - observed.shape[1],
            horizon=int(self.horizon),
            only_last=bool(self.only_last),
            difference=bool(self.difference),
            changes=self.difference == "inputs",
            shared=bool(self.shared),
            washout=int(self.washout),
            every=int(self.every),
            scaling=scaling.measure(sources.source(rows)) if self.standardize else None,
            target_names=names_of(y),
            known_names=names_of(X),
            is_flat=is_flat,
            noise=float(self.noise),
        )
        if reservoir.is_local:
            windows = self._of_a_field(windows, rows)
        rows = windows.scaled(rows)
        panel = windows.panel(rows)
        reservoir.fit(as_series(windows.inputs(panel) if reservoir.adapts else panel[:1, :1]))
        windows = replace(windows, patches=reservoir.patches_)
        with single_threaded_blas():  # the same bits for any number of its threads
            call = (panel, self.held_out, bool(self.by_loop), beat)
            training = Training(windows, reservoir, readout, *call)
        return Begun(training, rows[-windows.horizon - 1 :, : windows.targets].copy())

    def finish(self, begun: "Begun") -> Self:
        """Learn the rest."""
        training, pending = begun
        with single_threaded_blas():
            learnt = training.finished()
        self.fitted_ = FittedStateForecaster(
            training.windows, training.reservoir, learnt.readout, learnt.state, learnt.position,
            learnt.calibration, pending, learnt.noisy,
        )  # fmt: skip
        return self

    def _of_a_field(self, windows: Windows, rows: np.ndarray) -> Windows:
        """Windows of a field, which one readout reads everywhere: all values in the same units."""
        if windows.shared:
            raise checks.fail("shared", True, "False with a reservoir of patches, which share one")
        if windows.known:
            raise ValueError("X must be None with a reservoir of patches, which read y only")
        common = None if windows.scaling is None else scaling.measure_in_common(rows)
        return replace(windows, scaling=common)

    def update(self, y: Any, X: Any = None, refit: bool = False) -> Self:
        """Continue from new observations, which follow those seen so far.

        Parameters
        ----------
        y, X : as in `fit`, the new rows only
        refit : bool
            Learn from them too, which needs `Ridge`. What `fit` on everything would give, but that
            scaling, intervals and a penalty chosen on held-out steps stay. A single row costs a
            time that grows with the square of the number of units.
        """
        check_is_fitted(self, "fitted_")
        checks.flag("refit", refit)
        if refit and not isinstance(self.readout_, Ridge):
            raise checks.fail("refit", refit, "False with a readout that cannot, only Ridge can")
        fitted, windows = self.fitted_, self.fitted_.windows
        new = windows.read(y, X, self.reservoir_.real_dtype)
        known = np.zeros((windows.horizon, windows.known))
        rows = np.vstack([np.hstack([fitted.pending[1:], known]), new])
        panel = windows.panel(rows)
        inputs = windows.inputs(panel, windows.series(fitted.pending[:1]))
        with single_threaded_blas():
            learnt = learn_more(windows, self.reservoir_, fitted.learnt, panel, inputs, refit)
        observed = np.vstack([fitted.pending[:1], rows[:, : windows.targets]])
        pending = observed[-windows.horizon - 1 :].copy()
        self.fitted_ = replace(fitted, **learnt._asdict(), pending=pending)
        return self

    def reading(self, y: Any, X: Any = None) -> "StateForecaster":
        """A model like this one whose only observations are y (time, targets): a spin-up.

        X (time, inputs) where the model has inputs known in advance. The reservoir starts from zero
        and this model stays as it is.
        """
        check_is_fitted(self, "fitted_")
        h, fitted = self.horizon_, self.fitted_
        observed, _ = read_table(y, "y", columns=self.n_features_in_)
        if len(observed) <= h:
            raise ValueError(f"y must be longer than the horizon ({h}) time steps, got {len(y)}")
        known = None if X is None else X[:h]
        first = fitted.windows.read(observed[:h], known, self.reservoir_.real_dtype)
        first = first[:, : self.n_features_in_]
        layers = tuple(np.zeros_like(states) for states in fitted.state.layers)
        reader = copy(self)
        reader.fitted_ = replace(
            fitted,
            pending=np.vstack([first[:1], first]),
            state=State(layers, fitted.state.origin),
        )
        return reader.update(observed[h:], None if X is None else X[h:])

    @property
    def loop_score_(self) -> float | None:
        """Mean logarithm of the error of closed loops into the held-out part, until they are lost.

        Of the penalty chosen with `by_loop`; None where no loops were run.
        """
        check_is_fitted(self, "fitted_")
        fitted, calibration = self.fitted_, self.fitted_.calibration
        if not self.by_loop or calibration is None or not isinstance(fitted.readout, Ridge):
            return None
        if not can_choose_by_loop(fitted.windows, fitted.readout):
            return None
        return float(calibration.readout.scores_.min())

    @property
    def closed_loop_(self) -> ClosedLoop:
        """The fitted model as a dynamical system of its own; with ``horizon=1`` and `Ridge`."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.closed_loop()

    def partial_fit(self, y: Any, X: Any = None) -> Self:
        """Learn from new observations, which follow those seen so far: `update` with `refit`."""
        return self.update(y, X, refit=True) if hasattr(self, "fitted_") else self.fit(y, X)

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything learnt so far by `factor` in (0, 1]."""
        check_is_fitted(self, "fitted_")
        self.fitted_ = replace(self.fitted_, readout=forgetful(self.readout_, factor))
        return self

    # -- forecasting -----------------------------------------------------------------------------

    def forecast(
        self, steps: int | None = None, X: Any = None, interval: float | None = None
    ) -> Any:
        """Forecast the steps after the observations so far.

        Parameters
        ----------
        steps : int, optional
            Default: the horizon.
        X : array-like (steps, inputs)
            What is known of the steps to come, for a model fitted with it: whole horizons of rows.
        interval : float, optional
            Share of observations, such as 0.9, that the interval at each step should hold.

        Returns
        -------
        values : array (steps,) or (steps, targets), as y was; with `only_last`, of one step
            (with `interval`, a `Forecast` with values, lower and upper)
        """
        check_is_fitted(self, "fitted_")
        fitted, windows = self.fitted_, self.fitted_.windows
        steps = windows.horizon if steps is None else checks.integer("steps", steps, 1)
        if windows.only_last and steps != windows.horizon:
            expected = f"None or the horizon, {windows.horizon}, with only_last"
            raise checks.fail("steps", steps, expected)
        require_room("steps", steps, 32 * steps * windows.width)
        whole = ceil(steps / windows.horizon) * windows.horizon
        rows = windows.ahead(X, self.reservoir_.real_dtype, whole)
        known = windows.panel(rows)[..., windows.width :]
        pending, layers = windows.series(fitted.pending), fitted.state.layers
        call = (self.readout_, layers, pending, known, steps)
        values = close_loop(windows, self.reservoir_, *call)
        check_bounded(values)
        values = windows.flat(values)
        if interval is None:
            return windows.like_y(values)
        level = checks.number("interval", interval, 0, 1, open_left=True, open_right=True)
        if fitted.calibration is None:
            reason = f"held_out is {self.held_out:g}, or the series was too short for it"
            raise ValueError(f"interval needs held-out steps to learn from: {reason}")
        errors = fitted.calibration.residuals(self.reservoir_, windows, whole)[:, : len(values)]
        lower, upper = calibration.bounds(errors, level)
        bounds = (values, values + lower, values + upper)
        return Forecast(*(windows.like_y(bound) for bound in bounds))

    def predict(self, y: Any, X: Any = None, follow: bool = False) -> np.ndarray:
        """Forecasts from every step of a series, as if each were the last one known.

        Parameters
        ----------
        y : array-like (time,) or (time, targets)
        X : array-like (time + horizon, inputs)
            What is known of these steps and of `horizon` more, for a model fitted with it.
        follow : bool
            Whether y follows the observations so far, which are left as they are. Otherwise the
            reservoir starts from zero.

        Returns
        -------
        values : array (time, horizon), (time, horizon, targets); one step without its axis
        """
        check_is_fitted(self, "fitted_")
        checks.flag("follow", follow)
        windows, h, width = self.fitted_.windows, self.horizon_, self.fitted_.windows.width
        panel = windows.panel(windows.read(y, X, self.reservoir_.real_dtype, h))
        before = state = None
        if follow:
            pending = windows.series(self.fitted_.pending)
            observed, before = windows.changed(pending[:, 1:], pending[:, :1]), pending[:, -1:]
            tail = np.concatenate([observed, panel[:, :h, width:]], axis=2)
            _, state = self.reservoir_.run(as_series(tail), self.state_)
        inputs = windows.inputs(panel, before)
        pieces = [
            windows.predictions(self.readout_, z, panel[:, first:last, :width])
            for first, last, z, _ in run_blocks(windows, self.reservoir_, inputs, state)
        ]
        values = windows.like_y(windows.flat(np.concatenate(pieces, axis=1)))
        return values[:, 0] if windows.only_last or h == 1 else values

    def score(self, y: Any, X: Any = None) -> float:
        """Coefficient of determination of direct predictions, from zero, after the washout."""
        check_is_fitted(self, "fitted_")
        from sklearn.metrics import r2_score  # slow to import

        observed, _ = read_table(y, "y", columns=self.n_features_in_)
        count = len(observed) - self.horizon_
        if count < 1:
            expected = f"longer than the horizon ({self.horizon_}) time steps"
            raise ValueError(f"y must be {expected}, got {len(observed)}")
        predicted = self.predict(observed[:count], X).reshape(count, -1)
        whole = replace(self.fitted_.windows, difference=False, shared=False, patches=None)
        wanted = whole.wanted(observed[None], slice(count))
        skip = min(whole.washout, count - 1)
        return float(r2_score(wanted[skip:], predicted[skip:]))

    def _check_parameters(self) -> None:
        checks.integer("horizon", self.horizon, 1)
        checks.integer("washout", self.washout, 0)
        checks.integer("every", self.every, 1)
        checks.flag("only_last", self.only_last)
        checks.flag("shared", self.shared)
        checks.flag("standardize", self.standardize)
        checks.flag("by_loop", self.by_loop)
        noise = checks.number("noise", self.noise, 0.0)
        if not isinstance(self.difference, str):
            checks.flag("difference", self.difference)
        elif self.difference != "inputs":
            raise checks.fail("difference", self.difference, "True, False or 'inputs'")
        elif noise:
            raise checks.fail("noise", self.noise, "0 with difference='inputs'")
        checks.number("held_out", self.held_out, 0, 1, open_right=True)
