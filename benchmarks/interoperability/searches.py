"""Searches, cross-validation and inspection of scikit-learn, and Optuna."""

from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)

import paralesn as pe
from benchmarks.interoperability.case import (
    INPUTS,
    LABELS,
    SERIES,
    TARGET,
    AbsentError,
    case,
    check,
    same,
)

GROUP = "searches"


def classifier(units: int = 256) -> pe.ReservoirClassifier:
    """A small one."""
    return pe.ReservoirClassifier(pe.FilterBank(units=units))


def regressor(units: int = 30) -> pe.ReservoirRegressor:
    """A small one."""
    return pe.ReservoirRegressor(pe.ParalESN(units=units, seed=0), washout=20)


def by_name(search: Any, X: Any, y: Any) -> Any:
    """Fit a search over parameters of defaults, which a model may not let be named."""
    try:
        return search.fit(X, y)
    except AttributeError as error:
        if "NoneType" in str(error):
            raise AbsentError("defaults cannot be tuned by name") from error
        raise


@case(GROUP, "GridSearchCV, features given")
def grid() -> str:
    search = GridSearchCV(classifier(), {"features__units": [64, 256]}, cv=3)
    search.fit(SERIES, LABELS)
    check(search.best_score_ > 0.9, f"accuracy {search.best_score_:.2f}")
    return f"units {search.best_params_['features__units']}, accuracy {search.best_score_:.2f}"


@case(GROUP, "GridSearchCV, default classifier by name")
def grid_of_default_classifier() -> str:
    search = GridSearchCV(pe.ReservoirClassifier(), {"features__units": [256, 512]}, cv=3)
    by_name(search, SERIES, LABELS)
    units = search.best_params_["features__units"]
    check(search.best_estimator_.features_.units == units, "the units chosen are not used")
    return f"units {units}, accuracy {search.best_score_:.2f}"


@case(GROUP, "GridSearchCV, default regressor by name")
def grid_of_default_regressor() -> str:
    search = GridSearchCV(
        pe.ReservoirRegressor(), {"reservoir__units": [20, 40]}, cv=TimeSeriesSplit(2)
    )
    by_name(search, INPUTS, TARGET)
    units = search.best_params_["reservoir__units"]
    check(search.best_estimator_.reservoir_.units == units, "the units chosen are not used")
    return f"units {units}, R2 {search.best_score_:.3f}"


@case(GROUP, "RandomizedSearchCV over time")
def randomized() -> str:
    space = {"reservoir__input_scale": loguniform(0.01, 1), "washout": [0, 20]}
    cv = TimeSeriesSplit(3)
    search = RandomizedSearchCV(regressor(), space, n_iter=4, cv=cv, random_state=0)
    search.fit(INPUTS, TARGET)
    check(search.best_score_ > 0.9, f"R2 {search.best_score_:.3f}")
    return f"R2 {search.best_score_:.3f} of 4 draws"


@case(GROUP, "HalvingGridSearchCV")
def halving() -> str:
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    space = {"features__units": [64, 128, 256]}
    search = HalvingGridSearchCV(classifier(), space, cv=3, random_state=0)
    search.fit(SERIES, LABELS)
    return f"{search.n_iterations_} rounds, accuracy {search.best_score_:.2f}"


@case(GROUP, "Optuna's OptunaSearchCV", "optuna", "optuna_integration")
def optuna_search() -> str:
    import optuna
    from optuna_integration import OptunaSearchCV

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {"features__units": optuna.distributions.IntDistribution(64, 256, step=64)}
    search = OptunaSearchCV(classifier(), space, cv=3, n_trials=3, random_state=0)
    search.fit(SERIES, LABELS)
    return f"units {search.best_params_['features__units']}, accuracy {search.best_score_:.2f}"


@case(GROUP, "Optuna, an objective of one's own", "optuna")
def optuna_objective() -> str:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        model = regressor().set_params(
            reservoir__input_scale=trial.suggest_float("input_scale", 0.01, 1, log=True)
        )
        return model.fit(INPUTS[:400], TARGET[:400]).score(INPUTS[400:], TARGET[400:])

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=4)
    check(study.best_value > 0.9, f"R2 {study.best_value:.3f}")
    return f"R2 {study.best_value:.3f} of 4 trials"


@case(GROUP, "cross_val_score in two processes", slow=True)
def cross_validated() -> str:
    one = cross_val_score(classifier(), SERIES, LABELS, cv=3)
    two = cross_val_score(classifier(), SERIES, LABELS, cv=3, n_jobs=2)
    same(one, two, "scores of one process and of two")
    return f"accuracy {one.mean():.2f}, the same with n_jobs=2"


@case(GROUP, "cross_validate, several scores, TimeSeriesSplit")
def several_scores() -> str:
    scores = cross_validate(
        regressor(), INPUTS, TARGET, cv=TimeSeriesSplit(3), scoring=["r2", "neg_mean_squared_error"]
    )
    check(scores["test_r2"].min() > 0.8, f"R2 {scores['test_r2']}")
    return f"R2 {scores['test_r2'].mean():.3f}"


@case(GROUP, "cross_val_predict, decisions")
def cross_predicted() -> str:
    decisions = cross_val_predict(
        classifier(), SERIES, LABELS, cv=StratifiedKFold(3), method="decision_function"
    )
    right = np.mean((decisions > 0) == (LABELS == "slow"))
    check(right > 0.9, f"{right:.2f} right")
    return f"{right:.2f} right"


@case(GROUP, "learning_curve and validation_curve")
def curves() -> str:
    sizes, _, test = learning_curve(
        classifier(), SERIES, LABELS, cv=3, train_sizes=[0.3, 1.0], shuffle=True, random_state=0
    )
    _, again = validation_curve(
        classifier(), SERIES, LABELS, param_name="features__units", param_range=[64, 256], cv=3
    )
    check(test.shape == again.shape == (2, 3), "shape of scores")
    return f"accuracy {test[0].mean():.2f} of {sizes[0]} series, {test[1].mean():.2f} of {sizes[1]}"


@case(GROUP, "permutation_importance")
def importance() -> str:
    model = regressor().fit(INPUTS, TARGET)
    found = permutation_importance(model, INPUTS, TARGET, n_repeats=3, random_state=0)
    first, second = found.importances_mean
    check(first > 1 > 0.1 > second, f"importances {found.importances_mean}")
    return f"{first:.2f} of the input that matters, {second:.2f} of the other"


@case(GROUP, "TunedThresholdClassifierCV")
def threshold() -> str:
    tuned = TunedThresholdClassifierCV(classifier(), cv=3, response_method="decision_function").fit(
        SERIES, LABELS
    )
    right = tuned.score(SERIES, LABELS)
    check(right > 0.9, f"accuracy {right:.2f}")
    return f"threshold {tuned.best_threshold_:.2f}"
