"""Mamba: state spaces whose step, input and output maps depend on the input; Gu and Dao, 2024.

h_t = exp(delta_t A) h_(t-1) + delta_t B_t x_t,    y_t = C_t h_t + D x_t.

The recurrence is in `selective_scan`.
"""

import math
from dataclasses import dataclass

from paralesn.baselines.causal_convolution import convolved
from paralesn.baselines.linear import Linear, linear
from paralesn.baselines.selective_scan import selective_scan
from paralesn.runtime.pytorch import torch

nn = torch.nn


@dataclass(frozen=True)
class Config:
    """Sizes; the paper's width, depth, state and convolution are the defaults."""

    features: int = 1
    classes: int = 10
    width: int = 64
    layers: int = 6
    state: int = 16
    convolution: int = 4
    expand: int = 2


class Mixer(nn.Module):
    """Convolution, selective state space and gate."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        inner = config.expand * config.width
        self.state, self.rank = config.state, math.ceil(config.width / 16)
        self.inputs = Linear(config.width, 2 * inner, bias=False)
        self.convolution = nn.Conv1d(inner, inner, config.convolution, groups=inner)
        self.selection = Linear(inner, self.rank + 2 * config.state, bias=False)
        self.step = Linear(self.rank, inner)
        levels = torch.arange(1, config.state + 1, dtype=torch.get_default_dtype())
        self.A_log = nn.Parameter(levels.log().repeat(inner, 1))  # (D, N)
        self.D = nn.Parameter(torch.ones(inner))
        self.output = Linear(inner, config.width, bias=False)
        with torch.no_grad():  # steps start log-uniform in [0.001, 0.1]
            nn.init.uniform_(self.step.weight, -(self.rank**-0.5), self.rank**-0.5)
            delta = torch.exp(torch.rand(inner) * math.log(100) + math.log(1e-3))
            self.step.bias.copy_(delta + torch.log(-torch.expm1(-delta)))  # softplus undone

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, width) to (B, T, width) or, if only the `last` step is wanted, (B, 1, width)."""
        z, gate = (linear(x, part) for part in self.inputs.weight.chunk(2))  # (B, T, D) each
        assert self.convolution.bias is not None
        z = convolved(z, self.convolution.weight, self.convolution.bias)
        delta, B, C = self.selection(z).split([self.rank, self.state, self.state], -1)
        delta = nn.functional.softplus(self.step(delta))  # (B, T, D)
        y = selective_scan(z, delta, -torch.exp(self.A_log), B, C, self.D)
        if last:
            y, gate = y[:, -1:], gate[:, -1:]
        out: torch.Tensor = self.output(y * nn.functional.silu(gate))
        return out


class Mamba(nn.Module):
    """Series (B, T, F) to scores (B, classes)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.encoder = nn.Linear(config.features, config.width)
        self.norms = nn.ModuleList([nn.RMSNorm(config.width) for _ in range(config.layers)])
        self.mixers = nn.ModuleList([Mixer(config) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        z = self.encoder(x)
        for norm, mixer in zip(self.norms[:-1], self.mixers[:-1], strict=True):
            z = z + mixer(norm(z))
        z = z[:, -1:] + self.mixers[-1](self.norms[-1](z), last=True)
        scores: torch.Tensor = self.head(self.norm(z[:, -1]))
        return scores
