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
from paralesn.series import unmasked

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


class Features(NamedTuple):
    """Number and names of features, before there is a fitted state."""

    n_features: int
    feature_names: np.ndarray | None


def first_states(model: Any, X: Any, **options: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """States (n, features) to fit `model` to, and the names of their features."""
    checks.in_memory("X", X)
    names = _get_feature_names(X)
    X = unmasked(X)
    return check_array(X, dtype=FLOATS, estimator=model, input_name="X", **options), names


def further_states(model: Any, X: Any, **options: Any) -> np.ndarray:
    """States (n, features) with the features that the fitted `model` knows."""
    return np.asarray(validate_data(model, unmasked(X), reset=False, dtype=FLOATS, **options))


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
    finite: Any = "allow-nan" if allow_nan else True
    options: Any = {"ensure_2d": False, "dtype": float, "ensure_all_finite": finite}
    array = check_array(unmasked(y), input_name="y", **options)
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


def small_enough(*parts: np.ndarray) -> None:
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
    weight = np.asarray(_check_sample_weight(sample_weight, rows, ensure_non_negative=True))
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight
