"""Values as JSON with references to arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn.persistence import scikit_learn
from paralesn.persistence.registry import entry_of

NUMBERS = (
    "float64",
    "float32",
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
DEEPEST = 100  # values within values
_TEXT = 1 << 24  # bytes


class TextRoom:
    """What arrays of text may take in memory: each item as much as the longest one.

    That may be far more than in a file, so it is bounded by the file's size, when saving as when
    loading.
    """

    def __init__(self) -> None:
        self.taken = 0

    def take(self, items: list[str]) -> None:
        """Count an array."""
        self.taken += 4 * len(items) * max(map(len, items), default=0)

    def check(self, file_bytes: int) -> None:
        """Raise if all arrays together take too much for a file of this size."""
        most = _TEXT + 16 * file_bytes
        if self.taken > most:
            raise ValueError(
                f"arrays of text must take at most {most} bytes of memory in a file of "
                f"{file_bytes}, got {self.taken}: a single long text makes all others as long"
            )


class Encoder:
    """Takes a value apart into JSON and arrays.

    Attributes
    ----------
    arrays : dict
        By name, each written once.
    texts : TextRoom
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.texts = TextRoom()

    def encode(self, value: Any, name: str, depth: int = 0) -> Any:
        """The JSON form of a value called `name`."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (np.bool_, np.integer, np.floating)):
            return value.item()
        if isinstance(value, (complex, np.complexfloating)):
            return {"number": [float(value.real), float(value.imag)]}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, (np.dtype, type)) and np.dtype(value).name in NUMBERS:
            return np.dtype(value).name
        if depth >= DEEPEST:
            raise ValueError(f"{name[:80]} must not lie deeper than {DEEPEST} values in others")
        depth += 1
        if isinstance(value, (list, tuple, range)):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.encode(v, f"{name}.{i}", depth) for i, v in enumerate(value)]}
        if isinstance(value, Mapping):
            return self._mapping(value, name, depth)
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(value.bit_generator.state, f"{name}.bits", depth)}
        return self._object(value, name, depth)

    def _mapping(self, value: Mapping[Any, Any], name: str, depth: int) -> Any:
        items = {k: self.encode(v, f"{name}.{k}", depth) for k, v in value.items()}
        if all(isinstance(key, str) for key in items):
            return {"dict": items}
        return {"pairs": [[self.encode(k, name, depth), v] for k, v in items.items()]}

    def _object(self, value: Any, name: str, depth: int) -> Any:
        entry, of_class = entry_of(value), type(value).__name__
        if entry is None:
            public = scikit_learn.public_name(value)
            if public is None:
                why = scikit_learn.why_not(value)
                raise TypeError(f"{name} holds a {of_class}, which cannot be saved: {why}")
            entry, of_class = scikit_learn.entry_named(public), public
        parts = entry.take_apart(value)
        content = {k: self.encode(v, f"{name}.{k}", depth) for k, v in parts.items()}
        return {"object": of_class, "content": content}

    def _array(self, array: np.ndarray, name: str) -> Any:
        if array.dtype.kind == "U" and array.ndim == 1:
            items = array.tolist()
            self.texts.take(items)
            return {"text": items}
        if array.dtype == object and all(isinstance(item, str) for item in array):
            return {"names": list(array)}
        while name in self.arrays or name + ".re" in self.arrays:  # keys of dicts may hold dots
            name += "'"
        if np.iscomplexobj(array):  # safetensors has no complex128
            self.arrays[name + ".re"] = np.ascontiguousarray(array.real)
            self.arrays[name + ".im"] = np.ascontiguousarray(array.imag)
            return {"complex": name}
        if array.dtype.name not in NUMBERS:
            raise TypeError(f"{name} is an array of {array.dtype}, which cannot be saved")
        self.arrays[name] = np.ascontiguousarray(array)
        return {"array": name}
