"""Adam on a two-layer perceptron: minibatches are gathered from the states where they lie.

The gradient of two layers is five lines, so it is written out: the matrix products go straight
into one flat vector of gradients, and Adam is a handful of operations on it. On a CPU that is a
quarter to a third faster than autograd with the fused optimiser, and it spares the second or two
that `torch.optim` takes to import. PyTorch itself is imported when training starts, no sooner.
"""

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from paralesn.files import require

# Parameters of MLP that `train` takes.
SETTINGS = (
    "learning_rate", "schedule", "weight_decay", "dropout", "input_dropout",
    "label_smoothing", "batch_size", "epochs", "patience",
)  # fmt: skip

SCHEDULES = (None, "cosine")

_ENTRIES = 2**19  # numbers of a block where the states are read from end to end


class Data(NamedTuple):
    """Rows to learn from or to validate on, by their indices: nothing of X is copied."""

    X: np.ndarray  # (n, features), float32 or float64
    targets: np.ndarray  # (n,) int64 codes of classes, or (n, outputs) float32, standardised
    weight: np.ndarray  # (n,) float32
    rows: np.ndarray  # (k,), which rows


class Trained(NamedTuple):
    """What training leaves: the weights of the best epoch, counted from 1, and both curves."""

    weights: tuple[np.ndarray, ...]
    losses: list[float]
    validation: list[float]
    best_epoch: int


def require_torch() -> Any:
    """Import PyTorch, or say how to get it."""
    return require("torch", "torch", purpose="MLP")


def find_device(name: str | None) -> Any:
    """The device of that name, tried once."""
    require_torch()
    from paralesn.runtime import pytorch

    return pytorch.find_device(name)


@contextmanager
def progress_bar(
    shown: bool | None, epochs: int
) -> Iterator[Callable[[int, float, float | None], None]]:
    """A function to report epochs to; they are shown if asked for, or on a terminal if None."""
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty()
    if not shown:
        yield lambda epoch, loss, held: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("epoch {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=epochs)

        def report(epoch: int, loss: float, held: float | None) -> None:
            text = f"loss {loss:.4g}" + ("" if held is None else f", validation {held:.4g}")
            bar.update(task, completed=epoch, description=text)

        yield report


# -- before training -------------------------------------------------------------------------------


def block_rows(columns: int) -> int:
    """How many rows of so many columns are read at a time."""
    return max(1, _ENTRIES // max(1, columns))


def moments(
    X: np.ndarray, index: np.ndarray, weight: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of the columns, the latter 0 for constant columns.

    Summed in float64, then rounded to the precision of X: both precisions subtract the same.
    """
    origin = X[index[0]].astype(float)  # a constant column is then exactly zero
    first, second, total = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0
    size = block_rows(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, index.size, size):
            cut = index[start : start + size]
            shifted, w = X[cut] - origin, weight[cut].astype(float)
            # Not by BLAS, whose sums depend on the number of its threads.
            first += np.einsum("i,ij->j", w, shifted)
            np.square(shifted, out=shifted)
            second += np.einsum("i,ij->j", w, shifted)
            total += w.sum()
        first /= total
        variance = second / total - first**2
    wrong = np.flatnonzero(~np.isfinite(variance))
    if wrong.size:
        raise ValueError(f"{name} must have a finite variance, got overflow in column {wrong[0]}")
    scale = np.sqrt(np.maximum(variance, 0.0))
    scale[scale < np.finfo(X.dtype).tiny] = 0.0  # its inverse would not be finite
    return (origin + first).astype(X.dtype).astype(float), scale.astype(X.dtype).astype(float)


def inverse(scale: np.ndarray) -> np.ndarray:
    """1 / scale, and 0 where it is 0, so that constant columns vanish."""
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)


def standardised(y: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Targets (n, targets) with mean 0 and deviation 1, float32."""
    return ((y - mean) * inverse(scale)).astype(np.float32)


def hold_out(
    codes: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions to train on and positions to validate on, a like share of every code.

    Rows are shuffled, ordered by code and taken at equal distances, so each code gives its share
    rounded up or down. One row of each code always stays in training.
    """
    n, held = codes.size, round(codes.size * fraction)
    order = rng.permutation(n)
    order = order[np.argsort(codes[order], kind="stable")]
    chosen = np.zeros(n, bool)
    chosen[((np.arange(held) + 0.5) * (n / max(held, 1))).astype(int)] = True
    chosen[np.unique(codes[order], return_index=True)[1]] = False
    return np.sort(order[~chosen]), np.sort(order[chosen])


# -- training --------------------------------------------------------------------------------------

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


class _Gather:
    """Minibatches of standardised states, in one buffer that is used again and again."""

    def __init__(
        self, data: Data, mean: np.ndarray, scale: np.ndarray, size: int, device: Any
    ) -> None:
        self.data, self.size, self.device, self.torch = data, size, device, require_torch()
        dtype, shape = data.X.dtype, (min(size, data.rows.size), data.X.shape[1])
        self.mean, self.factor = mean.astype(dtype), inverse(scale).astype(dtype)
        self.batch = np.empty(shape, np.float32)
        self.raw = self.batch if dtype == np.float32 else np.empty(shape, dtype)
        self.shared = self.torch.from_numpy(self.batch)

    def __call__(self, index: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
        """States (b, features), targets and weights (b, 1) of rows `index`, batch by batch."""
        for start in range(0, index.size, self.size):
            cut = index[start : start + self.size]
            raw = self.raw[: cut.size]
            # Indices are ours and in range; "raise" would gather into a second buffer.
            np.take(self.data.X, cut, axis=0, out=raw, mode="clip")
            raw -= self.mean
            np.multiply(raw, self.factor, out=self.batch[: cut.size], casting="same_kind")
            target = self.torch.from_numpy(self.data.targets[cut])
            weight = self.torch.from_numpy(self.data.weight[cut, None])
            states = self.shared[: cut.size]
            yield tuple(part.to(self.device) for part in (states, target, weight))


def _initial(sizes: tuple[int, int, int], rng: np.random.Generator) -> list[np.ndarray]:
    """W1, b1, W2, b2, uniform up to one over the root of the layer's inputs."""
    drawn = []
    for inputs, outputs in (sizes[:2], sizes[1:]):
        bound = 1 / math.sqrt(inputs)
        drawn += [rng.uniform(-bound, bound, shape) for shape in ((inputs, outputs), (outputs,))]
    return drawn


class Network:
    """Weights as views of one flat vector, their gradients as views of another."""

    def __init__(self, drawn: list[np.ndarray], device: Any) -> None:
        self.torch = torch = require_torch()
        flat = np.concatenate([part.ravel() for part in drawn]).astype(np.float32)
        self.flat = torch.from_numpy(flat).to(device)
        self.gradient = torch.zeros_like(self.flat)
        self.shapes = [part.shape for part in drawn]
        self.weights, self.gradients = self._views(self.flat), self._views(self.gradient)

    def _views(self, flat: Any) -> list[Any]:
        parts = flat.split([math.prod(shape) for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def hidden(self, x: Any) -> Any:
        """relu(x W1 + b1), (b, hidden)."""
        return self.torch.addmm(self.weights[1], x, self.weights[0]).relu_()

    def loss(self, h: Any, target: Any, weight: Any, smoothing: float = 0.0) -> tuple[Any, Any]:
        """Weighted sum of the losses of a batch, and its derivative by the outputs."""
        out = self.torch.addmm(self.weights[3], h, self.weights[2])
        if target.ndim == 1:
            log = self.torch.log_softmax(out, 1)
            target = target[:, None]
            each = log.gather(1, target)
            if smoothing:
                each = each.mul_(1 - smoothing).add_(log.mean(1, keepdim=True), alpha=smoothing)
            loss, slope = -(each * weight).sum(), log.exp_()
            slope.scatter_add_(1, target, self.torch.full_like(weight, smoothing - 1))
            slope -= smoothing / slope.shape[1]
            return loss, slope.mul_(weight)
        error = out.sub_(target)
        slope = error * (weight * (2 / error.shape[1]))
        return (error * slope).sum() / 2, slope

    def backward(
        self,
        x: Any,
        target: Any,
        weight: Any,
        dropout: float,
        chance: Any,
        smoothing: float = 0.0,
    ) -> Any:
        """Leave the gradient of the mean loss in `gradient`; return the summed loss."""
        torch, (into_w1, into_b1, into_w2, into_b2) = self.torch, self.gradients
        h = self.hidden(x)
        if dropout:
            _drop(h, dropout, chance)
        loss, slope = self.loss(h, target, weight, smoothing)
        slope /= x.shape[0]
        torch.mm(h.T, slope, out=into_w2)
        torch.sum(slope, 0, out=into_b2)
        back = (slope @ self.weights[2].T).mul_(h > 0).div_(1 - dropout)
        torch.mm(x.T, back, out=into_w1)
        torch.sum(back, 0, out=into_b1)
        return loss


def _drop(x: Any, chance: float, generator: Any) -> None:
    """Leave out numbers of x at random, and make up for it by the others."""
    x *= x.new_empty(x.shape).bernoulli_(1 - chance, generator=generator).div_(1 - chance)


class Adam:
    """Adam (Kingma and Ba, 2015) on one vector, with the decay of `torch.optim.Adam`."""

    def __init__(self, network: Network, rate: float, decay: float) -> None:
        self.network, self.rate, self.decay, self.steps = network, float(rate), float(decay), 0
        self.first, self.second, self.root = (network.torch.zeros_like(network.flat) for _ in "123")

    def step(self, share: float = 1.0) -> None:
        """Move the weights along the gradient that the network holds, by a share of the rate."""
        self.steps += 1
        gradient = self.network.gradient
        if self.decay:
            gradient.add_(self.network.flat, alpha=self.decay)
        self.first.lerp_(gradient, 0.1)
        self.second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        self.network.torch.sqrt(self.second, out=self.root)
        self.root.mul_((1 - 0.999**self.steps) ** -0.5).add_(1e-8)
        rate = share * self.rate / (1 - 0.9**self.steps)
        self.network.flat.addcdiv_(self.first, self.root, value=-rate)


def train(
    learn: Data,
    held: Data | None,
    mean: np.ndarray,
    scale: np.ndarray,
    sizes: tuple[int, int, int],
    rng: np.random.Generator,
    *,
    device: Any,
    learning_rate: float,
    schedule: str | None,
    weight_decay: float,
    dropout: float,
    input_dropout: float,
    label_smoothing: float,
    batch_size: int,
    epochs: int,
    patience: int,
    report: Callable[[int, float, float | None], None],
) -> Trained:
    """Train until the loss on `held` (on `learn`, if None) has not fallen for `patience` epochs."""
    torch = require_torch()
    with torch.no_grad(), _one_thread(torch):
        network = Network(_initial(sizes, rng), device)
        adam = Adam(network, learning_rate, weight_decay)
        chance = torch.Generator(device=device).manual_seed(int(rng.integers(2**63)))
        batches = _Gather(learn, mean, scale, batch_size, device)
        checks = held and _Gather(held, mean, scale, block_rows(max(sizes)), device)
        steps = epochs * -(-learn.rows.size // batch_size)
        losses: list[float] = []
        validation: list[float] = []
        curve = validation if checks else losses
        best, best_epoch, best_flat = math.inf, 0, network.flat

        def average(parts: list[Any], data: Data) -> float:
            total = torch.stack(parts).cpu().double().sum()  # the one wait for the device
            return float(total) / float(data.weight[data.rows].sum(dtype=float))

        for epoch in range(1, epochs + 1):
            parts = []
            for batch in batches(rng.permutation(learn.rows)):
                if input_dropout:
                    _drop(batch[0], float(input_dropout), chance)
                loss = network.backward(*batch, float(dropout), chance, float(label_smoothing))
                parts.append(loss)
                adam.step(0.5 + 0.5 * math.cos(math.pi * adam.steps / steps) if schedule else 1.0)
            losses.append(average(parts, learn))
            if held and checks:
                parts = [network.loss(network.hidden(x), t, w)[0] for x, t, w in checks(held.rows)]
                validation.append(average(parts, held))
            finite = bool(torch.isfinite(network.flat).all())
            if not (finite and math.isfinite(losses[-1]) and math.isfinite(curve[-1])):
                raise ValueError(
                    "learning_rate must be small enough for training to converge, got "
                    f"{learning_rate!r}: the loss was no longer finite in epoch {epoch}"
                )
            report(epoch, losses[-1], validation[-1] if validation else None)
            if curve[-1] < best:
                best, best_epoch, best_flat = curve[-1], epoch, network.flat.clone()
            elif epoch - best_epoch >= patience:
                break
        weights = tuple(part.cpu().numpy().copy() for part in network._views(best_flat))
    return Trained(weights, losses, validation, best_epoch)
