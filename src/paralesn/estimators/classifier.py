"""Classification of whole series: features of each, read out linearly."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.utils import assert_all_finite, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from paralesn import checks, sources
from paralesn.estimators import defaults
from paralesn.estimators.components import check_readout, own_features, own_readout
from paralesn.features.filter_bank import FilterBank
from paralesn.features.pooled_states import PooledStates
from paralesn.missing import ERROR, MissingValues, opened, reopened
from paralesn.persistence import register
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.sources import Source
from paralesn.tunable import TunableDefaults

_AT_ONCE = 1 << 14  # series whose features are kept while a readout is fitted


def _asks_readout(method: str) -> Any:
    """Whether the readout, fitted or not, has a method."""

    def check(model: "ReservoirClassifier") -> bool:
        readout = getattr(model, "readout_", model.readout)
        return readout is not None and hasattr(readout, method)

    return check


def _decides(model: "ReservoirClassifier") -> bool:
    readout = getattr(model, "readout_", model.readout)
    return readout is None or is_regressor(readout) or hasattr(readout, "decision_function")


@register
@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """Fitted features and readout, and the labels, sorted."""

    features: Any
    readout: Any
    classes: np.ndarray
    missing: MissingValues | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        check_readout(self.readout, self.features.n_features_out_)
        if self.classes.ndim != 1 or self.classes.size < 2:
            raise ValueError(f"classes must be two or more, got shape {self.classes.shape}")
        if self.missing is not None:
            self.missing.check(self.features.n_features_in_)


@register
class ReservoirClassifier(TunableDefaults, ClassifierMixin, BaseEstimator):
    """Classify series: a row of features for each, and a linear readout fitted in closed form.

    Parameters
    ----------
    features : FilterBank or PooledStates, optional
        What describes a series; any transformer of series with `fit`, `transform` and `blocks`
        will do. Default: `FilterBank()`, good without tuning.
    readout : classifier or regressor, optional
        Default: `DualRidge` on a `FilterBank`, otherwise `Ridge` with penalties from 0.1 to 1e5.
        They are fitted to targets -1 and 1, one for each class. A scikit-learn classifier is given
        the labels, any other regressor such targets.
    class_weight : None, "balanced" or dict
        Weights of the classes; "balanced" makes every class count the same.
    missing : "error", "interpolate" or "mask"
        What to do about missing values (NaN, None): refuse them; fill them in between their
        neighbours in time, at the ends by the nearest value; or read them as the mean of their
        series, with an additional channel for each that had missing values, 1 where one is missing.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    features_, readout_ : the fitted ones
    n_features_in_ : int
        Features (channels) of a time step.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> rng = np.random.default_rng(0)
    >>> t = np.arange(100)
    >>> slow, fast = ([np.sin(t / p + rng.uniform(0, 6)) for _ in range(20)] for p in (9, 7))
    >>> X, y = np.array(slow + fast), ["slow"] * 20 + ["fast"] * 20
    >>> model = pe.ReservoirClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2])
    1.0

    The paper's classifier reads the last state of a reservoir:

    >>> last = pe.PooledStates(pe.ParalESN(rho=(0.9, 0.999)), pool="last", segments=1)
    >>> pe.ReservoirClassifier(last).fit(X[::2], y[::2]).n_features_in_
    1
    """

    fitted_: FittedClassifier
    DEFAULT_COMPONENTS: ClassVar = {
        "features": lambda model: defaults.classifying_features(),
        "readout": lambda model: defaults.classifying_readout(model.component("features")),
    }

    def __init__(
        self,
        features: Any = None,
        readout: Any = None,
        *,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = ERROR,
    ) -> None:
        self.features = features
        self.readout = readout
        self.class_weight = class_weight
        self.missing = missing

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to series X and their labels y.

        Parameters
        ----------
        X : array-like (batch, time, features), (batch, time) for univariate series, or a list of
            arrays (time, features) or (time,), of equal length or not
        y : array-like (batch,)
            Labels: whole numbers, strings, truth values.
        sample_weight : array (batch,), optional
        """
        features = own_features(self.features, defaults.classifying_features)
        default = partial(defaults.classifying_readout, features)
        readout = own_readout(self.readout, default, "classification")
        owner = type(self).__name__
        source, missing = opened(X, self.missing, owner, sources.collection, by_series=True)
        classes, labels = _classes(y, len(source))
        weight = self._weights(classes, labels, sample_weight)
        arguments = {} if weight is None else {"sample_weight": weight}
        if weight is not None and not has_fit_parameter(readout, "sample_weight"):
            raise ValueError(
                f"class_weight and sample_weight need a readout whose fit takes sample_weight, "
                f"got {type(readout).__name__}"
            )
        targets = _indicators(labels, classes.size) if is_regressor(readout) else classes[labels]
        data = _data_for(features, source)
        if isinstance(readout, DualRidge) and len(source) > _AT_ONCE:
            features.fit(data)
            readout.fit_blocks(partial(features.blocks, data), targets, **arguments)
        else:
            readout.fit(features.fit_transform(data), targets, **arguments)
        self.fitted_ = FittedClassifier(features, readout, classes, missing)
        return self

    @property
    def features_(self) -> Any:
        """The fitted features."""
        return self.fitted_.features

    @property
    def readout_(self) -> Any:
        """The fitted readout."""
        return self.fitted_.readout

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self.fitted_.classes

    @property
    def n_features_in_(self) -> int:
        """Features (channels) of a time step."""
        missing = self.fitted_.missing
        extra = 0 if missing is None else missing.flagged.size
        return int(self.features_.n_features_in_) - extra

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the series X."""
        check_is_fitted(self, "fitted_")
        if not is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        decision = self.decision_function(X)
        best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
        return self.classes_[best]

    @available_if(_asks_readout("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (batch, classes), where the readout gives them."""
        check_is_fitted(self, "fitted_")
        return self._read_out(X, self.readout_.predict_proba)

    @available_if(_decides)
    def decision_function(self, X: Any) -> np.ndarray:
        """What the decision rests on: (batch, classes), for two classes (batch,), >0 the second."""
        check_is_fitted(self, "fitted_")
        if is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        return self._read_out(X, self.readout_.decision_function)

    def _read_out(self, X: Any, method: Any) -> np.ndarray:
        """What a method of the readout says of the series X, block by block."""
        call = (self.n_features_in_, type(self).__name__, sources.collection)
        source = reopened(X, self.fitted_.missing, *call)
        blocks = self.features_.blocks(_data_for(self.features_, source))
        return np.concatenate([np.asarray(method(block)) for block in blocks])

    def _weights(
        self, classes: np.ndarray, labels: np.ndarray, sample_weight: Any
    ) -> np.ndarray | None:
        """Weights of the series: their own times those of their classes."""
        weight = np.ones(labels.size)
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, labels, ensure_non_negative=True)
        given = self.class_weight
        if isinstance(given, Mapping):
            unknown = [label for label in given if label not in classes.tolist()]
            if unknown:
                expected = f"a dict with keys among the labels {classes.tolist()}"
                raise checks.fail("class_weight", given, expected)
            for label, value in given.items():
                checks.number(f"class_weight[{label!r}]", value, 0)
            given = dict(given)
        elif given not in (None, "balanced"):
            raise checks.fail("class_weight", given, "None, 'balanced' or a dict")
        if given is None and sample_weight is None:
            return None
        weight = weight * compute_sample_weight(given, classes[labels])
        of_class = np.bincount(labels, weight, classes.size)
        if not of_class.all():
            lost = classes.tolist()[int(of_class.argmin())]
            raise ValueError(f"class_weight and sample_weight must leave some of class {lost!r}")
        return weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _data_for(features: Any, source: Source) -> Any:
    """Series as features take them: parsed for ours, arrays for others'."""
    return source if isinstance(features, (FilterBank, PooledStates)) else source.values()


def _classes(y: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels there are, and the number of each series' label."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(np.asarray(y), warn=True)  # as pandas gives it, nullable or not
    if y.size != count:
        raise ValueError(f"y must hold a label for each of the {count} series, got {y.size}")
    kinds = sorted({type(label).__name__ for label in y.tolist()})
    if y.dtype == object and len(kinds) > 1:
        raise TypeError(f"y must hold labels of one type, got {', '.join(kinds)}")
    if y.dtype == object and kinds != ["str"]:
        y = np.array(y.tolist())
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y must hold at least two classes, got one class: {classes.tolist()[0]!r}"
        )
    return classes, labels


def _indicators(labels: np.ndarray, count: int) -> np.ndarray:
    """Targets -1 and 1: a column for each class, or one for the second of two."""
    if count == 2:
        return np.where(labels == 1, 1.0, -1.0)
    return np.where(labels[:, None] == np.arange(count), 1.0, -1.0)
