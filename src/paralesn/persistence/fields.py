"""Fields of registered dataclasses: what they are annotated with is what they must hold.

An array that is annotated with one of the types below must hold values of that kind; one that is
annotated as an array, numbers that are finite, or text. Saving asks the same as loading, so that a
file which was written can be read.
"""

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from math import inf
from numbers import Complex, Integral, Real
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np


class Kind(NamedTuple):
    """What an array holds: kinds of NumPy's types, whether all of it is finite, and from where."""

    name: str
    letters: str
    is_finite: bool = True
    least: float = -inf


class AtLeast(NamedTuple):
    """The least of whole numbers."""

    least: int


ANY = Kind("finite numbers or text", "biufcUO")
Floats = Annotated[np.ndarray, Kind("finite floats", "f")]
OpenFloats = Annotated[np.ndarray, Kind("floats", "f", False)]
Numbers = Annotated[np.ndarray, Kind("finite numbers", "biufc")]
States = Annotated[np.ndarray, Kind("finite real or complex numbers", "fc")]
Ints = Annotated[np.ndarray, Kind("whole numbers", "i")]
Counts = Annotated[np.ndarray, Kind("whole numbers of at least 0", "i", least=0)]
Count = Annotated[int, AtLeast(0)]
Flags = Annotated[np.ndarray, Kind("True and False", "b")]
Labels = Annotated[np.ndarray, Kind("finite numbers or text", "biufUO")]
Names = Annotated[np.ndarray, Kind("text", "UO")]


def check_fields(cls: type, values: Mapping[str, Any]) -> None:
    """Raise unless there is a value for every field, each of the type it is annotated with.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Line:
    ...     slopes: Floats
    ...     count: int
    >>> check_fields(Line, {"slopes": np.zeros(2), "count": 3})
    >>> check_fields(Line, {"slopes": np.array([np.nan]), "count": 3})
    Traceback (most recent call last):
    ValueError: slopes of Line must be an array of finite floats, got NaN or infinity
    >>> check_fields(Line, {"slopes": np.zeros(2), "count": True})
    Traceback (most recent call last):
    TypeError: count of Line must be a whole number, got True
    """
    hints = _hints(cls)
    for name, hint in hints.items():
        if name not in values:
            raise ValueError(f"{cls.__name__} must have {name}")
        if not _is(values[name], hint):
            raise _wrong(f"{name} of {cls.__name__}", values[name], hint)
    for name in values:
        if name not in hints:
            raise ValueError(f"{cls.__name__} has no {name!r}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    """What the fields of a dataclass are annotated with."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls) if field.init}


def _is(value: Any, hint: Any) -> bool:
    """Whether a value is of a type."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if isinstance(inner[1], AtLeast):
            return _is_plain(value, int) and bool(value >= inner[1].least)
        return _holds(value, inner[1])
    if origin in (Union, types.UnionType):
        return any(_is(value, one) for one in inner)
    if origin is tuple:
        return _is_tuple(value, inner)
    if origin is list:
        return type(value) is list and all(_is(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _is(key, inner[0]) and _is(item, inner[1]) for key, item in value.items()
        )
    return _is_plain(value, hint)


def _is_tuple(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether a value is a tuple of these types, or with ... of any number of the first."""
    if not isinstance(value, tuple):
        return False
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(_is(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(_is, value, inner))


def _is_plain(value: Any, kind: type) -> bool:
    """Whether a value is of a class; numbers may be those of NumPy, but not True or False."""
    if kind is np.ndarray:
        return _holds(value, ANY)
    is_flag = isinstance(value, (bool, np.bool_))
    if kind is bool:
        return is_flag
    if kind is int:
        return isinstance(value, Integral) and not is_flag
    if kind in (float, complex):
        is_number = isinstance(value, Real if kind is float else Complex) and not is_flag
        return is_number and bool(np.isfinite(value))
    return isinstance(value, kind)


def _holds(value: Any, kind: Kind) -> bool:
    """Whether a value is an array of a kind."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind.letters:
        return False
    if value.dtype.kind == "O":
        return value.ndim == 1 and all(isinstance(item, str) for item in value)
    if kind.is_finite and value.dtype.kind in "fc" and not np.isfinite(value).all():
        return False
    return kind.least == -inf or bool(value.min(initial=kind.least) >= kind.least)


# -- messages ------------------------------------------------------------------------------------


def _wrong(name: str, value: Any, hint: Any) -> Exception:
    """The error for a value that is not of a type, or for the first part of it that is not."""
    inner = get_args(hint)
    if isinstance(value, tuple) and get_origin(hint) is tuple and inner[-1] is Ellipsis:
        i = next(i for i, item in enumerate(value) if not _is(item, inner[0]))
        return _wrong(f"{name}[{i}]", value[i], inner[0])
    if not isinstance(value, np.ndarray):
        got = repr(value) if isinstance(value, (Real, str)) else f"a {type(value).__name__}"
        return (ValueError if isinstance(value, float) else TypeError)(
            f"{name} must be {_text(hint)}, got {got[:80]}"
        )
    got = f"{value.dtype} {value.shape}"
    if value.dtype.kind in "fc" and not np.isfinite(value).all():
        got = "NaN or infinity"
    return ValueError(f"{name} must be {_text(hint)}, got {got}")


_PLAIN = {
    bool: "True or False", int: "a whole number", float: "a finite number",
    complex: "a finite number", str: "text",
    type(None): "None",
}  # fmt: skip


def _text(hint: Any) -> str:
    """A type in words."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if isinstance(inner[1], AtLeast):
            return f"a whole number of at least {inner[1].least}"
        return f"an array of {inner[1].name}"
    if origin in (Union, types.UnionType):
        return " or ".join(map(_text, inner))
    if origin in (tuple, list, dict):
        return f"a {origin.__name__} of {' and '.join(_text(i) for i in inner if i is not ...)}"
    if hint is np.ndarray:
        return f"an array of {ANY.name}"
    if hint in _PLAIN:
        return _PLAIN[hint]
    return f"a {hint.__name__}" if isinstance(hint, type) else "anything"
