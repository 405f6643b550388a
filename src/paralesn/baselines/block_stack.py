"""A stack of residual blocks between a linear encoder and a class head on the last step."""

from typing import Any

from paralesn.runtime.pytorch import torch

nn = torch.nn


class BlockStack(nn.Module):
    """Series (B, T, F) to scores (B, classes).

    `config` has `features`, `width`, `layers` and `classes`; `block` makes a block of it, a module
    from (B, T, width) to (B, T, width), or to the last step alone where it is told so.
    """

    def __init__(self, config: Any, block: Any) -> None:
        super().__init__()
        self.config = config
        self.encoder = nn.Linear(config.features, config.width)
        self.blocks = nn.ModuleList([block(config) for _ in range(config.layers)])
        self.head = nn.Linear(config.width, config.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        z = self.encoder(x)
        for block in self.blocks[:-1]:
            z = block(z)
        z = self.blocks[-1](z, last=True)
        scores: torch.Tensor = self.head(z[:, -1])
        return scores
