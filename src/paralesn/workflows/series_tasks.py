"""The two tasks on whole series, a class or a number for each, as evaluation sees them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.series_regressor import ReservoirSeriesRegressor
from paralesn.workflows.cross_validation import deal_classes, deal_numbers

MAJORITY, MEAN = "most frequent class", "mean of the targets"


class Answer(NamedTuple):
    """What a model says of cases: numbers (n,), those of classes among them, and probabilities."""

    values: np.ndarray
    probabilities: np.ndarray | None = None


class Task(Protocol):
    """What is to be learnt of series, how, and what to say without looking at them."""

    naive: ClassVar[str]

    @property
    def truth(self) -> np.ndarray:
        """What is to be learnt of every series (n,)."""

    @property
    def strata(self) -> np.ndarray:
        """How many cases there are of each kind that folds should have alike."""

    def deal(self, folds: int, rng: np.random.Generator) -> np.ndarray:
        """The fold of every case."""

    def fit(self, series: Any, rows: np.ndarray | None = None) -> Any:
        """A model fitted to series, which are those of some rows."""

    def ask(self, model: Any, series: Any) -> Answer:
        """What a fitted model says of series."""

    def guess(self, rows: np.ndarray) -> float:
        """The answer of those who look at no series."""


@dataclass(frozen=True, eq=False)
class ClassTask:
    """A class for every series; `truth` holds numbers of `classes`."""

    naive: ClassVar[str] = MAJORITY
    truth: np.ndarray
    classes: np.ndarray
    class_weight: Mapping[Any, float] | str | None = None
    seed: int = 0

    @property
    def strata(self) -> np.ndarray:
        """Cases of every class."""
        return np.bincount(self.truth, minlength=self.classes.size)

    def deal(self, folds: int, rng: np.random.Generator) -> np.ndarray:
        """The fold of every case, classes spread evenly."""
        return deal_classes(self.truth, folds, rng)

    def fit(self, series: Any, rows: np.ndarray | None = None) -> ReservoirClassifier:
        """The default classifier, fitted; with seed 0 it is ``ReservoirClassifier()``."""
        labels = self.classes[self.truth if rows is None else self.truth[rows]]
        model = ReservoirClassifier(class_weight=self.class_weight)
        model.set_params(features__seed=self.seed)
        with warnings.catch_warnings():  # whether they are classes was decided before
            warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
            return model.fit(series, labels)

    def ask(self, model: ReservoirClassifier, series: Any) -> Answer:
        """Numbers of the classes, and their probabilities where the model has them."""
        values = np.searchsorted(self.classes, model.predict(series))
        return Answer(values, probabilities_of(model, series))

    def guess(self, rows: np.ndarray) -> float:
        """The most frequent class."""
        return float(np.bincount(self.truth[rows]).argmax())


def probabilities_of(model: Any, series: Any) -> np.ndarray | None:
    """Probabilities (n, classes), or None of a readout that has none."""
    return np.asarray(model.predict_proba(series)) if hasattr(model, "predict_proba") else None


@dataclass(frozen=True, eq=False)
class NumberTask:
    """A number for every series."""

    naive: ClassVar[str] = MEAN
    truth: np.ndarray
    seed: int = 0

    @property
    def strata(self) -> np.ndarray:
        """The number of cases."""
        return np.array([self.truth.size])

    def deal(self, folds: int, rng: np.random.Generator) -> np.ndarray:
        """The fold of every case, small and large targets spread evenly."""
        return deal_numbers(self.truth, folds, rng)

    def fit(self, series: Any, rows: np.ndarray | None = None) -> ReservoirSeriesRegressor:
        """The default regressor, fitted; with seed 0 it is ``ReservoirSeriesRegressor()``."""
        targets = self.truth if rows is None else self.truth[rows]
        model = ReservoirSeriesRegressor().set_params(features__seed=self.seed)
        return model.fit(series, targets)

    def ask(self, model: ReservoirSeriesRegressor, series: Any) -> Answer:
        """The numbers."""
        return Answer(np.asarray(model.predict(series), float))

    def guess(self, rows: np.ndarray) -> float:
        """The mean."""
        return float(self.truth[rows].mean())
