"""The two-layer perceptron: trained by PyTorch, an extra; predicting needs NumPy alone."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from paralesn.persistence import register_estimator
from paralesn.readouts import mlp_training
from paralesn.readouts.numbers import check_number, check_whole
from paralesn.readouts.rollback import unharmed

_FLOATS = (np.float64, np.float32)


class MLP(BaseEstimator):
    r"""Readout with one hidden layer, for classes or numbers, trained with Adam.

    For standardised states z (zero mean, unit variance in the training rows)

    .. math:: o = \mathrm{relu}(z W_1 + b_1) W_2 + b_2

    and softmax(o) are the probabilities of the classes, trained by cross-entropy, or o the
    standardised targets, trained by the mean squared error. After each epoch the loss is taken on
    rows held out; when it has not fallen for `patience` epochs, or after `epochs`, training ends,
    and the weights of the best epoch are kept. They start uniform up to 1 / sqrt(layer's inputs).

    Training needs PyTorch (``pip install 'paralesn[torch]'``); a fitted readout predicts without.
    X is read where it lies (unless not C-contiguous): only minibatches are copied, standardised and
    made float32. Equal data and seed give equal weights to the last bit, whatever number of threads
    PyTorch is set to: training on a CPU uses one.

    Parameters
    ----------
    hidden : int
        Units of the hidden layer.
    task : "classification", "regression" or None
        None decides by the dtype of y: floats are regression, anything else (integers, booleans,
        strings) are labels of classes.
    learning_rate : float
        Step size of Adam.
    schedule : "cosine" or None
        "cosine" lets the step size fall to zero over `epochs`, along half a cosine; None keeps it.
    weight_decay : float
        Times the weights, added to the gradient, as in ``torch.optim.Adam``.
    dropout : float
        Chance in [0, 1) that a hidden unit is left out of a training step.
    input_dropout : float
        The same for a standardised state.
    label_smoothing : float
        Share in [0, 1) of a label's weight that is spread evenly over all classes in training.
    batch_size : int
        Rows in a step.
    epochs : int
        Passes through the training rows, at most.
    patience : int
        Epochs without a lower loss after which to stop.
    validation_fraction : float
        Share in [0, 1) of the rows to hold out, at random and of every class alike; one row of each
        class always trains. Where none are left to hold out (0, or too few rows), all rows train
        and training stops by its own loss, averaged over each epoch.
    seed : int, None or numpy.random.Generator
        Of the split, first weights, order of rows and dropout; global random states are left alone.
    device : str or None
        Device of PyTorch to train on, such as "cuda"; None is the CPU.
    progress : bool or None
        Show a progress bar on standard error; None does if that is a terminal.

    Attributes
    ----------
    classes_ : array (classes,)
        Labels, sorted; only after classification.
    weights_ : tuple of float32 arrays
        W1 (features, hidden), b1 (hidden,), W2 (hidden, outputs), b2 (outputs,), for standardised
        states: folded into W1, means large against their deviations would cost digits.
    mean_, scale_ : arrays (features,)
        Mean and standard deviation of the states in training; a state of deviation 0 is left out.
    target_mean_, target_scale_ : arrays (targets,)
        The same of the targets; only after regression.
    loss_curve_, validation_curve_ : lists of float
        Losses by epoch, in training and on the rows held out (empty if there are none).
    n_iter_, best_epoch_ : int
        Epochs run, and which was the best, counted from 1.
    n_parameters_ : int
        Trained numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.readouts.mlp import MLP
    >>> Z = np.random.default_rng(0).normal(size=(2000, 2))
    >>> quadrant = np.where(Z[:, 0] * Z[:, 1] > 0, "same", "other")
    >>> readout = MLP(learning_rate=5e-3).fit(Z[:1500], quadrant[:1500])
    >>> readout.score(Z[1500:], quadrant[1500:]) > 0.95
    True
    """

    # What a saved model holds besides its parameters.
    LEARNT = (
        "n_features_in_", "feature_names_in_", "classes_", "weights_", "mean_", "scale_",
        "target_mean_", "target_scale_", "loss_curve_", "validation_curve_", "n_iter_",
        "best_epoch_", "n_parameters_", "_flat",
    )  # fmt: skip

    def __init__(
        self,
        hidden: int = 128,
        *,
        task: str | None = None,
        learning_rate: float = 5e-4,
        schedule: str | None = None,
        weight_decay: float = 0.0,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        label_smoothing: float = 0.0,
        batch_size: int = 128,
        epochs: int = 100,
        patience: int = 10,
        validation_fraction: float = 0.1,
        seed: int | np.random.Generator | None = 0,
        device: str | None = None,
        progress: bool | None = None,
    ) -> None:
        self.hidden = hidden
        self.task = task
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.label_smoothing = label_smoothing
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.seed = seed
        self.device = device
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self.task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit to states X (n, features) and labels y (n,), or targets y (n,) or (n, targets).

        Whatever interrupts it leaves the readout as it was before.

        Parameters
        ----------
        sample_weight : array (n,), optional
            Non-negative weights of the rows, in the loss and in the standardisation. Rows of weight
            0 are left out altogether.
        validation : (X, y), optional
            Data to stop by, instead of rows held out. Better where rows belong together, such as
            those of one series.
        """
        self._check_parameters()
        device = mlp_training.find_device(self.device)
        with unharmed(self):
            found = self._learn(X, y, sample_weight, validation, device)
        for name in set(self.LEARNT) - {"n_features_in_", "feature_names_in_"}:
            self.__dict__.pop(name, None)
        self.__dict__.update(found)
        return self

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, device: Any
    ) -> dict[str, Any]:
        """Check the data, train, and return what was learnt."""
        X = validate_data(self, X, dtype=_FLOATS, order="C")
        y, classify = self._labels_or_targets(y, X.shape[0])
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        used = np.flatnonzero(weight)
        if not used.size:
            raise ValueError("sample_weight must be positive for at least one row, got only zeros")
        found: dict[str, Any] = {}
        codes = np.zeros(X.shape[0], int)
        if classify:
            found["classes_"], codes[used] = np.unique(y[used], return_inverse=True)
            if found["classes_"].size < 2:
                raise ValueError("y must hold at least two classes, got only 1 class")
        rng = np.random.default_rng(self.seed)
        split = np.random.default_rng(rng.integers(2**63))  # first weights do not depend on n
        train, held = used, used[:0]
        if validation is None:
            parts = mlp_training.hold_out(codes[used], float(self.validation_fraction), split)
            train, held = (used[part] for part in parts)
        mean, scale = mlp_training.moments(X, train, weight, "X")
        targets = codes
        if not classify:
            found["_flat"], y = y.ndim == 1, y.reshape(X.shape[0], -1)
            of_targets = mlp_training.moments(y, train, weight, "y")
            found["target_mean_"], found["target_scale_"] = of_targets
            targets = mlp_training.standardised(y, *of_targets)
        outputs = found["classes_"].size if classify else y.shape[1]
        weight = (weight / weight[train].mean()).astype(np.float32)
        stop_by = mlp_training.Data(X, targets, weight, held) if held.size else None
        if validation is not None:
            stop_by = self._validation_data(validation, found)
        with mlp_training.progress_bar(self.progress, int(self.epochs)) as report:
            trained = mlp_training.train(
                mlp_training.Data(X, targets, weight, train),
                stop_by,
                mean,
                scale,
                (X.shape[1], int(self.hidden), outputs),
                rng,
                device=device,
                report=report,
                **{name: getattr(self, name) for name in mlp_training.SETTINGS},
            )
        found.update(mean_=mean, scale_=scale, weights_=trained.weights)
        found.update(loss_curve_=trained.losses, validation_curve_=trained.validation)
        found.update(n_iter_=len(trained.losses), best_epoch_=trained.best_epoch)
        return {**found, "n_parameters_": sum(part.size for part in trained.weights)}

    def _labels_or_targets(self, y: Any, rows: int) -> tuple[np.ndarray, bool]:
        """Labels (n,) or targets (n,) or (n, targets), and whether they are labels."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = np.asarray(y)  # scikit-learn would make floats of the nullable integers of pandas
        array = check_array(y, ensure_2d=False, allow_nd=True, dtype=None, input_name="y")
        classify = self.task == "classification" or (self.task is None and array.dtype.kind != "f")
        wide = array.ndim > 2 or (classify and array.ndim == 2 and array.shape[1] != 1)
        if wide or array.shape[0] != rows:
            expected = f"({rows},)" if classify else f"({rows},) or ({rows}, targets)"
            expected += f", as many rows as X ({rows})"
            raise ValueError(f"y must be {expected}, got shape {array.shape}")
        if not classify:
            return check_array(array, ensure_2d=False, dtype=float, input_name="y"), False
        array = column_or_1d(array, warn=True)
        try:
            check_classification_targets(array)
        except TypeError as error:
            raise ValueError(f"y must hold labels of one type: {error}") from error
        return array, True

    def _validation_data(self, validation: Any, found: dict[str, Any]) -> mlp_training.Data:
        """The pair that was given to stop by."""
        try:
            X, y = validation
        except (TypeError, ValueError):
            raise ValueError("validation must be None or a pair (X, y)") from None
        X = validate_data(self, X, reset=False, dtype=_FLOATS, order="C")
        n = X.shape[0]
        if "classes_" in found:
            classes = found["classes_"]
            y = column_or_1d(np.asarray(y))
            unknown = set(y.tolist()) - set(classes.tolist())
            if unknown:
                raise ValueError(f"validation must hold labels of y, got {unknown.pop()!r}")
            targets = np.searchsorted(classes, y)
        else:
            y = check_array(y, ensure_2d=False, dtype=float, input_name="validation's y")
            y = y.reshape(y.shape[0], -1)
            m = found["target_mean_"].size
            if y.shape[1] != m:
                raise ValueError(f"validation must hold {m} targets as y does, got {y.shape[1]}")
            targets = mlp_training.standardised(y, found["target_mean_"], found["target_scale_"])
        if targets.shape[0] != n:
            raise ValueError(f"validation must hold {n} rows of y as of X, got {targets.shape[0]}")
        return mlp_training.Data(X, targets, np.ones(n, np.float32), np.arange(n))

    # -- predicting ------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """What the network puts out for states X, (n, outputs), in the precision of X."""
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False, dtype=_FLOATS)
        kind = X.dtype
        w1, b1, w2, b2 = (part.astype(kind, copy=False) for part in self.weights_)
        mean, factor = self.mean_.astype(kind), mlp_training.inverse(self.scale_).astype(kind)
        out = np.empty((X.shape[0], b2.size), kind)
        size = mlp_training.block_rows(max(w1.shape))
        for start in range(0, X.shape[0], size):
            z = X[start : start + size] - mean
            z *= factor
            h = z @ w1
            h += b1
            np.maximum(h, 0, out=h)
            np.matmul(h, w2, out=out[start : start + size])
        out += b2
        return out

    def predict(self, X: Any) -> np.ndarray:
        """Labels (n,), or targets in the units and the shape of y, for states X (n, features)."""
        out = self._outputs(X)
        if hasattr(self, "classes_"):
            return self.classes_[out.argmax(axis=1)]
        targets = out * self.target_scale_ + self.target_mean_
        return targets[:, 0] if self._flat else targets

    def _may_classify(self) -> bool:
        """Whether classes were learnt, or may yet be."""
        return hasattr(self, "classes_") if hasattr(self, "weights_") else self.task != "regression"

    @available_if(_may_classify)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, classes) of the classes in `classes_`; only for classification."""
        out = self._outputs(X)
        out -= out.max(axis=1, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=1, keepdims=True)
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for classes; for numbers R squared, averaged over targets."""
        predicted = self.predict(X)
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))

    # -- checks ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("hidden", "batch_size", "epochs", "patience"):
            check_whole(name, getattr(self, name), 1)
        check_number("learning_rate", self.learning_rate, 1e30, positive=True)
        check_number("weight_decay", self.weight_decay, 1e30)
        for name in ("dropout", "input_dropout", "label_smoothing", "validation_fraction"):
            check_number(name, getattr(self, name), 1.0)
        if self.schedule not in mlp_training.SCHEDULES:
            raise ValueError(f"schedule must be 'cosine' or None, got {self.schedule!r}")
        if self.seed is not None and not isinstance(self.seed, np.random.Generator):
            check_whole("seed", self.seed, 0, ", None or a numpy.random.Generator")
        if (task := self.task) not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None, got {task!r}")
        if self.device is not None and not isinstance(self.device, str):
            raise TypeError(f"device must be None or a string, got {self.device!r}")
        if self.progress is not None and not isinstance(self.progress, (bool, np.bool_)):
            raise TypeError(f"progress must be True, False or None, got {self.progress!r}")

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        self._check_parameters()
        for name in ("n_features_in_", "n_parameters_", "n_iter_", "best_epoch_"):
            check_whole(name, getattr(self, name), 1)
        p, h, classify = self.n_features_in_, self.hidden, hasattr(self, "classes_")
        (m,) = np.shape(self.classes_ if classify else self.target_mean_)
        parts: list[tuple[Any, ...]] = [(self.mean_, (p,)), (self.scale_, (p,))]
        if not classify:
            parts += [(self.target_mean_, (m,)), (self.target_scale_, (m,))]
        shapes = ((p, h), (h,), (h, m), (m,))
        curves = (*self.loss_curve_, *self.validation_curve_)
        right = (
            all(_fits(array, shape, np.float64) for array, shape in parts)
            and len(self.weights_) == 4
            and all(map(_fits, self.weights_, shapes, (np.float32,) * 4))
            and self.n_parameters_ == sum(part.size for part in self.weights_)
            and (m > 1 if classify else self._flat is False or (self._flat is True and m == 1))
            and self.best_epoch_ <= self.n_iter_ == len(self.loss_curve_)
            and len(self.validation_curve_) in (0, self.n_iter_)
            and all(isinstance(loss, float) for loss in curves)
        )
        if not right:
            raise ValueError("the parts of an MLP do not fit together")


def _fits(array: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    right = isinstance(array, np.ndarray) and (array.shape, array.dtype) == (shape, dtype)
    return right and bool(np.isfinite(array).all())


register_estimator(MLP, MLP.LEARNT, MLP._check_learnt)
