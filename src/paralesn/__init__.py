"""Forecast, classify and model time series with parallel echo state networks."""

# Public names and the modules that define them, which are imported when a name is first used
# (PEP 562): `import paralesn` and `paralesn --help` wait for nothing. Editors and type checkers
# read __init__.pyi, so that a new name is a line here and a line there.
_HOMES = {
    "Backtest": "workflows.backtest_result",
    "ClosedLoop": "reservoirs.autonomous",
    "ContinuousESN": "reservoirs.continuous",
    "DelayLayer": "layers.delays",
    "DiagonalLayer": "layers.diagonal",
    "DualRidge": "readouts.dual_ridge",
    "ES2N": "reservoirs.es2n",
    "ESN": "reservoirs.esn",
    "FilterBank": "features.filter_bank",
    "Forecast": "estimators.forecaster.spread",
    "LocalReservoirs": "reservoirs.local_reservoirs",
    "MLP": "readouts.mlp",
    "NVAR": "reservoirs.nvar",
    "ParalESN": "reservoirs.paralesn",
    "PlasticESN": "reservoirs.plasticity",
    "PooledStates": "features.pooled_states",
    "RecurrentLayer": "layers.recurrent",
    "ResESN": "reservoirs.esn",
    "ReservoirClassifier": "estimators.classifier",
    "ReservoirForecaster": "estimators.forecaster.estimator",
    "ReservoirRegressor": "estimators.regressor",
    "ReservoirSeriesRegressor": "estimators.series_regressor",
    "Ridge": "readouts.ridge",
    "SCR": "reservoirs.structured",
    "SmootherBank": "estimators.forecaster.estimator",
    "SmootherLayer": "layers.smoothers",
    "State": "layers.state",
    "Stepper": "reservoirs.stepper",
    "StructuredRC": "reservoirs.structured",
    "Tuned": "workflows.tuning",
    "backtest": "workflows.rolling_origin",
    "load": "persistence.model_file",
    "register": "persistence.registry",
    "save": "persistence.model_file",
    "tune": "workflows.tuning",
}
_MODULES = {"datasets": "datasets", "operators": "layers.operators", "theory": "theory"}

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    """Import what `name` stands for, and keep it: it is asked for once."""
    from importlib import import_module

    from paralesn.runtime.garbage import collection_paused

    if home := _HOMES.get(name) or _MODULES.get(name):
        with collection_paused():
            module = import_module(f"paralesn.{home}")
        value = getattr(module, name) if name in _HOMES else module
    elif name == "__version__":
        from importlib.metadata import version

        value = version("paralesn")
    else:
        raise AttributeError(f"module 'paralesn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
