"""The forecaster for sktime: horizons, index types and tags as its users know them.

Needs the extra ``sktime``: ``pip install 'paralesn[sktime]'``.
"""

from typing import Any

import numpy as np

from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.files import require

require("sktime", "sktime", purpose="paralesn.sktime")
import pandas as pd  # noqa: E402
from sktime.forecasting.base import BaseForecaster, ForecastingHorizon  # noqa: E402


class ParalESNForecaster(BaseForecaster):
    """Forecast by smoothers and a reservoir: `ReservoirForecaster` for sktime.

    Columns of a multivariate y are series that share one readout. Steps before the end of the data
    are forecast one step ahead; the first has no forecast and is NaN. Intervals and quantiles
    rest on the errors of forecasts from rolling origins. Panels and hierarchies are forecast
    series by series, as sktime does it.

    Parameters
    ----------
    reservoir, readout : as in `ReservoirForecaster`
    horizon : int, optional
        Steps that members are weighed by. Default: the last step of the `fh` given to `fit`, or
        two seasons without one.
    season : "auto", int or sequence of int
        Steps of the season, or of several; 1: none.
    strategy : "auto" or "closed-loop"
        The closed loop is for systems that follow their own law. It needs complete data, numeric
        X for every step, and makes no in-sample forecasts. Its intervals need long series, which
        sktime has no tag for: ask `model_` for them.
    calendar : str or sequence of str, optional
        Inputs from the time index, as in `ReservoirForecaster`.
    n_jobs : int, optional
        Threads. Default: every core. The result does not depend on it.

    Attributes
    ----------
    model_ : ReservoirForecaster
        The fitted model, with `weights_`, `season_` and `notes_`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from paralesn.sktime import ParalESNForecaster  # doctest: +SKIP
    >>> t = pd.period_range("2015-01", periods=96, freq="M")
    >>> y = pd.Series(100 + np.arange(96) + 20 * np.sin(np.arange(96) * np.pi / 6), t)
    >>> model = ParalESNForecaster().fit(y, fh=range(1, 13))  # doctest: +SKIP
    >>> values, bounds = model.predict(), model.predict_interval(coverage=0.9)  # doctest: +SKIP
    """

    _tags = {  # noqa: RUF012
        "authors": "paralesn developers",
        "maintainers": "paralesn developers",
        "capability:multivariate": True,
        "capability:exogenous": True,
        "capability:categorical_in_X": True,
        "capability:non_contiguous_X": True,
        "capability:missing_values": True,
        "capability:insample": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": True,
        "capability:update": True,
        "capability:unequal_length": True,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.DataFrame",
        "X_inner_mtype": "pd.DataFrame",
    }
    _config = {"remember_data": False}  # noqa: RUF012 - the model remembers what it needs
    _y = _X = None

    def __init__(
        self,
        reservoir: Any = None,
        readout: Any = None,
        horizon: int | None = None,
        season: Any = "auto",
        strategy: str = "auto",
        calendar: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.horizon = horizon
        self.season = season
        self.strategy = strategy
        self.calendar = calendar
        self.n_jobs = n_jobs
        super().__init__()
        if strategy == "closed-loop":
            self.set_tags(
                **{
                    "capability:insample": False,
                    "capability:pred_int": False,
                    "capability:pred_int:insample": False,
                    "capability:missing_values": False,
                    "capability:categorical_in_X": False,
                    "capability:non_contiguous_X": False,
                }
            )

    def _fit(self, y: Any, X: Any, fh: Any) -> "ParalESNForecaster":
        ahead = 0 if fh is None else int(fh.to_relative(self.cutoff).to_numpy().max())
        self.model_ = ReservoirForecaster(
            self.reservoir,
            self.readout,
            horizon=self.horizon if self.horizon is not None or ahead < 1 else ahead,
            season=self.season,
            strategy=self.strategy,
            calendar=self.calendar,
            n_jobs=self.n_jobs,
        )
        self._inputs = None if X is None else list(X.columns)
        self._end = self.cutoff  # of what the model saw; sktime may set the cutoff back
        self.model_.fit(_numbered(y, y.index), self._rows(X, y.index))
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> "ParalESNForecaster":
        """Rows that were seen already are left out; times that are skipped are missing values."""
        new = y[y.index > self._end[0]]
        if len(new):
            times = _continued(self._end, new.index, self.model_.fitted_.ends.clock)
            rows = self._rows(X, times)
            self.model_.update(_numbered(new, times), rows, refit=bool(update_params))
            self._end = self.cutoff
        return self

    def _predict(self, fh: Any, X: Any) -> Any:
        values = self._steps(fh, X, [])[..., 0]
        return pd.DataFrame(values, fh.to_absolute_index(self.cutoff), self._get_varnames())

    def _predict_quantiles(self, fh: Any, X: Any, alpha: list[float]) -> Any:
        shares = sorted(set(alpha))
        values = self._steps(fh, X, shares)[..., [1 + shares.index(share) for share in alpha]]
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        index = fh.to_absolute_index(self.cutoff)
        return pd.DataFrame(values.reshape(len(index), -1), index, columns)

    def _steps(self, fh: Any, X: Any, shares: list[float]) -> np.ndarray:
        """Forecasts of the steps of `fh`, then their quantiles (steps, series, 1 + quantiles)."""
        steps = fh.to_relative(self.cutoff).to_numpy().astype(int)
        if self.cutoff[0] != self._end[0]:
            end = ForecastingHorizon(self._end, is_relative=False, freq=fh.freq)
            steps = steps - end.to_relative(self.cutoff).to_numpy().astype(int)
        out = np.full((len(steps), len(self._get_varnames()), 1 + len(shares)), np.nan)
        is_ahead = steps > 0
        if is_ahead.any():
            out[is_ahead] = self._ahead(steps[is_ahead], X, shares, fh.freq)
        if not is_ahead.all():
            out[~is_ahead] = self._behind(steps[~is_ahead], shares)
        return out

    def _ahead(self, steps: np.ndarray, X: Any, shares: list[float], freq: Any) -> np.ndarray:
        """Forecasts of steps after the end, counted from 1."""
        count = int(steps.max())
        rows = None
        if X is not None or self._inputs is not None:
            horizon = ForecastingHorizon(range(1, count + 1), freq=freq)
            times = horizon.to_absolute_index(self._end)
            rows = self._rows(X, times, steps)
        table = self.model_.forecast(count, rows, quantiles=shares or None)
        return table.to_numpy().reshape(count, -1, 1 + len(shares))[steps - 1]

    def _behind(self, steps: np.ndarray, shares: list[float]) -> np.ndarray:
        """One-step forecasts of what was seen; 0 is the last step."""
        series = len(self._get_varnames())

        def column(level: float, name: str) -> np.ndarray:
            found = self.model_.anomalies(level=level)[name].to_numpy()
            table = found.reshape(series, -1).T
            if len(table) - 1 + steps.min() < 0:
                raise ValueError(
                    f"fh must not begin before y, which has {len(table)} steps, got {steps.min()}"
                )
            return table[len(table) - 1 + steps]

        columns = [column(0.5, "yhat")]
        for share in shares:
            level = abs(2 * share - 1)
            name = "lo" if share < 0.5 else "hi"
            columns.append(column(level, name) if level > 1e-9 else columns[0])
        return np.stack(columns, axis=-1)

    def _rows(self, X: Any, times: Any, steps: np.ndarray | None = None) -> np.ndarray | None:
        """Inputs at these times (times, inputs), NaN where there is none.

        `steps` are those of the times, counted from 1, that are forecast: each must be there.
        """
        if self._inputs is None:
            return None if X is None else X.to_numpy()  # which the model refuses
        missing = [name for name in self._inputs if X is None or name not in X.columns]
        if missing:
            raise ValueError(f"X must have the columns of fit, got none named {missing[0]!r}")
        at = X.index.get_indexer(times)
        if steps is not None:
            needed = steps - 1 if self.strategy == "auto" else np.arange(len(at))
            absent = needed[at[needed] < 0]
            if absent.size:
                raise ValueError(
                    f"X must have a row for every step to forecast, got none for {times[absent[0]]}"
                )
            # Inputs act at their own step only: rows of steps that nobody asked for do not count.
            at = np.where(at < 0, at[needed[0]], at)
        columns = [_plain(X[name], at) for name in self._inputs]
        kind = object if any(column.dtype == object for column in columns) else float
        return np.stack([column.astype(kind) for column in columns], axis=1)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters of instances that sktime checks."""
        from paralesn.readouts.ridge import Ridge
        from paralesn.reservoirs.paralesn import ParalESN

        small = {"reservoir": ParalESN(units=10, seed=0), "readout": Ridge((0.1,))}
        return [
            {"n_jobs": 1},
            {**small, "season": 4, "horizon": 2, "n_jobs": 1},
            {"strategy": "closed-loop", "n_jobs": 1},
        ]


def _numbered(y: Any, times: Any) -> Any:
    """The series at these times, with columns that cannot be taken for those of a long frame."""
    values = y.to_numpy(dtype=float, na_value=np.nan)
    if times is not y.index:
        at = y.index.get_indexer(times)
        values = np.where((at >= 0)[:, None], values[at], np.nan)
    return pd.DataFrame(values, times, [f"series {k}" for k in range(values.shape[1])])


def _continued(end: Any, times: Any, clock: Any) -> Any:
    """All times after the end, up to the last of `times`; as they are where no rule holds them."""
    if isinstance(times, pd.PeriodIndex):
        return pd.period_range(end[0] + 1, times[-1], freq=times.freq)
    if isinstance(times, pd.DatetimeIndex):
        freq = end.freq or times.freq
        every = times if freq is None else pd.date_range(end[0], times[-1], freq=freq)[1:]
    else:
        step = int(clock.step) if clock.kind == "numbers" else 1
        every = pd.RangeIndex(end[0] + step, times[-1] + 1, step)
    return every if times.isin(every).all() else times


def _plain(column: Any, at: np.ndarray) -> np.ndarray:
    """Rows of an input as floats, or as text where it is no number; missing ones for -1."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return np.where(at >= 0, values[at], np.nan)
    values = column.astype(object).to_numpy()
    return np.array([None if k < 0 or pd.isna(values[k]) else str(values[k]) for k in at], object)
