"""Classification of people's own series: learn from labelled cases, classify others, judge that."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.features.filter_bank import FilterBank
from paralesn.tables.cases import CaseColumns, LabelledCases, as_classes, read_cases
from paralesn.tables.formats import labels_array
from paralesn.tables.reader import TableError
from paralesn.workflows.progress import Progress, silent


@dataclass(frozen=True)
class Evaluation:
    """How good predicted labels are.

    Attributes
    ----------
    cases : int
        Number of cases that were classified.
    accuracy : float
        Share of them whose label is right.
    majority_accuracy : float or None
        The accuracy of always answering with the most frequent class of the training cases; None
        where these are not known.
    unknown_labels : tuple of str
        Labels of these cases that the model never saw.
    """

    cases: int
    accuracy: float
    majority_accuracy: float | None = None
    unknown_labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Classification:
    """A fitted classifier and what it says of the test cases, all None without any.

    `evaluation` is also None where the test cases have no labels.
    """

    model: ReservoirClassifier
    train: LabelledCases
    test: LabelledCases | None = None
    predictions: np.ndarray | None = None
    evaluation: Evaluation | None = None


def classify_files(
    train: Path,
    test: Path | None = None,
    *,
    columns: CaseColumns | None = None,
    missing: str = "error",
    seed: int = 0,
    progress: Progress = silent,
) -> Classification:
    """Learn to classify the series of one file, and classify those of another.

    Parameters
    ----------
    train, test : Path
        UCR's ``.tsv``, aeon's ``.ts``, or long tables (CSV, Parquet). `test` may lack labels.
    columns : CaseColumns, optional
        Names of the columns of long tables.
    missing : "error" or "interpolate"
        What to do about missing values inside series.
    seed : int
        Of the classifier's features.
    progress : function, optional
        Told what is being done.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from paralesn.workflows.classify import classify_files
    >>> t, folder = np.arange(60), Path(tempfile.mkdtemp())
    >>> for name, phases in (("train", range(8)), ("test", range(8, 12))):
    ...     lines = [
    ...         "\\t".join([label, *(f"{v:.6f}" for v in np.sin(t / period + phase))])
    ...         for phase in phases
    ...         for label, period in (("slow", 9), ("fast", 5))
    ...     ]
    ...     _ = (folder / f"{name}.tsv").write_text("\\n".join(lines))
    >>> result = classify_files(folder / "train.tsv", folder / "test.tsv")
    >>> result.evaluation
    Evaluation(cases=8, accuracy=1.0, majority_accuracy=0.5, unknown_labels=())
    """
    columns = columns or CaseColumns()
    train_cases = read_cases(train, columns, missing)
    test_cases = None if test is None else read_cases(test, columns, missing)
    if train_cases.labels is None:
        raise TableError(
            f"{train.name} has no column {columns.label!r} (`label`) to learn from",
            parameter="label",
        )
    try:
        return classify(train_cases, test_cases, seed=seed, progress=progress)
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{train.name} cannot be learnt from: {error}") from error


def classify(
    train: LabelledCases,
    test: LabelledCases | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Classification:
    """Fit the default `ReservoirClassifier` to labelled cases, and classify others.

    Its features are drawn with `seed`; with 0, they are those of ``ReservoirClassifier()``.
    """
    if train.labels is None:
        raise ValueError("train must have labels to learn from, got None")
    together = [train.labels]
    if test is not None and test.labels is not None:
        together.append(test.labels)  # so that 1 and 1.0 are one label
    progress("learning", 0.0)
    model = ReservoirClassifier(FilterBank(seed=seed))
    model.fit(train.series, labels_array(*together)[0])
    if test is None:
        return Classification(model, train)
    progress("classifying", 0.0)
    predictions = predict_labels(model, test)
    evaluation = evaluate(model, test, predictions, train.labels)
    return Classification(model, train, test, predictions, evaluation)


def predict_labels(model: ReservoirClassifier, cases: LabelledCases) -> np.ndarray:
    """Labels (cases,) that a fitted classifier gives; channels must be those it learnt from."""
    channels = cases.series[0].shape[1]
    if channels != model.n_features_in_:
        raise TableError(
            f"the series to classify have {channels} channels, those learnt from had "
            f"{model.n_features_in_}"
        )
    try:
        return model.predict(cases.series)
    except ValueError as error:
        raise TableError(f"the series cannot be classified: {error}") from error


def evaluate(
    model: ReservoirClassifier,
    cases: LabelledCases,
    predictions: np.ndarray,
    train_labels: list[str] | None = None,
) -> Evaluation | None:
    """Compare predictions with the labels of the cases; None where these are not known."""
    if cases.labels is None:
        return None
    labels = as_classes(cases.labels, model.classes_).tolist()
    pairs = zip(labels, predictions.tolist(), strict=True)
    accuracy = sum(label == prediction for label, prediction in pairs) / len(labels)
    majority_accuracy = None
    if train_labels is not None:
        counts = Counter(as_classes(train_labels, model.classes_).tolist())
        majority_accuracy = labels.count(counts.most_common(1)[0][0]) / len(labels)
    known = set(model.classes_.tolist())
    unknown = sorted({str(label) for label in labels if label not in known})
    return Evaluation(len(labels), accuracy, majority_accuracy, tuple(unknown))


def prediction_columns(cases: LabelledCases, predictions: np.ndarray) -> dict[str, list[Any]]:
    """Predictions as columns by name, a row for each case: case, predicted and, if known, label."""
    columns: dict[str, list[Any]] = {"case": cases.names, "predicted": predictions.tolist()}
    if cases.labels is not None:
        columns["label"] = cases.labels
    return columns


def evaluation_record(cases: int, evaluation: Evaluation | None) -> dict[str, Any]:
    """The evaluation as JSON can hold it; only the number of cases where labels are not known."""
    record: dict[str, Any] = {"cases": cases}
    if evaluation is None:
        return record
    record["accuracy"] = evaluation.accuracy
    if evaluation.majority_accuracy is not None:
        record["accuracy_of_most_frequent_class"] = evaluation.majority_accuracy
    if evaluation.unknown_labels:
        record["unknown_labels"] = list(evaluation.unknown_labels)
    return record
