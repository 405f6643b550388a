"""What was learnt from cases, a class or a number for each, and how good that is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.tables.cases import LabelledCases
from paralesn.workflows.evaluation import ClassEvaluation, NumberEvaluation


@dataclass(frozen=True)
class CaseRequest:
    """How to learn from cases, and how to judge what was learnt.

    Attributes
    ----------
    class_weight : None, "balanced" or mapping of labels to weights
        Weights of the classes.
    folds, repeats : int, optional
        Of the cross-validation. Default: what fits the number and the size of the cases; 0 repeats
        judge nothing.
    seed : int
        Of the features and of the folds.
    """

    class_weight: Mapping[str, float] | str | None = None
    folds: int | None = None
    repeats: int | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class CaseResult:
    """A model fitted to all training cases, what it says of others, and how good it is.

    Attributes
    ----------
    model : ReservoirClassifier or ReservoirSeriesRegressor
    train : LabelledCases
    test : LabelledCases or None
        Other cases, and
    predictions : array (cases,) or None
        what the model says of them;
    probabilities : array (cases, classes) or None
        for a classifier, how sure it is.
    evaluation : ClassEvaluation, NumberEvaluation or None
        On the test cases if they have labels, else cross-validated on those of training.
    request : CaseRequest
    notes : tuple of str
        What to know about the data and the result.
    seconds : float
    """

    model: Any
    train: LabelledCases
    test: LabelledCases | None = None
    predictions: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    evaluation: ClassEvaluation | NumberEvaluation | None = None
    request: CaseRequest = CaseRequest()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def judged(self) -> LabelledCases:
        """The cases of the evaluation."""
        is_test = self.evaluation is not None and self.evaluation.plan is None
        return self.test if is_test and self.test is not None else self.train


@dataclass(frozen=True, eq=False)
class Classification(CaseResult):
    """A fitted classifier, what it says of other cases, and how good it is."""

    evaluation: ClassEvaluation | None = None


@dataclass(frozen=True, eq=False)
class SeriesRegression(CaseResult):
    """A fitted regressor of series, what it says of other cases, and how good it is."""

    evaluation: NumberEvaluation | None = None
