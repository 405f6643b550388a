"""A fitted `FilterBank` as a module, of plain operations that any exporter takes."""

import numpy as np

from paralesn.engines.cpu.filter_layout import (
    BENDS,
    CHANGES,
    CHUNK,
    PARTS,
    RUN,
    SMOOTH,
    TAPS,
    VALUES,
    chunk_orders,
    chunks_in_parts,
)
from paralesn.engines.torch import matrix_scan
from paralesn.engines.torch.matrix_scan import Spectrum
from paralesn.features.filter_bank import FilterBank
from paralesn.runtime.pytorch import torch

_LANES = 8  # filters of a chunk that are as many apart compete
_SMALLEST = 1e-30  # radius


class FilterFeatures(torch.nn.Module):
    """Series (batch, time, channels) to the features of a `FilterBank`, (batch, features).

    The numbers are those of `FilterBank.transform` within rounding: a response that lies on a
    threshold may be counted on the other side of it. All responses (filters, batch, time) are in
    memory at once.
    """

    filters: torch.Tensor  # (ROWS, chunks * 64)
    combinations: torch.Tensor  # (runs, channels)
    thresholds: torch.Tensor  # (Q, chunks, 64)
    mean: torch.Tensor
    scale: torch.Tensor
    log_radius: torch.Tensor  # (chunks * 64,)
    turns: torch.Tensor
    channel_scale: torch.Tensor | None

    def __init__(self, bank: FilterBank) -> None:
        super().__init__()
        fitted = bank.fitted_
        self.features = bank.n_features_in_
        eigenvalues = (fitted.filters[:, 0].astype(float) + 1j * fitted.filters[:, 1]).ravel()
        arrays = {
            "filters": fitted.filters.transpose(1, 0, 2).reshape(fitted.filters.shape[1], -1),
            "combinations": fitted.combinations.reshape(-1, self.features),
            "thresholds": fitted.thresholds.transpose(1, 0, 2),
            "mean": fitted.mean,
            "scale": fitted.scale,
            "log_radius": np.log(np.maximum(np.abs(eigenvalues), _SMALLEST)),
            "turns": np.angle(eigenvalues) / (2 * np.pi) % 1.0,
        }
        for name, array in arrays.items():
            self.register_buffer(name, torch.tensor(np.array(array), dtype=torch.float32))
        orders = chunk_orders(len(fitted.filters))
        runs = CHUNK // RUN
        self.runs_of = {order: runs * orders.count(order) for order in dict.fromkeys(orders)}
        self.apart = chunks_in_parts(len(fitted.filters))
        scale = fitted.channel_scale
        self.register_buffer("channel_scale", None if scale is None else torch.tensor(scale))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Features, standardised."""
        steps = torch.arange(x.shape[1], device=x.device)
        u = self._responses(self._normalised(x.double()).float()).index_select(-1, steps)
        total = u.shape[-1]
        above = [u > limits[..., None, None] for limits in self.thresholds]
        kinds = [these.sum(-1) / total for these in above]
        groups = u.unflatten(1, (-1, _LANES))
        most, least = groups.amax(1, keepdim=True), groups.amin(1, keepdim=True)
        peaks = (groups * (groups == most)).sum(-1).flatten(1, 2) / total
        troughs = (groups == least).sum(-1).flatten(1, 2) / total
        kinds += [peaks.clamp(min=0).sqrt(), troughs.sqrt()]
        rows = torch.stack([kind.float() for kind in kinds])  # (kinds, chunks, 64, B)
        features = rows.permute(3, 0, 1, 2).flatten(1)
        if self.apart:
            parts = [self._shares(above, steps * PARTS // total == p) for p in range(PARTS)]
            features = torch.cat([features, *parts], 1)
        return (features - self.mean) / self.scale

    def _shares(self, above: list[torch.Tensor], inside: torch.Tensor) -> torch.Tensor:
        """Shares (batch, Q * filters) above each threshold within a part of the series."""
        size = inside.sum().clamp(min=1)
        shares = [(these[: self.apart] & inside).sum(-1) / size for these in above]
        return torch.stack(shares).permute(3, 0, 1, 2).flatten(1)

    def _normalised(self, x: torch.Tensor) -> torch.Tensor:
        """Series, centred, in units of their spread, or of that of the training series."""
        if self.channel_scale is not None:
            scaled = x / self.channel_scale
            scaled = scaled - scaled[:, :1]
            return scaled - scaled.mean(1, keepdim=True)
        largest = x.abs().amax(1, keepdim=True)
        x = x / torch.where(largest > 0, largest, 1.0)
        x = x - x[:, :1]
        x = x - x.mean(1, keepdim=True)
        spread = x.square().mean(1, keepdim=True).sqrt()
        flat = spread <= 4 * torch.finfo(torch.float64).eps
        return torch.where(flat, 0.0, x / torch.where(flat, 1.0, spread))

    def _calm(self, x: torch.Tensor) -> torch.Tensor | float:
        """What changes of changes are multiplied by: one over the spread of the changes."""
        if self.channel_scale is not None:
            return 1.0
        change = (x[:, 1:] - x[:, :-1]).double()
        rough = (change - change.mean(1, keepdim=True)).square().mean(1, keepdim=True).sqrt()
        calm = torch.where(rough > SMOOTH, 1.0 / rough.clamp(min=SMOOTH), 0.0)
        return calm.to(x.dtype)

    def _responses(self, x: torch.Tensor) -> torch.Tensor:
        """Responses (chunks, 64, B, T), time filled up, of series (B, T, C)."""
        change = _changes(x, 1)
        heard = {VALUES: x, CHANGES: change, BENDS: _changes(change, 2) * self._calm(x)}
        drives, first = [], 0
        for order, runs in self.runs_of.items():  # chunks that hear the same are neighbours
            inputs = matrix_scan.filled(heard[order].permute(2, 0, 1), matrix_scan.RADICES[0])
            drives.append(torch.tensordot(self.combinations[first : first + runs], inputs, 1))
            first += runs
        drive = torch.cat(drives).repeat_interleave(RUN, 0)
        weights, taps = self.filters[2:4], self.filters[4:].view(2, TAPS, -1, CHUNK, 1, 1)
        u = tuple(weight.view(-1, 1, 1) * drive for weight in weights)
        spectrum = Spectrum(self.log_radius, self.turns, True)
        before = tuple(torch.zeros_like(plane[..., 0]) for plane in u)
        rings = [plane.unflatten(0, (-1, CHUNK)) for plane in matrix_scan.scan(spectrum, u, before)]
        re, im = (torch.cat([ring, ring[:, : TAPS - 1]], 1) for ring in rings)
        total = taps[0, 0] * re[:, :CHUNK] - taps[1, 0] * im[:, :CHUNK]
        for j in range(1, TAPS):
            near = slice(j, j + CHUNK)
            total = total + taps[0, j] * re[:, near] - taps[1, j] * im[:, near]
        return total


def _changes(x: torch.Tensor, order: int) -> torch.Tensor:
    """From each step to the next; zero before there are enough of them for this order."""
    change = torch.cat([torch.zeros_like(x[:, :1]), x[:, 1:] - x[:, :-1]], 1)
    late = torch.arange(x.shape[1], device=x.device) >= order
    return torch.where(late[None, :, None], change, 0.0)
