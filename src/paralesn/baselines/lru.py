"""Linear recurrent unit: a trained complex diagonal recurrence between gated layers.

    h_t = lambda h_(t-1) + gamma (B x_t),    y_t = Re(C h_t) + D x_t,

with ``lambda = exp(-exp(nu) + i exp(theta))``, stable by construction, as Orvieto et al. (2023).
"""

import math
from dataclasses import dataclass

from paralesn.baselines.block_stack import BlockStack
from paralesn.baselines.diagonal_scan import diagonal_scan
from paralesn.baselines.linear import Linear, linear
from paralesn.runtime.pytorch import torch

nn = torch.nn


@dataclass(frozen=True)
class Config:
    """Sizes and the ring that eigenvalues start in; the paper's are the defaults.

    Its hidden size of 82, by the code that it used, is that of the recurrence; a model width of 99
    then gives the 160 k parameters that it prints.

    The paper sweeps `rho_min` over [0, 1], `rho_max` over [0.8, 1], `theta_max` over [0.001, pi].
    """

    features: int = 1
    classes: int = 10
    width: int = 99
    state: int = 82
    layers: int = 3
    rho_min: float = 0.9
    rho_max: float = 0.999
    theta_max: float = math.pi / 10
    dropout: float = 0.0


class Unit(nn.Module):
    """The recurrence between two dense complex maps."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        n, width = config.state, config.width
        low, high = sorted((config.rho_min**2, config.rho_max**2))
        squared = (low + (high - low) * torch.rand(n)).clamp(1e-8, 1 - 1e-6)  # uniform in area
        phase = config.theta_max * torch.rand(n).clamp_min(1e-6)
        self.nu = nn.Parameter(torch.log(-0.5 * torch.log(squared)))
        self.theta = nn.Parameter(torch.log(phase))
        self.gamma = nn.Parameter(0.5 * torch.log1p(-squared))
        self.B = nn.Parameter(torch.randn(2, width, n) / math.sqrt(2 * width))
        self.C = nn.Parameter(torch.randn(2, n, width) / math.sqrt(n))
        self.D = nn.Parameter(torch.randn(width))

    def eigenvalues(self) -> torch.Tensor:
        """(N,), inside the unit circle."""
        radius, phase = torch.exp(-torch.exp(self.nu)), torch.exp(self.theta)
        return torch.complex(radius * torch.cos(phase), radius * torch.sin(phase))

    def drive(self, x: torch.Tensor) -> torch.Tensor:
        """Input of the recurrence, (B, T, 2 N): real parts, then imaginary ones."""
        return linear(x, torch.cat(tuple(self.B * torch.exp(self.gamma)), -1).T)

    def read(self, h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Output of the recurrence, (B, T, width)."""
        return linear(h, torch.cat([self.C[0], -self.C[1]]).T) + self.D * x

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, width) to (B, T, width) or, if only the `last` step is wanted, (B, 1, width)."""
        factor = self.eigenvalues()
        h = diagonal_scan(self.drive(x), factor.real, factor.imag)
        return self.read(h[:, -1:], x[:, -1:]) if last else self.read(h, x)

    def loop(self, x: torch.Tensor) -> torch.Tensor:
        """The same as `forward`, one step after the other."""
        factor, u = self.eigenvalues(), torch.complex(*self.drive(x).chunk(2, -1))
        h, states = torch.zeros_like(u[:, 0]), []
        for u_t in u.unbind(1):
            h = factor * h + u_t
            states.append(torch.cat([h.real, h.imag], -1))
        return self.read(torch.stack(states, 1), x)


class Block(nn.Module):
    """Norm, recurrence, gated linear unit, residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.unit = Unit(config)
        self.gates = Linear(config.width, 2 * config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, width) to (B, T, width) or, if only the `last` step is wanted, (B, 1, width)."""
        y = self.dropout(nn.functional.gelu(self.unit(self.norm(x), last)))
        return x[:, -y.shape[1] :] + self.dropout(nn.functional.glu(self.gates(y)))


class LRU(BlockStack):
    """Series (B, T, F) to scores (B, classes)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, Block)
