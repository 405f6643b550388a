"""Checks of hyperparameters: each error names the argument, what came and what was expected."""

import math
from collections.abc import Iterable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np


def fail(name: str, value: Any, expected: str, error: type[Exception] = ValueError) -> Exception:
    """Make the error for argument `name`."""
    return error(f"{name} must be {expected}, got {value!r}")


def in_memory(name: str, value: Any) -> None:
    """Raise for what lies on a cluster or is not computed yet: a dask array, frame or bag."""
    if hasattr(value, "__dask_graph__"):
        kind = type(value).__name__.lower()
        raise TypeError(
            f"{name} must be in memory, got a dask {kind}: paralesn.dask.fit(model, X, y) fits a "
            f"model to it block by block, {name}.compute() brings it here"
        )


def unmasked(name: str, value: Any) -> Any:
    """An array as it is; raise for masked entries, which NumPy and scikit-learn take for values."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} must not have masked entries, got {np.sum(value.mask)} of them")
    return value


def masked_as_nan(value: Any) -> Any:
    """An array as it is, or in double precision with NaN, a missing value, for what is masked."""
    if not isinstance(value, np.ma.MaskedArray) or not np.ma.is_masked(value):
        return value
    # Whatever is no number is refused where it is read.
    kind = float if value.dtype.kind in "biuf" else object
    return np.ma.filled(value.astype(kind), np.nan)


def integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Whole number from `least` to `most`."""
    expected = f"a whole number of at least {least}"
    if most is not None:
        expected = f"a whole number from {least} to {most}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise fail(name, value, expected, TypeError)
    whole = int(value)
    if whole < least or (most is not None and whole > most):
        raise fail(name, value, expected)
    return whole


def number(
    name: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    open_left: bool = False,
    open_right: bool = False,
) -> float:
    """Finite number in an interval that may exclude its ends."""
    left = "(" if open_left or least == -math.inf else "["
    right = ")" if open_right or most == math.inf else "]"
    expected = f"a finite number in {left}{least:g}, {most:g}{right}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise fail(name, value, expected, TypeError)
    value = float(value)
    outside = value < least or value > most
    at_end = (open_left and value == least) or (open_right and value == most)
    if not math.isfinite(value) or outside or at_end:
        raise fail(name, value, expected)
    return value


def interval(name: str, value: Any, **bounds: Any) -> tuple[float, float]:
    """Pair (min, max) of numbers within `bounds`, min not above max."""
    expected = "a pair (min, max) of numbers"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise fail(name, value, expected, TypeError)
    pair = list(value)
    if len(pair) != 2:
        raise fail(name, value, expected)
    low = number(f"{name}[0] (min)", pair[0], **bounds)
    high = number(f"{name}[1] (max)", pair[1], **bounds)
    if low > high:
        raise fail(name, value, "a pair (min, max) with min <= max")
    return low, high


def rising(name: str, value: Any, least: int = 0, most: int | None = None) -> tuple[int, ...]:
    """Whole numbers from `least` to `most`, each larger than the one before, at least one."""
    expected = "a rising sequence of whole numbers"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise fail(name, value, expected, TypeError)
    numbers = tuple(integer(f"{name}[{i}]", n, least, most) for i, n in enumerate(value))
    if not numbers or any(a >= b for a, b in pairwise(numbers)):
        raise fail(name, value, expected)
    return numbers


def penalties(name: str, value: Any, positive: bool = False) -> None:
    """Sequence of at least one finite number, none of them negative, or all of them positive."""
    if isinstance(value, (str, Real)) or not np.size(value) or np.ndim(value) != 1:
        raise fail(name, value, "a sequence of at least one number")
    for penalty in np.asarray(value).ravel().tolist():
        if not isinstance(penalty, (int, float)) or not 0 <= penalty < math.inf:
            raise fail(name, penalty, "finite and not negative")
        if positive and penalty == 0:
            raise fail(name, penalty, "positive")


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise fail(name, value, "True or False", TypeError)
    return bool(value)


def optional_flag(name: str, value: Any) -> bool | None:
    """True, False or None."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise fail(name, value, "True, False or None", TypeError)
    return None if value is None else bool(value)


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of several names."""
    names = list(options)
    if not isinstance(value, str) or value not in names:
        raise fail(name, value, "one of " + ", ".join(map(repr, names)))
    return value


def optional_choice(name: str, value: Any, options: Iterable[str]) -> str | None:
    """One of several names, or None."""
    names = list(options)
    if value is not None and (not isinstance(value, str) or value not in names):
        raise fail(name, value, ", ".join(map(repr, names)) + " or None")
    return value


def dtype_name(dtype: Any) -> str:
    """Name of a dtype, or what came in its place."""
    try:
        return np.dtype(dtype).name if dtype is not None else "None"
    except TypeError:
        return repr(dtype)


def jobs(value: Any) -> int | None:
    """Number of threads: None, a positive number, or a negative one counting back from all."""
    expected = "None (every core), a positive whole number, or -1 (every core)"
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise fail("n_jobs", value, expected, TypeError)
    if value == 0:
        raise fail("n_jobs", value, expected)
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """Random generator for a seed: a whole number, None, or a Generator to draw from."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    expected = "a whole number of at least 0, None or a numpy.random.Generator"
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, Integral):
        raise fail("seed", seed, expected, TypeError)
    if seed < 0:
        raise fail("seed", seed, expected)
    return np.random.default_rng(int(seed))


def weights(layer: Any, units: int, below: int, here: str) -> None:
    """Input weights and bias of a given layer, above `below` units or, with 0, the first one."""
    expected = f"({units},) or ({units}, {below})" if below else f"({units}, features)"
    width = layer.w_in.shape[1] if layer.w_in.ndim == 2 else 0
    fits = layer.w_in.shape[:1] == (units,) and layer.w_in.ndim <= 2
    if not fits or (width not in (0, below) if below else width == 0):
        raise ValueError(f"w_in {here} must have shape {expected}, got {layer.w_in.shape}")
    if layer.bias.shape != (units,):
        raise ValueError(f"bias {here} must have shape {(units,)}, got {layer.bias.shape}")
