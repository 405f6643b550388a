"""Linear maps of whole series: on a CPU as convolutions of width one, which oneDNN computes.

PyTorch hands products of single-precision matrices to MKL, which leaves the widest vectors of some
processors unused, and convolutions of batches to oneDNN, which uses them: half the time there, with
the same result.
"""

from paralesn.runtime.pytorch import torch

nn = torch.nn
_LEAST = 16  # series in a batch, below which PyTorch does not ask oneDNN


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Series (B, T, F) to (B, T, G), for a weight (G, F) and a bias (G,)."""
    if x.ndim != 3 or x.device.type != "cpu" or len(x) < _LEAST:
        return nn.functional.linear(x, weight, bias)
    image = x.unsqueeze(1).permute(0, 3, 1, 2)  # (B, F, 1, T), features innermost in memory
    kernel = weight[:, :, None, None].contiguous(memory_format=torch.channels_last)
    out: torch.Tensor = nn.functional.conv2d(image, kernel, bias)
    return out.permute(0, 2, 3, 1).squeeze(1)


class Linear(nn.Linear):
    """`torch.nn.Linear` by `linear`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, F) to (B, T, G)."""
        return linear(x, self.weight, self.bias)
