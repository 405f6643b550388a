"""What forecasters have in common: fit, update, forecast, predict, anomalies, plot."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, cast, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.estimators.forecaster import (
    anomalies,
    following,
    online_members,
    panel_passes,
    pictures,
    relearning,
    watched_loop,
)
from paralesn.estimators.forecaster.anomalies import Anomalies
from paralesn.estimators.forecaster.fitted import FittedForecaster, FittedLoop
from paralesn.estimators.forecaster.fitting import Request
from paralesn.estimators.forecaster.forms import (
    Data,
    Estimator,
    Given,
    Level,
    Numbers,
    Several,
    Untold,
)
from paralesn.estimators.forecaster.output import assemble
from paralesn.estimators.forecaster.panel import LongNames, read_panel
from paralesn.estimators.forecaster.panel_block import KeptBlock, SeriesInputs
from paralesn.estimators.forecaster.roles import check_roles
from paralesn.estimators.forecaster.spread import Forecast
from paralesn.estimators.forecaster.weighing import member_weights
from paralesn.estimators.passes import Block, carry_out
from paralesn.runtime.memory import require_room

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEP_BYTES = 1 << 9  # of a step ahead, at least: forecasts of all members


class Forecaster(Estimator, Generic[Given]):
    """What forecasters with members weighed by rolling origins have in common."""

    horizon: int | None
    season: str | int | Sequence[int]
    frequency: str | None
    n_jobs: int | None
    fitted_: FittedForecaster | FittedLoop

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self,
        y: Data,
        X: Any = None,
        *,
        past: Any = None,
        static: Any = None,
        id: str = "unique_id",
        time: str = "ds",
        target: str = "y",
    ) -> "Forecaster[Data]":
        """Fit to one series or to many.

        Parameters
        ----------
        y : array, list of arrays, Series or frame
            One series (time,); a table (time, series) whose columns share one clock; a list of
            series of any lengths; a Series or frame of pandas, polars or pyarrow, wide (a column
            for each series) or long (a row for each series and time). NaN is a missing value, and
            so is a time that is skipped.
        X : array (time, inputs), list of arrays, frame or names of columns of a long y, optional
            Inputs that are known in advance, such as prices, plans or holidays.
        past : as X, optional
            Inputs that are known only up to now, such as measurements.
        static : array (series, columns), frame or names of columns of a long y, optional
            What is known of each series as a whole. Text is taken as categories, here and in X.
        id, time, target : str
            Columns of a long frame.
        """
        names = LongNames(id, time, target)
        check_roles(y, X)
        panel = read_panel(y, names, self._frequency(), least=2)
        block = Block(KeptBlock(y, panel), SeriesInputs(X, past, static, names))
        self.fitted_ = carry_out(panel_passes.begin(self), block).fitted_
        return cast("Forecaster[Data]", self)

    def _frequency(self) -> str | None:
        return getattr(self, "frequency", None)

    def request_for_blocks(self) -> Request:
        """Parameters of `fit` over blocks of series, checked."""
        return self._request()

    def _request(self) -> Request:
        raise NotImplementedError

    def update(self, y: Any, X: Any = None, *, past: Any = None, refit: bool = False) -> Self:
        """Continue from new observations, which follow those seen so far.

        Parameters
        ----------
        y, X, past : as in `fit`, the new rows only
            Times, where there are any, must follow the last ones: what was seen already and gaps
            are refused. Series of a long frame may be left out.
        refit : bool
            Learn from everything again. Otherwise members move on and weights, readout and
            intervals stay; `partial_fit` is between the two.
        """
        check_is_fitted(self, "fitted_")
        checks.flag("refit", refit)
        fitted = self.fitted_
        if isinstance(fitted, FittedLoop):
            watched_loop.check_inputs(past)
            self.fitted_ = watched_loop.update(fitted, y, X, refit)
            return self
        after = following.advance(fitted, y, X, past)
        self.fitted_ = relearning.refitted(after, self._request()) if refit else after
        return self

    def partial_fit(self, y: Any, X: Any = None, *, past: Any = None) -> Self:
        """Learn from new observations, which follow those seen so far, at a fraction of a refit.

        The readout learns from every step whose horizon is complete, by recursive least squares; a
        row costs a time that grows with the square of the number of units. Weights of the members
        and intervals move on by the errors of forecasts that become known. Seasons, smoothers,
        effects of inputs, units of change and the penalty stay: ``update(y, refit=True)`` finds
        them anew. With the closed loop, weights and intervals do not exist or stay.

        Parameters
        ----------
        y, X, past : as in `update`
            In the first call, which is `fit`, as there.
        """
        if not hasattr(self, "fitted_"):
            self.fit(y, X, past=past)
            return self
        if isinstance(self.fitted_, FittedLoop):
            return self.update(y, X, past=past, refit=True)
        self.fitted_ = following.learn_on(self.fitted_, y, X, past)
        return self

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything learnt so far by `factor` in (0, 1].

        Called before every `partial_fit`, the readout, the weights and the intervals follow a
        system that changes.
        """
        check_is_fitted(self, "fitted_")
        fitted = self.fitted_
        factor = checks.number("factor", factor, 0, 1, open_left=True)
        if isinstance(fitted, FittedLoop):
            self.fitted_ = replace(fitted, loop=copy(fitted.loop).forget(factor))
        else:
            ensemble = online_members.forgotten(following.learner(fitted), factor)
            self.fitted_ = replace(fitted, ensemble=ensemble)
        return self

    # -- forecasting -----------------------------------------------------------------------------

    # fmt: off
    @overload
    def forecast(
        self: "Forecaster[Untold]", steps: Any = None, X: Any = None,
        interval: Level | None = None, *, quantiles: Level | None = None, y: Any = None,
        past: Any = None, static: Any = None,
    ) -> Any: ...
    @overload
    def forecast(
        self: "Forecaster[Numbers]", steps: Any = None, X: Any = None, interval: None = None, *,
        quantiles: Level | None = None, y: Any = None, past: Any = None, static: Any = None,
    ) -> np.ndarray: ...
    @overload
    def forecast(
        self: "Forecaster[Several]", steps: Any = None, X: Any = None, interval: None = None, *,
        quantiles: Level | None = None, y: Any = None, past: Any = None, static: Any = None,
    ) -> list[np.ndarray]: ...
    @overload
    def forecast(
        self: "Forecaster[Numbers]", steps: Any = None, X: Any = None, *, interval: Level,
        y: Any = None, past: Any = None, static: Any = None,
    ) -> Forecast: ...
    @overload
    def forecast(
        self: "Forecaster[Several]", steps: Any = None, X: Any = None, *, interval: Level,
        y: Any = None, past: Any = None, static: Any = None,
    ) -> Forecast[list[np.ndarray]]: ...
    @overload
    def forecast(
        self: "Forecaster[Data]", steps: Any = None, X: Any = None, interval: Level | None = None,
        *, quantiles: Level | None = None, y: Any = None, past: Any = None, static: Any = None,
    ) -> Data: ...
    # fmt: on
    def forecast(
        self,
        steps: Any = None,
        X: Any = None,
        interval: Level | None = None,
        *,
        quantiles: Level | None = None,
        y: Any = None,
        past: Any = None,
        static: Any = None,
    ) -> Any:
        """Forecast the steps after the observations so far, or after series never seen.

        Parameters
        ----------
        steps : int, optional
            Default: the horizon. A series or frame in its place is taken as `y`.
        X : as in `fit`
            Inputs of the steps to come, where the model was fitted with inputs known in advance.
        interval : float or sequence of floats, optional
            Share of values, such as 0.9, that the interval at each step should hold.
        quantiles : float or sequence of floats, optional
            Quantiles to forecast instead of intervals, such as 0.1.
        y, past, static : as in `fit`, optional
            Series never seen: they are forecast by what was learnt from the others and by smoothers
            of their own. With inputs known in advance, X holds the rows of y and those to come. In
            closed loop, y is another start: a stretch of the same system, which the reservoir reads
            from zero on.

        Returns
        -------
        forecast : as the series came
            An array (steps,) or (steps, series), a list, a Series or a frame; a long frame for long
            frames. With `interval`, arrays come as a `Forecast` with values, lower and upper;
            frames have the columns ``yhat``, ``yhat-lo-90``, ``yhat-hi-90``.
        """
        check_is_fitted(self, "fitted_")
        if steps is not None and (np.ndim(steps) or hasattr(steps, "columns")):
            steps, y = None, steps
        fitted = self.fitted_
        if isinstance(fitted, FittedLoop):
            watched_loop.check_inputs(past, static)
            if y is not None:
                fitted = watched_loop.spun_up(fitted, y)
            return watched_loop.forecast(fitted, steps, X, interval, quantiles)
        steps = fitted.ensemble.horizon if steps is None else checks.integer("steps", steps, 1)
        require_room("steps", steps, steps * (_STEP_BYTES + 32 * fitted.count))
        if y is not None:
            fitted, X = relearning.of_new_series(fitted, y, X, past, static, steps)
        values, bounds = following.ahead(fitted, X, steps)
        grids = fitted.ends.grids()
        return assemble(fitted.layout, grids, values, bounds, interval, quantiles)

    @overload
    def predict(self: "Forecaster[Untold]", y: Any, X: Any = None, *, past: Any = None) -> Any: ...
    @overload
    def predict(
        self: "Forecaster[Several]", y: Any, X: Any = None, *, past: Any = None
    ) -> list[np.ndarray]: ...
    @overload
    def predict(self, y: Any, X: Any = None, *, past: Any = None) -> np.ndarray: ...
    def predict(self, y: Any, X: Any = None, *, past: Any = None) -> Any:
        """Forecasts from every step of new observations, as if each were the last one known.

        Parameters
        ----------
        y, past : as in `update`: observations that follow those seen so far, which stay as they are
        X : as in `fit`
            Inputs of these steps and of a horizon more, where there are inputs known in advance.

        Returns
        -------
        values : array (time, horizon) or (time, horizon, series), a list of arrays for a list
        """
        check_is_fitted(self, "fitted_")
        if isinstance(self.fitted_, FittedLoop):
            watched_loop.check_inputs(past)
            return self.fitted_.loop.predict(y, X, follow=True)
        return following.from_every_step(self.fitted_, y, X, past)

    @overload
    def anomalies(
        self: "Forecaster[Untold]", y: Any = None, X: Any = None, *, past: Any = None,
        level: float = 0.99,
    ) -> Any: ...  # fmt: skip
    @overload
    def anomalies(
        self: "Forecaster[Numbers]", y: Any = None, X: Any = None, *, past: Any = None,
        level: float = 0.99,
    ) -> Anomalies: ...  # fmt: skip
    @overload
    def anomalies(
        self: "Forecaster[Several]", y: Any = None, X: Any = None, *, past: Any = None,
        level: float = 0.99,
    ) -> Anomalies[list[np.ndarray]]: ...  # fmt: skip
    @overload
    def anomalies(
        self: "Forecaster[Data]", y: Any = None, X: Any = None, *, past: Any = None,
        level: float = 0.99,
    ) -> Data: ...  # fmt: skip
    def anomalies(
        self, y: Any = None, X: Any = None, *, past: Any = None, level: float = 0.99
    ) -> Any:
        """Observations that one-step forecasts did not expect.

        Parameters
        ----------
        y, X, past : as in `update`, optional
            New observations, which are not remembered: call `update` to go on. Default: those the
            model was fitted to.
        level : float
            Share of observations that the interval around each one-step forecast should hold.

        Returns
        -------
        result : Anomalies, or a frame with columns ``y``, ``yhat``, ``lo``, ``hi``, ``anomaly``
        """
        check_is_fitted(self, "fitted_")
        if isinstance(self.fitted_, FittedLoop):
            raise ValueError("anomalies need strategy='auto'")
        level = checks.number("level", level, 0, 1, open_left=True, open_right=True)
        return anomalies.find(self.fitted_, y, X, past, level)

    def plot(
        self, steps: int | None = None, X: Any = None, *, interval: float = 0.9, series: Any = None,
        history: int | None = None, ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        """Draw the end of a series, its forecast and the interval; needs matplotlib.

        Parameters
        ----------
        steps, X, interval : as in `forecast`
        series : name of a series, optional
            Default: the first.
        history : int, optional
            Steps of the past to show. Default: five horizons.
        ax : axes of matplotlib, optional

        Returns
        -------
        ax : axes of matplotlib
        """
        check_is_fitted(self, "fitted_")
        return pictures.plot(self, steps, X, interval, series, history, ax)

    # -- what was learnt -------------------------------------------------------------------------

    @property
    def horizon_(self) -> int:
        """Steps that members were weighed by."""
        fitted = self.fitted_
        return fitted.loop.horizon_ if isinstance(fitted, FittedLoop) else fitted.ensemble.horizon

    @property
    def season_(self) -> Any:
        """Seasons considered, in steps: a tuple, or a list of tuples for several series."""
        fitted = self._members_only("season_")
        return fitted.seasons[0] if fitted.count == 1 else list(fitted.seasons)

    @property
    def weights_(self) -> Any:
        """What each member counts: a dict, or a list of dicts for several series."""
        fitted = self._members_only("weights_")
        every = member_weights(fitted.ensemble)
        return every[0] if fitted.count == 1 else every

    @property
    def notes_(self) -> list[str]:
        """What to know about the data and the fit."""
        return list(self.fitted_.notes)

    @property
    def names_(self) -> list[Any]:
        """Names of the series."""
        return list(self.fitted_.layout.names)

    @property
    def n_features_in_(self) -> int:
        """Number of series."""
        if not hasattr(self, "fitted_"):
            raise AttributeError("n_features_in_ is there after fit")
        return len(self.fitted_.layout.names)

    def _members_only(self, name: str) -> FittedForecaster:
        if isinstance(self.fitted_, FittedLoop):
            raise AttributeError(f"{name} is there with strategy='auto' only")
        return self.fitted_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags
