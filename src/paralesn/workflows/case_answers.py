"""What a fitted classifier or regressor of series says of cases, judged where these have labels."""

from dataclasses import replace

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.series_regressor import ReservoirSeriesRegressor
from paralesn.tables.case_targets import target_numbers
from paralesn.tables.cases import LabelledCases, as_classes
from paralesn.tables.errors import TableError
from paralesn.workflows.case_result import Classification, SeriesRegression
from paralesn.workflows.evaluation import ClassEvaluation, NumberEvaluation
from paralesn.workflows.series_tasks import probabilities_of
from paralesn.workflows.yardsticks import MODEL


def truth_of(labels: list[str], classes: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of labels, and what they mean: the classes, then labels that are none of them."""
    typed = [str(label) for label in as_classes(labels, classes).tolist()]
    known = [str(label) for label in classes.tolist()]
    every = (*known, *sorted(set(typed) - set(known)))
    number = {label: k for k, label in enumerate(every)}
    return np.array([number[label] for label in typed]), every


def check_channels(cases: LabelledCases, expected: int) -> None:
    """Raise unless cases have as many channels as were learnt from."""
    channels = cases.series[0].shape[1]
    if channels != expected:
        raise TableError(
            f"the series to classify have {channels} channels, those learnt from had {expected}"
        )


def classify_with(model: ReservoirClassifier, cases: LabelledCases) -> Classification:
    """Classes that a fitted classifier gives to cases, judged where these have labels."""
    check_channels(cases, model.n_features_in_)
    try:
        predictions = model.predict(cases.series)
    except ValueError as error:
        raise TableError(f"the series cannot be classified: {error}") from error
    probabilities = probabilities_of(model, cases.series)
    result = Classification(model, cases, cases, predictions, probabilities, notes=cases.notes)
    if cases.labels is None:
        return result
    truth, labels = truth_of(cases.labels, model.classes_)
    answers = {MODEL: np.searchsorted(model.classes_, predictions).astype(float)[None]}
    known = model.classes_.size
    evaluation = ClassEvaluation(truth, answers, None, labels, known, probabilities)
    return replace(result, evaluation=evaluation)


def regress_with(model: ReservoirSeriesRegressor, cases: LabelledCases) -> SeriesRegression:
    """Numbers that a fitted regressor gives to cases, judged where these have labels."""
    check_channels(cases, model.n_features_in_)
    try:
        predictions = np.asarray(model.predict(cases.series))
    except ValueError as error:
        raise TableError(f"the series cannot be used: {error}") from error
    result = SeriesRegression(model, cases, cases, predictions, notes=cases.notes)
    if cases.labels is None or predictions.ndim > 1:
        return result
    truth = target_numbers(cases.labels, cases.names)
    return replace(result, evaluation=NumberEvaluation(truth, {MODEL: predictions[None]}))
