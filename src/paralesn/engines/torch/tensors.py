"""Tensors of PyTorch in and out: on their device, with gradients, copied only to convert precision.

Reservoirs look here whether their input is a tensor, so importing this module does not import
PyTorch.
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from paralesn import series
from paralesn.engines.base import Batch
from paralesn.engines.overflow import is_large, refuse_not_finite, refuse_pooled
from paralesn.layers.state import State, ended
from paralesn.series import BATCH, RAGGED, SINGLE, Series


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor."""
    torch = sys.modules.get("torch")  # who holds a tensor has imported it
    return torch is not None and isinstance(X, torch.Tensor)


def are_tensors(X: Any) -> bool:
    """Whether X is a tensor or a list of tensors, one per series."""
    if not isinstance(X, (list, tuple)):
        return is_tensor(X)
    flags = [is_tensor(x) for x in X]
    if any(flags) and not all(flags):
        other = type(X[flags.index(False)]).__name__
        raise TypeError(f"X must be a list of tensors or of arrays, got tensors and {other}")
    return any(flags)


def tensor_or_numeric(X: Any, name: str = "X") -> Any:
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
        tensors = []
        for b, x in enumerate(X):
            label = f"{name}[{b}]"
            array = series.shaped(x, label, n_features, owner, allow_ended)
            if array.ndim == 3:
                raise ValueError(f"{label} must be one series (time, features), got 3 dimensions")
            n_features = array.shape[1]
            tensors.append(_converted(array, dtype, label, first_step, device))
        devices = {tensor.device for tensor in tensors}
        if len(devices) > 1:
            raise ValueError(f"{name} must be on one device, got {sorted(map(str, devices))}")
        lengths = np.array([tensor.shape[0] for tensor in tensors])
        return Series(sys.modules["torch"].cat(tensors), lengths, RAGGED)
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


def _starts(program: Any, data: Series, state: Any, origin: str) -> tuple[Any, ...]:
    """The states to start from, (count, units) for each layer, on the device of the data."""
    torch = sys.modules["torch"]
    expected_type = np.result_type(program.dtype, 1j if program.drawn[0].is_complex else 1.0)
    dtype, device = getattr(torch, expected_type.name), data.rows.device
    count, widths = data.lengths.size, [layer.units for layer in program.drawn]
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
    checked: list[Any] = []
    for h, width in zip(layers, widths, strict=True):
        name = f"state of layer {len(checked) + 1}"
        expected = (width,) if data.kind == SINGLE else (count, width)
        if tuple(np.shape(h)) != expected:
            shape = tuple(np.shape(h))
            raise ValueError(f"{name} must have shape {expected} here, got {shape}")
        if is_tensor(h) and h.device != device:
            raise ValueError(f"{name} must be on the device of X, {device}, got {h.device}")
        tensor = torch.as_tensor(h, device=device)
        if tensor.is_complex() and not dtype.is_complex:
            raise TypeError(f"{name} must be convertible to {expected_type}, got {tensor.dtype}")
        if not torch.isfinite(tensor.detach()).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
        checked.append(tensor.to(dtype).reshape(count, width))
    return tuple(checked)


def _state(after: tuple[Any, ...], kind: str, origin: str) -> State:
    return ended(tuple(h[0] for h in after) if kind == SINGLE else tuple(after), origin)


def _refuse_not_finite(
    program: Any, x: Any, before: Any, after: Any, batch: Batch, states: Sequence[Any],
    last_only: bool = False,
) -> None:  # fmt: skip
    """Raise where states to continue from, or those that were asked for, are not finite."""
    torch: Any = sys.modules["torch"]
    large = is_large(program.largest, x.detach(), [h.detach() for h in before])
    if not large and all(bool(torch.isfinite(h.detach()).all()) for h in after):
        return
    out = np.concatenate([z.reshape(-1, z.shape[-1]) for z in _arrays(states)])
    rows = _arrays([x])[0]
    rows = np.asarray(x.detach().cpu())
    refuse_not_finite(rows, batch, _arrays(before), _arrays(after), out, last_only)


def _arrays(tensors: Any) -> tuple[np.ndarray, ...]:
    return tuple(tensor.detach().cpu().numpy() for tensor in tensors)


def _engine() -> Any:
    """The engine, which imports PyTorch and is therefore imported only when it is used."""
    return importlib.import_module("paralesn.engines.torch.engine")


def run(program: Any, data: Series, state: Any, origin: str) -> tuple[Any, State]:
    """States of every time step, and the state to continue from."""
    before, batch = _starts(program, data, state, origin), Batch.end_to_end(data.lengths)
    tensors, after = _engine().run_tensors(program, data.rows, batch, before)
    _refuse_not_finite(program, data.rows, before, after, batch, tensors)
    states: Any = tensors
    if data.kind != RAGGED:
        states = tensors[0][0] if data.kind == SINGLE else tensors[0]
    elif len(tensors) < batch.size or tensors[0].ndim == 3:  # of equal length: one tensor for all
        states = list(tensors[0])
    return states, _state(after, data.kind, origin)


def last(program: Any, data: Series, state: Any, origin: str) -> tuple[Any, State]:
    """States of the last time step only, and the state to continue from."""
    before, batch = _starts(program, data, state, origin), Batch.end_to_end(data.lengths)
    rows, after = _engine().last_of_tensors(program, data.rows, batch, before)
    each = Batch.one_row_each(data.lengths)
    _refuse_not_finite(program, data.rows, before, after, each, [rows], last_only=True)
    return rows[0] if data.kind == SINGLE else rows, _state(after, data.kind, origin)


def pool(
    program: Any, data: Series, state: Any, origin: str, pools: Sequence[str], segments: int
) -> Any:
    """States pooled over time."""
    before, batch = _starts(program, data, state, origin), Batch.end_to_end(data.lengths)
    rows = _engine().pool_tensors(program, data.rows, batch, before, pools, segments)
    x: Any = data.rows
    finite = sys.modules["torch"].isfinite(rows.detach()).all()
    if not finite or is_large(program.largest, x.detach(), [h.detach() for h in before]):
        run(program, data, state, origin)  # refuses states that not every pool shows
        pooled = np.asarray(rows.detach().cpu())
        each = Batch.one_row_each(data.lengths)
        refuse_pooled(np.asarray(x.detach().cpu()), each, _arrays(before), pooled)
    return rows[0] if data.kind == SINGLE else rows


def step(program: Any, x: Any, state: Any, origin: str, n_features: int) -> tuple[Any, State]:
    """One time step: x a number, (features,) or (batch, features)."""
    if x.ndim > 2 or (x.shape[-1] if x.ndim else 1) != n_features or 0 in x.shape:
        raise ValueError(
            f"x must be one time step, ({n_features},) or (batch, {n_features}), got shape "
            f"{tuple(x.shape)}"
        )
    rows = x.unsqueeze(1) if x.ndim == 2 else x.reshape(1, n_features)
    data = read(rows, program.dtype, n_features, "the reservoir", "x", device=None)
    return last(program, data, state, origin)
