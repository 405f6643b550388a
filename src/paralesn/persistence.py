"""Save and load models: one file, no pickle, nothing executed.

A file is in the safetensors format: arrays as they are, everything else as JSON in the header,
with a format version and a checksum over both. Classes enter a registry with the names of what
they learnt; only registered classes are ever made, and what a file says of them is checked as if
a user had said it.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from paralesn.features.filter_bank import FilterBank
from paralesn.files import replacing
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import OPERATORS
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.layers.state import State
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.esn import ESN, ResESN
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.reservoirs.structured import SCR, StructuredRC

FORMAT = 1
_ARRAYS = (
    "float64",
    "float32",
    "bool",
    *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)),
)


class _Entry:
    """How instances of a class are taken apart and made again."""

    def __init__(
        self,
        kind: type,
        parts: Callable[[Any], dict[str, Any]],
        make: Callable[[dict[str, Any]], Any],
    ) -> None:
        self.kind, self.parts, self.make = kind, parts, make


_registry: dict[str, _Entry] = {}


def register(
    kind: type, parts: Callable[[Any], dict[str, Any]], make: Callable[[dict[str, Any]], Any]
) -> None:
    """Enter a class: `parts` takes an instance apart, `make` checks the parts and rebuilds it."""
    _registry[kind.__name__] = _Entry(kind, parts, make)


def register_estimator(kind: type, learnt: tuple[str, ...], check: Callable[[Any], None]) -> None:
    """Enter a scikit-learn style class: its parameters, and the attributes in `learnt`.

    `check` is called on a loaded, fitted instance and raises where its parts do not fit.
    """

    def parts(model: Any) -> dict[str, Any]:
        fitted = {name: getattr(model, name) for name in learnt if hasattr(model, name)}
        return {"parameters": model.get_params(deep=False), "learnt": fitted}

    def make(found: dict[str, Any]) -> Any:
        model = kind(**found["parameters"])
        unknown = set(found["learnt"]) - set(learnt)
        if unknown:
            raise ValueError(f"{kind.__name__} does not learn {sorted(unknown)[0]!r}")
        for name, value in found["learnt"].items():
            setattr(model, name, value)
        if found["learnt"]:
            check(model)
        return model

    register(kind, parts, make)


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a model of ours, fitted or not, to exactly `path`.

    The file is written aside and renamed, so an interrupted save leaves what was there before.

    Examples
    --------
    >>> import tempfile, paralesn as pe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pe.save(pe.ParalESN(units=7), folder + "/model.esn")
    ...     pe.load(folder + "/model.esn")
    ParalESN(units=7)
    """
    if (
        type(model).__name__ not in _registry
        or type(model) is not _registry[type(model).__name__].kind
    ):
        raise TypeError(f"model must be one of {', '.join(_registry)}, got {type(model).__name__}")
    arrays: dict[str, np.ndarray] = {}
    body = json.dumps({"format": FORMAT, "model": _encode(model, arrays, "model")}, allow_nan=True)
    data = write_tensors(arrays, {"paralesn": body, "sha256": _checksum(body, arrays)})
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must be in an existing folder, got {str(path)!r}")
    with replacing(path) as unfinished:
        unfinished.write_bytes(data)


def load(path: str | os.PathLike) -> Any:
    """Read a model that `save` wrote. Any other file is an error, and nothing in it is executed."""
    data = Path(path).read_bytes()
    try:
        header, arrays = _header(data), read_tensors(data)
        body = header["paralesn"]
        if _checksum(body, arrays) != header["sha256"]:
            raise ValueError("its checksum does not match: the file is damaged")
        content = json.loads(body)
        if content["format"] > FORMAT:
            raise ValueError(
                f"its format {content['format']} is newer than {FORMAT}, the latest known"
            )
        if "object" not in content["model"]:
            raise KeyError("it holds no model")
        return _decode(content["model"], arrays)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    except (SafetensorError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"{path} is not a model file of paralesn: {error}") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}") from error


def _header(data: bytes) -> dict[str, str]:
    """The text part of a safetensors file."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise KeyError("its header is cut off")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    return {str(key): str(value) for key, value in metadata.items()}


def _checksum(body: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(body.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# -- values <-> JSON with references to arrays -----------------------------------------------------


def _encode(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic) and not np.iscomplexobj(value):
        return value.item()
    if isinstance(value, (list, tuple, range)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(v, arrays, f"{name}.{i}") for i, v in enumerate(value)]}
    if isinstance(value, Mapping):
        items = {k: _encode(v, arrays, f"{name}.{k}") for k, v in value.items()}
        if all(isinstance(key, str) for key in items):
            return {"dict": items}
        return {"pairs": [[_encode(k, arrays, name), v] for k, v in items.items()]}
    if isinstance(value, np.complexfloating):
        return {"number": [float(value.real), float(value.imag)]}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, name)
    if isinstance(value, np.random.Generator):
        return {"generator": _encode(value.bit_generator.state, arrays, f"{name}.bits")}
    if isinstance(value, (np.dtype, type)):
        return np.dtype(value).name
    entry = _registry.get(type(value).__name__)
    if entry is None or type(value) is not entry.kind:
        raise TypeError(f"{name} holds a {type(value).__name__}, which cannot be saved")
    parts = {k: _encode(v, arrays, f"{name}.{k}") for k, v in entry.parts(value).items()}
    return {"object": type(value).__name__, "parts": parts}


def _encode_array(array: np.ndarray, arrays: dict[str, np.ndarray], name: str) -> Any:
    if array.dtype.kind == "U" and array.ndim == 1:
        return {"text": array.tolist()}
    if array.dtype == object and all(isinstance(item, str) for item in array):
        return {"names": list(array)}
    if np.iscomplexobj(array):  # safetensors has no complex128
        arrays[name + ".re"] = np.ascontiguousarray(array.real)
        arrays[name + ".im"] = np.ascontiguousarray(array.imag)
        return {"complex": name}
    if array.dtype.name not in _ARRAYS:
        raise TypeError(f"{name} is an array of {array.dtype}, which cannot be saved")
    arrays[name] = np.ascontiguousarray(array)
    return {"array": name}


def _decode(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    if "object" in node:
        parts = {k: _decode(v, arrays) for k, v in node["parts"].items()}
        return _registry[node["object"]].make(parts)
    ((kind, content),) = node.items()
    if kind in ("list", "tuple"):
        values = [_decode(v, arrays) for v in content]
        return tuple(values) if kind == "tuple" else values
    if kind == "dict":
        return {k: _decode(v, arrays) for k, v in content.items()}
    if kind == "pairs":
        return {_decode(k, arrays): _decode(v, arrays) for k, v in content}
    if kind == "array":
        return arrays[content].copy()
    if kind == "complex":
        re, im = arrays[content + ".re"], arrays[content + ".im"]
        whole = np.empty(re.shape, np.result_type(re.dtype, 1j))
        whole.real, whole.imag = re, im  # re + 1j * im would lose the sign of zeros
        return whole
    if kind == "number":
        return complex(*content)
    if kind == "names":
        return np.array(content, dtype=object)
    if kind == "text":
        return np.array(content, dtype=str)
    if kind == "generator":
        bits = _decode(content, arrays)
        generator = np.random.Generator(getattr(np.random, _BITS[bits["bit_generator"]])())
        generator.bit_generator.state = bits
        return generator
    raise KeyError(f"unknown entry {kind!r}")


_BITS = {name: name for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}


# -- the classes below this room -------------------------------------------------------------------


def _register_arrays(kind: type) -> None:
    """Enter a class that is nothing but its fields."""
    names = [field.name for field in fields(kind)]
    register(
        kind,
        lambda drawn: {name: getattr(drawn, name) for name in names},
        lambda found: kind(**found),
    )


def _make_state(found: dict[str, Any]) -> State:
    layers, origin = found["layers"], found["origin"]
    if not isinstance(layers, tuple) or not all(isinstance(h, np.ndarray) for h in layers):
        raise ValueError("a state must hold one array per layer")
    return State(layers, str(origin))


for _kind in (DiagonalLayer, RecurrentLayer, *OPERATORS):
    _register_arrays(_kind)
register(State, lambda state: {"layers": state.layers, "origin": state.origin}, _make_state)
for _reservoir in (ParalESN, ESN, ResESN, SCR, StructuredRC):
    register_estimator(_reservoir, _reservoir.LEARNT, _reservoir._check_learnt)
for _part in (FilterBank, MLP, Ridge, DualRidge):
    register_estimator(_part, _part.LEARNT, _part._check_learnt)
