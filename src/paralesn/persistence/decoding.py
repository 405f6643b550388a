"""Values from JSON with references to arrays, in no more memory than their file's size explains."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import scikit_learn
from paralesn.persistence.encoding import DEEPEST, TextRoom
from paralesn.persistence.registry import entry_named
from paralesn.persistence.scikit_learn_table import KNOWN

_POSITIONS = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}  # that NumPy reads buffers at
_GENERATORS = ("PCG64", "PCG64DXSM", "SFC64", *_POSITIONS)


class Decoder:
    """Rebuilds a value from the inside out; every part is checked where it is made.

    Parameters
    ----------
    arrays : mapping
        Of the file, by name. Each may be referred to once and, by the end, must have been.
    file_bytes : int
        Size of the file.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], file_bytes: int) -> None:
        self._unused = dict(arrays)
        self._file_bytes = file_bytes
        self._texts = TextRoom()
        for name, array in arrays.items():  # one without numbers may claim to be of any shape
            if max(array.shape, default=0) > file_bytes:
                raise ValueError(f"array {name!r} of shape {array.shape} is larger than the file")

    def model(self, node: Any) -> Any:
        """The model that a file holds."""
        if not isinstance(node, dict) or "object" not in node:
            raise KeyError("it holds no model")
        model = self._decode(node, 0)
        if self._unused:
            raise ValueError(f"nothing refers to its array {min(self._unused)!r}")
        return model

    def _decode(self, node: Any, depth: int) -> Any:
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if depth >= DEEPEST:
            raise ValueError(f"its values must lie within at most {DEEPEST} others")
        if "object" in node:
            return self._object(node, depth + 1)
        ((kind, content),) = node.items()
        if kind in ("list", "tuple"):
            values = [self._decode(v, depth + 1) for v in _list(content)]
            return tuple(values) if kind == "tuple" else values
        if kind == "dict":
            return {k: self._decode(v, depth + 1) for k, v in _dict(content).items()}
        if kind == "pairs":
            pairs = [(k, v) for k, v in map(_list, _list(content))]
            return {self._decode(k, depth + 1): self._decode(v, depth + 1) for k, v in pairs}
        if kind == "number":
            real, imaginary = map(float, _list(content))
            return complex(real, imaginary)
        if kind in ("names", "text"):
            return self._text(content, kind == "text")
        if kind in ("array", "complex"):
            return self._array(content) if kind == "array" else self._complex(content)
        if kind == "generator":
            return _generator(self._decode(content, depth + 1))
        raise KeyError(f"unknown entry {kind!r}")

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        known = node["object"] in KNOWN
        entry = (scikit_learn.entry_named if known else entry_named)(node["object"])
        return entry.rebuild({k: self._decode(v, depth) for k, v in _dict(node["content"]).items()})

    def _text(self, content: Any, is_array: bool) -> np.ndarray:
        items = _list(content)
        if not all(isinstance(item, str) for item in items):
            raise TypeError("names and texts must be strings")
        if not is_array:
            array = np.empty(len(items), object)
            array[:] = items
            return array
        self._texts.take(items)
        self._texts.check(self._file_bytes)
        return np.array(items, dtype=str)

    def _array(self, name: Any) -> np.ndarray:
        return self._take(name).copy()

    def _take(self, name: Any) -> np.ndarray:
        """An array of the file, which nothing else refers to."""
        if name not in self._unused:
            raise KeyError(f"no array {name!r}, or one that is referred to twice")
        return self._unused.pop(name)

    def _complex(self, name: Any) -> np.ndarray:
        real, imaginary = self._take(f"{name}.re"), self._take(f"{name}.im")
        if real.shape != imaginary.shape or {real.dtype.kind, imaginary.dtype.kind} != {"f"}:
            raise ValueError(f"{name} must be two arrays of numbers of one shape")
        whole = np.empty(real.shape, np.result_type(real.dtype, 1j))
        whole.real, whole.imag = real, imaginary  # re + 1j * im would lose the sign of zeros
        return whole


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TypeError(f"it must hold a list, got a {type(content).__name__}")
    return content


def _dict(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError(f"it must hold a dict, got a {type(content).__name__}")
    return content


def _generator(state: Any) -> np.random.Generator:
    """A random generator at a state, whose positions in buffers NumPy trusts."""
    name = checks.choice("bit_generator", _dict(state)["bit_generator"], _GENERATORS)
    if name in _POSITIONS:
        at, last = _POSITIONS[name]
        checks.integer(at, state[at] if at in state else state["state"][at], 0, last)
    generator = np.random.Generator(getattr(np.random, name)())
    generator.bit_generator.state = state
    inner = generator.bit_generator.state["state"]
    stuck = not inner["inc"] % 2 if "inc" in inner else name == "MT19937" and not any(inner["key"])
    if stuck:  # at one number for ever, which what draws until a number fits waits for
        raise ValueError(f"the state of {name} must be one that it can be in")
    return generator
