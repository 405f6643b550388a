"""Layers as tensors: how each turns its input into states, and these into what is read."""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from paralesn.engines import base
from paralesn.engines.torch.delayed_products import Delays, pack_delays
from paralesn.engines.torch.mix import mix
from paralesn.engines.torch.scan import final, scan
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Operator, Sparse
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.runtime.pytorch import torch


class Layer(Protocol):
    """A layer as the engine sees it."""

    @property
    def units(self) -> int:
        """Number of units."""

    def n_columns(self, mixing: bool) -> int:
        """Columns of its states in an output, mixed or raw."""

    def states(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """States (B, T, N) for inputs x (B, T, F) from a state (B, N)."""

    def last(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """The last of these states, (B, N)."""

    def mixed(self, h: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """What is read of states h (…, N) by the next layer and the readout; `out` may take it."""


class Diagonal(NamedTuple):
    """``h = eigenvalues h + w_in x + bias``, with tau in the weights; then the mixing."""

    eigenvalues: torch.Tensor  # (N,), complex or real
    w_in: torch.Tensor  # (F, parts N) real and imaginary parts in turn; ring: (N,)
    bias: torch.Tensor  # (parts N,), or (N,) for a ring
    ring: torch.Tensor | None  # (N,): which input each unit reads
    taps: Any  # (parts, k) numbers, or a tensor to learn
    mix_bias: Any
    left: int
    tokens: bool = False  # x (B, T, 1) numbers rows of w_in

    @property
    def units(self) -> int:
        """Number of units."""
        return self.eigenvalues.shape[0]

    def n_columns(self, mixing: bool) -> int:
        """See `Layer`."""
        return self.units * (2 if self.eigenvalues.is_complex() and not mixing else 1)

    def _driven(self, x: torch.Tensor) -> torch.Tensor:
        """``w_in x + bias``, (B, T, N)."""
        if self.ring is not None:
            return torch.add(x.index_select(-1, self.ring) * self.w_in, self.bias)
        if self.tokens:
            flat = self.bias + self.w_in[x[..., 0].long()]
        else:
            flat = torch.addmm(self.bias, x.flatten(0, 1), self.w_in).unflatten(0, x.shape[:2])
        if not self.eigenvalues.is_complex():
            return flat
        return torch.view_as_complex(flat.unflatten(-1, (-1, 2)))

    def states(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """See `Layer`."""
        return scan(self.eigenvalues, self._driven(x), before)

    def last(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """See `Layer`."""
        return final(self.eigenvalues, self._driven(x), before)

    def mixed(self, h: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """See `Layer`."""
        return mix(h, self.taps, self.mix_bias, self.left, out)


class Recurrent(NamedTuple):
    """``h = branch h + gain f(recurrent h + w_in x + bias)``, one step after the other."""

    recurrent: "Product"
    branch: "Product"
    w_in: torch.Tensor  # (F, N); ring: (N,)
    bias: torch.Tensor
    ring: torch.Tensor | None
    gain: float
    linear: bool
    units: int

    def n_columns(self, mixing: bool) -> int:
        """See `Layer`: there is nothing to mix."""
        return self.units

    def states(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """See `Layer`."""
        read = x @ self.w_in if self.ring is None else x.index_select(-1, self.ring) * self.w_in
        h, states = before, []
        for drive in (read + self.bias).unbind(1):
            drive = drive + self.recurrent(h)
            h = self.branch(h) + self.gain * (drive if self.linear else torch.tanh(drive))
            states.append(h)
        return torch.stack(states, 1)

    def last(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """See `Layer`."""
        return self.states(x, before)[:, -1]

    def mixed(self, h: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """See `Layer`: the states themselves."""
        return h if out is None else out.copy_(h)


class Product(NamedTuple):
    """Products of an operator and states: (B, N) -> (B, N)."""

    operator: Operator
    values: torch.Tensor | None = None  # dense: transposed; sparse: (N, K); Hadamard: signs (3, n)
    columns: torch.Tensor | None = None  # sparse: (N, K)

    def __call__(self, h: torch.Tensor) -> torch.Tensor:
        """The product."""
        operator = self.operator
        if isinstance(operator, Identity):
            return float(operator.scale) * h
        if isinstance(operator, Cycle):
            return float(operator.weight) * h.roll(1, -1)
        assert self.values is not None
        if isinstance(operator, Dense):
            return h @ self.values
        if isinstance(operator, Sparse):
            return (self.values * h[:, self.columns]).sum(-1)
        size = self.values.shape[1]
        padded = torch.nn.functional.pad(h, (0, size - h.shape[1]))
        turned = reduce(lambda p, signs: _hadamard(signs * p), self.values.flip(0).unbind(), padded)
        return float(operator.scale) / size**1.5 * turned[:, : h.shape[1]]


def _hadamard(x: torch.Tensor) -> torch.Tensor:
    """Product of rows x (B, n) with the Hadamard matrix of +-1, n a power of two."""
    count, size = x.shape
    half = 1
    while half < size:
        first, second = x.view(count, -1, 2, half).unbind(2)
        x = torch.stack([first + second, first - second], 2).flatten(1)
        half *= 2
    return x


def pack(
    layer: base.Layer, below: int, dtype: np.dtype, device: torch.device
) -> Diagonal | Recurrent | Delays:
    """A layer that reads `below` inputs, as tensors of `dtype` on `device`."""
    if isinstance(layer, DelayLayer):
        return pack_delays(layer, device)
    is_ring = layer.w_in.ndim == 1
    ring = torch.from_numpy((np.arange(layer.units) - 1) % below).to(device) if is_ring else None

    def tensor(array: Any) -> torch.Tensor:
        """In the precision asked for, complex or not as it is."""
        kind = np.result_type(dtype, 1j) if np.iscomplexobj(array) else dtype
        return torch.from_numpy(np.array(array, kind)).to(device)

    if isinstance(layer, DiagonalLayer):
        return _pack_diagonal(layer, ring, tensor)
    return _pack_recurrent(layer, ring, tensor)


def _pack_diagonal(
    layer: DiagonalLayer, ring: torch.Tensor | None, tensor: Callable[[Any], torch.Tensor]
) -> Diagonal:
    def in_turn(array: np.ndarray) -> torch.Tensor:
        """(…, N) complex numbers as (…, 2 N) real ones."""
        whole = np.ascontiguousarray(array)
        return tensor(whole.view(float) if np.iscomplexobj(whole) else whole)

    kernel = layer.mix_kernel
    planes = (kernel.real, -kernel.imag) if np.iscomplexobj(kernel) else (kernel,)
    w_in, bias = layer.tau * layer.w_in, layer.tau * layer.bias
    return Diagonal(
        eigenvalues=tensor(layer.eigenvalues),
        w_in=in_turn(w_in.T) if ring is None else tensor(w_in),
        bias=in_turn(bias) if ring is None else tensor(bias),
        ring=ring,
        taps=[plane.tolist() for plane in planes],
        mix_bias=float(layer.mix_bias.real),
        left=(kernel.size - 1) // 2,
        tokens=layer.tokens,
    )


def _pack_recurrent(
    layer: RecurrentLayer, ring: torch.Tensor | None, tensor: Callable[[Any], torch.Tensor]
) -> Recurrent:
    def product(operator: Operator) -> Product:
        if isinstance(operator, Dense):
            return Product(operator, tensor(operator.matrix.T))
        if isinstance(operator, Sparse):
            values = tensor(operator.values)
            columns = torch.from_numpy(operator.columns.astype(np.int64)).to(values.device)
            return Product(operator, values, columns)
        if isinstance(operator, Hadamard):
            return Product(operator, tensor(operator.signs))
        return Product(operator)

    return Recurrent(
        recurrent=product(layer.recurrent),
        branch=product(layer.branch),
        w_in=tensor(layer.w_in.T if ring is None else layer.w_in),
        bias=tensor(layer.bias),
        ring=ring,
        gain=float(layer.gain),
        linear=bool(layer.linear),
        units=layer.units,
    )
