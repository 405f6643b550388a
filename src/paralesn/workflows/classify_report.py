"""Show what was learnt from cases: tables, sentences, plain data, columns of a CSV file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.tables.notes import counted, listed
from paralesn.workflows.case_result import CaseResult, Classification
from paralesn.workflows.evaluation import (
    BETTER,
    UNCLEAR,
    ClassEvaluation,
    Comparison,
    NumberEvaluation,
)
from paralesn.workflows.series_tasks import MAJORITY, MEAN
from paralesn.workflows.yardsticks import MODEL

_LISTED = 25  # classes in a table of the terminal
_SQUARE = 12  # classes of a confusion matrix in the terminal
_RARE = 3  # times fewer cases than the most frequent class has
_PHRASES = {
    MAJORITY: "always answering with the most frequent class",
    MEAN: "always answering with the mean of the targets",
}
Either = CaseResult[Any]


def percent(value: float) -> str:
    """A share as people read it; nothing for one that is not known."""
    return f"{value:.1%}" if np.isfinite(value) else "-"


def short(value: float) -> str:
    """A number of four digits; nothing for one that is not known."""
    return f"{value:.4g}" if np.isfinite(value) else "-"


def measures(evaluation: ClassEvaluation | NumberEvaluation, method: str) -> dict[str, str]:
    """Measures of a method by name, as text."""
    if isinstance(evaluation, NumberEvaluation):
        numbers = evaluation.scores(method)
        return {"R2": short(numbers.r2), "MAE": short(numbers.mae), "RMSE": short(numbers.rmse)}
    classes = evaluation.scores(method)
    shares = (classes.accuracy, classes.balanced_accuracy, classes.macro_f1)
    names = ("accuracy", "balanced accuracy", "mean F1")
    return dict(zip(names, map(percent, shares), strict=True))


def how_tested(result: Either, test: str | None = None) -> str:
    """How the model was judged, in a few words; `test` is the name of the other file."""
    evaluation = result.evaluation
    assert evaluation is not None
    if evaluation.plan is None:
        return f"{counted(evaluation.cases, 'case')} of {test or 'another file'}"
    return f"{counted(evaluation.cases, 'case')}, {evaluation.plan.words()}"


# -- tables of the terminal ------------------------------------------------------------------------


def score_table(result: Either, test: str | None = None) -> Table | None:
    """Measures of the model beside those of naive methods; None without an evaluation."""
    evaluation = result.evaluation
    if evaluation is None:
        return None
    title = f"Evaluation: {how_tested(result, test)}"
    table = Table(title=Text(title), min_width=len(title))
    table.add_column("answer by")
    for name in measures(evaluation, MODEL):
        table.add_column(name, justify="right")
    for method in evaluation.methods:
        style = "bold" if method == MODEL else None
        table.add_row(method, *measures(evaluation, method).values(), style=style)
    return table


def class_table(result: Classification) -> Table | None:
    """Precision, recall and F1 of every class, and what it is taken for; None without any."""
    evaluation = result.evaluation
    if evaluation is None:
        return None
    table = Table(title="Classes")
    table.add_column("class")
    for name in ("cases", "precision", "recall", "F1"):
        table.add_column(name, justify="right")
    table.add_column("most often taken for")
    for row in class_rows(evaluation)[:_LISTED]:
        table.add_row(*map(Text, row))  # labels are no markup
    more = len(evaluation.labels) - _LISTED
    if more > 0:
        table.caption = f"{more} more in the report"
    return table


def class_rows(evaluation: ClassEvaluation) -> list[list[str]]:
    """Rows of a table of the classes: label, cases, precision, recall, F1, mistaken for."""
    scores, counts = evaluation.scores(), counts_of(evaluation)
    rows = []
    for k, label in enumerate(evaluation.labels):
        wrong = scores.confusion[k].copy()
        wrong[k] = 0
        for_what = ""
        if wrong.any():
            share = wrong.max() / scores.confusion[k].sum()
            for_what = f"{evaluation.labels[int(wrong.argmax())]} ({share:.0%})"
        shares = (scores.precision[k], scores.recall[k], scores.f1[k])
        rows.append([label, str(counts[k]), *map(percent, shares), for_what])
    return rows


def counts_of(evaluation: ClassEvaluation) -> np.ndarray:
    """Cases of every class that were asked for."""
    return np.bincount(evaluation.truth[evaluation.tested], minlength=len(evaluation.labels))


def confusion_table(result: Classification) -> Table | None:
    """The confusion matrix; None without an evaluation or with too many classes for it."""
    evaluation = result.evaluation
    if evaluation is None or len(evaluation.labels) > _SQUARE:
        return None
    repeats = len(evaluation.answers[MODEL])
    of_all = "" if repeats == 1 else f", all {repeats} repeats"
    title = f"Confusion (rows: label, columns: answer{of_all})"
    table = Table(title=title, min_width=len(title))
    table.add_column("")
    for label in evaluation.labels:
        table.add_column(Text(label), justify="right")
    for label, row in zip(evaluation.labels, evaluation.scores().confusion.tolist(), strict=True):
        table.add_row(Text(label), *(str(count) if count else "." for count in row))
    return table


# -- sentences -------------------------------------------------------------------------------------


def verdicts(result: Either) -> list[str]:
    """Sentences that say whether the model is better than naive answers."""
    evaluation = result.evaluation
    if evaluation is None:
        return ["The model was not evaluated."]
    sentences = [_verdict(evaluation, comparison) for comparison in evaluation.comparisons()]
    if isinstance(evaluation, ClassEvaluation):
        sentences += _on_classes(evaluation, result)
    return sentences


def _verdict(evaluation: ClassEvaluation | NumberEvaluation, comparison: Comparison) -> str:
    name = _PHRASES.get(comparison.method, comparison.method)
    if isinstance(evaluation, ClassEvaluation):
        own, other = (percent(evaluation.scores(method).accuracy)
                      for method in (MODEL, comparison.method))  # fmt: skip
        against = f"{own} of cases right against {other}"
    else:
        own, other = (short(evaluation.scores(method).mae) for method in (MODEL, comparison.method))
        against = f"mean absolute error {own} against {other}"
    if comparison.verdict == BETTER:
        return f"The model is better than {name}: {against}."
    if comparison.verdict == UNCLEAR:
        clearly = "clearly " if comparison.difference > 0 else ""
        chance = "; the difference may be chance" if comparison.difference else ""
        return f"The model is NOT {clearly}better than {name}: {against}{chance}."
    return f"The model is WORSE than {name}: {against}."


def _on_classes(evaluation: ClassEvaluation, result: Either) -> list[str]:
    """Sentences on classes that are never recognised, rare, or unknown."""
    scores, counts = evaluation.scores(), counts_of(evaluation)
    known = np.arange(len(evaluation.labels)) < evaluation.known
    never = [repr(evaluation.labels[k]) for k in np.flatnonzero(known & (scores.recall == 0))]
    sentences = []
    if never:
        sentences.append(f"Never recognised: {listed(never, 10)}.")
    there = counts[counts > 0]
    is_uneven = there.size > 1 and there.min() * _RARE <= there.max()
    if is_uneven and scores.balanced_accuracy < scores.accuracy - 0.05 and \
            result.request.class_weight is None:  # fmt: skip
        sentences.append(
            f"Rare classes are recognised less often (balanced accuracy "
            f"{percent(scores.balanced_accuracy)}): `class_weight='balanced'` makes them count."
        )
    if evaluation.unknown_labels:
        unknown = listed(list(evaluation.unknown_labels), 10)
        sentences.append(f"Labels that were not learnt: {unknown}.")
    return sentences


# -- plain data ------------------------------------------------------------------------------------


def as_record(result: Either, train: str, test: str | None = None) -> dict[str, Any]:
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


def prediction_columns(result: Either) -> dict[str, list[Any]] | None:
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
            columns["label"] = list(result.test.labels)
        return columns | _probability_columns(result, result.probabilities)
    if result.evaluation is None:
        return None
    return _held_out_columns(result)


def _held_out_columns(result: Either) -> dict[str, list[Any]]:
    evaluation, train = result.evaluation, result.train
    assert evaluation is not None
    consensus, tested = evaluation.consensus.tolist(), evaluation.tested.tolist()
    if isinstance(evaluation, NumberEvaluation):
        predicted = [value if asked else "" for value, asked in zip(consensus, tested, strict=True)]
        return {"case": train.names, "predicted": predicted, "label": train.labels or []}
    labels = (*evaluation.labels, "")  # -1: not asked for
    columns: dict[str, list[Any]] = {
        "case": train.names, "predicted": [labels[k] for k in consensus],
        "label": train.labels or [],
    }  # fmt: skip
    right = (1 - evaluation.losses(MODEL)).tolist()
    columns["share_right"] = [v if asked else "" for v, asked in zip(right, tested, strict=True)]
    return columns | _probability_columns(result, evaluation.probabilities)


def _probability_columns(result: Either, probabilities: np.ndarray | None) -> dict[str, list[Any]]:
    """A column for each class; empty where a case was not asked for."""
    if probabilities is None:
        return {}
    return {
        f"probability_{label}": [v if np.isfinite(v) else "" for v in probabilities[:, k].tolist()]
        for k, label in enumerate(result.model.classes_.tolist())
    }
