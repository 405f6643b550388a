"""Classification of whole series: features of each, from filters or pooled states, read out."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

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

from paralesn import checks, series
from paralesn.estimators import defaults, scaling
from paralesn.estimators.components import check_parts, own_bank, own_readout, own_reservoir
from paralesn.estimators.targets import check_finite
from paralesn.features.filter_bank import FilterBank
from paralesn.persistence import register_estimator
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.reservoirs.base import Reservoir

_VALUES = 1 << 22  # input values read at a time
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


class ReservoirClassifier(ClassifierMixin, BaseEstimator):
    """Classify series by how filters respond to them, or by reservoir states pooled over time.

    Every series becomes one row of features: by default those of a `FilterBank`, good without
    tuning. With a reservoir, statistics of each unit's states over the whole series, or over equal
    parts of it, gathered while the reservoir runs; the states themselves are never stored. A linear
    readout on the features is then fitted in closed form.

    Parameters
    ----------
    reservoir : FilterBank or reservoir, optional
        Default: `FilterBank()`; where `pool`, `segments` or `standardize` is given, a reservoir of
        one layer of 1 024 units.
    readout : classifier or regressor, optional
        Default: `DualRidge` on a filter bank; on a reservoir `Ridge`, penalties from 0.1 to 1e5.
        They are fitted to targets -1 and 1, one for each class. A scikit-learn classifier is given
        the labels, any other regressor such targets.
    pool : name or sequence of names, optional
        Of a reservoir's states: "last" (the paper's), "mean", "std", "max", "min", "ppv" (share of
        positive states). Default: mean, std and ppv, over two segments.
    segments : int, optional
        Equal parts of each series to pool over. Default: 1, or 2 where `pool` is left to us.
    class_weight : None, "balanced" or dict
        Weights of the classes; "balanced" makes every class count the same.
    standardize : bool, optional
        Whether every input feature is brought to zero mean and unit variance over the training
        series. None: where the reservoir is the default one. A reservoir given sees the data as
        they are, a filter bank normalises each series itself.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    reservoir_, readout_ : the fitted ones
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
    """

    def __init__(
        self,
        reservoir: Reservoir | FilterBank | None = None,
        readout: Any = None,
        pool: str | Sequence[str] | None = None,
        segments: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        standardize: bool | None = None,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.pool = pool
        self.segments = segments
        self.class_weight = class_weight
        self.standardize = standardize

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
        bank = own_bank(
            self.reservoir,
            defaults.bank,
            pool=self.pool,
            segments=self.segments,
            standardize=self.standardize,
        )
        X = series.collection(X, None, "ReservoirClassifier")
        classes, labels = _classes(y, len(X))
        weight = self._weights(classes, labels, sample_weight)
        default = defaults.classifying_readout if bank is None else defaults.bank_readout
        readout = own_readout(self.readout, default, "classification")
        arguments = {} if weight is None else {"sample_weight": weight}
        if weight is not None and not has_fit_parameter(readout, "sample_weight"):
            raise ValueError(
                f"class_weight and sample_weight need a readout whose fit takes sample_weight, "
                f"got {type(readout).__name__}"
            )
        targets = _indicators(labels, classes.size) if is_regressor(readout) else classes[labels]
        source: Reservoir | FilterBank
        pooling = found = None
        if bank is None:
            source = reservoir = own_reservoir(self.reservoir, defaults.classifying_reservoir)
            standardize = scaling.wanted("standardize", self.standardize, self.reservoir)
            pooling = self._pooling()
            reservoir.fit(X)
            found = scaling.measure(X) if standardize else None
            features = np.concatenate(list(self._features(X, reservoir, found, pooling)))
            readout.fit(features, targets, **arguments)
        else:
            source = bank
            if isinstance(readout, DualRidge) and len(X) > _AT_ONCE:
                bank.fit(X)
                readout.fit_blocks(partial(bank.blocks, X), targets, **arguments)
            else:
                readout.fit(bank.fit_transform(X), targets, **arguments)
        self.reservoir_, self.readout_, self.classes_ = source, readout, classes
        self.n_features_in_ = source.n_features_in_
        self._scaling = None if found is None else found._asdict()
        self._pooled: Any = pooling
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the series X."""
        check_is_fitted(self, "readout_")
        if not is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        decision = self.decision_function(X)
        best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
        return self.classes_[best]

    @available_if(_asks_readout("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (batch, classes), where the readout gives them."""
        check_is_fitted(self, "readout_")
        return self._read_out(X, self.readout_.predict_proba)

    @available_if(_decides)
    def decision_function(self, X: Any) -> np.ndarray:
        """What the decision rests on: (batch, classes), for two classes (batch,), >0 the second."""
        check_is_fitted(self, "readout_")
        if is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        return self._read_out(X, self.readout_.decision_function)

    # -- features --------------------------------------------------------------------------------

    def _features(
        self,
        X: Any,
        reservoir: Reservoir,
        found: scaling.Scaling | None,
        pooling: tuple[tuple[str, ...], int],
    ) -> Any:
        """Pooled states of some series at a time."""
        longest = max(len(x) for x in X)
        size = max(1, _VALUES // (longest * reservoir.n_features_in_))
        for first in range(0, len(X), size):
            some = X[first : first + size]
            if first:  # the reservoir would count series from the first of these
                check_finite(some, first)
            some = some if found is None else found.apply(some)
            yield reservoir.pool(some, *pooling)

    def _pooling(self) -> tuple[tuple[str, ...], int]:
        """Names of the pools, and number of segments."""
        pools = defaults.POOLS if self.pool is None else checks.pools(self.pool, "pool")
        default = defaults.SEGMENTS if self.pool is None else 1
        segments = default if self.segments is None else self.segments
        return pools, checks.integer("segments", segments, 1)

    def _read_out(self, X: Any, method: Any) -> np.ndarray:
        X = series.collection(X, self.n_features_in_, "ReservoirClassifier")
        if isinstance(self.reservoir_, FilterBank):
            return np.concatenate([np.asarray(method(f)) for f in self.reservoir_.blocks(X)])
        found = None if self._scaling is None else scaling.Scaling(**self._scaling)
        blocks = self._features(X, self.reservoir_, found, self._pooled)
        return np.concatenate([np.asarray(method(features)) for features in blocks])

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

    # What a saved model holds besides its parameters.
    LEARNT = ("reservoir_", "readout_", "classes_", "n_features_in_", "_scaling", "_pooled")

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        times = 1
        if not isinstance(self.reservoir_, FilterBank):
            pools, segments = self._pooled
            times = len(checks.pools(pools)) * checks.integer("segments", segments, 1)
        check_parts(self.reservoir_, self.readout_, times)
        if self.classes_.ndim != 1 or self.classes_.size < 2:
            raise ValueError("classes must be two or more")
        scaling.check(self._scaling, self.reservoir_.n_features_in_)


register_estimator(
    ReservoirClassifier, ReservoirClassifier.LEARNT, ReservoirClassifier._check_learnt
)


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
