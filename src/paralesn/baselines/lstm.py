"""LSTM: a gated recurrent network, and a class head on its last state.

Gates begin such that cells remember for 1 to `steps` steps. With PyTorch's own biases half of a
cell is forgotten at each step, and what is seen some dozen steps before the end is not learnt from.
"""

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
    steps: int = 784  # longest memory at the beginning


class LSTM(nn.Module):
    """Series (B, T, F) to scores (B, classes). Hochreiter and Schmidhuber, 1997.

    Biases of the gates as by Tallec and Ollivier, 2018: of the forget gates the logarithm of times
    that are uniform on [1, steps - 1], of the input gates the opposite.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.recurrent = nn.LSTM(config.features, config.hidden, config.layers, batch_first=True)
        self.head = nn.Linear(config.hidden, config.classes)
        for layer in range(config.layers):
            remember_long(self.recurrent, layer, config.steps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        _, (h, _) = self.recurrent(x)  # (layers, B, hidden)
        scores: torch.Tensor = self.head(h[-1])
        return scores


@torch.no_grad()
def remember_long(recurrent: nn.LSTM, layer: int, steps: int) -> None:
    """Draw the biases of a layer's input and forget gates for memories of 1 to `steps` steps."""
    ours, other = (getattr(recurrent, f"bias_{kind}_l{layer}") for kind in ("ih", "hh"))
    forget = torch.empty(recurrent.hidden_size).uniform_(1.0, max(steps - 1.0, 1.0)).log()
    gates = slice(2 * recurrent.hidden_size)  # in PyTorch's order: input, forget, cell, output
    ours[gates] = torch.cat([-forget, forget])
    other[gates] = 0.0
