"""Parallel echo state networks: reservoirs drawn once and run at memory speed."""

from importlib.metadata import version

from paralesn import theory
from paralesn.estimators.calibration import Forecast
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.forecaster import ReservoirForecaster
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.persistence import load, save
from paralesn.readouts.dual import DualRidge
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs import operators
from paralesn.reservoirs.dense import ESN, ResESN
from paralesn.reservoirs.diagonal import ParalESN
from paralesn.reservoirs.filters import FilterBank
from paralesn.reservoirs.layers import DiagonalLayer
from paralesn.reservoirs.recurrent import RecurrentLayer
from paralesn.reservoirs.state import State
from paralesn.reservoirs.structured import SCR, StructuredRC

__version__ = version("paralesn")

__all__ = [
    "DiagonalLayer",
    "DualRidge",
    "ESN",
    "FilterBank",
    "Forecast",
    "MLP",
    "ParalESN",
    "RecurrentLayer",
    "ResESN",
    "ReservoirClassifier",
    "ReservoirForecaster",
    "ReservoirRegressor",
    "Ridge",
    "SCR",
    "State",
    "StructuredRC",
    "__version__",
    "load",
    "operators",
    "save",
    "theory",
]
