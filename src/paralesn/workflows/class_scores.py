"""How good predicted classes are: accuracy, balanced accuracy, F1 of each class, confusion."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ClassScores:
    r"""Measures of predicted classes, each the mean over repeats.

    With :math:`c_{kl}` cases of class k that were taken for class l, the recall of a class is
    :math:`r_k = c_{kk} / \sum_l c_{kl}`, its precision :math:`p_k = c_{kk} / \sum_l c_{lk}`, and
    its F1 score :math:`2 p_k r_k / (p_k + r_k)`.

    Attributes
    ----------
    accuracy : float
        Share of cases whose class is right.
    spread : float
        Standard deviation of the accuracy over repeats; NaN with one.
    balanced_accuracy : float
        Mean recall of the classes there are.
    macro_f1 : float
        Mean F1 score of the classes that there are or that were predicted.
    precision, recall, f1 : array (classes,)
        NaN where a class neither occurs nor was predicted; a precision without predictions is 0.
    confusion : array (classes, classes) of int
        Cases of a class (row) taken for each class (column), over all repeats.
    """

    accuracy: float
    spread: float
    balanced_accuracy: float
    macro_f1: float
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    confusion: np.ndarray


def score_classes(truth: np.ndarray, predicted: np.ndarray, count: int) -> ClassScores:
    """Measure predicted classes.

    Parameters
    ----------
    truth : array (n,)
        Numbers of the classes.
    predicted : array (repeats, n)
        The same as predicted; NaN where a case was not asked for.
    count : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.class_scores import score_classes
    >>> scores = score_classes(np.array([0, 0, 0, 1]), np.array([[0, 0, 1, 1]]), 2)
    >>> scores.accuracy, round(scores.balanced_accuracy, 3), scores.f1.tolist()
    (0.75, 0.833, [0.8, 0.6666666666666666])
    """
    every = [_confusion(truth, answers, count) for answers in predicted]
    with np.errstate(invalid="ignore"):
        measures = [_measures(confusion) for confusion in every]
    accuracy, balanced, macro = np.mean([m[0] for m in measures], axis=0).tolist()
    spread = float(np.std([m[0][0] for m in measures], ddof=1)) if len(every) > 1 else np.nan
    precision, recall, f1 = (
        _mean([m[1] for m in measures]), _mean([m[2] for m in measures]),
        _mean([m[3] for m in measures]),
    )  # fmt: skip
    return ClassScores(
        accuracy, spread, balanced, macro, precision, recall, f1, np.sum(every, axis=0)
    )


def _confusion(truth: np.ndarray, answers: np.ndarray, count: int) -> np.ndarray:
    asked = np.isfinite(answers)
    cells = truth[asked] * count + answers[asked].astype(int)
    return np.bincount(cells, minlength=count * count).reshape(count, count)


def _measures(confusion: np.ndarray) -> tuple[list[float], np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy, balanced accuracy and macro F1; precision, recall and F1 of every class."""
    right, there, given = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    recall = np.where(there > 0, right / there, np.nan)
    f1 = np.where(there + given > 0, 2 * right / (there + given), np.nan)
    precision = np.where(given > 0, right / given, np.where(there > 0, 0.0, np.nan))
    summary = [right.sum() / there.sum(), np.nanmean(recall), np.nanmean(f1)]
    return summary, precision, recall, f1


def _mean(rows: list[np.ndarray]) -> np.ndarray:
    """The mean of each column over the rows that have one."""
    seen = np.isfinite(rows)
    total = np.where(seen, rows, 0.0).sum(axis=0)
    return np.divide(
        total, seen.sum(axis=0), out=np.full(total.size, np.nan), where=seen.any(axis=0)
    )


def log_loss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Mean negative logarithm of the probability of the right class; that of no class is 0."""
    known = truth < probabilities.shape[1]
    of_truth = np.zeros(truth.size)
    of_truth[known] = probabilities[np.flatnonzero(known), truth[known]]
    return float(-np.log(np.clip(of_truth, np.finfo(float).eps, 1)).mean())
