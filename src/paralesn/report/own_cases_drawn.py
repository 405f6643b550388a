"""The page of cases: those that are confused most, or predicted worst, drawn."""

import numpy as np

from paralesn.report.elements import Figure, Look, Section
from paralesn.report.time_charts import Line, small_timeline
from paralesn.workflows.case_result import CaseResult
from paralesn.workflows.evaluation import ClassEvaluation, NumberEvaluation
from paralesn.workflows.yardsticks import MODEL

_DRAWN = 8  # cases
_CASE = "the case"


def drawn_cases(result: CaseResult) -> Section:
    """Cases that are confused most, or predicted worst, over the first channel."""
    evaluation, cases = result.evaluation, result.judged
    assert evaluation is not None
    channels = cases.series[0].shape[1]
    columns = result.train.columns
    which = f" ({columns.values[0]})" if columns is not None else ""
    of = "" if channels == 1 else f" Drawn is the first of {channels} channels{which}."
    if isinstance(evaluation, NumberEvaluation):
        rows = worst(evaluation)[:_DRAWN]
        figures = [_predicted(result, evaluation, int(row)) for row in rows]
        return Section("cases", "Largest errors", f"Cases with the largest errors.{of}", figures)
    rows = most_confused(evaluation)[:_DRAWN]
    figures = [_confused(result, evaluation, int(row)) for row in rows]
    wrong = int((evaluation.consensus != evaluation.truth)[evaluation.tested].sum())
    many = "No case is" if wrong == 0 else "1 case is" if wrong == 1 else f"{wrong:,} cases are"
    lead = (
        f"{many} taken for another class by the model. Drawn are those to whose label it gives the "
        "least probability beside the likeliest other one, each with a typical case of its class "
        f"and of the class it is taken for.{of}"
    )
    return Section("cases", "Most confused cases", lead, figures)


def margins(evaluation: ClassEvaluation) -> np.ndarray:
    """Probability of the label minus that of the likeliest other class (n,); NaN: not asked for.

    Without probabilities, the share of repeats in which the answer is right.
    """
    p = evaluation.probabilities
    if p is None:
        return 1 - evaluation.losses(MODEL)
    known = np.flatnonzero(evaluation.truth < p.shape[1])
    own, others = np.zeros(len(p)), p.copy()
    own[known] = p[known, evaluation.truth[known]]
    others[known, evaluation.truth[known]] = -1.0
    return np.where(evaluation.tested, own - others.max(axis=1), np.nan)


def most_confused(evaluation: ClassEvaluation) -> np.ndarray:
    """Rows of the cases that were asked for, the most confused first."""
    margin = margins(evaluation)
    order = np.argsort(margin, kind="stable")
    return order[np.isfinite(margin[order])]


def worst(evaluation: NumberEvaluation) -> np.ndarray:
    """Rows of the cases that were asked for, those with the largest errors first."""
    losses = evaluation.losses(MODEL)
    order = np.argsort(-losses, kind="stable")
    return order[np.isfinite(losses[order])]


def typical(evaluation: ClassEvaluation, label: int) -> int | None:
    """The row of the case of a class that the model is surest of; None where none is right."""
    of_class = evaluation.tested & (evaluation.truth == label) & (evaluation.consensus == label)
    rows = np.flatnonzero(of_class)
    return int(rows[margins(evaluation)[rows].argmax()]) if rows.size else None


def _confused(result: CaseResult, evaluation: ClassEvaluation, row: int) -> Figure:
    label, answer = int(evaluation.truth[row]), int(evaluation.consensus[row])
    name, labels = result.judged.names[row], evaluation.labels
    other = answer if answer != label else _runner_up(evaluation, row)
    looks = {_CASE: Look(1)}
    lines = [_line(result, row, _CASE, looks[_CASE])]
    for k, look in ((label, Look(6)), (other, Look(4, deep=True))):
        like = None if k is None or k >= evaluation.known else typical(evaluation, k)
        if k is not None and like is not None and like != row:
            looks[f"typical {labels[k]}"] = look
            lines.insert(0, _line(result, like, f"typical {labels[k]}", look))
    taken = f"is {labels[label]}, taken for {labels[answer]}"
    if answer == label:
        taken = f"is {labels[label]}, and taken for it"
    p, sure = evaluation.probabilities, ""
    if p is not None:
        own = float(p[row, label]) if label < p.shape[1] else 0.0
        sure = f" Probability of {labels[label]} {own:.0%}"
        sure += "." if other is None else f", of {labels[other]} {float(p[row, other]):.0%}."
    repeats = len(evaluation.answers[MODEL])
    if repeats > 1:
        right = round((1 - evaluation.losses(MODEL)[row]) * repeats)
        sure += f" Right in {right} of {repeats} repeats."
    drawing = small_timeline(f"Case {name}", lines)
    return Figure(f"Case {name} {taken}", drawing, sure.strip(), list(looks), looks)


def _runner_up(evaluation: ClassEvaluation, row: int) -> int | None:
    """The likeliest class besides the label."""
    if evaluation.probabilities is None:
        return None
    p = evaluation.probabilities[row].copy()
    if evaluation.truth[row] < p.size:
        p[evaluation.truth[row]] = -1.0
    return int(p.argmax())


def _predicted(result: CaseResult, evaluation: NumberEvaluation, row: int) -> Figure:
    truth, answer = float(evaluation.truth[row]), float(evaluation.consensus[row])
    name, look = result.judged.names[row], Look(1)
    drawing = small_timeline(f"Case {name}", [_line(result, row, _CASE, look)])
    caption = f"Off by {answer - truth:+.4g}."
    return Figure(f"Case {name} is {truth:.4g}, predicted {answer:.4g}", drawing, caption)


def _line(result: CaseResult, row: int, name: str, look: Look) -> Line:
    values = np.asarray(result.judged.series[row], float)[:, 0]
    return Line(name, np.arange(1.0, values.size + 1), values, look)
