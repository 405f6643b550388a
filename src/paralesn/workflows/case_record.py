"""What was learnt from cases as plain data: a record for JSON, and columns of a CSV file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn.tables.case_targets import target_numbers
from paralesn.workflows.case_result import CaseResult, Classification
from paralesn.workflows.classify_report import counts_of
from paralesn.workflows.evaluation import BETTER, ClassEvaluation, NumberEvaluation
from paralesn.workflows.yardsticks import MODEL


def as_record(result: CaseResult, train: str, test: str | None = None) -> dict[str, Any]:
    """Everything but the predictions, as JSON can hold it; `train` and `test` name the files."""
    is_class = isinstance(result, Classification)
    lengths = [len(values) for values in result.train.series]
    record: dict[str, Any] = {
        "task": "classification" if is_class else "regression",
        "training": {
            "file": train, "cases": len(result.train.names),
            "channels": int(result.train.series[0].shape[1]),
            "lengths": [min(lengths), max(lengths)],
        },
    }  # fmt: skip
    columns = result.train.columns
    if columns is not None:
        record["training"]["columns"] = vars(columns) | {"values": list(columns.values)}
    if is_class:
        record["classes"] = [str(label) for label in result.model.classes_.tolist()]
        weight = result.request.class_weight
        record["class_weight"] = dict(weight) if isinstance(weight, Mapping) else weight
    if test is not None and result.predictions is not None:
        of_test = result.evaluation if result.judged is result.test else None
        record["test"] = {"file": test, **evaluation_record(len(result.predictions), of_test)}
    if result.evaluation is not None:
        record["evaluation"] = _evaluation_record(result.evaluation)
    return record | {
        "notes": list(result.notes),
        "seed": result.request.seed,
        "seconds": round(result.seconds, 2),
    }


def _evaluation_record(evaluation: ClassEvaluation | NumberEvaluation) -> dict[str, Any]:
    plan = evaluation.plan
    record: dict[str, Any] = {
        "on": "test file" if plan is None else "cross-validation",
        "cases": evaluation.cases,
        "folds": None if plan is None else plan.folds,
        "repeats": None if plan is None else plan.repeats,
        "folds_held_out": None if plan is None else plan.held_out,
    }
    record["methods"] = {method: _scores(evaluation, method) for method in evaluation.methods}
    if isinstance(evaluation, ClassEvaluation):
        scores, counts = evaluation.scores(), counts_of(evaluation)
        record["log_loss"] = _number(evaluation.log_loss)
        record["by_class"] = {
            label: {
                "cases": int(counts[k]), "precision": _number(scores.precision[k]),
                "recall": _number(scores.recall[k]), "f1": _number(scores.f1[k]),
            }
            for k, label in enumerate(evaluation.labels)
        }  # fmt: skip
        record["confusion"] = {
            "labels": list(evaluation.labels), "counts": scores.confusion.tolist(),
        }  # fmt: skip
    comparisons = evaluation.comparisons()
    record["compared"] = {
        one.method: {
            "verdict": one.verdict, "less_wrong": one.difference,
            "standard_error": _number(one.error),
        }
        for one in comparisons
    }  # fmt: skip
    record["beats_naive"] = all(one.verdict == BETTER for one in comparisons)
    return record


def _scores(evaluation: ClassEvaluation | NumberEvaluation, method: str) -> dict[str, Any]:
    if isinstance(evaluation, NumberEvaluation):
        found = evaluation.scores(method)
        values = {"r2": found.r2, "mae": found.mae, "rmse": found.rmse, "r2_spread": found.spread}
    else:
        scores = evaluation.scores(method)
        values = {
            "accuracy": scores.accuracy, "balanced_accuracy": scores.balanced_accuracy,
            "macro_f1": scores.macro_f1, "accuracy_spread": scores.spread,
        }  # fmt: skip
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> float | None:
    """A float, or None where JSON cannot hold it."""
    return None if value is None or not np.isfinite(value) else float(value)


def evaluation_record(
    cases: int, evaluation: ClassEvaluation | NumberEvaluation | None
) -> dict[str, Any]:
    """How good predictions are, in short; only the number of cases where labels are not known."""
    record: dict[str, Any] = {"cases": cases}
    if isinstance(evaluation, NumberEvaluation):
        scores = evaluation.scores()
        return record | {"r2": _number(scores.r2), "mae": scores.mae, "rmse": scores.rmse}
    if evaluation is None:
        return record
    record["accuracy"] = evaluation.accuracy
    record["balanced_accuracy"] = evaluation.scores().balanced_accuracy
    if evaluation.majority_accuracy is not None:
        record["accuracy_of_most_frequent_class"] = evaluation.majority_accuracy
    if evaluation.unknown_labels:
        record["unknown_labels"] = list(evaluation.unknown_labels)
    return record


# -- columns ---------------------------------------------------------------------------------------


def prediction_columns(result: CaseResult) -> dict[str, list[Any]] | None:
    """Predictions as columns by name, a row for each case; None where there are none.

    They are those of the test cases, or else those of training cases while they were held out:
    the class that a case got most often, or the mean of the numbers, over repeats.
    """
    if result.predictions is not None and result.test is not None:
        columns: dict[str, list[Any]] = {"case": list(result.test.names)}
        predictions = np.asarray(result.predictions)
        if predictions.ndim == 2:
            columns |= {f"predicted_{k + 1}": predictions[:, k].tolist()
                        for k in range(predictions.shape[1])}  # fmt: skip
        else:
            columns["predicted"] = predictions.tolist()
        if result.test.labels is not None:
            columns["label"] = _labels(result, result.test.labels, result.test.names)
        return columns | _probability_columns(result, result.probabilities)
    if result.evaluation is None:
        return None
    return _held_out_columns(result)


def _held_out_columns(result: CaseResult) -> dict[str, list[Any]]:
    evaluation, train = result.evaluation, result.train
    assert evaluation is not None
    consensus, tested = evaluation.consensus.tolist(), evaluation.tested.tolist()
    if isinstance(evaluation, NumberEvaluation):
        predicted = [value if asked else "" for value, asked in zip(consensus, tested, strict=True)]
        label = _labels(result, train.labels or [], train.names)
        return {"case": train.names, "predicted": predicted, "label": label}
    labels = (*evaluation.labels, "")  # -1: not asked for
    columns: dict[str, list[Any]] = {
        "case": train.names, "predicted": [labels[k] for k in consensus],
        "label": train.labels or [],
    }  # fmt: skip
    right = (1 - evaluation.losses(MODEL)).tolist()
    columns["share_right"] = [v if asked else "" for v, asked in zip(right, tested, strict=True)]
    return columns | _probability_columns(result, evaluation.probabilities)


def _labels(result: CaseResult, labels: list[str], names: list[str]) -> list[Any]:
    """Labels as they came; those that are numbers to predict as numbers."""
    if isinstance(result.evaluation, NumberEvaluation):
        return target_numbers(labels, names).tolist()
    return list(labels)


def _probability_columns(
    result: CaseResult, probabilities: np.ndarray | None
) -> dict[str, list[Any]]:
    """A column for each class; empty where a case was not asked for."""
    if probabilities is None:
        return {}
    return {
        f"probability_{label}": [v if np.isfinite(v) else "" for v in probabilities[:, k].tolist()]
        for k, label in enumerate(result.model.classes_.tolist())
    }
