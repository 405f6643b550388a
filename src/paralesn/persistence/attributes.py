"""Arrays that a file says a model learnt, checked for type, shape and values."""

import re
from typing import Any

import numpy as np

from paralesn import checks

_KINDS = {"float": "f", "maybe": "f", "int": "iu", "bool": "b"}
_ALTERNATIVE = re.compile(r"(\w+)\(([\w,]*)\)")
_SCALARS = ("float64", "float32", "int64", "int32", "bool")


class Sizes(dict[str, int]):
    """Sizes of the axes of one model, by letter, each fixed by the first array that has it."""

    def fit(self, axes: tuple[str, ...], shape: tuple[int, ...]) -> bool:
        """Whether a shape has these axes; if so, new ones are noted."""
        if len(axes) != len(shape):
            return False
        new: dict[str, int] = {}
        for axis, size in zip(axes, shape, strict=True):
            if {**self, **new}.get(axis, size) != size:
                return False
            new[axis] = size
        self.update(new)
        if "c" in new:
            self["d"] = 1 if new["c"] == 2 else new["c"]
        return True


def described(value: Any) -> Any:
    """A value with what a file does not keep of it: the type of a number, the order of a matrix."""
    if isinstance(value, list):
        return np.asarray(value)
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        return {"dtype": np.asarray(value).dtype.name, "value": value.item()}
    if isinstance(value, np.ndarray) and value.ndim == 2 and not value.flags.c_contiguous:
        return {"transposed": value.T}  # products of matrices round by the order in memory
    return value


def check_attribute(name: str, value: Any, expected: str, sizes: Sizes) -> Any:
    """The value of an attribute that is as expected, see `paralesn.persistence.scikit_learn_table`.

    Examples
    --------
    >>> sizes = Sizes({"f": 3})
    >>> check_attribute("coef_", np.zeros((2, 3)), "float(f) float(t,f)", sizes).shape, sizes["t"]
    ((2, 3), 2)
    >>> check_attribute("intercept_", np.zeros(5), "float() float(t)", sizes)
    Traceback (most recent call last):
    ValueError: intercept_ must be float() float(t) with {'f': 3, 't': 2}, got float64 (5,)
    """
    value = _as_it_was(name, value)
    array = np.asarray(value)
    for kind, letters in _ALTERNATIVE.findall(expected):
        axes = tuple(letters.split(",")) if letters else ()
        if _is_of(kind, array) and sizes.fit(axes, array.shape):
            return value
    raise ValueError(
        f"{name} must be {expected} with {dict(sizes)}, got {array.dtype} {array.shape}"
        + ("" if array.dtype.kind != "f" or np.isfinite(array).all() else ", not finite")
    )


def check_names(value: Any, count: int) -> np.ndarray:
    """Names of so many columns."""
    array = np.asarray(value)
    if array.shape != (count,) or not all(isinstance(name, str) for name in array.tolist()):
        raise ValueError(f"feature_names_in_ must be {count} names, got shape {array.shape}")
    return array.astype(object)


def _as_it_was(name: str, value: Any) -> Any:
    """What `described` was given."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a number or an array, got a {type(value).__name__}")
    if set(value) == {"transposed"} and isinstance(value["transposed"], np.ndarray):
        return value["transposed"].T
    if set(value) != {"dtype", "value"} or not isinstance(value["value"], (bool, int, float)):
        raise ValueError(f"{name} must be a number or an array")
    dtype = checks.choice(f"dtype of {name}", value["dtype"], _SCALARS)
    return np.dtype(dtype).type(value["value"])


def _is_of(kind: str, array: np.ndarray) -> bool:
    """Whether the values of an array are of a kind."""
    if kind == "label":
        return _are_labels(array)
    if array.dtype.kind not in _KINDS[kind]:
        return False
    return kind != "float" or bool(np.isfinite(array).all())


def _are_labels(array: np.ndarray) -> bool:
    """Whether an array holds labels of one type, at least two, sorted, none of them twice."""
    if array.ndim != 1 or array.size < 2 or array.dtype.kind not in "biufUO":
        return False
    if array.dtype.kind == "O" and not all(isinstance(label, str) for label in array):
        return False
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return False
    return bool(all(array[i] < array[i + 1] for i in range(array.size - 1)))
