"""Models of scikit-learn that may be saved, and what each of them learns.

What a class learns is written as ``kind(axes)``, alternatives separated by spaces: ``float(t,f)``
is an array of finite numbers of (targets, features), ``float()`` one number. Axes of one letter
have one size throughout a model:

- ``f`` features, ``t`` targets, ``c`` classes;
- ``d`` decisions, 1 for two classes and otherwise ``c``;
- other letters are sizes of the model's own.

Kinds are ``float``, ``int``, ``bool``, ``label`` (numbers or text, sorted) and ``maybe`` (float
that may be NaN).
"""

from typing import NamedTuple


class Known(NamedTuple):
    """What a class learns: attributes that predictions need, and others that may be absent."""

    needed: dict[str, str]
    further: dict[str, str] = {}  # noqa: RUF012 (never changed)


_REGRESSION = {"coef_": "float(f) float(t,f)", "intercept_": "float() float(t)"}
_CLASSIFICATION = {
    "classes_": "label(c)",
    "coef_": "float(d,f) float(f)",
    "intercept_": "float() float(d)",
}
_STEPS = {"n_iter_": "int() int(n)"}
_CHOSEN = {"alpha_": "float() float(t)", "best_score_": "float() float(t)"}
_PATH = {**_STEPS, "alpha_": "float()", "l1_ratio_": "float()", "dual_gap_": "float() float(t)"}
_BAYES = {**_STEPS, "alpha_": "float()", "sigma_": "float(k,k)", "X_offset_": "float(f)"} | {
    "X_scale_": "float(f)"
}
_AVERAGED = {
    f"_{kind}_{part}": axes
    for kind in ("standard", "average")
    for part, axes in (("coef", "float(f) float(d,f)"), ("intercept", "float(d)"))
}
_DECOMPOSED = {
    "explained_variance_": "float(k)",
    "explained_variance_ratio_": "float(k)",
    "singular_values_": "float(k)",
}
_SEEN = {"n_samples_seen_": "int() int(f) float() float(f)"}
_LINEAR = {
    "LinearRegression": Known(_REGRESSION, {"rank_": "int()", "singular_": "float(k)"}),
    "Ridge": Known(_REGRESSION, _STEPS),
    "RidgeCV": Known(_REGRESSION, _CHOSEN),
    "Lasso": Known(_REGRESSION, _PATH),
    "LassoCV": Known(_REGRESSION, _PATH),
    "LassoLars": Known(_REGRESSION),
    "Lars": Known(_REGRESSION),
    "ElasticNet": Known(_REGRESSION, _PATH),
    "ElasticNetCV": Known(_REGRESSION, _PATH),
    "MultiTaskLasso": Known(_REGRESSION, _PATH),
    "MultiTaskElasticNet": Known(_REGRESSION, _PATH),
    "OrthogonalMatchingPursuit": Known(_REGRESSION, _STEPS),
    "BayesianRidge": Known(_REGRESSION, {**_BAYES, "lambda_": "float()"}),
    "ARDRegression": Known(_REGRESSION, {**_BAYES, "lambda_": "float(f)"}),
    "HuberRegressor": Known(_REGRESSION, {**_STEPS, "scale_": "float()"}),
    "TheilSenRegressor": Known(_REGRESSION, {**_STEPS, "breakdown_": "float()"}),
    "QuantileRegressor": Known(_REGRESSION, _STEPS),
    "SGDRegressor": Known(_REGRESSION, {**_STEPS, "t_": "float()", **_AVERAGED}),
    "LogisticRegression": Known(_CLASSIFICATION, _STEPS),
    "LogisticRegressionCV": Known(_CLASSIFICATION, {"C_": "float() float(n)"}),
    "RidgeClassifier": Known(_CLASSIFICATION, _STEPS),
    "RidgeClassifierCV": Known(_CLASSIFICATION, _CHOSEN),
    "SGDClassifier": Known(_CLASSIFICATION, {**_STEPS, "t_": "float()", **_AVERAGED}),
    "Perceptron": Known(_CLASSIFICATION, {**_STEPS, "t_": "float()"}),
}
_SCALERS = {
    "StandardScaler": Known({}, dict.fromkeys(("mean_", "var_", "scale_"), "float(f)") | _SEEN),
    "MinMaxScaler": Known(
        {"scale_": "float(f)", "min_": "float(f)"},
        dict.fromkeys(("data_min_", "data_max_", "data_range_"), "float(f)") | _SEEN,
    ),
    "MaxAbsScaler": Known({"scale_": "float(f)", "max_abs_": "float(f)"}, _SEEN),
    "RobustScaler": Known({}, {"center_": "float(f)", "scale_": "float(f)"}),
    "QuantileTransformer": Known(
        {"quantiles_": "float(q,f)", "references_": "float(q)", "n_quantiles_": "int()"}
    ),
    "Normalizer": Known({}),
    "PolynomialFeatures": Known({}),
}
COMPOSITIONS = ("sklearn.pipeline.Pipeline", "sklearn.pipeline.FeatureUnion")
STATELESS = ("sklearn.preprocessing.Normalizer", "sklearn.preprocessing.PolynomialFeatures")
KNOWN: dict[str, Known] = {
    **{f"sklearn.linear_model.{name}": known for name, known in _LINEAR.items()},
    **{f"sklearn.preprocessing.{name}": known for name, known in _SCALERS.items()},
    "sklearn.svm.LinearSVC": Known(_CLASSIFICATION, _STEPS),
    "sklearn.svm.LinearSVR": Known(_REGRESSION, _STEPS),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": Known(
        {**_CLASSIFICATION, "priors_": "float(c)"},
        {
            "means_": "float(c,f)",
            "xbar_": "float(f)",
            "scalings_": "float(f,k)",
            "explained_variance_ratio_": "float(r)",
            "_max_components": "int()",
            "_n_features_out": "int()",
        },
    ),
    "sklearn.decomposition.PCA": Known(
        {"components_": "float(k,f)", "mean_": "float(f)", "explained_variance_": "float(k)"},
        {
            **_DECOMPOSED,
            "noise_variance_": "float()",
            "n_components_": "int()",
            "n_samples_": "int()",
        },
    ),
    "sklearn.decomposition.TruncatedSVD": Known({"components_": "float(k,f)"}, _DECOMPOSED),
    "sklearn.impute.SimpleImputer": Known({"statistics_": "maybe(f)"}),
    "sklearn.feature_selection.VarianceThreshold": Known({"variances_": "float(f)"}),
    **{name: Known({}) for name in COMPOSITIONS},
}
