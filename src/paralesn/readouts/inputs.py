"""Inputs of the readouts, checked: states, targets, and what a fitted readout knows of both."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    _get_feature_names,
    check_array,
    validate_data,
)

from paralesn import checks
from paralesn.runtime.memory import require_room

FLOATS = (np.float64, np.float32)
_ALPHA_BYTES = 1 << 9  # that the solution for one of them takes at least, as objects


class FittedFeatures:
    """Mixin: number and names of the features, as the fitted state has them."""

    fitted_: Any

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in training."""
        return int(self.fitted_.n_features)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, where the training data had any."""
        names = self.fitted_.feature_names
        if names is None:
            raise AttributeError(f"this {type(self).__name__} was fitted to features without names")
        return np.asarray(names)


class CheckedScore:
    """Mixin: the score of scikit-learn's, which would take masked entries for values."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of labels, or the coefficient of determination of numbers, as scikit-learn's."""
        checks.unmasked("y", y)
        checks.unmasked("sample_weight", sample_weight)
        parent: Any = super()
        return float(parent.score(X, y, sample_weight))


class Features(NamedTuple):
    """Number and names of features, before there is a fitted state."""

    n_features: int
    feature_names: np.ndarray | None


def first_states(model: Any, X: Any, **options: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """States (n, features) to fit `model` to, and the names of their features."""
    checks.in_memory("X", _values("X", X))
    names = _get_feature_names(X)
    return check_array(X, dtype=FLOATS, estimator=model, input_name="X", **options), names


def _values(name: str, X: Any) -> Any:
    """An array as it is; raise for what scikit-learn would take for numbers, and is none."""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "f") in "mM":
        raise TypeError(f"{name} must hold numbers, got {dtype}")
    return checks.unmasked(name, X)


def states(X: Any) -> np.ndarray:
    """States (n, features) of a block."""
    return np.asarray(check_array(_values("X", X), dtype=FLOATS))


def further_states(model: Any, X: Any, **options: Any) -> np.ndarray:
    """States (n, features) with the features that the fitted `model` knows."""
    _values("X", X)
    return np.asarray(validate_data(model, X, reset=False, dtype=FLOATS, **options))


def states_with(model: Any, features: Features, X: Any, **options: Any) -> np.ndarray:
    """States (n, features) with the features that `model` is being fitted to."""
    probe = copy(model)
    probe.fitted_ = features
    return further_states(probe, X, **options)


def numeric_targets(y: Any, rows: int | None = None, *, allow_nan: bool = False) -> np.ndarray:
    """Targets (n,) or (n, targets) float64; `rows` of them where that is given."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    checks.in_memory("y", y)
    y = _values("y", checks.masked_as_nan(y) if allow_nan else y)
    finite: Any = "allow-nan" if allow_nan else True
    options: Any = {"ensure_2d": False, "dtype": float, "ensure_all_finite": finite}
    array = check_array(y, input_name="y", **options)
    if array.ndim not in (1, 2):
        raise ValueError(f"y must be (n,) or (n, targets), got shape {array.shape}")
    if rows is not None and array.shape[0] != rows:
        raise ValueError(f"y must have as many rows as X ({rows}), got {array.shape[0]}")
    return array


def predictions(values: np.ndarray) -> np.ndarray:
    """Predictions for X as they are; refused where they are too large for their precision."""
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        raise ValueError(
            f"X must be small enough for predictions in {values.dtype}, got predictions that are "
            f"not finite for row {row}: scale X and y before the fit"
        )
    return values


def small_enough(*parts: np.ndarray | np.floating) -> None:
    """Raise unless what was computed from X and y is finite."""
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError(
            "X and y must be small enough for squares in float64, got numbers whose squares "
            "are not: scale X and y"
        )


def check_alphas(alphas: Any, positive: bool = False) -> None:
    """Raise unless penalties are numbers, none of them negative, and not too many to solve for."""
    count = np.size(alphas)
    require_room("alphas", f"{count} of them", _ALPHA_BYTES * count)
    checks.penalties("alphas", alphas, positive)


def refuse_merged(y: np.ndarray) -> None:
    """Raise for labels so large that NumPy may not tell neighbours apart."""
    expected = "integers within 64 bits, or text, where they are this large"
    if y.dtype == object:
        for label in y.ravel().tolist():
            if isinstance(label, int) and not -(2**63) <= label < 2**64:
                raise checks.fail("y", label, expected)
    if y.dtype.kind == "f":
        large = np.abs(y) >= 1 / np.finfo(y.dtype).epsneg
        if large.any():
            raise checks.fail("y", float(y[large][0]), expected)


def pair_of_validation(validation: Any) -> tuple[Any, Any]:
    """The pair (X, y) that was given as validation data."""
    try:
        X, y = validation
    except (TypeError, ValueError):
        raise ValueError("validation must be None or a pair (X, y)") from None
    return X, y


def names_fit(names: Any, features: int) -> bool:
    """Whether a file's names of features are None, or one for each."""
    return names is None or (isinstance(names, np.ndarray) and names.shape == (features,))


def row_weights(sample_weight: Any, rows: Any) -> np.ndarray:
    """Weights (n,) of `rows`: none negative, not all zero (scikit-learn 1.6 lets that pass)."""
    given = checks.unmasked("sample_weight", sample_weight)
    weight = np.asarray(_check_sample_weight(given, rows, ensure_non_negative=True))
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight
