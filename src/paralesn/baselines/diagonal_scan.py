"""The recurrence ``h_t = lambda h_(t-1) + u_t``, of real and imaginary parts side by side."""

from functools import partial
from typing import Any

import numpy as np

from paralesn.baselines.series_shares import share_out
from paralesn.engines.cpu.kernels.diagonal_scan import scan_backwards, scan_forwards
from paralesn.engines.torch.scan import scan
from paralesn.runtime.pytorch import torch

once_differentiable = torch.autograd.function.once_differentiable


def diagonal_scan(u: torch.Tensor, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
    """States (B, T, 2 N) driven by u (B, T, 2 N), for eigenvalues with parts re and im (N,)."""
    if u.device.type == "cpu":
        out: torch.Tensor = _Fused.apply(u, re, im)
        return out
    return complex_scan(u, re, im)


def complex_scan(u: torch.Tensor, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
    """The same as `diagonal_scan` on any device, by the scan of the engine for PyTorch."""
    driven = torch.complex(*u.chunk(2, -1))
    states = scan(torch.complex(re, im), driven, torch.zeros_like(driven[:, 0]))
    return torch.cat([states.real, states.imag], -1)


class _Fused(torch.autograd.Function):
    """The scan by kernels, series shared out among threads."""

    @staticmethod
    def forward(ctx: Any, u: torch.Tensor, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
        states = u.detach().clone(memory_format=torch.contiguous_format)
        parts = (part.detach().contiguous().numpy() for part in (re, im))
        share_out(partial(scan_forwards, states.numpy(), *parts), len(u))
        ctx.save_for_backward(states, re, im)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, ...]:
        states, re, im = ctx.saved_tensors
        back = slope.clone(memory_format=torch.contiguous_format)
        by = np.empty((len(states), states.shape[2]), states.numpy().dtype)
        parts = (part.contiguous().numpy() for part in (re, -im))
        work = partial(scan_backwards, back.numpy(), states.numpy(), *parts, by)
        share_out(work, len(states))
        by_re, by_im = torch.from_numpy(by).sum(0).chunk(2)
        return back, by_re, by_im
