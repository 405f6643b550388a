"""Values as JSON with references to arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn.persistence import scikit_learn
from paralesn.persistence.registry import entry_named, entry_of
from paralesn.persistence.scikit_learn_table import KNOWN

_NUMBERS = (
    "float64",
    "float32",
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def encode(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """The JSON form of a value called `name`; its arrays are added to `arrays` by name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    if isinstance(value, (list, tuple, range)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(v, arrays, f"{name}.{i}") for i, v in enumerate(value)]}
    if isinstance(value, Mapping):
        items = {k: encode(v, arrays, f"{name}.{k}") for k, v in value.items()}
        if all(isinstance(key, str) for key in items):
            return {"dict": items}
        return {"pairs": [[encode(k, arrays, name), v] for k, v in items.items()]}
    if isinstance(value, (complex, np.complexfloating)):
        return {"number": [float(value.real), float(value.imag)]}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, name)
    if isinstance(value, np.random.Generator):
        return {"generator": encode(value.bit_generator.state, arrays, f"{name}.bits")}
    if isinstance(value, (np.dtype, type)) and np.dtype(value).name in _NUMBERS:
        return np.dtype(value).name
    entry, of_class = entry_of(value), type(value).__name__
    if entry is None:
        public = scikit_learn.public_name(value)
        if public is None:
            raise TypeError(
                f"{name} holds a {of_class}, which cannot be saved: {scikit_learn.why_not(value)}"
            )
        entry, of_class = scikit_learn.entry_named(public), public
    content = {k: encode(v, arrays, f"{name}.{k}") for k, v in entry.take_apart(value).items()}
    return {"object": of_class, "content": content}


def _encode_array(array: np.ndarray, arrays: dict[str, np.ndarray], name: str) -> Any:
    if array.dtype.kind == "U" and array.ndim == 1:
        return {"text": array.tolist()}
    if array.dtype == object and all(isinstance(item, str) for item in array):
        return {"names": list(array)}
    if np.iscomplexobj(array):  # safetensors has no complex128
        arrays[name + ".re"] = np.ascontiguousarray(array.real)
        arrays[name + ".im"] = np.ascontiguousarray(array.imag)
        return {"complex": name}
    if array.dtype.name not in _NUMBERS:
        raise TypeError(f"{name} is an array of {array.dtype}, which cannot be saved")
    arrays[name] = np.ascontiguousarray(array)
    return {"array": name}


def decode(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value of a JSON form, rebuilt and checked from the inside out."""
    if not isinstance(node, dict):
        return node
    if "object" in node:
        known = node["object"] in KNOWN
        entry = (scikit_learn.entry_named if known else entry_named)(node["object"])
        return entry.rebuild({k: decode(v, arrays) for k, v in node["content"].items()})
    ((kind, content),) = node.items()
    if kind in ("list", "tuple"):
        values = [decode(v, arrays) for v in content]
        return tuple(values) if kind == "tuple" else values
    if kind == "dict":
        return {k: decode(v, arrays) for k, v in content.items()}
    if kind == "pairs":
        return {decode(k, arrays): decode(v, arrays) for k, v in content}
    if kind == "number":
        return complex(*content)
    if kind == "names":
        return np.array(content, dtype=object)
    if kind == "text":
        return np.array(content, dtype=str)
    if kind == "array":
        return arrays[content].copy()
    if kind == "complex":
        return _decode_complex(arrays[content + ".re"], arrays[content + ".im"])
    if kind == "generator":
        return _decode_generator(decode(content, arrays))
    raise KeyError(f"unknown entry {kind!r}")


def _decode_complex(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    whole = np.empty(real.shape, np.result_type(real.dtype, 1j))
    whole.real, whole.imag = real, imaginary  # re + 1j * im would lose the sign of zeros
    return whole


def _decode_generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] not in _GENERATORS:
        raise KeyError(f"unknown random generator {state['bit_generator']!r}")
    generator = np.random.Generator(getattr(np.random, state["bit_generator"])())
    generator.bit_generator.state = state
    return generator
