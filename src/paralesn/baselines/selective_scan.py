"""The recurrence of Mamba, in three forms: as it is written, in chunks, and fused for CPUs.

h_t = exp(delta_t A) h_(t-1) + delta_t B_t x_t,    y_t = C_t h_t + D x_t.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from paralesn.baselines.series_shares import share_out
from paralesn.engines.cpu.kernels.selective_scan import (
    padded,
    scan_backwards,
    scan_forwards,
    stretches,
)
from paralesn.runtime.pytorch import torch

checkpoint = torch.utils.checkpoint.checkpoint
once_differentiable = torch.autograd.function.once_differentiable

_CHUNK = 56  # steps whose states exist at a time; others are computed anew on the way back
_TYPES = (torch.float32, torch.float64)


def selective_scan(
    x: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor,
) -> torch.Tensor:
    """Outputs (B, T, D) for x, delta (B, T, D), A (D, N), B and C (B, T, N), D (D,)."""
    parts = (x, delta, A, B, C, D)
    on_cpu = all(part.device.type == "cpu" for part in parts)
    if on_cpu and x.dtype in _TYPES and all(part.dtype == x.dtype for part in parts):
        out: torch.Tensor = _Fused.apply(*parts)
        return out
    return chunked_scan(*parts)


def naive_scan(
    x: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor,
) -> torch.Tensor:
    """The same as `selective_scan`, as the recurrence is written above."""
    h, outputs = x.new_zeros(x.shape[0], *A.shape), []
    for t in range(x.shape[1]):
        step = delta[:, t].unsqueeze(-1)  # (B, D, 1)
        h = torch.exp(step * A) * h + step * B[:, t].unsqueeze(1) * x[:, t].unsqueeze(-1)
        outputs.append((h * C[:, t].unsqueeze(1)).sum(-1) + D * x[:, t])
    return torch.stack(outputs, 1)


# -- in chunks, on any device ----------------------------------------------------------------------


class _Recurrence(torch.autograd.Function):
    """``h_t = a_t h_(t-1) + u_t`` with a, u (B, T, …), and its derivative: the same, backwards."""

    @staticmethod
    def forward(a: torch.Tensor, u: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        states = u.clone()
        for t in range(u.shape[1]):
            h = states[:, t].addcmul_(a[:, t], h)
        return states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(inputs[0], output, inputs[2])

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, states, before = ctx.saved_tensors
        back = slope.clone()
        for t in range(a.shape[1] - 2, -1, -1):
            back[:, t].addcmul_(a[:, t + 1], back[:, t + 1])
        earlier = torch.cat([before.unsqueeze(1), states[:, :-1]], 1)
        return back * earlier, back, a[:, 0] * back[:, 0]


def _chunk(
    x: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    h: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs (B, T, D) of a chunk of steps, and the state (B, D, N) after it."""
    factors = torch.exp(delta.unsqueeze(-1) * A)  # (B, T, D, N)
    driven = (delta * x).unsqueeze(-1) * B.unsqueeze(2)
    states = _Recurrence.apply(factors, driven, h)
    return (states @ C.unsqueeze(-1)).squeeze(-1), states[:, -1]


def chunked_scan(
    x: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor,
) -> torch.Tensor:
    """The same as `selective_scan`, by operations of PyTorch."""
    h = x.new_zeros(x.shape[0], *A.shape)
    outputs = []
    for t0 in range(0, x.shape[1], _CHUNK):
        cut = slice(t0, t0 + _CHUNK)
        chunk = (x[:, cut], delta[:, cut], A, B[:, cut], C[:, cut], h)
        y, h = checkpoint(_chunk, *chunk, use_reentrant=False)
        outputs.append(y)
    return torch.cat(outputs, 1) + D * x


# -- fused, on CPUs --------------------------------------------------------------------------------


class _Fused(torch.autograd.Function):
    """The whole scan by kernels, series shared out among threads."""

    @staticmethod
    def forward(ctx: Any, *parts: torch.Tensor) -> torch.Tensor:
        arrays = _arrays(parts)
        x, _, A = arrays[:3]
        y = np.empty_like(x)
        starts = np.empty((x.shape[0], stretches(x.shape[1]), *A.shape), x.dtype)
        share_out(partial(scan_forwards, *arrays, y, starts), x.shape[0])
        ctx.save_for_backward(*parts, torch.from_numpy(starts))
        return torch.from_numpy(y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, ...]:
        *parts, starts = ctx.saved_tensors
        arrays = _arrays(parts)
        x, delta, A, B, C, D = arrays
        each = len(x), *A.shape  # slopes by what all series share are added up over them
        shapes = (x.shape, delta.shape, each, B.shape, C.shape, (len(x), *D.shape))
        by = [np.empty(shape, x.dtype) for shape in shapes]
        gy = slope.contiguous().numpy()
        share_out(partial(scan_backwards, *arrays, starts.numpy(), gy, *by), len(x))
        by_x, by_delta, by_A, by_B, by_C, by_D = map(torch.from_numpy, by)
        return by_x, by_delta, by_A.sum(0).T[: D.size], by_B, by_C, by_D.sum(0)


def _arrays(parts: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """x, delta, A, B, C and D as the kernels take them: A (N, P), channels padded with zeros."""
    x, delta, A, B, C, D = (part.detach().contiguous().numpy() for part in parts)
    wide = np.zeros((A.shape[1], padded(len(A))), A.dtype)
    wide[:, : len(A)] = A.T
    return [x, delta, wide, B, C, D]
