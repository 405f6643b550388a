"""Delays and products as tensors: windows of the input, and products of their columns."""

from typing import NamedTuple

import numpy as np

from paralesn.layers.delays import DelayLayer
from paralesn.runtime.pytorch import torch


class Delays(NamedTuple):
    """``h = [x_t, x_(t-1), ...]``, then the products of the values at the layer's lags.

    A `paralesn.engines.torch.packed_layers.Layer`.
    """

    units: int
    columns: int
    inputs: int
    positions: torch.Tensor  # (L F,): where the delayed values stand in the window
    factors: tuple[torch.Tensor, ...]  # per order (products, order)

    def n_columns(self, mixing: bool) -> int:
        """Number of products."""
        return self.columns

    def states(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """Windows (B, T, N) of the latest inputs, newest first."""
        earlier = before.unflatten(-1, (-1, self.inputs)).flip(1)  # oldest first
        padded = torch.cat([earlier[:, 1:], x], 1)
        windows = padded.unfold(1, earlier.shape[1], 1)  # (B, T, F, window), oldest first
        return windows.flip(-1).transpose(-1, -2).flatten(2)

    def last(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """The last of these windows, (B, N)."""
        window = self.units // self.inputs
        return torch.cat([x[:, -window:].flip(1).flatten(1), before], 1)[:, : self.units]

    def mixed(self, h: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Products (…, columns) of the delayed values."""
        values = h.index_select(-1, self.positions)
        products = [values[..., chosen].prod(-1) for chosen in self.factors]
        z = products[0] if len(products) == 1 else torch.cat(products, -1)
        return z if out is None else out.copy_(z)


def pack_delays(layer: DelayLayer, device: torch.device) -> Delays:
    """A layer's indices as tensors on `device`."""

    def tensor(indices: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(indices.copy()).to(device)

    factors = tuple(tensor(layer.factors(order)) for order in layer.orders.tolist())
    return Delays(
        layer.units, layer.n_columns(True), layer.inputs, tensor(layer.positions()), factors
    )
