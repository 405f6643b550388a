# What editors and type checkers see of the public names, which __init__.py imports on first use.
from paralesn import datasets as datasets
from paralesn import theory as theory
from paralesn.estimators.classifier import ReservoirClassifier as ReservoirClassifier
from paralesn.estimators.forecaster.estimator import ReservoirForecaster as ReservoirForecaster
from paralesn.estimators.forecaster.estimator import SmootherBank as SmootherBank
from paralesn.estimators.forecaster.spread import Forecast as Forecast
from paralesn.estimators.regressor import ReservoirRegressor as ReservoirRegressor
from paralesn.estimators.series_regressor import (
    ReservoirSeriesRegressor as ReservoirSeriesRegressor,
)
from paralesn.features.filter_bank import FilterBank as FilterBank
from paralesn.features.pooled_states import PooledStates as PooledStates
from paralesn.layers import operators as operators
from paralesn.layers.delays import DelayLayer as DelayLayer
from paralesn.layers.diagonal import DiagonalLayer as DiagonalLayer
from paralesn.layers.recurrent import RecurrentLayer as RecurrentLayer
from paralesn.layers.smoothers import SmootherLayer as SmootherLayer
from paralesn.layers.state import State as State
from paralesn.persistence.model_file import load as load
from paralesn.persistence.model_file import save as save
from paralesn.persistence.registry import register as register
from paralesn.readouts.dual_ridge import DualRidge as DualRidge
from paralesn.readouts.mlp import MLP as MLP
from paralesn.readouts.ridge import Ridge as Ridge
from paralesn.reservoirs.autonomous import ClosedLoop as ClosedLoop
from paralesn.reservoirs.continuous import ContinuousESN as ContinuousESN
from paralesn.reservoirs.es2n import ES2N as ES2N
from paralesn.reservoirs.esn import ESN as ESN
from paralesn.reservoirs.esn import ResESN as ResESN
from paralesn.reservoirs.local_reservoirs import LocalReservoirs as LocalReservoirs
from paralesn.reservoirs.nvar import NVAR as NVAR
from paralesn.reservoirs.paralesn import ParalESN as ParalESN
from paralesn.reservoirs.plasticity import PlasticESN as PlasticESN
from paralesn.reservoirs.stepper import Stepper as Stepper
from paralesn.reservoirs.structured import SCR as SCR
from paralesn.reservoirs.structured import StructuredRC as StructuredRC
from paralesn.workflows.backtest_result import Backtest as Backtest
from paralesn.workflows.rolling_origin import backtest as backtest
from paralesn.workflows.tuning import Tuned as Tuned
from paralesn.workflows.tuning import tune as tune

__version__: str
__all__: list[str]
