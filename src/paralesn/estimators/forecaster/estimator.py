"""Forecasting: the next steps of one series or of many."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.estimators import defaults
from paralesn.estimators.components import own_readout, own_reservoir
from paralesn.estimators.forecaster import anomalies, closed_loop, following, pictures
from paralesn.estimators.forecaster.fitted import FittedForecaster, FittedLoop
from paralesn.estimators.forecaster.learning import Request, fit_panel
from paralesn.estimators.forecaster.output import assemble
from paralesn.estimators.forecaster.panel import LongNames, read_panel
from paralesn.estimators.forecaster.poles import seasonal_reservoir
from paralesn.estimators.forecaster.seasons import check_season
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge

_NOT_A_TARGET = (
    "X must hold inputs (time, inputs) that go with the series y, got one value for each row of a "
    "table y. Was it called as fit(X, y), as scikit-learn's searches do? A forecaster takes "
    "fit(y, X): use paralesn.backtest and paralesn.tune, or give X as (time, 1)"
)


class Forecaster(BaseEstimator):
    """What forecasters with members weighed by rolling origins have in common."""

    fitted_: FittedForecaster | FittedLoop

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self,
        y: Any,
        X: Any = None,
        *,
        past: Any = None,
        static: Any = None,
        id: str = "unique_id",
        time: str = "ds",
        target: str = "y",
    ) -> Self:
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
        if getattr(X, "ndim", 0) == 1 and np.ndim(y) == 2 and not hasattr(y, "columns"):
            raise ValueError(_NOT_A_TARGET)
        panel = read_panel(y, names, self._frequency(), least=2)
        self.fitted_ = fit_panel(panel, y, X, past, static, names, self._request())
        return self

    def _frequency(self) -> str | None:
        return getattr(self, "frequency", None)

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
            intervals stay.
        """
        check_is_fitted(self, "fitted_")
        checks.flag("refit", refit)
        fitted = self.fitted_
        if isinstance(fitted, FittedLoop):
            self.fitted_ = closed_loop.update(fitted, y, X, refit)
            return self
        after = following.advance(fitted, y, X, past)
        self.fitted_ = following.refitted(after, self._request()) if refit else after
        return self

    # -- forecasting -----------------------------------------------------------------------------

    def forecast(
        self,
        steps: Any = None,
        X: Any = None,
        interval: Any = None,
        *,
        quantiles: Any = None,
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
            of their own. With inputs known in advance, X holds the rows of y and those to come.

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
            if y is not None:
                raise ValueError("y must be None with strategy='closed-loop': fit a model to it")
            return closed_loop.forecast(fitted, steps, X, interval, quantiles)
        steps = fitted.ensemble.horizon if steps is None else checks.integer("steps", steps, 1)
        if y is not None:
            fitted, X = following.of_new_series(fitted, y, X, past, static, steps)
        values, bounds = following.ahead(fitted, X, steps)
        grids = fitted.ends.grids()
        return assemble(fitted.layout, grids, values, bounds, interval, quantiles)

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
            return self.fitted_.loop.predict(y, X, follow=True)
        return following.from_every_step(self.fitted_, y, X, past)

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
        history: int | None = None, ax: Any = None,
    ) -> Any:  # fmt: skip
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
        every = following.weights(fitted)
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


@register
class ReservoirForecaster(Forecaster):
    r"""Forecast one series or many; good without any setting, on short series and on long ones.

    Three members are weighed by the errors of their forecasts from rolling origins, recent ones
    counting more: a bank of smoothers (`SmootherBank`); a reservoir that reads the changes of the
    series, and a readout that predicts all steps of the horizon from its state; and the same with
    logarithms, where values are positive. Several series share one readout. Where data are few the
    bank decides, on long series the reservoir does.

    Forecasts minimise absolute errors. They are medians: for a series that is mostly zero that may
    well be zero. Forecasts of series that never were negative are not negative.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default: a linear one with poles for the seasons of the data.
    readout : regressor, optional
        Default: `Ridge`, its penalty chosen on the last quarter of each series.
    horizon : int, optional
        Steps that forecasts are made for; longer ones are made from forecasts. Default: two
        seasons, or one step with the closed loop.
    season : "auto", int or sequence of int
        Steps of the season, or of several; 1: none. "auto": those the time index suggests and the
        data support or, without an index, those found in the data.
    strategy : "auto" or "closed-loop"
        The closed loop is for systems that follow their own law, such as Lorenz': one reservoir
        reads all columns of y together, and predictions are fed back as observations. A forecast
        that leaves the range of what was seen by three times that range is an error.
    calendar : str or sequence of str, optional
        Inputs from the time index: "hour", "weekday", "month", "quarter", "day", "week", "weekend",
        or "auto".
    frequency : str, optional
        Average irregular rows over steps of this length, such as "15min", "h", "D", "W", "MS".
    n_jobs : int, optional
        Threads. Default: every core. The result does not depend on it.

    Attributes
    ----------
    horizon_ : int
    season_ : tuple of int, or a list of them for several series
    weights_ : dict of str to float, or a list of them
    notes_ : list of str
        What to know about the data and the fit.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> t = np.arange(144)
    >>> y = (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12))
    >>> model = pe.ReservoirForecaster(horizon=12).fit(y[:132])
    >>> model.season_
    (12,)
    >>> values, lower, upper = model.forecast(interval=0.9)
    >>> bool(np.abs(values - y[132:]).max() < 10)
    True
    """

    def __init__(
        self,
        reservoir: Any = None,
        readout: Any = None,
        *,
        horizon: int | None = None,
        season: Any = "auto",
        strategy: str = "auto",
        calendar: Any = None,
        frequency: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.horizon = horizon
        self.season = season
        self.strategy = strategy
        self.calendar = calendar
        self.frequency = frequency
        self.n_jobs = n_jobs

    def fit(
        self, y: Any, X: Any = None, *, past: Any = None, static: Any = None, id: str = "unique_id",
        time: str = "ds", target: str = "y",
    ) -> Self:  # fmt: skip
        """Fit to one series or to many; see `Forecaster.fit`."""
        checks.choice("strategy", self.strategy, ("auto", "closed-loop"))
        if self.strategy == "auto":
            return super().fit(y, X, past=past, static=static, id=id, time=time, target=target)
        names = LongNames(id, time, target)
        self._request()
        if past is not None or static is not None or self.calendar is not None:
            raise ValueError("past, static and calendar need strategy='auto'")
        panel = read_panel(y, names, self.frequency, least=2)
        given = (self.reservoir, self.readout, self.horizon or 1)
        self.fitted_ = closed_loop.fit(panel, X, names, self.frequency, *given)
        return self

    fit.__doc__ = Forecaster.fit.__doc__

    @property
    def reservoir_(self) -> Any:
        """The reservoir that was drawn, or made for the seasons of the data."""
        return self._reader("reservoir_").reservoir

    @property
    def readout_(self) -> Any:
        """Its readout."""
        return self._reader("readout_").readout

    def _reader(self, name: str) -> Any:
        """What holds reservoir and readout: the closed loop, or the first that series share."""
        if not hasattr(self, "fitted_"):
            raise AttributeError(f"{name} is there after fit")
        if isinstance(self.fitted_, FittedLoop):
            return self.fitted_.loop.fitted_
        if not self.fitted_.ensemble.shared:
            raise AttributeError(f"{name} is not there: the series is too short for a reservoir")
        return self.fitted_.ensemble.shared[0]

    def _request(self) -> Request:
        if self.horizon is not None:
            checks.integer("horizon", self.horizon, 1)
        readout = own_readout(self.readout, defaults.shared_readout, "regression")
        if isinstance(readout, Ridge):  # also where the series is too short for it
            readout.check_parameters()
        make: Callable[..., Any] = seasonal_reservoir
        if self.reservoir is not None:
            own_reservoir(self.reservoir, defaults.forecasting_reservoir, True)
            given = self.reservoir

            def make(seasons: tuple[int, ...], length: int, inputs: int) -> Any:
                return clone(given)

        return Request(
            self.horizon, check_season(self.season), self.calendar, self.frequency, make, readout,
            checks.jobs(self.n_jobs),
        )  # fmt: skip


@register
class SmootherBank(Forecaster):
    r"""Forecast by a bank of exponential smoothers alone: a reservoir whose poles are chosen.

    Level (gains .05 to 1), trend (none, damped, not damped, or drifting along the line through what
    was seen) and season (gains 0 to .3) in all combinations, on values and, where they are
    positive, on logarithms: linear recurrences (`SmootherLayer`), all run over the series in one
    pass. With them the seasonal naive. Each forecasts from up to a hundred origins in the last two
    thirds of the series; a smoother whose mean absolute error there is e counts e^-p, p growing
    with what was seen. Series that are mostly zero get smoothers of demand instead.

    It fits any series of two or more points, in milliseconds.

    Parameters
    ----------
    horizon, season, frequency, n_jobs : as in `ReservoirForecaster`

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> model = pe.SmootherBank(horizon=3).fit([10.0, 12.0, 13.0, 12.0, 15.0, 16.0])
    >>> model.forecast().shape
    (3,)
    """

    def __init__(
        self, *, horizon: int | None = None, season: Any = "auto", frequency: str | None = None,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.horizon = horizon
        self.season = season
        self.frequency = frequency
        self.n_jobs = n_jobs

    def _request(self) -> Request:
        if self.horizon is not None:
            checks.integer("horizon", self.horizon, 1)
        season, jobs = check_season(self.season), checks.jobs(self.n_jobs)
        return Request(self.horizon, season, None, self.frequency, None, None, jobs)


__all__ = ["Forecaster", "ReservoirForecaster", "SmootherBank", "replace"]
