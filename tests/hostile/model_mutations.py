"""Changes of model files that know their form: JSON of values, arrays, bytes."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forging import parts, whole
from paralesn.persistence.saved_classes import MODULES
from paralesn.persistence.scikit_learn_table import KNOWN

SCALARS = [
    None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.0, 1.5, 1e-300, 10**6, 10**12, 2**31, 2**63, -(2**63),
    10**40, 1e30, -1e300, float("nan"), float("inf"), float("-inf"), "", "x", "float32", "mask", "1",
    [], {}, {"list": []}, {"tuple": []}, {"tuple": [1, 2]}, {"dict": {}}, {"names": ["a", "b"]},
    {"text": ["a", "b"]}, {"text": []}, {"number": [1.0, 2.0]}, {"pairs": [[1, 2]]}, {"array": "model"},
]  # fmt: skip
NUMBERS = [
    0.0, 1.0, -1.0, 0.5, 2.0, 7.0, 1e-300, 1e6, -1e6, 1e30, -1e300, float("nan"), float("inf"),
    2.0**31, -(2.0**40), 2.0**62,
]  # fmt: skip
TYPES = ["float64", "float32", "int64", "int32", "int8", "uint8", "uint64", "bool"]
LARGE = 1e20  # numbers from here on make results overflow, as they may
OPERATIONS = (  # those whose results most often pass for a model come several times
    *("scalar",) * 8, *("fill",) * 3, *("element",) * 6, *("type",) * 3, *("swap",) * 2,
    *("exchange",) * 2, "drop", "rename", "copy", "nest", "retype", "cut", "grow", "shape", "empty",
    "forget", "add",
)  # fmt: skip

_place = st.integers(0, 10**6)
MUTATIONS = st.lists(
    st.fixed_dictionaries(
        {"how": st.sampled_from(OPERATIONS), "where": _place, "what": _place, "axis": _place}
    ),
    min_size=1,
    max_size=2,
)
DAMAGE = st.lists(
    st.fixed_dictionaries(
        {
            "how": st.sampled_from(["flip", "cut", "insert", "header"]),
            "where": _place,
            "what": _place,
        }
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, mutations: list[dict[str, Any]]) -> tuple[bytes, bool]:
    """A file after changes, its checksum right; and whether they brought in enormous numbers."""
    body, arrays = parts(data)
    is_large = False
    for change in mutations:
        if change["how"] in ("scalar", "drop", "rename", "swap", "copy", "nest", "retype"):
            is_large |= _change_json(body, change)
        else:
            is_large |= _change_arrays(arrays, change)
    return whole(body, arrays), is_large


def damaged(data: bytes, damage: list[dict[str, Any]]) -> bytes:
    """A file after changes of its bytes, its checksum as it was."""
    for change in damage:
        if not data:
            break
        header = min(len(data), 8 + int.from_bytes(data[:8], "little"))
        at = change["where"] % (header if change["how"] == "header" else len(data))
        if change["how"] == "cut":
            data = data[:at]
        elif change["how"] == "insert":
            data = data[:at] + bytes([change["what"] % 256]) + data[at:]
        else:
            data = data[:at] + bytes([data[at] ^ (1 << change["what"] % 8)]) + data[at + 1 :]
    return data


# -- JSON ----------------------------------------------------------------------------------------


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Everything that can be set: dicts and lists with a key of each."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from _places(node[key])


def _change_json(body: Any, change: dict[str, Any]) -> bool:
    """Change something of the model; whether it is an enormous number now."""
    how, what = change["how"], change["what"]
    places = [(node, key) for node, key in _places(body) if node is not body or key == "model"]
    if not places:
        return False
    if how == "rename":
        places = [(node, key) for node, key in places if key == "object"] or places
    node, key = places[change["where"] % len(places)]
    other, name = places[what % len(places)]
    if how == "scalar":
        node[key] = deepcopy(SCALARS[what % len(SCALARS)])
        return isinstance(node[key], float) and abs(node[key]) >= LARGE
    if how == "drop":
        del node[key]
    elif how == "rename":
        classes = sorted([*MODULES, *KNOWN, "Nobody"])
        node[key] = classes[what % len(classes)]
    elif how == "swap":
        if not (_lies_in(node[key], other) or _lies_in(other[name], node)):
            node[key], other[name] = other[name], node[key]
    elif how == "copy":
        node[key] = deepcopy(other[name])
    elif how == "nest":
        for _ in range(what % 120):
            node[key] = {("list", "tuple", "dict")[what % 3]: [node[key]]}
    else:
        _retype(node, key, what)
    return False


def _lies_in(outer: Any, inner: Any) -> bool:
    """Whether one value is the other or lies within it."""
    if outer is inner:
        return True
    values = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
    return any(_lies_in(value, inner) for value in values)


def _retype(node: Any, key: Any, what: int) -> None:
    """Say that a value is of another kind."""
    kinds = ("list", "tuple", "dict", "pairs", "number", "names", "text", "array", "complex",
             "generator", "object")  # fmt: skip
    value = node[key]
    if isinstance(value, dict) and len(value) == 1:
        node[key] = {kinds[what % len(kinds)]: next(iter(value.values()))}
    else:
        node[key] = {kinds[what % len(kinds)]: value}


# -- arrays --------------------------------------------------------------------------------------


def _change_arrays(arrays: dict[str, np.ndarray], change: dict[str, Any]) -> bool:
    """Change an array; whether it holds enormous numbers now."""
    how, what = change["how"], change["what"]
    if how == "add":
        arrays[f"more{what % 3}"] = np.zeros((what % 4, change["axis"]))[:, :0]
    if not arrays or how == "add":
        return False
    names = sorted(arrays)
    name = names[change["where"] % len(names)]
    array = arrays[name]
    if how == "forget":
        del arrays[name]
    elif how == "exchange":
        arrays[name] = arrays[names[what % len(names)]].copy()
    elif how in ("fill", "element"):
        return _set(arrays, name, change)
    elif how == "type":
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(TYPES[what % len(TYPES)])
    else:
        arrays[name] = _reshaped(array, how, what, change["axis"])
    return False


def _set(arrays: dict[str, np.ndarray], name: str, change: dict[str, Any]) -> bool:
    """Set all of an array or one number of it."""
    array = arrays[name]
    value = NUMBERS[change["what"] % len(NUMBERS)]
    with np.errstate(all="ignore"):
        as_it_fits = np.array(value).astype(array.dtype)
    if change["how"] == "fill" or not array.size:
        array[...] = as_it_fits
    else:
        array.flat[change["axis"] % array.size] = as_it_fits
    return abs(value) >= LARGE


def _reshaped(array: np.ndarray, how: str, what: int, axis: int) -> np.ndarray:
    """An array of another shape."""
    if how == "empty" or not array.ndim:
        return np.zeros((what, 0) if what % 2 else (0, what), array.dtype)
    axis %= array.ndim
    if how == "cut":
        return array.take(range(array.shape[axis] - 1 - what % 2), axis, mode="clip")
    if how == "grow":
        return np.concatenate([array, array.take(range(min(1, array.shape[axis])), axis)], axis)
    shapes = (array.T, array.ravel(), array[None], array[..., None], array[:1])
    return shapes[what % len(shapes)]
