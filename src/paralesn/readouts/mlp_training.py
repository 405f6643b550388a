"""Minibatch training of a two-layer perceptron, stopped early.

PyTorch is imported when training starts, no sooner.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.readouts.mlp_network import Adam, Network, draw_weights, drop, require_torch
from paralesn.readouts.training_rows import Minibatches, Moments, TrainingRows, block_rows

Report = Callable[[int, float, float | None], None]  # of an epoch, its loss and validation loss


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained; each field is a parameter of `MLP`."""

    learning_rate: float
    schedule: str | None
    weight_decay: float
    dropout: float
    input_dropout: float
    label_smoothing: float
    batch_size: int
    epochs: int
    patience: int


class Trained(NamedTuple):
    """What training leaves: the weights of the best epoch, counted from 1, and both curves."""

    weights: tuple[np.ndarray, ...]
    losses: list[float]
    validation: list[float]
    best_epoch: int


def find_device(name: str | None) -> Any:
    """The device of that name, tried once."""
    require_torch()
    from paralesn.runtime import pytorch

    return pytorch.find_device(name)


def train(
    learn: TrainingRows,
    held_out: TrainingRows | None,
    moments: Moments,
    sizes: tuple[int, int, int],
    settings: TrainingSettings,
    rng: np.random.Generator,
    device: Any,
    report: Report,
) -> Trained:
    """Train a network of `sizes` (features, hidden, outputs) from random weights.

    Until the loss on `held_out` (on `learn`, if None) has not fallen for `patience` epochs.
    """
    torch = require_torch()
    losses: list[float] = []
    validation: list[float] = []
    with torch.no_grad(), _one_thread(torch):
        network = Network(draw_weights(sizes, rng), device)
        learner = _Learner(network, learn, moments, settings, rng, device)
        blocks = held_out and Minibatches(held_out, moments, block_rows(max(sizes)), device)
        best, best_epoch, best_weights = math.inf, 0, network.flat
        for epoch in range(1, settings.epochs + 1):
            losses.append(learner.epoch())
            if held_out and blocks:
                validation.append(_validation_loss(network, held_out, blocks))
            current = (validation or losses)[-1]
            finite = bool(torch.isfinite(network.flat).all())
            if not (finite and math.isfinite(losses[-1]) and math.isfinite(current)):
                raise ValueError(
                    "learning_rate must be small enough for training to converge, got "
                    f"{settings.learning_rate!r}: the loss was no longer finite in epoch {epoch}"
                )
            report(epoch, losses[-1], validation[-1] if validation else None)
            if current < best:
                best, best_epoch, best_weights = current, epoch, network.flat.clone()
            elif epoch - best_epoch >= settings.patience:
                break
        weights = tuple(view.cpu().numpy().copy() for view in network.views(best_weights))
    return Trained(weights, losses, validation, best_epoch)


class _Learner:
    """Epochs of Adam over the rows to learn from, in random order."""

    def __init__(
        self,
        network: Network,
        rows: TrainingRows,
        moments: Moments,
        settings: TrainingSettings,
        rng: np.random.Generator,
        device: Any,
    ) -> None:
        self.network, self.rows, self.settings, self.rng = network, rows, settings, rng
        self.adam = Adam(network, settings.learning_rate, settings.weight_decay)
        generator = network.torch.Generator(device=device)
        self.chance = generator.manual_seed(int(rng.integers(2**63)))
        self.batches = Minibatches(rows, moments, settings.batch_size, device)
        self.steps = settings.epochs * -(-rows.rows.size // settings.batch_size)

    def epoch(self) -> float:
        """Go through the rows once; returns the mean loss."""
        losses = []
        smoothing, dropout = float(self.settings.label_smoothing), float(self.settings.dropout)
        for states, targets, weight in self.batches(self.rng.permutation(self.rows.rows)):
            if self.settings.input_dropout:
                drop(states, float(self.settings.input_dropout), self.chance)
            losses.append(
                self.network.backward(states, targets, weight, dropout, self.chance, smoothing)
            )
            self.adam.step(self._share_of_rate())
        return _mean_loss(losses, self.rows)

    def _share_of_rate(self) -> float:
        """What the schedule leaves of the learning rate in the step to come."""
        if not self.settings.schedule:
            return 1.0
        return 0.5 + 0.5 * math.cos(math.pi * self.adam.steps / self.steps)


def _validation_loss(network: Network, held_out: TrainingRows, blocks: Minibatches) -> float:
    losses = [network.loss(network.hidden(x), t, w)[0] for x, t, w in blocks(held_out.rows)]
    return _mean_loss(losses, held_out)


def _mean_loss(losses: list[Any], rows: TrainingRows) -> float:
    """Mean over rows of the summed losses of batches."""
    torch = require_torch()
    total = torch.stack(losses).cpu().double().sum()  # the one wait for the device
    return float(total) / rows.total_weight


_lock = threading.Lock()
_training = 0  # fits under way, in any thread
_threads = 1  # what PyTorch had before the first of them


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """One thread for PyTorch, and what it had before once the last fit of the process is done.

    Matrix products of several threads are summed in another order for some shapes: with one, the
    weights do not depend on the machine's cores. Minibatches are too small to gain much by more.
    """
    global _training, _threads
    with _lock:
        if not _training:
            _threads = torch.get_num_threads()
        _training += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _training -= 1
            if not _training:
                torch.set_num_threads(_threads)
