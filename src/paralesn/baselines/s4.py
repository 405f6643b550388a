"""S4: structured state spaces, diagonal plus low rank, initialised by HiPPO; Gu et al., 2022.

Every channel has its own step size and output map, and the state matrix ``diag(w) - P P*`` is
shared, as in the authors' code. A kernel as long as the series comes from the generating function
at the roots of unity, where the low rank is undone by Woodbury's identity; convolution is by FFT.
"""

import math
from dataclasses import dataclass

import numpy as np

from paralesn.baselines.block_stack import BlockStack
from paralesn.baselines.linear import Linear
from paralesn.runtime.pytorch import torch

nn = torch.nn


@dataclass(frozen=True)
class Config:
    """Sizes; the paper's width and depth are the defaults."""

    features: int = 1
    classes: int = 10
    width: int = 172
    state: int = 64
    layers: int = 2
    steps: int = 784  # longest series: the kernel's length
    step_min: float = 1e-3
    step_max: float = 1e-1
    dropout: float = 0.0


def hippo(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues w, P and B of HiPPO-LegS in the basis where it is ``diag(w) - P P*``.

    The half with positive imaginary parts; the other half is its conjugate.
    """
    n = np.arange(size)
    root = np.sqrt(1 + 2 * n)
    matrix = -(np.tril(root[:, None] * root) - np.diag(n))
    p = np.sqrt(n + 0.5)
    normal = matrix + np.outer(p, p)  # a multiple of the identity plus a skew-symmetric matrix
    imaginary, basis = np.linalg.eigh(-1j * (normal - np.diag(np.diag(normal))))
    keep = imaginary > 0
    w = np.diag(normal).mean() + 1j * imaginary
    turn = basis.conj().T
    return w[keep], (turn @ p)[keep], (turn @ root)[keep]


class Kernel(nn.Module):
    """The state spaces of all channels: a convolution kernel, or a recurrence."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.steps = config.steps
        w, p, b = hippo(config.state)
        log_min, log_max = math.log(config.step_min), math.log(config.step_max)
        step = log_min + (log_max - log_min) * torch.rand(config.width)
        self.log_step = nn.Parameter(step)  # (H,)
        self.log_decay = nn.Parameter(torch.tensor(np.log(-w.real), dtype=step.dtype))  # (N / 2,)
        self.frequency = nn.Parameter(torch.tensor(w.imag, dtype=step.dtype))
        self.P = nn.Parameter(_planes(p, step.dtype))  # (N / 2, 2)
        self.B = nn.Parameter(_planes(b, step.dtype))
        # The map C (I - A^steps) of the discrete system, learnt as such: it is what a kernel of
        # this length needs.
        self.C = nn.Parameter(torch.randn(config.width, w.size, 2) * math.sqrt(0.5))

    def _matrices(self) -> tuple[torch.Tensor, ...]:
        """w, P, B (N,), C (H, N) with both halves, and step sizes (H,)."""
        w = torch.complex(-torch.exp(self.log_decay), self.frequency)
        halves = [w, *(torch.view_as_complex(planes) for planes in (self.P, self.B, self.C))]
        both = [torch.cat([half, half.conj()], -1) for half in halves]
        return *both, torch.exp(self.log_step)

    def forward(self) -> torch.Tensor:
        """Kernels (H, steps).

        At a root of unity z the generating function is, with
        ``r = 1 / (2 / step (1 - z) - w (1 + z))``,
        ``2 (sum C* B r - (1 + z) sum C* P r sum P* B r / (1 + (1 + z) sum P* P r))``.
        """
        w, p, b, c, step = self._matrices()
        angle = torch.arange(self.steps // 2 + 1, dtype=step.dtype, device=step.device)
        angle = angle * (2 * math.pi / self.steps)
        z = torch.complex(torch.cos(angle), -torch.sin(angle))  # (K,), half of the roots
        side = (2 / step)[:, None, None] * (1 - z)[:, None]  # (H, K, 1)
        r = 1 / (side - w * (1 + z)[:, None])  # (H, K, N)
        right = torch.stack([b, p], -1)  # (N, 2)
        left = torch.stack([c.conj(), p.conj().expand_as(c)], -1)  # (H, N, 2)
        sums = r @ (left.unsqueeze(-1) * right.unsqueeze(1)).flatten(2)  # (H, K, 4)
        cb, cp, pb, pp = sums.unbind(-1)  # (H, K) each
        spectrum = 2 * (cb - (1 + z) * cp * pb / (1 + (1 + z) * pp))
        return torch.fft.irfft(spectrum, n=self.steps)

    def recurrence(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """A (H, N, N), B and C (H, N) of ``h = A h + B u``, ``y = Re(C h)``, by the bilinear rule.

        For tests, and for series longer than the kernel.
        """
        w, p, b, c, step = self._matrices()
        matrix = torch.diag(w) - torch.outer(p, p.conj())
        identity = torch.eye(w.numel(), dtype=w.dtype, device=w.device)
        half = step[:, None, None] / 2
        inverse = torch.linalg.inv(identity - half * matrix)
        discrete = inverse @ (identity + half * matrix)
        power = torch.linalg.matrix_power(discrete, self.steps)
        output = torch.linalg.solve((identity - power).mT, c.conj().unsqueeze(-1)).squeeze(-1)
        return discrete, (inverse @ b) * step[:, None], output


def _planes(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(np.stack([array.real, array.imag], -1), dtype=dtype)


class Block(nn.Module):
    """Norm, state spaces, gated mixing of channels, residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.kernel = Kernel(config)
        self.skip = nn.Parameter(torch.randn(config.width))
        self.gates = Linear(config.width, 2 * config.width)
        self.dropout = nn.Dropout(config.dropout)

    def convolve(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, H) to (B, T, H), causal; padding to twice the length keeps the end apart.

        If only the `last` step is wanted, it is a sum over the others.
        """
        steps = x.shape[1]
        kernel = self.kernel()[:, :steps]  # (H, T)
        if last:
            y = torch.einsum("bth,ht->bh", x, kernel.flip(1))
            return y.unsqueeze(1) + self.skip * x[:, -1:]
        size = 2 * steps
        series = x.transpose(1, 2).contiguous()  # time innermost, which transforms faster
        product = torch.fft.rfft(series, size) * torch.fft.rfft(kernel, size)
        y = torch.fft.irfft(product, size)[..., :steps].transpose(1, 2)
        return y + self.skip * x

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, H) to (B, T, H) or, if only the `last` step is wanted, (B, 1, H)."""
        y = self.dropout(nn.functional.gelu(self.convolve(self.norm(x), last)))
        return x[:, -y.shape[1] :] + self.dropout(nn.functional.glu(self.gates(y)))


class S4(BlockStack):
    """Series (B, T, F), T at most `steps`, to scores (B, classes)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, Block)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        if x.shape[1] > self.config.steps:
            raise ValueError(
                f"x must have at most steps={self.config.steps} time steps, got {x.shape[1]}"
            )
        return super().forward(x)
