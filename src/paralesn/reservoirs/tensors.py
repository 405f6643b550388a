"""Tensors of PyTorch in and out, for reservoirs whose engine is PyTorch: on their device, with
gradients, and never copied but to another precision. Nothing here imports PyTorch by itself.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from paralesn import series
from paralesn.layers.state import State
from paralesn.series import BATCH, RAGGED, SINGLE, Series


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor."""
    torch = sys.modules.get("torch")  # who holds a tensor has imported it
    return torch is not None and isinstance(X, torch.Tensor)


def are_tensors(X: Any) -> bool:
    """Whether X is a tensor or a list of tensors, one per series."""
    if not isinstance(X, (list, tuple)):
        return is_tensor(X)
    found = [is_tensor(one) for one in X]
    if any(found) and not all(found):
        other = type(X[found.index(False)]).__name__
        raise TypeError(f"X must be a list of tensors or of arrays, got tensors and {other}")
    return any(found)


def kept(X: Any, name: str = "X") -> Any:
    """Tensors as they are, anything else as an array of numbers."""
    return X if is_tensor(X) else series.numeric(X, name)


def read(
    X: Any,
    dtype: np.dtype,
    n_features: int | None,
    owner: str,
    name: str = "X",
    first_step: int = 0,
    allow_ended: bool = False,
    device: Any = None,
) -> Series:
    """Read a series, a batch or a list of series, as `paralesn.series.read` does."""
    if isinstance(X, (list, tuple)):
        parts = []
        for b, one in enumerate(X):
            label = f"{name}[{b}]"
            array = series.shaped(one, label, n_features, owner, allow_ended)
            if array.ndim == 3:
                raise ValueError(f"{label} must be one series (time, features), got 3 dimensions")
            n_features = array.shape[1]
            parts.append(_converted(array, dtype, label, first_step, device))
        devices = {part.device for part in parts}
        if len(devices) > 1:
            raise ValueError(f"{name} must be on one device, got {sorted(map(str, devices))}")
        lengths = np.array([part.shape[0] for part in parts])
        return Series(sys.modules["torch"].cat(parts), lengths, RAGGED)
    array = _converted(series.shaped(X, name, n_features, owner), dtype, name, first_step, device)
    if array.ndim == 2:
        return Series(array, np.array([array.shape[0]]), SINGLE)
    batch, steps, features = array.shape
    return Series(array.reshape(-1, features), np.full(batch, steps), BATCH)


def _converted(X: Any, dtype: np.dtype, name: str, first_step: int, device: Any) -> Any:
    """A tensor in the precision of the reservoir, every value finite, on the device asked for."""
    torch = sys.modules["torch"]
    if X.is_complex():
        raise ValueError(f"{name} must be real. Complex data not supported, got {X.dtype}")
    if device is not None:
        wanted = torch.device(device)
        if X.device.type != wanted.type or wanted.index not in (None, X.device.index):
            raise ValueError(
                f"{name} must be on the device of the reservoir, {wanted}, got {X.device}"
            )
    converted = X.to(getattr(torch, dtype.name))
    if not torch.isfinite(converted.detach()).all():
        series.convert(X.detach().cpu().numpy(), dtype, name, first_step)  # says where
    return converted


def _starts(plan: Any, data: Series, state: Any, origin: str) -> tuple[Any, ...]:
    """The states to start from, (count, units) for each layer, on the device of the data."""
    torch = sys.modules["torch"]
    dtype, device = getattr(torch, plan.state.name), data.rows.device
    count, widths = data.lengths.size, plan.widths
    if state is None:
        return tuple(torch.zeros((count, n), dtype=dtype, device=device) for n in widths)
    if isinstance(state, State) and state.origin != origin:
        raise ValueError(
            "state must come from this model, got the state of another one "
            f"(fingerprint {state.origin[:8]}, expected {origin[:8]})"
        )
    layers = state.layers if isinstance(state, State) else state
    if not isinstance(layers, (list, tuple)) or len(layers) != len(widths):
        raise TypeError(
            "state must be None, a State returned by this model or a list of one tensor per "
            f"layer ({len(widths)}), got {type(state).__name__}"
        )
    found: list[Any] = []
    for h, width in zip(layers, widths, strict=True):
        name = f"state of layer {len(found) + 1}"
        expected = (width,) if data.kind == SINGLE else (count, width)
        if tuple(np.shape(h)) != expected:
            shape = tuple(np.shape(h))
            raise ValueError(f"{name} must have shape {expected} here, got {shape}")
        if is_tensor(h) and h.device != device:
            raise ValueError(f"{name} must be on the device of X, {device}, got {h.device}")
        tensor = torch.as_tensor(h, device=device)
        if tensor.is_complex() and not dtype.is_complex:
            raise TypeError(f"{name} must be convertible to {plan.state}, got {tensor.dtype}")
        if not torch.isfinite(tensor.detach()).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
        found.append(tensor.to(dtype).reshape(count, width))
    return tuple(found)


def _state(after: tuple[Any, ...], kind: str, origin: str) -> State:
    return State(tuple(h[0] for h in after) if kind == SINGLE else tuple(after), origin)


def _places(data: Series) -> np.ndarray:
    return np.stack([data.starts(), data.lengths])


def run(plan: Any, data: Series, state: Any, origin: str) -> tuple[Any, State]:
    """States of every time step, and the state to go on from."""
    before = _starts(plan, data, state, origin)
    found, after = plan.engine.run_tensors(plan.program, data.rows, _places(data), before)
    states: Any = found
    if data.kind != RAGGED:
        states = found[0][0] if data.kind == SINGLE else found[0]
    elif len(found) < data.lengths.size:  # series of equal length came back as one
        states = list(found[0])
    elif data.lengths.size == 1 and found[0].ndim == 3:
        states = [found[0][0]]
    return states, _state(after, data.kind, origin)


def last(plan: Any, data: Series, state: Any, origin: str, return_state: bool) -> Any:
    """States of the last time step only."""
    before = _starts(plan, data, state, origin)
    rows, after = plan.engine.last_of_tensors(plan.program, data.rows, _places(data), before)
    result = rows[0] if data.kind == SINGLE else rows
    return (result, _state(after, data.kind, origin)) if return_state else result


def pool(
    plan: Any, data: Series, state: Any, origin: str, pools: Sequence[str], segments: int
) -> Any:
    """States pooled over time."""
    before = _starts(plan, data, state, origin)
    call = (plan.program, data.rows, _places(data), before, pools, segments)
    rows = plan.engine.pool_tensors(*call)
    return rows[0] if data.kind == SINGLE else rows


def step(plan: Any, x: Any, state: Any, origin: str, n_features: int) -> tuple[Any, State]:
    """One time step: x a number, (features,) or (batch, features)."""
    if x.ndim > 2 or (x.shape[-1] if x.ndim else 1) != n_features or 0 in x.shape:
        raise ValueError(
            f"x must be one time step, ({n_features},) or (batch, {n_features}), got shape "
            f"{tuple(x.shape)}"
        )
    array = x.unsqueeze(1) if x.ndim == 2 else x.reshape(1, n_features)
    data = read(array, plan.real, n_features, "the reservoir", "x", device=None)
    z, after = last(plan, data, state, origin, return_state=True)
    return z, after
