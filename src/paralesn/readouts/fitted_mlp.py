"""What a two-layer perceptron has learnt, as one state that never changes; predicts with NumPy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Floats, Labels, Names
from paralesn.readouts import inputs
from paralesn.readouts.training_rows import Moments, block_rows


@register
@dataclass(frozen=True, eq=False)
class FittedMLP:
    """Everything an `MLP` has learnt.

    Attributes
    ----------
    weights : tuple of float32 arrays
        W1 (features, hidden), b1 (hidden,), W2 (hidden, outputs), b2 (outputs,), for standardised
        states: folded into W1, means large against their deviations would cost digits.
    mean, scale : arrays (features,)
        Of the states in training; a state of deviation 0 is left out.
    classes : array (classes,) or None
        Labels, after classification.
    target_mean, target_scale : arrays (targets,) or None
        Of the targets, after regression.
    flat : bool
        Targets came as (n,), and predictions are returned as such.
    loss_curve, validation_curve : tuples of float
        Losses by epoch; the latter is empty if no rows were held out.
    best_epoch : int
        The epoch whose weights these are, counted from 1.
    feature_names : array (features,) or None
    """

    weights: tuple[Floats, ...]
    mean: Floats
    scale: Floats
    classes: Labels | None
    target_mean: Floats | None
    target_scale: Floats | None
    flat: bool
    loss_curve: tuple[float, ...]
    validation_curve: tuple[float, ...]
    best_epoch: Count
    feature_names: Names | None

    @property
    def n_features(self) -> int:
        """Number of states."""
        return self.mean.size

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """What the network puts out for states X, (n, outputs), in the precision of X."""
        kind = X.dtype
        w1, b1, w2, b2 = (array.astype(kind, copy=False) for array in self.weights)
        mean = self.mean.astype(kind)
        factor = Moments(self.mean, self.scale).inverse.astype(kind)
        out = np.empty((X.shape[0], b2.size), kind)
        size = block_rows(max(w1.shape))
        for start in range(0, X.shape[0], size):
            z = X[start : start + size] - mean
            z *= factor
            h = z @ w1
            h += b1
            np.maximum(h, 0, out=h)
            np.matmul(h, w2, out=out[start : start + size])
        out += b2
        return out

    def check(self, mlp: Any) -> None:
        """Raise unless everything fits together, and the parameters of `mlp`."""
        mlp.check_parameters()
        checks.integer("best_epoch_", self.best_epoch, 1, len(self.loss_curve))
        p, h, classify = self.n_features, mlp.hidden, self.classes is not None
        outputs: Any = self.classes if classify else self.target_mean
        (m,) = np.shape(outputs)
        arrays: list[tuple[Any, ...]] = [(self.mean, (p,)), (self.scale, (p,))]
        if not classify:
            arrays += [(self.target_mean, (m,)), (self.target_scale, (m,))]
        shapes = ((p, h), (h,), (h, m), (m,))
        right = (
            all(_fits(array, shape, np.float64) for array, shape in arrays)
            and len(self.weights) == 4
            and all(map(_fits, self.weights, shapes, (np.float32,) * 4))
            and (m > 1 if classify else m == 1 or not self.flat)
            and isinstance(self.flat, bool)
            and len(self.validation_curve) in (0, len(self.loss_curve))
            and all(isinstance(loss, float) for loss in self.loss_curve + self.validation_curve)
            and inputs.names_fit(self.feature_names, p)
        )
        if not right:
            raise ValueError("the parts of an MLP do not fit together")


class FittedAttributes(inputs.FittedFeatures):
    """Mixin: the public attributes of a fitted `MLP`, as its fitted state has them."""

    fitted_: FittedMLP

    def _after(self, task: str, values: np.ndarray | None) -> np.ndarray:
        """Values that only a fit for `task` leaves."""
        if values is None:
            raise AttributeError(f"this MLP was not fitted for {task}")
        return values

    @property
    def classes_(self) -> np.ndarray:
        """Labels, sorted; only after classification."""
        return self._after("classification", self.fitted_.classes)

    @property
    def target_mean_(self) -> np.ndarray:
        """Mean of the targets; only after regression."""
        return self._after("regression", self.fitted_.target_mean)

    @property
    def target_scale_(self) -> np.ndarray:
        """Standard deviation of the targets; only after regression."""
        return self._after("regression", self.fitted_.target_scale)

    @property
    def weights_(self) -> tuple[np.ndarray, ...]:
        """W1, b1, W2, b2."""
        return self.fitted_.weights

    @property
    def mean_(self) -> np.ndarray:
        """Mean of the states."""
        return self.fitted_.mean

    @property
    def scale_(self) -> np.ndarray:
        """Standard deviation of the states."""
        return self.fitted_.scale

    @property
    def loss_curve_(self) -> list[float]:
        """Losses by epoch."""
        return list(self.fitted_.loss_curve)

    @property
    def validation_curve_(self) -> list[float]:
        """Losses by epoch on the rows held out."""
        return list(self.fitted_.validation_curve)

    @property
    def n_iter_(self) -> int:
        """Epochs run."""
        return len(self.fitted_.loss_curve)

    @property
    def best_epoch_(self) -> int:
        """The best epoch, counted from 1."""
        return self.fitted_.best_epoch

    @property
    def n_parameters_(self) -> int:
        """Trained numbers."""
        return sum(array.size for array in self.fitted_.weights)


def _fits(array: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    right = isinstance(array, np.ndarray) and (array.shape, array.dtype) == (shape, dtype)
    return right and bool(np.isfinite(array).all())
