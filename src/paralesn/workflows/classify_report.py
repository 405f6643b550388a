"""Show how good what was learnt from cases is: tables and sentences."""

import numpy as np
from rich.table import Table
from rich.text import Text

from paralesn.tables.notes import counted, listed, shown
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


def how_tested(result: CaseResult, test: str | None = None) -> str:
    """How the model was judged, in a few words; `test` is the name of the other file."""
    evaluation = result.evaluation
    assert evaluation is not None
    if evaluation.plan is None:
        return f"{counted(evaluation.cases, 'case')} of {test or 'another file'}"
    return f"{counted(evaluation.cases, 'case')}, {evaluation.plan.words()}"


# -- tables of the terminal ------------------------------------------------------------------------


def score_table(result: CaseResult, test: str | None = None) -> Table | None:
    """Measures of the model beside those of naive methods; None without an evaluation."""
    evaluation = result.evaluation
    if evaluation is None:
        return None
    title = shown(f"Evaluation: {how_tested(result, test)}")
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
        table.add_row(*(Text(shown(cell)) for cell in row))  # labels are no markup
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
        table.add_column(Text(shown(label)), justify="right")
    for label, row in zip(evaluation.labels, evaluation.scores().confusion.tolist(), strict=True):
        table.add_row(Text(shown(label)), *(str(count) if count else "." for count in row))
    return table


# -- sentences -------------------------------------------------------------------------------------


def verdicts(result: CaseResult) -> list[str]:
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


def _on_classes(evaluation: ClassEvaluation, result: CaseResult) -> list[str]:
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
