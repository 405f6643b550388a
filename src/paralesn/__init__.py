"""Parallel echo state networks: reservoirs drawn once and run at memory speed."""

from importlib.metadata import version

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.persistence import load, save
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.diagonal import ParalESN
from paralesn.reservoirs.layers import DiagonalLayer
from paralesn.reservoirs.state import State

__version__ = version("paralesn")

__all__ = [
    "DiagonalLayer",
    "MLP",
    "ParalESN",
    "ReservoirClassifier",
    "ReservoirRegressor",
    "Ridge",
    "State",
    "__version__",
    "load",
    "save",
]
