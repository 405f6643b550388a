"""scikit-learn's own checks of every public estimator, and the only list of those it fails.

Classes are found in `paralesn.__all__`: a new one is checked without a line here. A check that is
expected to fail has to fail, so that the list does not outlive its reasons.
"""

import inspect
from functools import cache

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

pytest.importorskip("torch", reason="MLP and the engine of PyTorch are checked, too")

STEPS = "rows are time steps: their order and their company matter"
FLAT = "one dimension is a univariate series, which is no mistake"
LENGTH = "the second axis is time: series of any length may be read"
FIRST_Y = "fit(y, X) is the order of forecasting: what is observed comes first"
INPUTS = "fit(y, X): the checks give their targets as inputs, which predicting needs too"
REFUSED = "fit(y, X): the checks give their targets as inputs, and are told so"

OF_TIME_STEPS = {
    "check_methods_sample_order_invariance": STEPS,
    "check_methods_subset_invariance": STEPS,
    "check_fit1d": FLAT,
}
OF_WHOLE_SERIES = {
    "check_n_features_in": LENGTH,
    "check_n_features_in_after_fitting": LENGTH,
}
OF_FORECASTERS = OF_TIME_STEPS | {
    "check_fit_score_takes_y": FIRST_Y,
    "check_n_features_in_after_fitting": "the argument is called y, and so does the error",
}
SWAPPED = [
    "check_complex_data", "check_dict_unchanged", "check_dont_overwrite_parameters",
    "check_dtype_object", "check_estimator_sparse_array", "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag", "check_estimators_dtypes",
    "check_estimators_empty_data_messages", "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params", "check_estimators_pickle",
    "check_f_contiguous_array_estimator", "check_fit2d_1feature", "check_fit2d_1sample",
    "check_fit2d_predict1d", "check_fit_check_is_fitted", "check_fit_idempotent",
    "check_n_features_in", "check_pipeline_consistency", "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
]  # fmt: skip

# Class, or one of its bases -> check -> why it fails.
EXPECTED = {
    "Reservoir": OF_TIME_STEPS,
    "ReservoirRegressor": OF_TIME_STEPS,
    "FilterBank": OF_WHOLE_SERIES | {"check_transformer_general": LENGTH},
    "PooledStates": OF_WHOLE_SERIES | {"check_transformer_general": LENGTH},
    "ReservoirClassifier": OF_WHOLE_SERIES | {
        "check_classifiers_train": LENGTH,
        "check_estimators_partial_fit_n_features": LENGTH,
        "check_sample_weight_equivalence_on_dense_data":
            "repeated series calibrate other filters, and are not left out as a whole",
    },
    "ReservoirSeriesRegressor": OF_WHOLE_SERIES | {
        "check_sample_weight_equivalence_on_dense_data": "repeated series are standardised by others",
    },
    "DualRidge": {
        "check_sample_weight_equivalence_on_dense_data":
            "a weighted row is left out as a whole, a repeated one is not: the penalty may differ",
    },
    "MLP": {
        "check_sample_weight_equivalence_on_dense_data":
            "minibatches and rows held out are drawn at random, and repeated rows draw others",
    },
    "ReservoirForecaster": OF_FORECASTERS | dict.fromkeys(SWAPPED, REFUSED),
    "SmootherBank": OF_FORECASTERS | dict.fromkeys(SWAPPED, REFUSED),
    "StateForecaster": OF_FORECASTERS | {
        "check_estimators_dtypes": INPUTS,
        "check_estimators_pickle": INPUTS,
        "check_f_contiguous_array_estimator": INPUTS,
        "check_dict_unchanged": INPUTS,
        "check_dtype_object": INPUTS,
        "check_fit_idempotent": INPUTS,
        "check_fit2d_1sample": "the error names time steps, not samples",
    },
    "ForecasterAlone": OF_FORECASTERS,
    "SmootherBankAlone": OF_FORECASTERS,
    "StateForecasterAlone": OF_FORECASTERS | {
        "check_fit2d_1sample": "the error names time steps, not samples",
    },
}  # fmt: skip


# -- forecasters fitted without inputs, which the checks would take for targets ------------------


class ForecasterAlone(pe.ReservoirForecaster):
    def fit(self, y, X=None):
        return super().fit(y)


class SmootherBankAlone(pe.SmootherBank):
    def fit(self, y, X=None):
        return super().fit(y)


class StateForecasterAlone(StateForecaster):
    def fit(self, y, X=None):
        return super().fit(y)

    def score(self, y, X=None):
        return super().score(y)


# -- what is checked -----------------------------------------------------------------------------


def small():
    return pe.ParalESN(units=30, rho=(0.5, 0.99), bias_scale=0.5, mix_scale=1.0)


# Instances in place of, or beside, the defaults: smaller, or of another kind.
INSTANCES = {
    "ContinuousESN": lambda: [pe.ContinuousESN(units=9)],
    "DualRidge": lambda: [pe.DualRidge(), pe.DualRidge([0.1])],
    "ES2N": lambda: [pe.ES2N(units=9, layers=2)],
    "ESN": lambda: [pe.ESN(units=9)],
    "FilterBank": lambda: [pe.FilterBank(units=64, thresholds=5)],
    "MLP": lambda: [
        pe.MLP(task=task, learning_rate=1e-2, batch_size=16, epochs=20)
        for task in ("classification", "regression")
    ],
    "LocalReservoirs": lambda: [pe.LocalReservoirs(pe.ParalESN(units=9), size=1, overlap=0)],
    "NVAR": lambda: [pe.NVAR(), pe.NVAR(3, (1, 3), stride=2, dtype="float32")],
    "ParalESN": lambda: [
        pe.ParalESN(units=9),
        pe.ParalESN(units=9, layers=2, concat=True, dtype="float32"),
    ],
    "PlasticESN": lambda: [pe.PlasticESN(units=9, rate=1e-6)],  # for inputs of about 100
    "PooledStates": lambda: [pe.PooledStates(small(), segments=1)],
    "ResESN": lambda: [pe.ResESN(units=9, layers=2)],
    "ReservoirClassifier": lambda: [
        pe.ReservoirClassifier(pe.FilterBank(units=64)),
        pe.ReservoirClassifier(pe.PooledStates(small(), segments=1, standardize=False)),
    ],
    "ReservoirRegressor": lambda: [
        pe.ReservoirRegressor(),
        pe.ReservoirRegressor(pe.ParalESN(units=60), washout=0, standardize=False),
        pe.ReservoirRegressor(pe.ESN(units=30), feedback=True, feedback_noise=0.1),
    ],
    "ReservoirSeriesRegressor": lambda: [
        pe.ReservoirSeriesRegressor(pe.FilterBank(units=64, levels=True)),
        pe.ReservoirSeriesRegressor(pe.PooledStates(small(), segments=1)),
    ],
    "StructuredRC": lambda: [pe.StructuredRC(units=9, dtype="float32")],
}


@cache
def public_estimators():
    classes = [getattr(pe, name) for name in pe.__all__]
    return [c for c in classes if inspect.isclass(c) and issubclass(c, BaseEstimator)]


def instances():
    for kind in public_estimators():
        yield from INSTANCES[kind.__name__]() if kind.__name__ in INSTANCES else [kind()]
    for kind in (StateForecaster, StateForecasterAlone):
        yield kind(small(), washout=0)
    yield from (ForecasterAlone(), SmootherBankAlone())


def expected_failures(estimator):
    """The list of the first class of the estimator's that has one, without what does not apply."""
    names = [kind.__name__ for kind in type(estimator).__mro__]
    failures = dict(next((EXPECTED[name] for name in names if name in EXPECTED), {}))
    weighted = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, pe.DualRidge) and len(estimator.alphas) == 1:
        del failures[weighted]
    if not hasattr(estimator, "partial_fit"):
        failures.pop("check_estimators_partial_fit_n_features", None)
    return failures


@parametrize_with_checks(list(instances()), expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_list_is_of_a_class_that_is_checked():
    checked = {kind.__name__ for e in instances() for kind in type(e).__mro__}
    assert set(EXPECTED) <= checked
    assert set(INSTANCES) <= {kind.__name__ for kind in public_estimators()}
