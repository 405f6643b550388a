"""A causal convolution of each channel, then SiLU: fused on CPUs, of PyTorch's parts elsewhere."""

from functools import partial
from typing import Any

import numpy as np

from paralesn.baselines.series_shares import share_out
from paralesn.engines.cpu.kernels.causal_convolution import convolve_backwards, convolve_forwards
from paralesn.runtime.pytorch import torch

nn = torch.nn
once_differentiable = torch.autograd.function.once_differentiable


def convolved(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Series (B, T, D) to (B, T, D), for a weight (D, 1, K) as `torch.nn.Conv1d` has it."""
    if x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        out: torch.Tensor = _Fused.apply(x, weight[:, 0].flip(1).T, bias)
        return out
    return parts(x, weight, bias)


def parts(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same as `convolved`, by operations of PyTorch."""
    channels, _, taps = weight.shape
    z = nn.functional.conv1d(x.mT, weight, bias, padding=taps - 1, groups=channels)
    return nn.functional.silu(z[..., : x.shape[1]].mT)


class _Fused(torch.autograd.Function):
    """Both by kernels, series shared out among threads."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weights, bias)
        arrays = _arrays(x, weights, bias)
        y = np.empty_like(arrays[0])
        share_out(partial(convolve_forwards, *arrays, y, y.dtype.type(1)), len(y))
        return torch.from_numpy(y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, weights, bias = _arrays(*ctx.saved_tensors)
        shapes = (x.shape, (len(x), *weights.shape), (len(x), *bias.shape))
        by = [np.empty(shape, x.dtype) for shape in shapes]
        gy, one = slope.contiguous().numpy(), x.dtype.type(1)
        share_out(partial(convolve_backwards, x, weights, bias, gy, *by, one), len(x))
        by_x, by_weights, by_bias = map(torch.from_numpy, by)
        return by_x, by_weights.sum(0), by_bias.sum(0)


def _arrays(*tensors: torch.Tensor) -> list[np.ndarray]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]
