"""One training loop for all models: Adam, early stopping, checkpoints, a budget of seconds.

Batches are drawn from the seed and the number of the epoch alone, and a checkpoint holds the rest,
so a training that was killed resumes with bit-identical results.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.baselines.checkpoints import Checkpoint, Progress, Score
from paralesn.runtime.pytorch import torch

__all__ = ["Data", "Progress", "Score", "Settings", "Trained", "fit", "measure"]

_BUDGETS = ("epochs", "patience", "seconds", "evaluate_seconds", "checkpoint_seconds")


@dataclass(frozen=True)
class Settings:
    """How to train. The paper sweeps `learning_rate` and `weight_decay`.

    Attributes
    ----------
    epochs, patience : int
        Most epochs, and how many may pass without a lower validation loss.
    seconds : float
        Wall-clock budget, over all runs of a training that was interrupted.
    evaluate_seconds : float
        Validate also within an epoch whenever so much time has passed.
    checkpoint_seconds : float
        Write a checkpoint also within an epoch whenever so much time has passed.
    clip : float
        Largest norm of the gradient.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    batch_size: int = 64
    epochs: int = 100
    patience: int = 10
    seconds: float = math.inf
    evaluate_seconds: float = math.inf
    checkpoint_seconds: float = 30.0
    clip: float = 1.0
    seed: int = 0


class Data(NamedTuple):
    """Series (n, T, F) float32, and labels (n,) int64."""

    X: np.ndarray
    y: np.ndarray


class Trained(NamedTuple):
    """Outcome of a training; the model holds the weights of the best validation.

    Core seconds are processor time of the whole process, which other work does not add to.
    """

    scores: list[Score]
    best: Score
    epochs: int
    seconds: float
    core_seconds: float


def fit(
    model: torch.nn.Module,
    train: Data,
    validation: Data,
    settings: Settings,
    checkpoint: Path | None = None,
    report: Callable[[Progress], None] | None = None,
    device: Any = "cpu",
) -> Trained:
    """Train a model in place, and give it the weights of its best validation.

    Parameters
    ----------
    model : torch.nn.Module
        From series (B, T, F) to scores (B, classes).
    train, validation : Data
    settings : Settings
    checkpoint : Path, optional
        File to resume from if it exists, and to write the state of the training to.
    report : callable, optional
        Called with the `Progress` after every validation.
    device : str or torch.device

    Returns
    -------
    Trained
    """
    _check(train, "train")
    _check(validation, "validation")
    training = _Training(model.to(device), train, validation, settings, checkpoint, report)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        training.resume()
        while not training.progress.done:
            training.train_epoch()
    progress = training.progress
    if progress.weights is not None:
        model.load_state_dict(progress.weights)
    assert progress.best is not None
    return Trained(
        progress.scores, progress.best, progress.epoch, progress.seconds, progress.core_seconds
    )


@torch.no_grad()
def measure(model: torch.nn.Module, data: Data, batch_size: int = 64) -> tuple[float, float]:
    """Mean cross-entropy and accuracy of a model."""
    was_training = model.training
    model.eval()
    loss, right = 0.0, 0
    for start in range(0, len(data.y), batch_size):
        x, y = _tensors(data, slice(start, start + batch_size), model)
        scores = model(x)
        loss += float(torch.nn.functional.cross_entropy(scores, y, reduction="sum"))
        right += int((scores.argmax(1) == y).sum())
    model.train(was_training)
    return loss / len(data.y), right / len(data.y)


def _check(data: Data, name: str) -> None:
    """Refuse series and labels whose shapes do not fit."""
    if data.X.ndim != 3 or data.y.shape != data.X.shape[:1] or not len(data.y):
        raise ValueError(
            f"{name} must hold series (n, T, F) and labels (n,), got shapes {data.X.shape} and "
            f"{data.y.shape}"
        )


def _tensors(data: Data, cases: Any, model: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """Series and labels of some cases, on the device of the model."""
    device = next(model.parameters()).device
    x, y = torch.from_numpy(data.X[cases]), torch.from_numpy(data.y[cases])
    return x.to(device), y.to(device)


class _Training:
    """A training under way."""

    def __init__(
        self,
        model: torch.nn.Module,
        train: Data,
        validation: Data,
        settings: Settings,
        path: Path | None,
        report: Callable[[Progress], None] | None,
    ) -> None:
        self.model, self.train, self.validation = model, train, validation
        self.settings, self.report = settings, report
        self.progress = Progress()
        self.adam = torch.optim.Adam(
            model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.checkpoint = None if path is None else Checkpoint(path, self._identity())
        self.n_batches = -(-len(train.y) // settings.batch_size)
        self.start_clocks()

    def start_clocks(self) -> None:
        """Count time from now on."""
        self.timed_at = self.evaluated_at = self.saved_at = time.monotonic()
        self.worked_at = time.process_time()

    def _identity(self) -> dict[str, Any]:
        """Whatever must be the same for a checkpoint to be of this training: not the budgets."""
        settings = {k: v for k, v in asdict(self.settings).items() if k not in _BUDGETS}
        sizes = {name: tuple(array.shape) for name, array in self.model.state_dict().items()}
        return {"settings": settings, "cases": len(self.train.y), "sizes": sizes}

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        restored = self.checkpoint and self.checkpoint.restore(self.model, self.adam)
        if restored:
            self.progress = restored
            # A training that used up its budget continues if it is given a larger one.
            self.progress.done = self.is_finished()
            self.start_clocks()

    def save(self) -> None:
        """Write a checkpoint, if there is a file for it."""
        if self.checkpoint is not None:
            self.count_seconds()
            self.checkpoint.save(self.model, self.adam, self.progress)
            self.saved_at = time.monotonic()

    def count_seconds(self) -> float:
        """Seconds spent so far, over all runs."""
        now, worked = time.monotonic(), time.process_time()
        self.progress.seconds += now - self.timed_at
        self.progress.core_seconds += worked - self.worked_at
        self.timed_at, self.worked_at = now, worked
        return self.progress.seconds

    def is_finished(self) -> bool:
        """Whether a budget is spent or the model no longer improves."""
        progress, settings = self.progress, self.settings
        return (
            progress.epoch >= settings.epochs
            or progress.epoch - progress.best_epoch >= settings.patience
            or progress.seconds >= settings.seconds
        )

    def train_epoch(self) -> None:
        """Train through the rest of an epoch, or until time is up."""
        progress, settings = self.progress, self.settings
        rng = np.random.default_rng([settings.seed, progress.epoch])
        order = rng.permutation(len(self.train.y))
        while progress.batch < self.n_batches:
            start = progress.batch * settings.batch_size
            self.step(np.sort(order[start : start + settings.batch_size]))
            progress.batch += 1
            if progress.batch == self.n_batches:
                break
            if self.count_seconds() >= settings.seconds:
                self.evaluate()
                progress.done = True
                self.save()
                return
            now = time.monotonic()
            if now - self.evaluated_at >= settings.evaluate_seconds:
                self.evaluate()
            if now - self.saved_at >= settings.checkpoint_seconds:
                self.save()
        progress.epoch, progress.batch = progress.epoch + 1, 0
        self.evaluate()
        progress.done = self.is_finished()
        self.save()

    def step(self, cases: np.ndarray) -> None:
        """Take a step of Adam on the cross-entropy of some cases."""
        self.model.train()
        x, y = _tensors(self.train, cases, self.model)
        self.adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        if not math.isfinite(float(norm)):
            raise FloatingPointError(
                "learning_rate must be small enough for training to converge, got "
                f"{self.settings.learning_rate!r}: the gradient was no longer finite in epoch "
                f"{self.progress.epoch + 1}"
            )
        self.adam.step()

    def evaluate(self) -> None:
        """Validate; remember the weights if they are the best so far."""
        progress = self.progress
        loss, accuracy = measure(self.model, self.validation, self.settings.batch_size)
        epoch = progress.epoch + progress.batch / self.n_batches
        score = Score(self.count_seconds(), epoch, loss, accuracy)
        progress.scores.append(score)
        if progress.best is None or loss < progress.best.loss:
            progress.best, progress.best_epoch = score, progress.epoch
            progress.weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.evaluated_at = time.monotonic()
        if self.report is not None:
            self.report(progress)
