"""Mamba: state spaces whose step, input and output maps depend on the input; Gu and Dao, 2024.

h_t = exp(delta_t A) h_(t-1) + delta_t B_t x_t,    y_t = C_t h_t + D x_t.
"""

import math
from dataclasses import dataclass
from typing import Any

from torch.utils.checkpoint import checkpoint

from paralesn.runtime.pytorch import torch

nn = torch.nn
_CHUNK = 56  # steps whose states exist at a time; others are computed anew on the way back


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


def selective_scan(
    x: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor,
) -> torch.Tensor:
    """Outputs (B, T, D) for x, delta (B, T, D), A (D, N), B and C (B, T, N), D (D,)."""
    h = x.new_zeros(x.shape[0], *A.shape)
    outputs = []
    for t0 in range(0, x.shape[1], _CHUNK):
        cut = slice(t0, t0 + _CHUNK)
        chunk = (x[:, cut], delta[:, cut], A, B[:, cut], C[:, cut], h)
        y, h = checkpoint(_chunk, *chunk, use_reentrant=False)
        outputs.append(y)
    return torch.cat(outputs, 1) + D * x


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


class Mixer(nn.Module):
    """Convolution, selective state space and gate."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        inner = config.expand * config.width
        self.state, self.rank = config.state, math.ceil(config.width / 16)
        self.inputs = nn.Linear(config.width, 2 * inner, bias=False)
        self.convolution = nn.Conv1d(
            inner, inner, config.convolution, groups=inner, padding=config.convolution - 1
        )
        self.selection = nn.Linear(inner, self.rank + 2 * config.state, bias=False)
        self.step = nn.Linear(self.rank, inner)
        levels = torch.arange(1, config.state + 1, dtype=torch.get_default_dtype())
        self.A_log = nn.Parameter(levels.log().repeat(inner, 1))  # (D, N)
        self.D = nn.Parameter(torch.ones(inner))
        self.output = nn.Linear(inner, config.width, bias=False)
        with torch.no_grad():  # steps start log-uniform in [0.001, 0.1]
            nn.init.uniform_(self.step.weight, -(self.rank**-0.5), self.rank**-0.5)
            delta = torch.exp(torch.rand(inner) * math.log(100) + math.log(1e-3))
            self.step.bias.copy_(delta + torch.log(-torch.expm1(-delta)))  # softplus undone

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, width) to (B, T, width)."""
        z, gate = self.inputs(x).chunk(2, -1)  # (B, T, D) each
        z = self.convolution(z.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
        z = nn.functional.silu(z)
        delta, B, C = self.selection(z).split([self.rank, self.state, self.state], -1)
        delta = nn.functional.softplus(self.step(delta))  # (B, T, D)
        y = selective_scan(z, delta, -torch.exp(self.A_log), B, C, self.D)
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
        for norm, mixer in zip(self.norms, self.mixers, strict=True):
            z = z + mixer(norm(z))
        scores: torch.Tensor = self.head(self.norm(z[:, -1]))
        return scores
