"""Forecast, classify and model time series with parallel echo state networks."""

from importlib.metadata import version

from paralesn import theory
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.forecaster.estimator import ReservoirForecaster, SmootherBank
from paralesn.estimators.forecaster.spread import Forecast
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.series_regressor import ReservoirSeriesRegressor
from paralesn.features.filter_bank import FilterBank
from paralesn.features.pooled_states import PooledStates
from paralesn.layers import operators
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.layers.smoothers import SmootherLayer
from paralesn.layers.state import State
from paralesn.persistence import load, register, save
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.esn import ESN, ResESN
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.reservoirs.structured import SCR, StructuredRC
from paralesn.workflows.backtest_result import Backtest
from paralesn.workflows.rolling_origin import backtest
from paralesn.workflows.tuning import Tuned, tune

__version__ = version("paralesn")

__all__ = [
    "Backtest",
    "DiagonalLayer",
    "DualRidge",
    "ESN",
    "FilterBank",
    "Forecast",
    "MLP",
    "ParalESN",
    "PooledStates",
    "RecurrentLayer",
    "ResESN",
    "ReservoirClassifier",
    "ReservoirForecaster",
    "SmootherBank",
    "SmootherLayer",
    "ReservoirRegressor",
    "ReservoirSeriesRegressor",
    "Ridge",
    "SCR",
    "State",
    "StructuredRC",
    "Tuned",
    "__version__",
    "backtest",
    "load",
    "operators",
    "register",
    "save",
    "theory",
    "tune",
]
