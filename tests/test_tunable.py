"""Components that were not given are tuned by name: by hand, by searches, in pipelines, cloned."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.estimators import defaults
from paralesn.features.pooled_states import default_reservoir


def series(rng):
    x = rng.uniform(-1, 1, (400, 1))
    return x, x[:, 0] * np.roll(x[:, 0], 1)


def cases(rng):
    t = np.arange(60)
    X = np.array([np.sin(t / p + rng.uniform(0, 6)) for p in (5, 7) for _ in range(12)])
    return X, np.repeat(["a", "b"], 12)


DEFAULTS = [
    (pe.ReservoirRegressor(), "reservoir", defaults.regressing_reservoir()),
    (pe.ReservoirRegressor(), "readout", defaults.regressing_readout()),
    (pe.ReservoirClassifier(), "features", pe.FilterBank()),
    (pe.ReservoirClassifier(), "readout", pe.DualRidge()),
    (pe.ReservoirClassifier(pe.PooledStates()), "readout",
     defaults.classifying_readout(pe.PooledStates())),
    (pe.PooledStates(), "reservoir", default_reservoir()),
    (pe.ReservoirForecaster(), "reservoir", defaults.direct_reservoir()),
    (pe.ReservoirForecaster(), "readout", defaults.shared_readout()),
    (pe.ReservoirForecaster(strategy="closed-loop"), "reservoir",
     defaults.forecasting_reservoir()),
    (pe.ReservoirForecaster(strategy="closed-loop"), "readout", defaults.loop_readout()),
]  # fmt: skip


@pytest.mark.parametrize(("model", "name", "default"), DEFAULTS)
def test_parameters_of_a_default_are_listed_and_set(model, name, default):
    model = clone(model)
    listed = {k: v for k, v in model.get_params().items() if k.startswith(f"{name}__")}
    assert listed == {f"{name}__{k}": v for k, v in default.get_params().items()}
    assert model.get_params(deep=False)[name] is None
    key = next(k for k in listed if k.endswith(("units", "alphas")))
    value = 7 if key.endswith("units") else (0.5,)
    changed = clone(model.set_params(**{key: value}))
    assert getattr(changed, name).get_params() == default.set_params(
        **{key.removeprefix(f"{name}__"): value}
    ).get_params()  # fmt: skip


def test_a_default_that_is_named_predicts_as_one_that_is_not(rng):
    x, y = series(rng)
    plain = pe.ReservoirRegressor().fit(x, y)
    named = pe.ReservoirRegressor().set_params(reservoir__units=400, readout__per_target=False)
    assert named.reservoir is not None
    np.testing.assert_array_equal(named.fit(x, y).predict(x), plain.predict(x))


def test_components_are_set_before_their_parameters():
    for order in (1, -1):
        settings = [("features", pe.PooledStates()), ("features__reservoir__units", 9)][::order]
        model = pe.ReservoirClassifier().set_params(**dict(settings))
        assert model.features.reservoir.units == 9
        assert model.features.reservoir.input_scale == default_reservoir().input_scale
    model = pe.ReservoirRegressor(pe.ESN(units=3))
    model.set_params(reservoir__units=5, reservoir=None)
    assert isinstance(model.reservoir, pe.ParalESN)
    assert model.reservoir.units == 5
    model.set_params(reservoir=None)
    assert model.reservoir is None
    assert repr(model) == "ReservoirRegressor()"


def test_wrong_names_are_refused_and_change_nothing():
    model = pe.ReservoirRegressor()
    with pytest.raises(ValueError, match="Invalid parameter 'unit' for estimator ParalESN"):
        model.set_params(reservoir__unit=5)
    assert model.reservoir is None
    with pytest.raises(ValueError, match="Invalid parameter 'reservoirs' for estimator Res"):
        model.set_params(reservoirs__units=5)
    with pytest.raises(ValueError, match="Invalid parameter 'units' for estimator Res"):
        model.set_params(units=5)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_searches(search, rng):
    options = {"n_iter": 2} if search is RandomizedSearchCV else {}
    options |= {"random_state": 0} if search is not GridSearchCV else {}
    x, y = series(rng)
    grid = {"reservoir__units": [6, 240]}
    found = search(pe.ReservoirRegressor(), grid, cv=TimeSeriesSplit(2), **options).fit(x, y)
    assert found.best_estimator_.reservoir_.units == found.best_params_["reservoir__units"]
    if search is not HalvingGridSearchCV:  # which draws rows at random, and so has no time
        assert found.best_params_ == {"reservoir__units": 240}
        assert found.best_score_ > 0.9
    X, labels = cases(rng)
    grid = {"features__units": [64, 128]}
    found = search(pe.ReservoirClassifier(), grid, cv=2, **options).fit(X, labels)
    assert found.best_estimator_.features_.units == found.best_params_["features__units"]
    grid = {"features__reservoir__units": [8, 16], "readout__alphas": [(1.0,)]}
    found = search(pe.ReservoirClassifier(pe.PooledStates()), grid, cv=2, **options)
    assert found.fit(X, labels).best_estimator_.readout_.alpha_ == 1.0


def test_search_of_a_pipeline(rng):
    x, y = series(rng)
    model = make_pipeline(StandardScaler(), pe.ReservoirRegressor(standardize=False))
    grid = {"reservoirregressor__reservoir__units": [6, 240]}
    found = GridSearchCV(model, grid, cv=TimeSeriesSplit(2)).fit(x, y)
    assert found.best_params_ == {"reservoirregressor__reservoir__units": 240}


@pytest.mark.filterwarnings("ignore")  # of Optuna about itself
def test_search_by_optuna(rng):
    pytest.importorskip("optuna")
    integration = pytest.importorskip("optuna_integration", reason="optuna-integration is missing")
    from optuna.distributions import CategoricalDistribution

    x, y = series(rng)
    space = {"reservoir__units": CategoricalDistribution([6, 240])}
    found = integration.OptunaSearchCV(
        pe.ReservoirRegressor(), space, cv=TimeSeriesSplit(2), n_trials=4, random_state=0
    ).fit(x, y)
    assert found.best_params_ == {"reservoir__units": 240}
    assert found.best_estimator_.reservoir_.units == 240


def test_a_default_that_is_tuned_travels(rng, tmp_path):
    x, y = series(rng)
    model = pe.ReservoirRegressor().set_params(reservoir__units=20).fit(x, y)
    pe.save(model, tmp_path / "model")
    again = pe.load(tmp_path / "model")
    assert again.get_params() == model.get_params() | {
        name: again.get_params()[name] for name in ("reservoir", "readout")
    }
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
