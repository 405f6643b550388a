"""Checkpoints: a training that was killed resumes with bit-identical results.

A checkpoint holds everything the rest of the training depends on: weights, the optimiser's state,
the random state and how far the training is.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from paralesn.files import replacing
from paralesn.runtime.pytorch import torch


class Score(NamedTuple):
    """Result of a validation, and when it was made."""

    seconds: float
    epoch: float
    loss: float
    accuracy: float


@dataclass
class Progress:
    """How far a training is."""

    epoch: int = 0  # epochs finished
    batch: int = 0  # batches done of the next epoch
    seconds: float = 0.0
    core_seconds: float = 0.0  # of the process, whatever else its core did
    scores: list[Score] = field(default_factory=list)
    best: Score | None = None
    best_epoch: int = 0  # number of epochs finished at the best validation
    weights: dict[str, Any] | None = None  # those of the best validation
    done: bool = False

    def as_data(self) -> dict[str, Any]:
        """Plain containers and tensors, which PyTorch loads without executing anything."""
        return vars(self) | {
            "scores": [tuple(score) for score in self.scores],
            "best": None if self.best is None else tuple(self.best),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Progress":
        """Undo `as_data`."""
        best = data["best"]
        return cls(**data | {
            "scores": [Score(*score) for score in data["scores"]],
            "best": None if best is None else Score(*best),
        })  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """A file for the state of a training.

    `identity` describes the training: a checkpoint of another one is refused.
    """

    path: Path
    identity: dict[str, Any]

    def save(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
    ) -> None:
        """Write the state; if that fails, the previous checkpoint stays."""
        state = {
            "identity": self.identity,
            "model": model.state_dict(),
            "adam": optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "progress": progress.as_data(),
        }
        with replacing(self.path) as unfinished:
            torch.save(state, unfinished)

    def restore(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Progress | None:
        """Set model, optimiser and random state to those stored; None if there is no file."""
        if not self.path.exists():
            return None
        state = torch.load(self.path, weights_only=True)
        if state["identity"] != self.identity:
            raise ValueError(
                f"checkpoint must be of a training with the same model, data and settings, got "
                f"{self.path}, which is of another one; remove it or name another file"
            )
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["adam"])
        torch.set_rng_state(state["random"])
        return Progress.from_data(state["progress"])
