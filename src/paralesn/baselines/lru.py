"""Linear recurrent unit: a trained complex diagonal recurrence between gated layers.

    h_t = lambda h_(t-1) + gamma (B x_t),    y_t = Re(C h_t) + D x_t,

with ``lambda = exp(-exp(nu) + i exp(theta))``, stable by construction, as Orvieto et al. (2023).
"""

import math
from dataclasses import dataclass

from paralesn.baselines.block_stack import BlockStack
from paralesn.engines.torch.scan import scan
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
        """Input of the recurrence, (B, T, N) complex."""
        B = self.B * torch.exp(self.gamma)
        return torch.complex(x @ B[0], x @ B[1])

    def read(self, h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Output of the recurrence, (B, T, width)."""
        return h.real @ self.C[0] - h.imag @ self.C[1] + self.D * x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, width) to (B, T, width), by the scan."""
        u = self.drive(x)
        return self.read(scan(self.eigenvalues(), u, torch.zeros_like(u[:, 0])), x)

    def loop(self, x: torch.Tensor) -> torch.Tensor:
        """The same as `forward`, one step after the other."""
        factor, u = self.eigenvalues(), self.drive(x)
        h, states = torch.zeros_like(u[:, 0]), []
        for u_t in u.unbind(1):
            h = factor * h + u_t
            states.append(h)
        return self.read(torch.stack(states, 1), x)


class Block(nn.Module):
    """Norm, recurrence, gated linear unit, residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.unit = Unit(config)
        self.gates = nn.Linear(config.width, 2 * config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, width) to (B, T, width)."""
        y = self.dropout(nn.functional.gelu(self.unit(self.norm(x))))
        return x + self.dropout(nn.functional.glu(self.gates(y)))


class LRU(BlockStack):
    """Series (B, T, F) to scores (B, classes)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, Block)
