"""Pipelines and estimators made of estimators, as scikit-learn has them."""

from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    IsolationForest,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import estimator_html_repr

import paralesn as pe
from benchmarks.interoperability.case import (
    INPUTS,
    LABELS,
    SERIES,
    TARGET,
    case,
    check,
    refusal,
    same,
)
from benchmarks.interoperability.searches import classifier, regressor

GROUP = "compositions"
HALF = slice(0, 40)
REST = slice(40, 60)


def learns(model: Any, least: float = 0.85) -> str:
    """Fit to the first series, and be right about the others."""
    right = model.fit(SERIES[HALF], LABELS[HALF]).score(SERIES[REST], LABELS[REST])
    check(right >= least, f"accuracy {right:.2f}")
    return f"accuracy {right:.2f}"


@case(GROUP, "pipeline: FilterBank, scaler, LogisticRegression")
def pipeline() -> str:
    return learns(make_pipeline(pe.FilterBank(units=256), StandardScaler(), LogisticRegression()))


@case(GROUP, "pipeline: scaler, ReservoirRegressor, under a search")
def pipeline_of_regressor() -> str:
    pipe = make_pipeline(StandardScaler(), regressor())
    search = GridSearchCV(pipe, {"reservoirregressor__reservoir__units": [10, 30]}, cv=3)
    score = search.fit(INPUTS, TARGET).best_score_
    check(score > 0.9, f"R2 {score:.3f}")
    return f"R2 {score:.3f}"


@case(GROUP, "pipeline: reservoir as a transformer, Ridge")
def pipeline_of_reservoir() -> str:
    pipe = make_pipeline(pe.ParalESN(units=50), pe.Ridge()).fit(INPUTS, TARGET)
    score = pipe.score(INPUTS, TARGET)
    check(score > 0.9, f"R2 {score:.3f}")
    return f"R2 {score:.3f}"


@case(GROUP, "pipeline: sample_weight by routing")
def routed_weight() -> str:
    weight = np.where(LABELS == "slow", 1.0, 2.0)
    plain = classifier().fit(SERIES, LABELS, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            FunctionTransformer(), classifier().set_fit_request(sample_weight=True)
        )
        pipe.fit(SERIES, LABELS, sample_weight=weight)
        routed = pipe.decision_function(SERIES)
    same(routed, plain.decision_function(SERIES), "decisions with weights given and routed")
    return "the weights arrive"


@case(GROUP, "FeatureUnion of FilterBank, PooledStates, own statistics")
def union() -> str:
    def moments(series: Any) -> np.ndarray:
        return np.column_stack([np.mean(series, axis=1), np.std(series, axis=1)])

    both = make_union(
        pe.FilterBank(units=128),
        pe.PooledStates(pe.ParalESN(units=32)),
        FunctionTransformer(moments),
    )
    return learns(make_pipeline(both, StandardScaler(), RidgeClassifierCV()))


@case(GROUP, "ColumnTransformer before ReservoirRegressor", "pandas")
def columns() -> str:
    import pandas as pd

    frame = pd.DataFrame({"x": INPUTS[:, 0], "noise": INPUTS[:, 1], "word": "text"})
    chosen = ColumnTransformer([("x", StandardScaler(), ["x"])], verbose_feature_names_out=False)
    pipe = make_pipeline(chosen.set_output(transform="pandas"), regressor()).fit(frame, TARGET)
    score = pipe.score(frame, TARGET)
    check(score > 0.9, f"R2 {score:.3f}")
    return f"R2 {score:.3f}, columns {list(pipe[-1].feature_names_in_)}"


@case(GROUP, "TransformedTargetRegressor")
def transformed_target() -> str:
    positive = np.exp(TARGET)
    model = TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp)
    direct = regressor().fit(INPUTS, TARGET)
    model.fit(INPUTS, positive)
    off = np.abs(np.log(model.predict(INPUTS)) - direct.predict(INPUTS)).max()
    check(off < 1e-9, f"off by {off:.1e}")
    return f"the logarithm's model, to {off:.0e}"


@case(GROUP, "VotingClassifier")
def voting() -> str:
    other = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(units=64)))
    return learns(VotingClassifier([("bank", classifier()), ("states", other)]))


@case(GROUP, "VotingRegressor over time")
def voting_regressor() -> str:
    vote = VotingRegressor([("a", regressor()), ("b", regressor(20))]).fit(INPUTS, TARGET)
    members = [clone(model).fit(INPUTS, TARGET).predict(INPUTS) for model in vote.estimators_]
    off = np.abs(vote.predict(INPUTS) - np.mean(members, axis=0)).max()
    check(off < 1e-12, f"off by {off:.1e}")
    return "the mean of its members"


@case(GROUP, "StackingClassifier")
def stacking() -> str:
    other = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(units=64)))
    return learns(StackingClassifier([("bank", classifier()), ("states", other)], cv=3))


@case(GROUP, "BaggingClassifier")
def bagging() -> str:
    return learns(BaggingClassifier(classifier(64), n_estimators=3, random_state=0), 0.8)


@case(GROUP, "CalibratedClassifierCV")
def calibrated() -> str:
    model = CalibratedClassifierCV(classifier(), cv=3).fit(SERIES[HALF], LABELS[HALF])
    chances = model.predict_proba(SERIES[REST])
    check(np.allclose(chances.sum(axis=1), 1), "probabilities do not sum to 1")
    right = np.mean(model.predict(SERIES[REST]) == LABELS[REST])
    check(right > 0.85, f"accuracy {right:.2f}")
    return f"accuracy {right:.2f}, mean confidence {chances.max(axis=1).mean():.2f}"


@case(GROUP, "OneVsRestClassifier, three classes")
def one_vs_rest() -> str:
    y = np.where(np.arange(60) < 20, "other", LABELS)
    model = OneVsRestClassifier(classifier()).fit(SERIES, y)
    check(model.decision_function(SERIES).shape == (60, 3), "shape of decisions")
    return f"{len(model.estimators_)} models"


@case(GROUP, "MultiOutputRegressor equals two targets at once")
def multi_output() -> str:
    both = np.column_stack([TARGET, INPUTS[:, 1]])
    model = regressor().set_params(readout=pe.Ridge([1e-6]))  # else each chooses its own penalty
    apart = MultiOutputRegressor(model).fit(INPUTS, both).predict(INPUTS)
    off = np.abs(apart - model.fit(INPUTS, both).predict(INPUTS)).max()
    check(off < 1e-9, f"off by {off:.1e}")
    return f"to {off:.0e}"


@case(GROUP, "FrozenEstimator with new readout")
def frozen() -> str:
    bank = FrozenEstimator(pe.FilterBank(units=256).fit(SERIES))
    return learns(make_pipeline(bank, StandardScaler(), LogisticRegression()))


@case(GROUP, "clustering: FilterBank, scaler, KMeans")
def clusters() -> str:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    pipe = make_pipeline(
        pe.FilterBank(units=512), StandardScaler(), PCA(5), KMeans(2, random_state=0, n_init=5)
    )
    agreement = adjusted_rand_score(LABELS, pipe.fit_predict(SERIES))
    check(agreement > 0.5, f"adjusted Rand index {agreement:.2f}")
    return f"adjusted Rand index {agreement:.2f}"


@case(GROUP, "anomalies: PooledStates, IsolationForest")
def anomalies() -> str:
    odd = np.vstack([SERIES, 3 * np.random.default_rng(0).normal(size=(3, 80))])
    pipe = make_pipeline(
        pe.PooledStates(pe.ParalESN(units=64)), IsolationForest(random_state=0)
    ).fit(odd)
    worst = set(np.argsort(pipe.score_samples(odd))[:3].tolist())
    check(worst == {60, 61, 62}, f"most anomalous: {sorted(worst)}")
    return "the three odd series are the most anomalous"


@case(GROUP, "set_output and get_feature_names_out", "pandas")
def named_output() -> str:
    pipe = make_pipeline(pe.FilterBank(units=64), StandardScaler()).set_output(transform="pandas")
    frame = pipe.fit_transform(SERIES)
    check(list(frame.columns) == list(pipe.get_feature_names_out()), "names differ")
    return f"{frame.shape[1]} columns, {frame.columns[0]} first"


@case(GROUP, "feature names are checked", "pandas")
def feature_names() -> str:
    import pandas as pd

    frame = pd.DataFrame(INPUTS, columns=["x", "z"])
    model = regressor().fit(frame, TARGET)
    check(list(model.feature_names_in_) == ["x", "z"], "names are not kept")
    return refusal(lambda: model.predict(frame[["z", "x"]])).split("\n")[0]


@case(GROUP, "estimator_html_repr and repr")
def drawn() -> str:
    pipe = make_pipeline(FeatureUnion([("bank", pe.FilterBank(units=64))]), pe.DualRidge())
    for model in (pipe, pipe.fit(SERIES, LABELS == "slow")):
        html = estimator_html_repr(model)
        check("FilterBank" in html and "DualRidge" in html, "names are missing")
    return repr(pipe[-1])


@case(GROUP, "clone, get_params, set_params through three levels")
def parameters() -> str:
    model = make_pipeline(StandardScaler(), regressor())
    copy = clone(model).set_params(reservoirregressor__reservoir__units=7)
    check(model[-1].reservoir.units == 30, "the original changed")
    check(copy.get_params()["reservoirregressor__reservoir__units"] == 7, "not set")
    refused = refusal(lambda: copy.set_params(reservoirregressor__reservoir__unit=7))
    return refused.split(". Valid")[0]


@case(GROUP, "make_scorer with needs of its own")
def scorer() -> str:
    first = make_scorer(lambda y, decision: np.mean(decision > 0),
                        response_method="decision_function")  # fmt: skip
    scores = cross_val_score(classifier(), SERIES, LABELS, cv=3, scoring=first)
    return f"share of positive decisions {scores.mean():.2f}"
