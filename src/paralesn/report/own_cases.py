"""One page about classes, or numbers, learnt from people's own series: `report.html`."""

from collections.abc import Callable, Mapping
from datetime import date

import numpy as np

from paralesn import __version__
from paralesn.report.charts import Axis, Series, dots, xy
from paralesn.report.confusion_matrix import MANY, confusion, elided
from paralesn.report.elements import Element, Entry, Figure, Look, Section, Table, Tiles
from paralesn.report.own_cases_drawn import drawn_cases
from paralesn.report.page import page
from paralesn.workflows.case_result import CaseResult, Classification
from paralesn.workflows.classify_report import (
    class_rows,
    how_tested,
    measures,
    percent,
    short,
    verdicts,
)
from paralesn.workflows.evaluation import (
    ClassEvaluation,
    Comparison,
    Evaluation,
    NumberEvaluation,
)
from paralesn.workflows.nearest_neighbour import EXPLAINED, NAMES
from paralesn.workflows.series_tasks import MAJORITY, MEAN
from paralesn.workflows.yardsticks import MODEL

Words = Callable[[str], str]  # how parameters in messages are spelled

_DOTS = 60  # classes whose F1 is drawn
_SQUARES = 60  # classes whose confusion is drawn
_POINTS = 2000  # cases of a scatter plot
_WORDS = {"better": "better", "unclear": "not clear", "worse": "worse"}


def made(result: CaseResult, train: str, test: str | None = None, words: Words = str) -> str:
    """The page as HTML; `train` and `test` name the files, `words` spells parameters."""
    cases, lengths = len(result.train.names), [len(values) for values in result.train.series]
    steps = f"{min(lengths):,}" if min(lengths) == max(lengths) else \
        f"{min(lengths):,} to {max(lengths):,}"  # fmt: skip
    channels = result.train.series[0].shape[1]
    of = "" if channels == 1 else f" and {channels} channels"
    lead = f"{train}: {cases:,} cases of {steps} steps{of}."
    what = "Classes" if isinstance(result, Classification) else "Numbers"
    by = f"Made by paralesn {__version__} on {date.today():%d %B %Y}."
    sections = [overview(result, test, words), *_details(result), chosen(result, words)]
    return page(f"{what} of {train}", lead, sections, by)


def _details(result: CaseResult) -> list[Section]:
    """Sections on classes or numbers, and on cases."""
    evaluation = result.evaluation
    if evaluation is None:
        return []
    first = classes(evaluation) if isinstance(evaluation, ClassEvaluation) else numbers(
        evaluation, result.judged.names)  # fmt: skip
    return [first, drawn_cases(result)]


def overview(result: CaseResult, test: str | None, words: Words) -> Section:
    """How good the model is, beside naive answers."""
    text = words(" ".join(verdicts(result)))
    if result.evaluation is None:
        return Section("result", "Result", text)
    content: list[Element] = [_tiles(result), _methods(result, test)]
    return Section("result", "Result", text, content)


def _tiles(result: CaseResult) -> Tiles:
    evaluation = result.evaluation
    assert evaluation is not None
    found = measures(evaluation, MODEL)
    pairs = []
    if isinstance(evaluation, ClassEvaluation):
        spread = evaluation.scores().spread
        varied = "" if np.isnan(spread) else f", ± {percent(spread)} over repeats"
        pairs.append((found["accuracy"], f"of cases right{varied}"))
        pairs.append((found["balanced accuracy"], "balanced accuracy: every class counts the same"))
    else:
        pairs.append((found["R2"], "R2: share of the variance that is explained"))
        pairs.append((found["MAE"], "mean absolute error"))
    others = evaluation.methods[1:]
    if others:
        best = max(others, key=lambda name: -float(np.nanmean(evaluation.losses(name))))
        key = "accuracy" if isinstance(evaluation, ClassEvaluation) else "MAE"
        pairs.append((measures(evaluation, best)[key], f"{key} of the best naive answer: {best}"))
    pairs.append((f"{evaluation.cases:,}", "cases tested"))
    return Tiles(pairs)


def _methods(result: CaseResult, test: str | None) -> Table:
    evaluation = result.evaluation
    assert evaluation is not None
    compared = {one.method: one for one in evaluation.comparisons()}
    names = list(measures(evaluation, MODEL))
    rows = []
    for method in evaluation.methods:
        cells = [Entry(text, best=method == MODEL) for text in
                 measures(evaluation, method).values()]  # fmt: skip
        rows.append([method, *cells, _compared(compared.get(method), evaluation)])
    columns = ["answer by", *names, "the model is"]
    return Table(f"Evaluation: {how_tested(result, test)}", columns, rows,
                 _explained(evaluation), text=(len(names) + 1,))  # fmt: skip


def _compared(comparison: Comparison | None, evaluation: Evaluation) -> str:
    if comparison is None:
        return ""
    is_share = isinstance(evaluation, ClassEvaluation)
    size, error = (f"{100 * v:.1f}" if is_share else short(v)
                   for v in (comparison.difference, comparison.error))  # fmt: skip
    unit = " points" if is_share else ""
    return f"{_WORDS[comparison.verdict]}, by {size} ± {error}{unit}"


def _explained(evaluation: Evaluation) -> str:
    """What the naive answers are, and what clear means."""
    words = {
        MAJORITY: "the class that most training cases have",
        MEAN: "the mean of the training cases' targets",
        **{NAMES[band]: text for band, text in EXPLAINED.items()},
    }
    named = [f"{method}: {words[method]}." for method in evaluation.methods if method in words]
    clear = (
        "± is a standard error over cases; a difference of more than two of them is taken as clear."
    )
    return " ".join([name[0].upper() + name[1:] for name in named] + ([clear] if named else []))


# -- classes ---------------------------------------------------------------------------------------


def classes(evaluation: ClassEvaluation) -> Section:
    """The confusion matrix, and F1 of every class."""
    content: list[Element] = []
    scores, labels = evaluation.scores(), evaluation.labels
    repeats = len(evaluation.answers[MODEL])
    of_all = f" Counts are those of all {repeats} repeats." if repeats > 1 else ""
    if len(labels) <= _SQUARES:
        drawing = confusion("Confusion matrix", labels, scores.confusion)
        caption = f"Rows are labels, columns answers; shades are shares of a row.{of_all}"
        wide = len(labels) > MANY
        content.append(Figure("Confusion matrix", drawing, caption, wide=wide))
    if len(labels) <= _DOTS:
        rows = {
            name: {"F1": (float(value), f"{label}: F1 {value:.3f}")}
            for name, label, value in zip(elided(labels), labels, scores.f1, strict=True)
            if np.isfinite(value)
        }
        drawing = dots("F1 by class", Axis("F1 score"), rows, 1.0)
        caption = "The harmonic mean of precision and recall; 1 is the best there is."
        content.append(Figure("F1 by class", drawing, caption, wide=len(labels) > MANY))
    columns = ["class", "cases", "precision", "recall", "F1", "most often taken for"]
    note = (
        "Precision: share of these answers that are right. Recall: share of these cases that are "
        "recognised."
    )
    content.append(Table("Classes", columns, class_rows(evaluation), note, text=(5,)))
    loss = evaluation.log_loss
    lead = "Which classes are told apart, and which are taken for one another."
    if loss is not None:
        lead += f" The log loss of the probabilities is {loss:.3g}; that of guessing among all " \
                f"classes alike would be {np.log(evaluation.known):.3g}."  # fmt: skip
    return Section("classes", "Classes", lead, content)


# -- numbers ---------------------------------------------------------------------------------------


def numbers(evaluation: NumberEvaluation, names: list[str]) -> Section:
    """Predicted against true numbers."""
    rows = np.flatnonzero(evaluation.tested)
    more = rows.size - _POINTS
    if more > 0:
        rows = rows[np.linspace(0, rows.size - 1, _POINTS).astype(int)]
    truth, predicted = evaluation.truth[rows], evaluation.consensus[rows]
    points = list(zip(truth.tolist(), predicted.tolist(), strict=True))
    tips = [f"{names[row]}: {x:.4g}, predicted {y:.4g}" for row, (x, y) in
            zip(rows, points, strict=True)]  # fmt: skip
    low, high = float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max()))
    looks = {"cases": Look(1), "no error": Look(6, deep=True)}
    series = [
        Series("no error", [(low, low), (high, high)], ["", ""], look=looks["no error"],
               marks=False),
        Series("cases", points, tips, line=False, look=looks["cases"]),
    ]  # fmt: skip
    drawing = xy("Predicted against true", Axis("true"), Axis("predicted"), series, 340)
    repeats = len(evaluation.answers[MODEL])
    caption = "Every point is a case" + (
        f", the mean of {repeats} repeats." if repeats > 1 else "."
    )
    if more > 0:
        caption += f" {_POINTS:,} of {rows.size + more:,} cases are drawn."
    figure = Figure("Predicted against true", drawing, caption, list(looks), looks)
    return Section("numbers", "Predictions", "Each was made by a model that had not seen the case.",
                   [figure, _error_table(evaluation)])  # fmt: skip


def _error_table(evaluation: NumberEvaluation) -> Table:
    """How large errors are."""
    losses = evaluation.losses(MODEL)[evaluation.tested]
    shares = (0.5, 0.75, 0.9, 0.95, 1.0)
    rows = [[f"{share:.0%} of cases", short(float(np.quantile(losses, share)))] for share in shares]
    return Table("Absolute errors", ["of", "at most"], rows, narrow=True)


# -- settings --------------------------------------------------------------------------------------


def chosen(result: CaseResult, words: Words) -> Section:
    """What was learnt from, how, and notes."""
    request, columns = result.request, result.train.columns
    weight = request.class_weight
    if isinstance(weight, Mapping):
        weight = ", ".join(f"{label}: {value:g}" for label, value in weight.items())
    settings = [["model", type(result.model).__name__]]
    if isinstance(result, Classification):
        settings.append(["class weight", weight or "every case counts the same"])
    if columns is not None:
        settings += [["case", columns.case], ["time", columns.time],
                     ["values", ", ".join(columns.values)], ["label", columns.label]]  # fmt: skip
    if result.evaluation is not None and result.evaluation.plan is not None:
        settings.append(["evaluation", result.evaluation.plan.words()])
    settings += [["seed", str(request.seed)], ["seconds", f"{result.seconds:.1f}"]]
    content: list[Element] = [
        Table("Settings", ["setting", "value"], settings, text=(1,), narrow=True)
    ]
    if result.notes:
        notes = [[k, words(str(note))] for k, note in enumerate(result.notes, 1)]
        content.append(Table("Notes", ["", "what to know"], notes, text=(1,)))
    lead = "The saved model has learnt from all training cases."
    return Section("chosen", "How it was made", lead, content)
