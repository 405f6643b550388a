"""Models of scikit-learn in our files: the same answers, and nothing but what the table allows."""

import copy
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors
from sklearn import (
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    preprocessing,
    svm,
)
from sklearn.base import is_classifier
from sklearn.cluster import KMeans
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, make_pipeline

import paralesn as pe
from paralesn.persistence import model_file
from paralesn.persistence.scikit_learn_table import KNOWN

RNG = np.random.default_rng(11)
X = RNG.normal(size=(80, 5)) + np.arange(5)
Y = X[:, :2] @ [[1.0, -0.5], [0.25, 2.0]] + 0.1 * RNG.normal(size=(80, 2))
WORDS = np.array(["no", "perhaps", "yes"])[np.digitize(Y[:, 0], [0, 1])]
TARGETS = {
    "flat": Y[:, 0],
    "two": Y,
    "words": WORDS,
    "binary": WORDS == "yes",
    "numbers": np.digitize(Y[:, 0], [0, 1]) * 10,
}
SERIES = RNG.normal(size=(30, 60)) * np.linspace(0.5, 2, 30)[:, None]
LABELS = np.array(["calm", "wild"])[(np.arange(30) > 14).astype(int)]

UNWARNED = {"use_legacy_attributes": False, "l1_ratios": (0.0,)}  # what new releases want said
if "use_legacy_attributes" not in linear_model.LogisticRegressionCV().get_params():
    UNWARNED = {}
MODELS = [
    *[(linear_model.LinearRegression(**k), t) for k in ({}, {"fit_intercept": False}) for t in ("flat", "two")],
    (linear_model.Ridge(alpha=0.3), "two"),
    (linear_model.Ridge(solver="sag", random_state=0, max_iter=5000), "flat"),
    (linear_model.RidgeCV(alphas=np.geomspace(0.1, 10, 4)), "flat"),
    (linear_model.RidgeCV(alpha_per_target=True), "two"),
    (linear_model.Lasso(alpha=0.01), "two"),
    (linear_model.LassoCV(cv=3), "flat"),
    (linear_model.Lars(), "flat"),
    (linear_model.LassoLars(alpha=0.01), "flat"),
    (linear_model.ElasticNet(alpha=0.01), "flat"),
    (linear_model.ElasticNetCV(l1_ratio=[0.2, 0.8], cv=3), "flat"),
    (linear_model.MultiTaskLasso(alpha=0.01), "two"),
    (linear_model.MultiTaskElasticNet(alpha=0.01), "two"),
    (linear_model.OrthogonalMatchingPursuit(), "flat"),
    (linear_model.BayesianRidge(), "flat"),
    (linear_model.ARDRegression(), "flat"),
    (linear_model.HuberRegressor(max_iter=1000), "flat"),
    (linear_model.TheilSenRegressor(random_state=0, max_subpopulation=50), "flat"),
    (linear_model.QuantileRegressor(alpha=0.0), "flat"),
    (linear_model.SGDRegressor(random_state=0), "flat"),
    (linear_model.SGDRegressor(random_state=0, average=True), "flat"),
    (svm.LinearSVR(random_state=0), "flat"),
    *[(linear_model.LogisticRegression(C=3.0), t) for t in ("words", "binary", "numbers")],
    (linear_model.LogisticRegression(class_weight={0: 1.0, 10: 2.0, 20: 3.0}), "numbers"),
    (linear_model.LogisticRegressionCV(Cs=3, cv=3, scoring="accuracy", **UNWARNED), "words"),
    *[(linear_model.RidgeClassifier(), t) for t in ("words", "binary")],
    *[(linear_model.RidgeClassifierCV(), t) for t in ("words", "binary")],
    *[(linear_model.SGDClassifier(random_state=0, loss="log_loss"), t) for t in ("words", "binary")],
    (linear_model.SGDClassifier(random_state=0, average=True), "words"),
    (linear_model.Perceptron(random_state=0), "words"),
    (svm.LinearSVC(random_state=0), "words"),
    *[(discriminant_analysis.LinearDiscriminantAnalysis(solver=s), t) for s in ("svd", "lsqr") for t in ("words", "binary")],
    (preprocessing.StandardScaler(), None),
    (preprocessing.StandardScaler(with_mean=False, with_std=False), None),
    (preprocessing.MinMaxScaler(feature_range=(-1, 1)), None),
    (preprocessing.MaxAbsScaler(), None),
    (preprocessing.RobustScaler(quantile_range=(10, 90)), None),
    (preprocessing.QuantileTransformer(n_quantiles=20), None),
    (preprocessing.Normalizer(), None),
    *[(preprocessing.PolynomialFeatures(d), None) for d in (3, (1, 2))],
    (decomposition.PCA(2, whiten=True), None),
    (decomposition.TruncatedSVD(2, random_state=0), None),
    (impute.SimpleImputer(), None),
    (impute.SimpleImputer(strategy="constant", fill_value=3.0, missing_values=-1.0), None),
    (feature_selection.VarianceThreshold(0.1), None),
]  # fmt: skip


def fitted(model, target, rows=X):
    model = copy.deepcopy(model)
    return model.fit(rows) if target is None else model.fit(rows, TARGETS[target])


def answers(model, rows=X):
    names = ("transform", "predict", "decision_function", "predict_proba")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: getattr(model, name)(rows)
            for name in names
            if hasattr(model, name) and not (name == "transform" and getattr(model, "solver", "") == "lsqr")
        }  # fmt: skip


def assert_same(model, again, rows=X):
    assert type(again) is type(model)
    before, after = answers(model, rows), answers(again, rows)
    assert before.keys() == after.keys()
    assert before
    for name, values in before.items():
        np.testing.assert_array_equal(np.asarray(after[name]), np.asarray(values), strict=True)


def travel(model, folder):
    pe.save(model, folder / "model")
    return pe.load(folder / "model")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "target"), MODELS, ids=lambda v: str(v).split("(")[0])
def test_a_loaded_model_answers_to_the_bit(model, target, tmp_path):
    for rows in (X, X.astype("float32"), pd.DataFrame(X, columns=list("abcde"))):
        original = fitted(model, target, rows)
        again = travel(original, tmp_path)
        assert_same(original, again, rows)
        assert repr(again) == repr(original)
        if hasattr(original, "feature_names_in_"):
            np.testing.assert_array_equal(again.feature_names_in_, original.feature_names_in_)
    unfitted = travel(model, tmp_path)
    assert repr(unfitted) == repr(model)
    assert not hasattr(unfitted, "n_features_in_")
    assert_same(original, fitted(unfitted, target, rows), rows)


def test_every_class_of_the_table_is_tested():
    tested = {type(model).__name__ for model, _ in MODELS} | {"Pipeline", "FeatureUnion"}
    assert tested == {name.rpartition(".")[2] for name in KNOWN}


@pytest.mark.filterwarnings("ignore")
def test_a_number_keeps_its_type(tmp_path):
    """A float64 intercept would turn the predictions of a float32 model into float64."""
    small = X.astype("float32")
    model = linear_model.Ridge().fit(small, Y[:, 0].astype("float32"))
    assert travel(model, tmp_path).predict(small).dtype == model.predict(small).dtype == "float32"
    assert travel(model, tmp_path).intercept_.dtype == "float32"


@pytest.mark.parametrize("model", [linear_model.SGDClassifier(random_state=0),
                                   linear_model.SGDRegressor(random_state=0, average=True)])  # fmt: skip
def test_a_loaded_model_goes_on_learning(model, tmp_path):
    y = WORDS if is_classifier(model) else Y[:, 0]
    model.fit(X, y)
    again = travel(model, tmp_path)
    assert_same(model.partial_fit(X[:20], y[:20]), again.partial_fit(X[:20], y[:20]))


def test_uncertainty_travels_too(tmp_path):
    model = linear_model.BayesianRidge().fit(X, Y[:, 0])
    for one, other in zip(model.predict(X, return_std=True),
                          travel(model, tmp_path).predict(X, return_std=True), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)


# -- inside our estimators, and around them -------------------------------------------------------


def test_readouts_of_scikit_learn_travel_with_our_estimators(tmp_path):
    scaled = make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    for readout in (linear_model.RidgeClassifierCV(), scaled, svm.LinearSVC()):
        model = pe.ReservoirClassifier(pe.FilterBank(units=64), readout).fit(SERIES, LABELS)
        assert_same(model, travel(model, tmp_path), SERIES)
    for readout in (linear_model.LinearRegression(), linear_model.HuberRegressor(max_iter=2000)):
        model = pe.ReservoirRegressor(pe.ParalESN(units=8), readout, washout=5).fit(X, Y[:, 0])
        again = travel(model, tmp_path)
        assert_same(model, again)
        np.testing.assert_array_equal(
            again.predict(X, state=again.state_), model.predict(X, state=model.state_)
        )


def test_pipelines_with_ours_inside_travel(tmp_path):
    both = FeatureUnion(
        [("bank", pe.FilterBank(units=64)), ("states", pe.PooledStates(pe.ParalESN(units=16)))]
    )
    pipes = [
        (make_pipeline(both, preprocessing.StandardScaler(), linear_model.RidgeClassifierCV()), SERIES, LABELS),
        (make_pipeline(pe.FilterBank(units=64), "passthrough", pe.DualRidge()), SERIES, np.arange(30.0)),
        (make_pipeline(pe.PooledStates(pe.ParalESN(units=16)), decomposition.PCA(3)), SERIES, LABELS),
        (make_pipeline(preprocessing.RobustScaler(), pe.ParalESN(units=9), pe.Ridge()), X, Y),
        (make_pipeline(preprocessing.StandardScaler(), pe.ReservoirRegressor(washout=3)), X, Y),
    ]  # fmt: skip
    for pipe, rows, targets in pipes:
        pipe.fit(rows, targets)
        assert_same(pipe, travel(pipe, tmp_path), rows)


def test_frames_that_were_asked_for_come_back(tmp_path):
    pipe = make_pipeline(preprocessing.StandardScaler(), pe.ParalESN(units=3))
    pipe.set_output(transform="pandas").fit(X)
    before, after = pipe.transform(X), travel(pipe, tmp_path).transform(X)
    pd.testing.assert_frame_equal(before, after)


@pytest.mark.slow
def test_another_process_needs_no_import_of_scikit_learn(tmp_path):
    pipe = make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()).fit(X, Y)
    pe.save(pipe, tmp_path / "model")
    np.save(tmp_path / "x.npy", X)
    program = "import numpy as np, paralesn as pe; np.save('z.npy', pe.load('model').predict(np.load('x.npy')))"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), pipe.predict(X))


# -- what cannot be saved ------------------------------------------------------------------------


def test_what_needs_a_pickle_is_refused_with_a_way_out(tmp_path):
    forest = ensemble.RandomForestRegressor(2).fit(X, Y[:, 0])
    double = preprocessing.FunctionTransformer(np.square)
    for model in (forest, KMeans(2), double):
        with pytest.raises(
            TypeError, match=rf"got {type(model).__name__}: of scikit-learn, linear"
        ):
            pe.save(model, tmp_path / "model")
    for inside in (make_pipeline(double, linear_model.Ridge()),
                   pe.ReservoirRegressor(readout=forest)):  # fmt: skip
        with pytest.raises(
            TypeError, match=r"holds a (Function|Random).*: of scikit-learn, linear"
        ):
            pe.save(inside, tmp_path / "model")
    for parameters, message in (
        ({"cv": KFold(3)}, r"parameters\.cv holds a KFold"),
        ({"scoring": max}, r"scoring holds a builtin_function"),
    ):
        with pytest.raises(TypeError, match=message):
            pe.save(linear_model.RidgeCV(**parameters), tmp_path / "model")
    with pytest.raises(TypeError, match=r"memory of .*Pipeline must be None, got '/tmp/cache'"):
        pe.save(make_pipeline(linear_model.Ridge(), memory="/tmp/cache"), tmp_path / "model")
    with pytest.raises(TypeError, match=r"coef_ of sklearn\.linear_model\.SGDClassifier is a csr"):
        pe.save(linear_model.SGDClassifier().fit(X, WORDS).sparsify(), tmp_path / "model")

    class Mine(linear_model.Ridge):
        pass

    with pytest.raises(TypeError, match="got Mine"):
        pe.save(Mine(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_would_answer_otherwise_is_not_saved(tmp_path):
    """As one of a version of scikit-learn that keeps what it learns elsewhere."""
    model = linear_model.Ridge().fit(X, Y[:, 0])
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(TypeError, match=r"Ridge of scikit-learn .* answers differently"):
        pe.save(model, tmp_path / "model")


# -- damaged and hostile files -------------------------------------------------------------------


def unpacked(model, folder):
    pe.save(model, folder / "model")
    data = (folder / "model").read_bytes()
    return json.loads(model_file.read_header(data)["paralesn"]), dict(read_tensors(data))


def loaded(content, arrays, folder):
    """Load a file whose checksum is right, whatever it holds."""
    body = json.dumps(content)
    header = {"paralesn": body, "sha256": model_file.checksum(body, arrays)}
    (folder / "forged").write_bytes(write_tensors(arrays, header))
    return pe.load(folder / "forged")


LOGISTIC = linear_model.LogisticRegression().fit(X, WORDS)
HOSTILE = {
    "other class": (lambda c, a: c.update(object="sklearn.ensemble.RandomForestClassifier"), "no class 'sklearn.ensemble"),
    "function": (lambda c, a: c.update(object="sklearn.preprocessing.FunctionTransformer"), "no class 'sklearn.pre"),
    "private path": (lambda c, a: c.update(object="sklearn.linear_model._logistic.LogisticRegression"), "no class"),
    "anything": (lambda c, a: c.update(object="os.system"), "no class 'os.system'"),
    "unknown parameter": (lambda c, a: c["content"]["parameters"]["dict"].update(evil=1), "unexpected keyword argument 'evil'"),
    "wrong parameter": (lambda c, a: c["content"]["parameters"]["dict"].update(C="large"), "'C' parameter of LogisticRegression must be"),
    "processes": (lambda c, a: c["content"]["parameters"]["dict"].update(n_jobs=10**9), "n_jobs must be a whole number from -256 to 256"),
    "cache": (lambda c, a: c["content"]["parameters"]["dict"].update(memory="/tmp"), "memory of .* must be None"),
    "method": (lambda c, a: c["content"]["fitted"]["dict"].update(predict=1), "learns no attribute 'predict'"),
    "dunder": (lambda c, a: c["content"]["fitted"]["dict"].update(__class__=1), "learns no attribute '__class__'"),
    "no coefficients": (lambda c, a: c["content"]["fitted"]["dict"].pop("coef_"), "must have learnt coef_"),
    "features": (lambda c, a: c["content"]["fitted"]["dict"].update(n_features_in_=4), "coef_ must be"),
    "no features": (lambda c, a: c["content"]["fitted"]["dict"].update(n_features_in_=-1), "n_features_in_ must be"),
    "classes": (lambda c, a: c["content"]["fitted"]["dict"]["classes_"].update(text=["a", "b"]), r"coef_ must be float\(d,f\)"),
    "unsorted": (lambda c, a: c["content"]["fitted"]["dict"]["classes_"].update(text=["b", "a", "c"]), "classes_ must be label"),
    "twice": (lambda c, a: c["content"]["fitted"]["dict"]["classes_"].update(text=["a", "a", "c"]), "classes_ must be label"),
    "not finite": (lambda c, a: a.update({k: v * np.nan for k, v in a.items() if "coef_" in k}), "coef_ must be .* not finite"),
    "integers": (lambda c, a: a.update({k: v.astype(int) for k, v in a.items() if "coef_" in k}), "coef_ must be .* got int64"),
    "fewer": (lambda c, a: a.update({k: v[:2] for k, v in a.items() if "intercept_" in k}), "intercept_ must be"),
    "names": (lambda c, a: c["content"]["fitted"]["dict"].update(feature_names_in_={"names": ["a"]}), "must be 5 names"),
    "text": (lambda c, a: c["content"]["fitted"]["dict"].update(coef_="zero"), "coef_ must be"),
    "typed": (lambda c, a: c["content"]["fitted"]["dict"].update(intercept_={"dict": {"dtype": "O", "value": 1}}), "dtype of intercept_"),
    "output": (lambda c, a: c["content"].update(output={"dict": {"transform": "evil"}}), "set_output must be one of"),
    "fitted": (lambda c, a: c["content"].update(fitted=3), "learnt must be a dict"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_models_are_refused(name, tmp_path):
    change, message = HOSTILE[name]
    content, arrays = unpacked(LOGISTIC, tmp_path)
    change(content["model"], arrays)
    with pytest.raises(ValueError, match=message):
        loaded(content, arrays, tmp_path)


def test_what_another_version_learnt_otherwise_is_refused_by_name(tmp_path):
    model = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, WORDS)
    content, arrays = unpacked(model, tmp_path)
    content["model"]["content"]["version"] = "0.20"
    del content["model"]["content"]["fitted"]["dict"]["scalings_"]
    with pytest.raises(
        ValueError, match=r"saved with scikit-learn 0\.20 and cannot be used with 1\.\d"
    ):
        loaded(content, arrays, tmp_path)


def test_forged_pipelines_and_powers_are_refused(tmp_path):
    pipe = make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()).fit(X, Y)
    for change, message in (
        (lambda p: p.update(memory="/tmp"), "memory of"),
        (lambda p: p.update(steps={"list": []}), "steps|not enough values"),  # of old scikit-learn
        (lambda p: p.update(steps={"list": [{"tuple": ["a", 3]}]}), "fit"),
        (lambda p: p["steps"]["list"].reverse(), "transform"),
    ):
        content, arrays = unpacked(pipe, tmp_path)
        change(content["model"]["content"]["parameters"]["dict"])
        with pytest.raises(ValueError, match=message):
            loaded(content, arrays, tmp_path)
    powers = preprocessing.PolynomialFeatures(3).fit(X)
    for degree in (10**6, -1, {"tuple": [0, 10**6]}):
        content, arrays = unpacked(powers, tmp_path)
        content["model"]["content"]["parameters"]["dict"]["degree"] = degree
        with pytest.raises(ValueError, match="degree"):
            loaded(content, arrays, tmp_path)


def places(node, path=()):
    """Every place of a JSON value."""
    yield path
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


JUNK = [None, True, -1, 10**40, 1e400, float("nan"), "", "coef_", [], {}, {"list": []}, {"tuple": [1]},
        {"dict": {}}, {"array": "model"}, {"array": "nowhere"}, {"text": ["a"]}, {"names": [1]},
        {"object": "State", "content": {}}, {"object": "sklearn.linear_model.Ridge", "content": {}},
        {"number": [1, 2]}, {"pairs": [[1]]}]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [LOGISTIC, make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2), linear_model.RidgeClassifier()).fit(X, WORDS)], ids=["logistic", "pipeline"])  # fmt: skip
def test_no_change_of_a_file_does_more_than_be_refused(model, tmp_path):
    """Any place of the description replaced by anything, any array by another: an error that names
    the file, or a model that answers with numbers."""
    rng = np.random.default_rng(5)
    good, arrays = unpacked(model, tmp_path)
    everywhere = [path for path in places(good["model"]) if path]
    refused = 0
    for _ in range(250):
        content, changed = copy.deepcopy(good), dict(arrays)
        if rng.random() < 0.7:
            *path, last = everywhere[rng.integers(len(everywhere))]
            node = content["model"]
            for key in path:
                node = node[key]
            node[last] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
        else:
            name = sorted(changed)[rng.integers(len(changed))]
            array = changed[name]
            changed[name] = [np.full_like(array, np.inf), array.astype("int8"), array[:1].copy(),
                             np.zeros((2, 2, 2)), np.zeros(0), array.astype("float32")][rng.integers(6)]  # fmt: skip
        try:
            again = loaded(content, changed, tmp_path)
        except ValueError as error:
            assert "forged" in str(error)  # noqa: PT017 (either this or a model)
            refused += 1
            continue
        except TypeError:  # by json or safetensors, before there is a file
            continue
        if hasattr(again, "n_features_in_") and hasattr(again, "predict"):
            assert len(again.predict(X)) == len(X)
    assert refused > 100
