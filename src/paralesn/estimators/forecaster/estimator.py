"""Forecasting: the next steps of one series or of many."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, cast

from paralesn import checks
from paralesn.estimators import defaults
from paralesn.estimators.components import own_readout, own_reservoir
from paralesn.estimators.forecaster import watched_loop
from paralesn.estimators.forecaster.fitted import FittedLoop
from paralesn.estimators.forecaster.fitting import CopyOf, Request
from paralesn.estimators.forecaster.forms import Data, Given
from paralesn.estimators.forecaster.members import Forecaster
from paralesn.estimators.forecaster.panel import LongNames, read_panel
from paralesn.estimators.forecaster.poles import seasonal_reservoir
from paralesn.estimators.forecaster.roles import check_roles
from paralesn.estimators.forecaster.seasons import check_season
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.autonomous import ClosedLoop
from paralesn.runtime.memory import require_room
from paralesn.tunable import TunableDefaults

_LOOP = "closed-loop"


@register
class ReservoirForecaster(TunableDefaults, Forecaster[Given]):
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
        Default: a linear one with poles for the seasons of the data. These have no parameters:
        naming one, as in ``set_params(reservoir__units=64)``, puts a linear `ParalESN` with 128
        units of random radii in their place. In the closed loop the default is a `ParalESN`.
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
        reads all columns of y together, and predictions are fed back as observations. From 200
        steps on, and without X, closed loops into the last fifth of y choose the penalty of a
        `Ridge`, whether changes or values are predicted and, where none is given, one of five
        reservoirs. A forecast that leaves the range of what was seen by three times that range is
        an error.
    calendar : str or sequence of str, optional
        Inputs from the time index: "hour", "weekday", "month", "quarter", "day", "week", "weekend",
        or "auto".
    frequency : str, optional
        Average irregular rows over steps of this length, such as "15min", "h", "D", "W", "MS".
    noise : float
        With the closed loop: standard deviation of Gaussian noise on what is learnt from, in
        standard deviations of y. A little (1e-4 to 1e-2) keeps loops bounded that run away without
        it, and makes single steps less accurate.
    spin_up : int, optional
        With the closed loop: first steps, in which the reservoir forgets that it started from zero,
        and which are not learnt from. Default: 100, at most a fifth of y.
    n_jobs : int, optional
        Threads. Default: every core. The result does not depend on it.

    Attributes
    ----------
    horizon_ : int
    closed_loop_ : ClosedLoop
        With the closed loop: the fitted model as a dynamical system of its own, whose Lyapunov
        exponents `paralesn.theory` computes.
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

    DEFAULT_COMPONENTS: ClassVar = {
        "reservoir": lambda model: (
            defaults.forecasting_reservoir()
            if model.strategy == _LOOP
            else defaults.direct_reservoir()
        ),
        "readout": lambda model: (
            defaults.loop_readout() if model.strategy == _LOOP else defaults.shared_readout()
        ),
    }

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
        noise: float = 0.0,
        spin_up: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.horizon = horizon
        self.season = season
        self.strategy = strategy
        self.calendar = calendar
        self.frequency = frequency
        self.noise = noise
        self.spin_up = spin_up
        self.n_jobs = n_jobs

    def fit(
        self, y: Data, X: Any = None, *, past: Any = None, static: Any = None,
        id: str = "unique_id", time: str = "ds", target: str = "y",
    ) -> "ReservoirForecaster[Data]":  # fmt: skip
        """Fit to one series or to many; see `Forecaster.fit`."""
        fitted = cast("ReservoirForecaster[Data]", self)
        noise = self._check_strategy()
        if self.strategy == "auto":
            super().fit(y, X, past=past, static=static, id=id, time=time, target=target)
            return fitted
        names = LongNames(id, time, target)
        check_roles(y, X)
        self._request()
        if past is not None or static is not None or self.calendar is not None:
            raise ValueError("past, static and calendar need strategy='auto'")
        panel = read_panel(y, names, self.frequency, least=2)
        given = (self.reservoir, self.readout, self.horizon or 1, noise, self.spin_up)
        self.fitted_ = watched_loop.fit(panel, X, names, self.frequency, *given)
        return fitted

    fit.__doc__ = Forecaster.fit.__doc__

    @property
    def reservoir_(self) -> Any:
        """The reservoir that was drawn, or made for the seasons of the data."""
        return self._reader("reservoir_").reservoir

    @property
    def readout_(self) -> Any:
        """Its readout."""
        return self._reader("readout_").readout

    @property
    def closed_loop_(self) -> ClosedLoop:
        """The fitted model as a dynamical system of its own."""
        if not isinstance(getattr(self, "fitted_", None), FittedLoop):
            raise AttributeError("closed_loop_ is there after fit with strategy='closed-loop'")
        return cast(FittedLoop, self.fitted_).loop.closed_loop_

    def _reader(self, name: str) -> Any:
        """What holds reservoir and readout: the closed loop, or the first that series share."""
        if not hasattr(self, "fitted_"):
            raise AttributeError(f"{name} is there after fit")
        if isinstance(self.fitted_, FittedLoop):
            return self.fitted_.loop.fitted_
        if not self.fitted_.ensemble.shared:
            raise AttributeError(f"{name} is not there: the series is too short for a reservoir")
        return self.fitted_.ensemble.shared[0]

    def _check_strategy(self) -> float:
        """Raise for what the strategy cannot do, and return the noise."""
        checks.choice("strategy", self.strategy, ("auto", _LOOP))
        noise = checks.number("noise", self.noise, 0.0)
        if self.spin_up is not None:
            checks.integer("spin_up", self.spin_up, 0)
        if self.strategy == _LOOP:
            return noise
        for name, value in (("noise", noise or None), ("spin_up", self.spin_up)):
            if value is not None:
                raise ValueError(f"{name} needs strategy='closed-loop', got {value!r}")
        if getattr(self.reservoir, "is_local", False):
            raise ValueError("a reservoir of patches needs strategy='closed-loop'")
        if getattr(self.reservoir, "adapts", False):
            expected = "one that does not adapt to its input, except with 'closed-loop'"
            raise checks.fail("reservoir", self.reservoir, expected)
        return noise

    def request_for_blocks(self) -> Request:
        """Parameters of `fit` over blocks of series, checked."""
        self._check_strategy()
        if self.strategy == _LOOP:
            expected = "'auto' for blocks of series: a closed loop reads all columns of y together"
            raise checks.fail("strategy", self.strategy, expected)
        return self._request()

    def _request(self) -> Request:
        if self.horizon is not None:
            require_room("horizon", self.horizon, 512 * checks.integer("horizon", self.horizon, 1))
        readout = own_readout(self.readout, defaults.shared_readout, "regression")
        if isinstance(readout, Ridge):  # also where the series is too short for it
            readout.check_parameters()
        make: Callable[..., Any] = seasonal_reservoir
        if self.reservoir is not None:
            own_reservoir(self.reservoir, defaults.forecasting_reservoir, True)
            make = CopyOf(self.reservoir)
        return Request(
            self.horizon, check_season(self.season), self.calendar, self.frequency, make, readout,
            checks.jobs(self.n_jobs),
        )  # fmt: skip


@register
class SmootherBank(Forecaster[Given]):
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

    def fit(
        self, y: Data, X: Any = None, *, past: Any = None, static: Any = None,
        id: str = "unique_id", time: str = "ds", target: str = "y",
    ) -> "SmootherBank[Data]":  # fmt: skip
        """Fit to one series or to many; see `Forecaster.fit`."""
        super().fit(y, X, past=past, static=static, id=id, time=time, target=target)
        return cast("SmootherBank[Data]", self)

    fit.__doc__ = Forecaster.fit.__doc__

    def _request(self) -> Request:
        if self.horizon is not None:
            require_room("horizon", self.horizon, 512 * checks.integer("horizon", self.horizon, 1))
        season, jobs = check_season(self.season), checks.jobs(self.n_jobs)
        return Request(self.horizon, season, None, self.frequency, None, None, jobs)


__all__ = ["Forecaster", "ReservoirForecaster", "SmootherBank", "replace"]
