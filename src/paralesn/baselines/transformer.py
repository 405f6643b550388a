"""Transformer encoder with sinusoidal positions, and a class head on the last step.

Attention is bidirectional unless `causal`: every step sees the whole series, and so does the last.
"""

import math
from dataclasses import dataclass

from paralesn.baselines.linear import Linear
from paralesn.runtime.pytorch import torch

nn = torch.nn


@dataclass(frozen=True)
class Config:
    """Sizes; the paper's width, feed-forward size and depth are the defaults."""

    features: int = 1
    classes: int = 10
    width: int = 96
    feedforward: int = 128
    layers: int = 3
    heads: int = 4
    dropout: float = 0.0
    causal: bool = False


def positions(steps: int, width: int, like: torch.Tensor) -> torch.Tensor:
    """Sines and cosines of falling frequency, (T, width)."""
    t = torch.arange(steps, dtype=like.dtype, device=like.device).unsqueeze(1)
    scale = torch.arange(0, width, 2, dtype=like.dtype, device=like.device)
    angle = t * torch.exp(scale * (-math.log(10_000.0) / width))  # (T, width / 2)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


class Attention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.causal = config.heads, config.causal
        self.inputs = Linear(config.width, 3 * config.width)
        self.output = Linear(config.width, config.width)

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, width) to (B, T, width) or, if only the `last` step is wanted, (B, 1, width)."""
        batch, steps, width = x.shape
        projections = self.inputs(x).view(batch, steps, 3, self.heads, width // self.heads)
        q, k, v = projections.permute(2, 0, 3, 1, 4)  # (B, heads, T, width / heads) each
        causal = self.causal and not last
        q = q[:, :, -1:] if last else q
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        out: torch.Tensor = self.output(mixed.transpose(1, 2).reshape(batch, -1, width))
        return out


class Block(nn.Module):
    """Attention and feed-forward network, each after a norm and around a residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.norms = nn.ModuleList([nn.LayerNorm(config.width) for _ in range(2)])
        self.feedforward = nn.Sequential(
            Linear(config.width, config.feedforward),
            nn.ReLU(),
            Linear(config.feedforward, config.width),
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """(B, T, width) to (B, T, width) or, if only the `last` step is wanted, (B, 1, width)."""
        mixed = self.dropout(self.attention(self.norms[0](x), last))
        x = x[:, -mixed.shape[1] :] + mixed
        out: torch.Tensor = x + self.dropout(self.feedforward(self.norms[1](x)))
        return out


class Transformer(nn.Module):
    """Series (B, T, F) to scores (B, classes). Vaswani et al., 2017."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        if config.width % config.heads:
            raise ValueError(
                f"width must be a multiple of heads ({config.heads}), got {config.width}"
            )
        self.config = config
        self.encoder = nn.Linear(config.features, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.classes)

    def states(self, x: torch.Tensor, last: bool = False) -> torch.Tensor:
        """States of every step, (B, T, width) or, if only the `last` is wanted, (B, 1, width)."""
        z = self.encoder(x)
        z = z + positions(x.shape[1], self.config.width, z)
        for block in self.blocks[:-1]:
            z = block(z)
        z = self.blocks[-1](z, last)
        out: torch.Tensor = self.norm(z)
        return out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        scores: torch.Tensor = self.head(self.states(x, last=True)[:, -1])
        return scores
