"""One training loop for all models: Adam, early stopping, checkpoints, a budget of seconds.

A checkpoint holds everything that what follows depends on, and batches are drawn from the seed and
the number of the epoch alone; so a run that was killed goes on, bit for bit, as if it had not been.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.files import replacing
from paralesn.runtime.pytorch import torch


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


class Score(NamedTuple):
    """What a validation found, and when."""

    seconds: float
    epoch: float
    loss: float
    accuracy: float


@dataclass
class Progress:
    """Where a training stands."""

    epoch: int = 0  # epochs finished
    batch: int = 0  # batches of the next one that are done
    seconds: float = 0.0
    scores: list[Score] = field(default_factory=list)
    best: Score | None = None
    best_epoch: int = 0  # the last epoch whose end, or middle, was better than all before
    weights: dict[str, Any] | None = None  # the best ones
    done: bool = False


class Trained(NamedTuple):
    """A training's outcome; the model holds the weights of the best validation."""

    scores: list[Score]
    best: Score
    epochs: int
    seconds: float


def fit(
    model: torch.nn.Module,
    train: Data,
    validation: Data,
    settings: Settings,
    checkpoint: Path | None = None,
    report: Callable[[Progress], None] | None = None,
    device: Any = "cpu",
) -> Trained:
    """Train `model` until `settings` say it is enough, going on from `checkpoint` if it is there.

    `report` is called after every validation.
    """
    _check(train, "train")
    _check(validation, "validation")
    run = _Run(model.to(device), train, validation, settings, checkpoint, report)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        run.resume()
        while not run.progress.done:
            run.epoch()
    progress = run.progress
    if progress.weights is not None:
        model.load_state_dict(progress.weights)
    assert progress.best is not None
    return Trained(progress.scores, progress.best, progress.epoch, progress.seconds)


def _check(data: Data, name: str) -> None:
    if data.X.ndim != 3 or data.y.shape != data.X.shape[:1] or not len(data.y):
        raise ValueError(
            f"{name} must hold series (n, T, F) and labels (n,), got shapes {data.X.shape} and "
            f"{data.y.shape}"
        )


class _Run:
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
        self.settings, self.path, self.report = settings, path, report
        self.progress = Progress()
        self.adam = torch.optim.Adam(
            model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.since = self.evaluated = self.saved = time.monotonic()

    # -- checkpoints -----------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """What must be equal for a checkpoint to be of this training; budgets may change."""
        budgets = ("epochs", "patience", "seconds", "evaluate_seconds", "checkpoint_seconds")
        asked = {k: v for k, v in asdict(self.settings).items() if k not in budgets}
        sizes = {name: tuple(part.shape) for name, part in self.model.state_dict().items()}
        return {"settings": asked, "cases": len(self.train.y), "sizes": sizes}

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        if self.path is None or not self.path.exists():
            return
        found = torch.load(self.path, weights_only=True)
        if found["identity"] != self.identity():
            raise ValueError(
                f"checkpoint must be of a training with the same model, data and settings, got "
                f"{self.path}, which is of another one; remove it or name another file"
            )
        self.model.load_state_dict(found["model"])
        self.adam.load_state_dict(found["adam"])
        torch.set_rng_state(found["random"])
        progress = found["progress"]
        scores = [Score(*score) for score in progress.pop("scores")]
        best = progress.pop("best")
        self.progress = Progress(
            scores=scores, best=None if best is None else Score(*best), **progress
        )
        # A larger budget than before may go on where a smaller one ended.
        self.progress.done = self.is_enough()
        self.since = self.evaluated = self.saved = time.monotonic()

    def save(self) -> None:
        """Write a checkpoint: complete, or the old one stays."""
        if self.path is None:
            return
        self.clock()
        progress = dict(vars(self.progress))
        progress["scores"] = [tuple(score) for score in self.progress.scores]
        progress["best"] = None if self.progress.best is None else tuple(self.progress.best)
        found = {
            "identity": self.identity(),
            "model": self.model.state_dict(),
            "adam": self.adam.state_dict(),
            "random": torch.get_rng_state(),
            "progress": progress,
        }
        with replacing(self.path) as unfinished:
            torch.save(found, unfinished)
        self.saved = time.monotonic()

    # -- training --------------------------------------------------------------------------------

    def clock(self) -> float:
        """Seconds spent so far."""
        now = time.monotonic()
        self.progress.seconds += now - self.since
        self.since = now
        return self.progress.seconds

    def is_enough(self) -> bool:
        """Whether budgets are spent or nothing gets better."""
        at, settings = self.progress, self.settings
        return (
            at.epoch >= settings.epochs
            or at.epoch - at.best_epoch >= settings.patience
            or at.seconds >= settings.seconds
        )

    def epoch(self) -> None:
        """Train through what is left of an epoch, or until time is up."""
        at, settings = self.progress, self.settings
        order = np.random.default_rng([settings.seed, at.epoch]).permutation(len(self.train.y))
        batches = -(-order.size // settings.batch_size)
        while at.batch < batches:
            first = at.batch * settings.batch_size
            self.step(np.sort(order[first : first + settings.batch_size]))
            at.batch += 1
            if at.batch == batches:
                break
            if self.clock() >= settings.seconds:
                return self.finish()
            now = time.monotonic()
            if now - self.evaluated >= settings.evaluate_seconds:
                self.evaluate()
            if now - self.saved >= settings.checkpoint_seconds:
                self.save()
        at.epoch, at.batch = at.epoch + 1, 0
        self.evaluate()
        if self.is_enough():
            at.done = True
        return self.save()

    def finish(self) -> None:
        """Time is up within an epoch."""
        self.evaluate()
        self.progress.done = True
        self.save()

    def step(self, cases: np.ndarray) -> None:
        """Move the weights along the gradient of some cases' cross-entropy."""
        self.model.train()
        x, y = self.tensors(self.train, cases)
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
        """Validate; keep the weights if they are the best so far."""
        at = self.progress
        loss, accuracy = measure(self.model, self.validation, self.settings.batch_size)
        batches = -(-len(self.train.y) // self.settings.batch_size)
        score = Score(self.clock(), at.epoch + at.batch / batches, loss, accuracy)
        at.scores.append(score)
        if at.best is None or loss < at.best.loss:
            at.best, at.best_epoch = score, at.epoch
            at.weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.evaluated = time.monotonic()
        if self.report is not None:
            self.report(at)

    def tensors(self, data: Data, cases: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Some cases on the device of the model."""
        device = next(self.model.parameters()).device
        x, y = torch.from_numpy(data.X[cases]), torch.from_numpy(data.y[cases])
        return x.to(device), y.to(device)


@torch.no_grad()
def measure(model: torch.nn.Module, data: Data, batch_size: int = 64) -> tuple[float, float]:
    """Mean cross-entropy and accuracy."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    loss, right = 0.0, 0
    for first in range(0, len(data.y), batch_size):
        x = torch.from_numpy(data.X[first : first + batch_size]).to(device)
        y = torch.from_numpy(data.y[first : first + batch_size]).to(device)
        scores = model(x)
        loss += float(torch.nn.functional.cross_entropy(scores, y, reduction="sum"))
        right += int((scores.argmax(1) == y).sum())
    model.train(was_training)
    return loss / len(data.y), right / len(data.y)
