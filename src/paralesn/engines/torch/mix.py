"""The mixing convolution over units, ``tanh(Re(kernel * h + bias))``, as a sum of shifted planes.

Real and imaginary parts are taken apart once; each tap of the kernel then adds a shifted plane to
the sum. No device needs more than elementwise operations for it, and none of them copies.
"""

from collections.abc import Sequence
from typing import Any

from paralesn.runtime.pytorch import torch

Taps = Sequence[Any]  # numbers, or tensors without dimensions


def mix(
    h: torch.Tensor, taps: Any, bias: Any, left: int, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Mixed states (…, N) of states h (…, N), complex or real.

    Parameters
    ----------
    taps : (parts, k) numbers or tensor
        ``Re(kernel)`` and, for complex states, ``-Im(kernel)``.
    bias : number or tensor
        ``Re`` of the mixing bias.
    left : int
        Taps that lie to the left of a unit.
    out : tensor (…, N), optional
        Where to write, if no gradients are wanted.
    """
    planes = (h.real, h.imag) if h.is_complex() else (h,)
    learnt = [part for part in (h, taps, bias) if isinstance(part, torch.Tensor)]
    if torch.is_grad_enabled() and any(part.requires_grad for part in learnt):
        total = bias
        for plane, part in zip(planes, taps, strict=True):
            kernel = torch.as_tensor(part, dtype=plane.dtype, device=plane.device)
            total = total + _Correlate.apply(plane, kernel, left)
        return torch.tanh(total)
    if out is None:
        out = torch.empty_like(planes[0], memory_format=torch.contiguous_format)
    out.fill_(bias)
    for plane, part in zip(planes, taps, strict=True):
        correlate_(out, plane.contiguous(), part, left)
    return out.tanh_()


def correlate_(out: torch.Tensor, x: torch.Tensor, taps: Taps, left: int) -> torch.Tensor:
    """Add ``sum_j taps[j] x[i + j - left]`` to `out`, x being zero outside."""
    units = x.shape[-1]
    for j, tap in enumerate(taps):
        shift = j - left
        first, stop = max(0, -shift), units - max(0, shift)
        if first >= stop:
            continue
        seen = x[..., first + shift : stop + shift]
        if isinstance(tap, torch.Tensor):
            out[..., first:stop].addcmul_(seen, tap)
        else:
            out[..., first:stop].add_(seen, alpha=tap)
    return out


class _Correlate(torch.autograd.Function):
    """Correlation over units with its derivative, a correlation with the taps reversed."""

    @staticmethod
    def forward(x: torch.Tensor, taps: torch.Tensor, left: int) -> torch.Tensor:
        x = x.contiguous()
        return correlate_(torch.zeros_like(x), x, taps.unbind(), left)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, taps, ctx.left = inputs
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, taps)

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, taps = ctx.saved_tensors
        by_x = by_taps = None
        if ctx.needs_input_grad[0]:
            by_x = _Correlate.apply(slope, taps.flip(0), taps.numel() - 1 - ctx.left)
        if ctx.needs_input_grad[1]:
            by_taps = torch.stack([_overlap(slope, x, j - ctx.left) for j in range(taps.numel())])
        return by_x, by_taps, None


def _overlap(slope: torch.Tensor, x: torch.Tensor, shift: int) -> torch.Tensor:
    """``sum_i slope[i] x[i + shift]``."""
    units = x.shape[-1]
    first, stop = max(0, -shift), max(0, -shift, units - max(0, shift))
    return (slope[..., first:stop] * x[..., first + shift : stop + shift]).sum()
