"""Models of scikit-learn in model files: linear ones, simple transformers and pipelines.

Only classes of an explicit table are saved, as their parameters and listed attributes. Loading
calls the constructor, lets scikit-learn check the parameters, and sets attributes whose type,
shape and values were checked. Nothing is pickled. Saving rebuilds the model at once and compares
its answers with those of the original, so a version of scikit-learn that keeps what it learns in
other attributes is noticed then, not by a wrong prediction.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence.attributes import Sizes, check_attribute, check_names, described
from paralesn.persistence.registry import Entry, output_of, set_output
from paralesn.persistence.scikit_learn_table import COMPOSITIONS, KNOWN, STATELESS

_MOST_FEATURES = 10**7
_MOST_JOBS = 256  # more processes than any file may ask for
_MOST_DEGREES = 32
_METHODS = ("transform", "predict", "decision_function", "predict_proba")
_HOW = (
    "of scikit-learn, linear models, scalers, PCA and pipelines of these can be saved; see the "
    "guide on saving for others"
)


def is_foreign(value: Any) -> bool:
    """Whether a value is an instance of a class of scikit-learn."""
    return type(value).__module__.startswith("sklearn.")


def why_not(value: Any) -> str:
    """Why a value, whose class is not known here nor registered, cannot be saved."""
    return _HOW if is_foreign(value) else "its class is not registered with paralesn.register"


def public_name(value: Any) -> str | None:
    """The full public name of exactly the class of `value`, if it is in the table."""
    if not is_foreign(value):
        return None
    names = [name for name in KNOWN if name.endswith(f".{type(value).__name__}")]
    return next((name for name in names if _class(name) is type(value)), None)


def entry_named(name: str) -> Entry:
    """How instances of a class in the table are taken apart and rebuilt."""
    return Entry(_class(name), partial(_take_apart, name), partial(_rebuild, name))


def _class(name: str) -> type:
    module, _, of_class = name.rpartition(".")
    found: type = getattr(import_module(module), of_class)
    return found


# -- saving --------------------------------------------------------------------------------------


def _take_apart(name: str, model: Any) -> dict[str, Any]:
    """Parameters that are not at their defaults, what was learnt, and the version."""
    defaults = {k: p.default for k, p in inspect.signature(type(model)).parameters.items()}
    given = model.get_params(deep=False)
    values: dict[str, Any] = {
        "version": version("scikit-learn"),
        # Other versions have other parameters; those at their defaults are not missed there.
        "parameters": {k: v for k, v in given.items() if not _same(v, defaults[k])},
        "fitted": None,
        **output_of(model),
    }
    _check_parameters(name, values["parameters"])
    if name not in COMPOSITIONS and hasattr(model, "n_features_in_"):
        values["fitted"] = _learnt(name, model)
        _compare(model, _rebuild(name, values))
    return values


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _learnt(name: str, model: Any) -> dict[str, Any]:
    """Attributes that a fitted model has, numbers of NumPy with their types."""
    known = KNOWN[name]
    attributes = {"n_features_in_": int(model.n_features_in_)}
    for attribute in (*known.needed, *known.further, "feature_names_in_"):
        value = getattr(model, attribute, None)
        if value is None:
            continue
        if attribute == "statistics_" and value.dtype == object:  # numbers, but for a constant
            value = value.astype(model._fit_dtype)
        if not isinstance(value, (bool, int, float, list, np.generic, np.ndarray)):
            kind = type(value).__name__
            raise TypeError(f"{attribute} of {name} is a {kind}, which cannot be saved")
        attributes[attribute] = described(value)
    return attributes


def _compare(model: Any, again: Any) -> None:
    """Refuse to save what would not answer as before."""
    for before, after in zip(_answers(model), _answers(again), strict=True):
        if not np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
            raise TypeError(
                f"{type(model).__name__} of scikit-learn {version('scikit-learn')} cannot be "
                "saved: a copy made of its parameters and coefficients answers differently"
            )


def _answers(model: Any) -> list[np.ndarray]:
    """What a model says of a few rows, by every method it has."""
    rows = np.random.default_rng(0).normal(size=(4, model.n_features_in_))
    answers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names, for a model that knows names
        for method in _METHODS:
            if hasattr(model, method):
                try:
                    answers.append(np.asarray(getattr(model, method)(rows)))
                except NotImplementedError:  # as a projection without a solver that gives it
                    continue
    return answers


# -- loading -------------------------------------------------------------------------------------


def _rebuild(name: str, values: dict[str, Any]) -> Any:
    """An instance through its constructor, with what it learnt, all of it checked."""
    parameters, fitted = values["parameters"], values["fitted"]
    if not isinstance(parameters, dict):
        raise TypeError(f"parameters of {name} must be a dict")
    _check_parameters(name, parameters)
    model = _class(name)(**parameters)
    if name in COMPOSITIONS:
        _check_composition(name, model)
    elif fitted is not None:
        model._validate_params()
        _set_learnt(name, model, fitted)
        _probe(name, model, str(values["version"]))
    set_output(model, values.get("output", {}))
    return model


def _check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters by which a file could reach other files or start many processes."""
    if parameters.get("memory") is not None:
        raise TypeError(
            f"memory of {name} must be None, got {parameters['memory']!r}: caches hold pickles"
        )
    if parameters.get("n_jobs") is not None:
        checks.integer("n_jobs", parameters["n_jobs"], -_MOST_JOBS, _MOST_JOBS)


def _check_composition(name: str, model: Any) -> None:
    """Check the steps as scikit-learn does before it fits them."""
    if name.endswith("Pipeline"):
        model._validate_params()
        model._validate_steps()
    else:
        model._validate_transformers()


def _set_learnt(name: str, model: Any, fitted: Any) -> None:
    """Set what a file says was learnt, once it was checked."""
    known = KNOWN[name]
    if not isinstance(fitted, dict):
        raise TypeError(f"what {name} learnt must be a dict, got a {type(fitted).__name__}")
    allowed = {"n_features_in_", "feature_names_in_", *known.needed, *known.further}
    for attribute in fitted:
        if attribute not in allowed:
            raise ValueError(f"{name} learns no attribute {attribute!r}")
    for attribute in ("n_features_in_", *known.needed):
        if attribute not in fitted:
            raise ValueError(f"{name} must have learnt {attribute}")
    features = checks.integer("n_features_in_", fitted["n_features_in_"], 1, _MOST_FEATURES)
    sizes = Sizes({"f": features})
    for attribute, axes in (known.needed | known.further).items():
        if attribute in fitted:
            value = check_attribute(attribute, fitted[attribute], axes, sizes)
            if not isinstance(inspect.getattr_static(model, attribute, None), property):
                setattr(model, attribute, value)
    model.n_features_in_ = features
    if "feature_names_in_" in fitted:
        model.feature_names_in_ = check_names(fitted["feature_names_in_"], features)
    of_class = _OF_CLASS.get(name)
    if of_class is not None:
        of_class(model, fitted)


def _probe(name: str, model: Any, writer: str) -> None:
    """Refuse what this version of scikit-learn cannot use."""
    if name in STATELESS:
        return
    try:
        _answers(model)
    except Exception as error:  # whatever scikit-learn stumbles over
        raise ValueError(
            f"{name} was saved with scikit-learn {writer} and cannot be used with "
            f"{version('scikit-learn')}: {error}"
        ) from error


def _set_labels(model: Any, fitted: dict[str, Any]) -> None:
    """Ridge classifiers keep their labels in a transformer of targets."""
    binarizer = _class("sklearn.preprocessing.LabelBinarizer")(pos_label=1, neg_label=-1)
    model._label_binarizer = binarizer.fit(fitted["classes_"])


def _set_dtypes(model: Any, fitted: dict[str, Any]) -> None:
    """An imputer of numbers without an indicator of what was missing."""
    if model.add_indicator or model.strategy not in ("mean", "median", "most_frequent", "constant"):
        raise TypeError("SimpleImputer must have add_indicator=False and strategy a name")
    model.indicator_ = None
    model._fit_dtype = model._fill_dtype = fitted["statistics_"].dtype


def _set_powers(model: Any, fitted: dict[str, Any]) -> None:
    """Powers follow from the parameters and the number of features."""
    degrees = model.degree if isinstance(model.degree, tuple) else (0, model.degree)
    for degree in degrees:
        checks.integer("degree", degree, 0, _MOST_DEGREES)
    names = getattr(model, "feature_names_in_", None)
    model.fit(np.zeros((1, fitted["n_features_in_"])))
    if names is not None:
        model.feature_names_in_ = names


_OF_CLASS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "sklearn.linear_model.RidgeClassifier": _set_labels,
    "sklearn.linear_model.RidgeClassifierCV": _set_labels,
    "sklearn.impute.SimpleImputer": _set_dtypes,
    "sklearn.preprocessing.PolynomialFeatures": _set_powers,
}
