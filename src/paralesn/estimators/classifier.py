"""Classification of whole series: features of each, read out linearly."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, sources
from paralesn.estimators import defaults, online
from paralesn.estimators.calibrating import calibrated, learn_calibrated
from paralesn.estimators.components import (
    check_features,
    check_readout,
    own_features,
    own_readout,
)
from paralesn.estimators.probabilities import PowerCalibration
from paralesn.estimators.series_passes import data_for
from paralesn.estimators.series_readout import SeriesReadout
from paralesn.estimators.series_targets import (
    ClassTask,
    LabelSurvey,
    check_class_weight,
    codes_of,
    indicators,
)
from paralesn.missing import ERROR, MissingValues, opened, reopened
from paralesn.persistence import register
from paralesn.persistence.fields import Labels
from paralesn.readouts import inputs
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.dual_statistics import KeptRows
from paralesn.readouts.fitted_dual_ridge import LeftOut
from paralesn.readouts.ridge import Ridge
from paralesn.sources import Source


def _knows_probabilities(model: "ReservoirClassifier") -> bool:
    """Whether the readout has probabilities of its own, or decision values that are calibrated."""
    if hasattr(model, "fitted_"):
        readout = model.readout_
        return model.fitted_.calibration is not None or hasattr(readout, "predict_proba")
    readout = model.readout
    is_ours = readout is None or isinstance(readout, (DualRidge, Ridge))
    return is_ours or hasattr(readout, "predict_proba")


def _decides(model: "ReservoirClassifier") -> bool:
    readout = getattr(model, "readout_", model.readout)
    return readout is None or is_regressor(readout) or hasattr(readout, "decision_function")


def _learns_on(model: "ReservoirClassifier") -> bool:
    """Raise, naming the cure, unless the readout, fitted or not, can learn on."""
    readout = getattr(model, "readout_", model.readout)
    if readout is None:
        features = own_features(model.features, defaults.classifying_features)
        readout = defaults.classifying_readout(features)
    return online.check_learns_on(readout)


@register
@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """Fitted features and readout, and the labels, sorted.

    `calibration` makes probabilities of decision values; None where the readout has its own, or
    none at all.
    """

    features: Any
    readout: Any
    classes: Labels
    missing: MissingValues | None = None
    calibration: PowerCalibration | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        check_features(self.features)
        check_readout(self.readout, self.features.n_features_out_)
        if self.classes.ndim != 1 or self.classes.size < 2:
            raise ValueError(f"classes must be two or more, got shape {self.classes.shape}")
        if self.missing is not None:
            self.missing.check(self.features.n_features_in_)


@register
class ReservoirClassifier(inputs.CheckedScore, ClassifierMixin, SeriesReadout):
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
        self._fit(X, y, sample_weight)
        return self

    def _task(self) -> ClassTask:
        return ClassTask(self.class_weight)

    def is_flat(self, survey: LabelSurvey) -> bool:
        """Whether a readout has a single target: that of two classes."""
        return survey.classes.size == 2

    def restored_targets(self, Y: np.ndarray, survey: LabelSurvey, readout: Any) -> np.ndarray:
        """Targets (n, targets) as a readout of another library takes them."""
        if not is_regressor(readout):
            return survey.classes[Y[:, 0].astype(int)]
        return Y[:, 0] if self.is_flat(survey) else Y

    def assembled(
        self, features: Any, readout: Any, survey: LabelSurvey, missing: MissingValues | None,
        left_out: LeftOut | None, kept: KeptRows,
    ) -> FittedClassifier:  # fmt: skip
        """What was learnt, from what passes over the series led to."""
        calibration = None
        if left_out is not None:
            at = np.searchsorted(kept.numbers, left_out.rows)
            weight = kept.weight[at] if self._task().is_weighted(survey) else None
            calibration = calibrated(left_out, codes_of(kept.Y[at]), weight, survey.counts)
        return FittedClassifier(features, readout, survey.classes, missing, calibration)

    @available_if(_learns_on)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more series, by a readout that can: `Ridge`, which the default is not.

        Of the first call the features are calibrated on its series, and stay so. Probabilities are
        calibrated on by what was said of the series before they were learnt from.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array-like, optional
            All labels there will be; needed in the first call if its y does not hold them all.
        """
        if self.class_weight is not None and not isinstance(self.class_weight, Mapping):
            expected = "None or a dict for partial_fit, which does not know how many will come"
            raise checks.fail("class_weight", self.class_weight, expected)
        if not hasattr(self, "fitted_"):
            fitted, source = self._first_lesson(X, online.all_classes(classes, y))
        else:
            fitted = self.fitted_
            if classes is not None and not np.array_equal(np.unique(classes), fitted.classes):
                raise checks.fail("classes", classes, f"those learnt, {fitted.classes.tolist()}")
            call = (self.n_features_in_, type(self).__name__, sources.collection)
            source = reopened(X, fitted.missing, *call)
        readout = online.own_learner(fitted.readout)
        labels = online.labels_among(fitted.classes, y, len(source))
        weight = self._weights(fitted.classes, labels, sample_weight)
        targets = fitted.classes[labels]
        if is_regressor(readout):
            targets = indicators(labels, fitted.classes.size)
        calibration, first = fitted.calibration, 0
        for block in fitted.features.blocks(data_for(fitted.features, source)):
            cut = slice(first, first + len(block))
            some, first = None if weight is None else weight[cut], cut.stop
            lesson = (readout, np.asarray(block), targets[cut])
            if isinstance(readout, Ridge):
                calibration = learn_calibrated(*lesson, labels[cut], some, calibration)
            else:
                online.learn(*lesson, fitted.classes, some)
        readout = online.settled(readout)
        self.fitted_ = replace(fitted, readout=readout, calibration=calibration)
        return self

    def _first_lesson(self, X: Any, classes: np.ndarray) -> tuple[FittedClassifier, Source]:
        """Features calibrated on the first series, a readout that knows nothing, and the series."""
        features = own_features(self.features, partial(self.component, "features"))
        default = partial(defaults.classifying_readout, features)
        readout = own_readout(self.readout, default, "classification")
        call = (self.missing, type(self).__name__, sources.collection)
        source, missing = opened(X, *call, by_series=True)
        features.fit(data_for(features, source))
        return FittedClassifier(features, readout, classes, missing), source

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything learnt so far by `factor` in (0, 1]."""
        check_is_fitted(self, "fitted_")
        fitted = self.fitted_
        readout = online.forgetful(fitted.readout, factor)
        calibration = fitted.calibration and fitted.calibration.faded(factor)
        self.fitted_ = replace(fitted, readout=readout, calibration=calibration)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self.fitted_.classes

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the series X."""
        check_is_fitted(self, "fitted_")
        if not is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        decision = self.decision_function(X)
        best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
        return self.classes_[best]

    @available_if(_knows_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (batch, classes), in the order of `classes_`.

        `Ridge` and `DualRidge` are calibrated on what they say of series they have not learnt from,
        or that were left out; other readouts give their own.
        """
        check_is_fitted(self, "fitted_")
        calibration = self.fitted_.calibration
        if calibration is None:
            return self._read_out(X, self.readout_.predict_proba)
        return calibration.probabilities(self.decision_function(X))

    @available_if(_decides)
    def decision_function(self, X: Any) -> np.ndarray:
        """What the decision rests on: (batch, classes), for two classes (batch,), >0 the second."""
        check_is_fitted(self, "fitted_")
        if is_regressor(self.readout_):
            return self._read_out(X, self.readout_.predict)
        return self._read_out(X, self.readout_.decision_function)

    def _weights(
        self, classes: np.ndarray, labels: np.ndarray, sample_weight: Any
    ) -> np.ndarray | None:
        """Weights of further series: their own times those of their classes."""
        weight = np.ones(labels.size)
        if sample_weight is not None:
            weight = inputs.row_weights(sample_weight, labels)
        given = self.class_weight
        if not isinstance(given, Mapping):
            return None if sample_weight is None else weight
        check_class_weight(given, classes)
        of_class = [float(given.get(label, 1.0)) for label in classes.tolist()]
        return weight * np.array(of_class)[labels]
