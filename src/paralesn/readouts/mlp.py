"""The two-layer perceptron: trained by PyTorch, an extra; predicting needs NumPy alone."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from paralesn import checks
from paralesn.persistence import register
from paralesn.readouts import inputs
from paralesn.readouts.epoch_progress import progress_bar
from paralesn.readouts.fitted_mlp import FittedAttributes, FittedMLP
from paralesn.readouts.mlp_targets import TargetCoding, label_codes, labels_or_targets
from paralesn.readouts.mlp_training import Trained, TrainingSettings, find_device, train
from paralesn.readouts.training_rows import Moments, TrainingRows, hold_out, moments
from paralesn.runtime.memory import require_room


@register
class MLP(FittedAttributes, BaseEstimator):
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
    n_features_in_ : int
    fitted_ : FittedMLP
        All of the above comes from it.

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

    fitted_: FittedMLP

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
        self.check_parameters()
        device = find_device(self.device)
        X, names = inputs.first_states(self, X, order="C")
        y, classify = labels_or_targets(y, X.shape[0], self.task)
        checks.unmasked("sample_weight", sample_weight)
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        used = np.flatnonzero(weight)
        if not used.size:
            raise ValueError("sample_weight must be positive for at least one row, got only zeros")
        classes, codes = label_codes(y, used) if classify else (None, np.zeros(X.shape[0], int))
        rng = checks.generator(self.seed)
        split = np.random.default_rng(rng.integers(2**63))  # first weights do not depend on n
        rows, held_out = used, used[:0]
        if validation is None:
            halves = hold_out(codes[used], float(self.validation_fraction), split)
            rows, held_out = (used[half] for half in halves)
        of_states = moments(X, rows, weight, "X")
        coding = TargetCoding(classes, None, False)
        if not classify:
            coding = TargetCoding.of_numbers(y, rows, weight)
        targets = codes if classify else coding.standardised(y)
        relative = (weight / weight[rows].mean()).astype(np.float32)
        learn = TrainingRows(X, targets, relative, rows)
        stop_by = learn._replace(rows=held_out) if held_out.size else None
        if validation is not None:
            stop_by = self._validation_rows(validation, coding, inputs.Features(X.shape[1], names))
        sizes = X.shape[1], int(self.hidden), coding.outputs
        # Weights, their gradients and what Adam remembers of these, in single precision.
        require_room("hidden", self.hidden, 16 * self.hidden * (sizes[0] + sizes[2]))
        settings = TrainingSettings(
            **{name: getattr(self, name) for name in TrainingSettings.__dataclass_fields__}
        )
        with progress_bar(self.progress, int(self.epochs)) as report:
            trained = train(learn, stop_by, of_states, sizes, settings, rng, device, report)
        self.fitted_ = _state(trained, of_states, coding, names)
        return self

    def _validation_rows(
        self, validation: Any, coding: TargetCoding, features: inputs.Features
    ) -> TrainingRows:
        """The pair that was given to stop by."""
        X, y = inputs.pair_of_validation(validation)
        X = inputs.states_with(self, features, X, order="C")
        n = X.shape[0]
        targets = coding.of_validation(y, n)
        return TrainingRows(X, targets, np.ones(n, np.float32), np.arange(n))

    # -- predicting ------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """What the network puts out for states X, checked."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.outputs(inputs.further_states(self, X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels (n,), or targets in the units and the shape of y, for states X (n, features)."""
        out = inputs.predictions(self._outputs(X))
        if self.fitted_.classes is not None:
            return self.classes_[out.argmax(axis=1)]
        targets = out * self.target_scale_ + self.target_mean_
        return targets[:, 0] if self.fitted_.flat else targets

    def _may_classify(self) -> bool:
        """Whether classes were learnt, or may yet be."""
        return hasattr(self, "classes_") if hasattr(self, "fitted_") else self.task != "regression"

    @available_if(_may_classify)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, classes) of the classes in `classes_`; only for classification."""
        out = inputs.predictions(self._outputs(X))
        out -= out.max(axis=1, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=1, keepdims=True)
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for classes; for numbers R squared, averaged over targets."""
        from sklearn.metrics import accuracy_score, r2_score  # slow to import

        checks.unmasked("y", y)
        predicted = self.predict(X)
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))

    def check_parameters(self) -> None:
        """Raise for the first parameter that is not what it must be."""
        for name in ("hidden", "batch_size", "epochs", "patience"):
            checks.integer(name, getattr(self, name), 1)
        checks.number("learning_rate", self.learning_rate, 0, 1e30, open_left=True, open_right=True)
        checks.number("weight_decay", self.weight_decay, 0, 1e30, open_right=True)
        for name in ("dropout", "input_dropout", "label_smoothing", "validation_fraction"):
            checks.number(name, getattr(self, name), 0, 1, open_right=True)
        checks.optional_choice("schedule", self.schedule, ("cosine",))
        checks.optional_choice("task", self.task, ("classification", "regression"))
        checks.generator(self.seed)
        if self.device is not None and not isinstance(self.device, str):
            raise checks.fail("device", self.device, "None or a string", TypeError)
        checks.optional_flag("progress", self.progress)


def _state(
    trained: Trained, of_states: Moments, coding: TargetCoding, names: np.ndarray | None
) -> FittedMLP:
    mean, scale = (None, None) if coding.moments is None else coding.moments
    return FittedMLP(
        weights=trained.weights,
        mean=of_states.mean,
        scale=of_states.scale,
        classes=coding.classes,
        target_mean=mean,
        target_scale=scale,
        flat=coding.flat,
        loss_curve=tuple(trained.losses),
        validation_curve=tuple(trained.validation),
        best_epoch=trained.best_epoch,
        feature_names=names,
    )
