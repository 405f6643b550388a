"""What a reservoir remembers between two calls."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import States


@register
@dataclass(frozen=True, eq=False, slots=True)
class State:
    """The states a run ended in, one array per layer; hand it to the next call to go on.

    Attributes
    ----------
    layers : tuple of arrays
        Each (units,) for a single series or (batch, units) for several; complex, or real for a
        real-valued reservoir.
    origin : str
        Fingerprint of the drawn layers it belongs to; another model refuses it.
    """

    layers: tuple[States, ...]
    origin: str

    def __post_init__(self) -> None:
        if type(self.layers) is not tuple or not isinstance(self.origin, str):
            raise TypeError(
                "a State must hold a tuple of one array per layer and a fingerprint, got "
                f"{type(self.layers).__name__} and {self.origin!r}"
            )
        for depth, h in enumerate(self.layers, 1):
            if isinstance(h, np.ndarray) and h.dtype.kind in "fc" and not np.isfinite(h).all():
                raise ValueError(f"state of layer {depth} must be finite, got NaN or infinity")


_set_layers, _set_origin = (vars(State)[name].__set__ for name in ("layers", "origin"))


def ended(layers: tuple[np.ndarray, ...], origin: str) -> State:
    """The state that an engine ended in, which has looked at it: in a third of the time."""
    state = object.__new__(State)
    _set_layers(state, layers)
    _set_origin(state, origin)
    return state


def starts(
    state: State | Sequence[np.ndarray] | None,
    origin: str,
    widths: tuple[int, ...],
    dtype: np.dtype,
    count: int,
    is_single: bool,
) -> tuple[np.ndarray, ...]:
    """The states to start from as one (count, units) array per layer, checked."""
    if state is None:
        return tuple(np.zeros((count, width), dtype) for width in widths)
    ours = isinstance(state, State)
    if isinstance(state, State):
        if state.origin != origin:
            raise ValueError(
                "state must come from this model, got the state of another one "
                f"(fingerprint {state.origin[:8]}, expected {origin[:8]})"
            )
        layers: Sequence[np.ndarray] = [np.asarray(h) for h in state.layers]  # or tensors
    elif isinstance(state, (list, tuple)) and len(state) == len(widths):
        layers = [np.asarray(checks.unmasked("state", h)) for h in state]
    else:
        raise TypeError(
            "state must be None, a State returned by this model or a list of one array per "
            f"layer ({len(widths)}), got {type(state).__name__}"
        )
    checked: list[np.ndarray] = []
    for h, width in zip(layers, widths, strict=True):
        expected = (width,) if is_single else (count, width)
        name = "state of layer " + str(len(checked) + 1)
        if h.shape != expected:
            raise ValueError(f"{name} must have shape {expected} here, got {h.shape}")
        if not ours or h.dtype != dtype or not h.flags.writeable:
            h = _converted(name, h, dtype)
        checked.append(h.reshape(count, width))
    return tuple(checked)


def _converted(name: str, h: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A layer's state as `dtype`, finite."""
    if h.dtype.kind not in "biufc" or (h.dtype.kind == "c" and dtype.kind != "c"):
        raise TypeError(f"{name} must be convertible to {dtype}, got {h.dtype}")
    h = np.array(h, dtype, order="C")
    if not np.isfinite(h).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return h


def fingerprint(layers: tuple[Any, ...]) -> str:
    """Digest of everything that was drawn: equal arrays, equal model."""
    digest = hashlib.blake2b(digest_size=16)
    for layer in layers:
        for name, value in _arrays(layer):
            digest.update(f"{name}{value.dtype}{value.shape}".encode())
            digest.update(value.data)
    return digest.hexdigest()


def _arrays(drawn: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Names and values of a layer's fields, operators taken apart."""
    for field in fields(drawn):
        value: Any = getattr(drawn, field.name)
        if is_dataclass(value):
            prefix = f"{field.name} {type(value).__name__} "
            yield from ((prefix + name, array) for name, array in _arrays(value))
        else:
            yield field.name, np.ascontiguousarray(value)
