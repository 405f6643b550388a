"""Targets of whole series, labels or numbers: what is known of all of them before any is learnt.

A survey is taken of every block, and surveys merge. With that of all blocks, targets of a block
become the numbers that a readout is fitted to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from paralesn import checks
from paralesn.moments import ColumnMoments, measured
from paralesn.persistence import register
from paralesn.persistence.fields import Floats, Labels, Numbers
from paralesn.readouts import inputs
from paralesn.readouts.dual_ridge import DualRidge


class Encoded(NamedTuple):
    """Targets (n, columns) of series as a readout learns them, and their weights (n,) or None."""

    Y: np.ndarray
    weight: np.ndarray | None


# -- labels ----------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class LabelSurvey:
    """Labels that there are, sorted, how many series have each, and the sums of their weights."""

    classes: Labels
    counts: Numbers
    weights: Floats
    is_weighted: bool

    def merged(self, other: Self) -> Self:
        """Labels of the series of both."""
        if (self.classes.dtype.kind in "US") != (other.classes.dtype.kind in "US"):
            kinds = f"{self.classes.dtype} and {other.classes.dtype}"
            raise TypeError(f"y must hold labels of one type, got {kinds}")
        classes, places = np.unique(_together(self, other), return_inverse=True)
        counts, weights = (
            np.bincount(places, np.concatenate(parts), classes.size)
            for parts in ((self.counts, other.counts), (self.weights, other.weights))
        )
        is_weighted = self.is_weighted or other.is_weighted
        return type(self)(classes, counts.astype(np.int64), weights, is_weighted)


def _together(one: "LabelSurvey", other: "LabelSurvey") -> np.ndarray:
    """Labels of both, of one type: NumPy makes floats of signed and unsigned integers."""
    labels = one.classes, other.classes
    if all(part.dtype.kind in "iu" for part in labels):
        values = [label for part in labels for label in part.tolist()]
        as_unsigned = max(values) > np.iinfo(np.int64).max
        if as_unsigned and min(values) < 0:
            raise checks.fail("y", [min(values), max(values)], "integers within 64 bits")
        return np.array(values, np.uint64 if as_unsigned else np.int64)
    return np.concatenate(labels)


@dataclass(frozen=True)
class ClassTask:
    """Series have labels; `class_weight` as a classifier takes it."""

    name = "classification"
    class_weight: Any = None

    def survey(self, y: Any, count: int, sample_weight: Any) -> LabelSurvey:
        """Labels of `count` series."""
        labels = checked_labels(y, count)
        classes, places = np.unique(labels, return_inverse=True)
        weight = np.ones(count)
        if sample_weight is not None:
            weight = inputs.row_weights(sample_weight, labels)
        counts = np.bincount(places, minlength=classes.size)
        weights = np.bincount(places, weight, classes.size)
        return LabelSurvey(classes, counts, weights, sample_weight is not None)

    def check(self, survey: LabelSurvey) -> None:
        """Raise unless there are two classes or more, of which the weights leave some."""
        if survey.classes.size < 2:
            raise ValueError(
                f"y must hold at least two classes, got one class: {survey.classes.tolist()[0]!r}"
            )
        left = survey.weights * self.class_weights(survey)
        if not left.all():
            lost = survey.classes.tolist()[int(left.argmin())]
            raise ValueError(f"class_weight and sample_weight must leave some of class {lost!r}")

    def is_weighted(self, survey: LabelSurvey) -> bool:
        """Whether some series count more than others."""
        return survey.is_weighted or self.class_weight is not None

    def class_weights(self, survey: LabelSurvey) -> np.ndarray:
        """The weight of each class."""
        given, classes = self.class_weight, survey.classes.tolist()
        if given is None:
            return np.ones(len(classes))
        if isinstance(given, Mapping):
            check_class_weight(given, survey.classes)
            return np.array([float(given.get(label, 1.0)) for label in classes])
        if not isinstance(given, str) or given != "balanced":
            raise checks.fail("class_weight", given, "None, 'balanced' or a dict")
        return survey.counts.sum() / (len(classes) * survey.counts)

    def encode(
        self, survey: LabelSurvey, y: Any, count: int, sample_weight: Any, readout: Any
    ) -> Encoded:
        """Targets -1 and 1 for regressors, else the numbers of the labels."""
        labels = checked_labels(y, count)
        codes = np.searchsorted(survey.classes, labels)
        Y = indicators(codes, survey.classes.size) if is_regressor(readout) else codes
        weight = None
        if self.is_weighted(survey):
            own = np.ones(codes.size)
            if sample_weight is not None:
                own = np.asarray(sample_weight, float)
            weight = own * self.class_weights(survey)[codes]
        return Encoded(np.asarray(Y, float).reshape(codes.size, -1), weight)


def check_class_weight(given: Mapping[Any, float], classes: np.ndarray) -> None:
    """Raise unless the keys are labels, and the values weights."""
    unknown = [label for label in given if label not in classes.tolist()]
    if unknown:
        expected = f"a dict with keys among the labels {classes.tolist()}"
        raise checks.fail("class_weight", given, expected)
    for label, value in given.items():
        checks.number(f"class_weight[{label!r}]", value, 0)


def checked_labels(y: Any, count: int) -> np.ndarray:
    """Labels (n,) of one type, a label for each of `count` series."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    checks.in_memory("y", y)
    y = column_or_1d(np.asarray(checks.unmasked("y", y)), warn=True)  # pandas' own types, too
    if y.size != count:
        raise ValueError(f"y must hold a label for each of the {count} series, got {y.size}")
    kinds = sorted({type(label).__name__ for label in y.tolist()})
    if y.dtype == object and len(kinds) > 1:
        raise TypeError(f"y must hold labels of one type, got {', '.join(kinds)}")
    if y.dtype == object and kinds != ["str"]:
        y = np.array(y.tolist())
    assert_all_finite(y, input_name="y")
    inputs.refuse_merged(y)
    check_classification_targets(y)
    return y


def indicators(labels: np.ndarray, count: int) -> np.ndarray:
    """Targets -1 and 1: a column for each class, or one for the second of two."""
    if count == 2:
        return np.where(labels == 1, 1.0, -1.0)
    return np.where(labels[:, None] == np.arange(count), 1.0, -1.0)


def codes_of(Y: np.ndarray) -> np.ndarray:
    """The numbers of the labels that targets -1 and 1 stand for."""
    return Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)


# -- numbers ---------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class NumberSurvey:
    """Moments of the targets; `is_flat` says whether they came without an axis of their own."""

    moments: ColumnMoments
    is_flat: bool
    is_weighted: bool

    def merged(self, other: Self) -> Self:
        """Of the series of both."""
        if (self.is_flat, self.moments.mean.size) != (other.is_flat, other.moments.mean.size):
            raise ValueError("y must have the same number of targets in every block")
        is_weighted = self.is_weighted or other.is_weighted
        moments = self.moments.merged(other.moments)
        return replace(self, moments=moments, is_weighted=is_weighted)


@dataclass(frozen=True)
class NumberTask:
    """Series have numbers."""

    name = "regression"

    def survey(self, y: Any, count: int, sample_weight: Any) -> NumberSurvey:
        """Moments of the targets of `count` series."""
        targets = checked_numbers(y, count)
        weight = None
        if sample_weight is not None:
            weight = inputs.row_weights(sample_weight, targets)
        moments = measured(targets.reshape(count, -1), weight)
        return NumberSurvey(moments, targets.ndim == 1, weight is not None)

    def check(self, survey: NumberSurvey) -> None:
        """Nothing to refuse."""

    def is_weighted(self, survey: NumberSurvey) -> bool:
        """Whether some series count more than others."""
        return survey.is_weighted

    def scale(self, survey: NumberSurvey, readout: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread that targets of a `DualRidge` are brought to 0 and 1 by."""
        mean, spread = survey.moments.mean, survey.moments.spread
        if not isinstance(readout, DualRidge):
            return np.zeros(mean.size), np.ones(mean.size)
        return mean, np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)

    def encode(
        self, survey: NumberSurvey, y: Any, count: int, sample_weight: Any, readout: Any
    ) -> Encoded:
        """Targets in units of their spread, for a `DualRidge`."""
        targets = checked_numbers(y, count)
        mean, scale = self.scale(survey, readout)
        weight = None
        if survey.is_weighted:
            weight = np.ones(len(targets))
            if sample_weight is not None:
                weight = np.asarray(sample_weight, float)
        return Encoded((targets.reshape(len(targets), -1) - mean) / scale, weight)


def checked_numbers(y: Any, count: int) -> np.ndarray:
    """Targets (n,) or (n, targets) of so many series."""
    targets = inputs.numeric_targets(y)
    if len(targets) != count:
        raise ValueError(f"y must hold a target for each of the {count} series, got {len(targets)}")
    return targets
