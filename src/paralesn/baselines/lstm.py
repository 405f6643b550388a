"""LSTM: a gated recurrent network, and a class head on its last state."""

from dataclasses import dataclass

from paralesn.runtime.pytorch import torch

nn = torch.nn


@dataclass(frozen=True)
class Config:
    """Sizes; the paper's hidden size is the default."""

    features: int = 1
    classes: int = 10
    hidden: int = 192
    layers: int = 1


class LSTM(nn.Module):
    """Series (B, T, F) to scores (B, classes). Hochreiter and Schmidhuber, 1997."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.recurrent = nn.LSTM(config.features, config.hidden, config.layers, batch_first=True)
        self.head = nn.Linear(config.hidden, config.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        _, (h, _) = self.recurrent(x)  # (layers, B, hidden)
        scores: torch.Tensor = self.head(h[-1])
        return scores
