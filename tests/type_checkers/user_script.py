"""A user's script: type checkers must agree with every line of it, and it must run."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import polars as pl

import paralesn as pe
from paralesn.datasets import lorenz63
from paralesn.estimators.forecaster.anomalies import Anomalies

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]

t = np.arange(120)
y = (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12))
series = [y, y[:100]]

# Forecasts come as the series came.
of_array = pe.ReservoirForecaster(horizon=12).fit(y)
assert_type(of_array.forecast(), Array)
assert_type(of_array.forecast(6, quantiles=[0.1, 0.9]), Array)
assert_type(of_array.predict(y[:3]), Array)
assert_type(of_array.anomalies(), Anomalies[Array])
assert_type(of_array.update(y[:2]).forecast(), Array)
values, lower, upper = of_array.forecast(interval=0.9)
assert_type(upper, Array)

of_list = pe.SmootherBank(horizon=3).fit(series)
assert_type(of_list.forecast(), list[Array])
assert_type(of_list.forecast(interval=0.9), pe.Forecast[list[Array]])
assert_type(pe.SmootherBank(horizon=3).fit([1.0, 2.0, 4.0, 3.0]).forecast(), Array)

frame = pl.DataFrame({"unique_id": ["a"] * 120, "ds": t, "y": y})
of_frame = pe.SmootherBank(horizon=3).fit(frame)
assert_type(of_frame, pe.SmootherBank[pl.DataFrame])
assert_type(of_frame.forecast(interval=0.9), pl.DataFrame)

# Reservoirs, regressors, classifiers.
reservoir = pe.ParalESN(units=16, rho=(0.2, 0.9), seed=1)
states, state = reservoir.run(y)
assert_type(states, Array)
assert_type(state, pe.State)
assert_type(reservoir.run(series)[0], list[Array])
assert_type(reservoir.last(y, return_state=True), tuple[Array, pe.State])
regressor = pe.ReservoirRegressor(reservoir, washout=10).fit(y, np.roll(y, 1))
assert_type(regressor, pe.ReservoirRegressor)
assert_type(regressor.predict(y), Array)
assert_type(regressor.predict(y, return_state=True), tuple[Array, pe.State])
many = np.random.default_rng(0).normal(size=(20, 50, 1))
many[10:] = many[10:].cumsum(axis=1)
labels = np.repeat(["noise", "walk"], 10)
classifier = pe.ReservoirClassifier(pe.FilterBank(units=64)).fit(many, labels)
assert_type(classifier.predict(many), Array)

# Files: what comes back is what was expected, or an object to look at.
with TemporaryDirectory() as folder:
    path = Path(folder) / "model.esn"
    pe.save(of_array, path, metadata={"by": "me"})
    again = pe.load(path, pe.ReservoirForecaster)
    assert_type(again, pe.ReservoirForecaster[Any])
    unknown = pe.load(path)
    assert_type(unknown, object)
    if isinstance(unknown, pe.ReservoirForecaster):
        print(unknown.horizon_ + 1)

# Judging, theory, data.
result = pe.backtest(of_array, y, origins=3, yardsticks=["last value"])
assert_type(result, pe.Backtest)
assert_type(result.overall(), float)
assert_type(pe.theory.echo_state_property(reservoir), pe.theory.EchoStateProperty)
assert_type(lorenz63(400), Array)
assert_type(pe.datasets.nile(), Array)
version: str = pe.__version__


def picture(axes: "Axes") -> "Axes":
    """Pictures are drawn on axes of matplotlib."""
    return of_array.plot(ax=axes)
