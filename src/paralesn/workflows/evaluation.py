"""How good answers to cases are, beside naive answers: cross-validated, or on cases of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.workflows import nearest_neighbour
from paralesn.workflows.class_scores import ClassScores, log_loss, score_classes
from paralesn.workflows.cross_validation import FoldPlan, splits
from paralesn.workflows.number_scores import NumberScores, score_numbers
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.series_tasks import MAJORITY, Answer, Task
from paralesn.workflows.yardsticks import MODEL

BETTER, UNCLEAR, WORSE = "better", "unclear", "worse"


class Comparison(NamedTuple):
    """How much less a model is wrong than another method, for a case: mean and standard error."""

    method: str
    difference: float
    error: float

    @property
    def verdict(self) -> str:
        """Better or worse by more than two standard errors, else unclear."""
        if abs(self.difference) <= 2 * self.error or self.difference == 0:
            return UNCLEAR
        return BETTER if self.difference > 0 else WORSE


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Answers of methods to cases whose truth is known.

    Attributes
    ----------
    truth : array (n,)
        Classes by their numbers, or numbers.
    answers : mapping of str to array (repeats, n)
        By method, that of the model first; NaN where a case was not asked for.
    plan : FoldPlan or None
        Of the cross-validation; None for cases of another file.
    """

    truth: np.ndarray
    answers: Mapping[str, np.ndarray]
    plan: FoldPlan | None = None

    @property
    def methods(self) -> list[str]:
        """The model, then naive methods."""
        return list(self.answers)

    @property
    def tested(self) -> np.ndarray:
        """Whether a case was asked for (n,)."""
        return np.isfinite(self.answers[MODEL]).any(axis=0)

    @property
    def cases(self) -> int:
        """Number of cases that were asked for."""
        return int(self.tested.sum())

    def losses(self, method: str) -> np.ndarray:
        """How wrong a method is about each case (n,), over repeats; NaN where it was not asked."""
        answers = self.answers[method]
        seen = np.isfinite(answers)
        lost = np.where(seen, self._lost(answers), 0.0).sum(axis=0)
        asked = seen.sum(axis=0)
        return np.divide(lost, asked, out=np.full(lost.size, np.nan), where=asked > 0)

    def _lost(self, answers: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def comparisons(self) -> list[Comparison]:
        """The model beside every other method, case by case."""
        found = []
        for method in self.methods[1:]:
            less = (self.losses(method) - self.losses(MODEL))[self.tested]
            error = float(less.std(ddof=1) / np.sqrt(less.size)) if less.size > 1 else float("inf")
            found.append(Comparison(method, float(less.mean()), error))
        return found


@dataclass(frozen=True, eq=False)
class ClassEvaluation(Evaluation):
    """Answers that are classes; a loss is the share of repeats in which the answer is wrong.

    Attributes
    ----------
    labels : tuple of str
        The classes that were learnt, then labels of these cases that were not.
    known : int
        How many of them were learnt.
    probabilities : array (n, known) or None
        Of the model, the mean over repeats; NaN where a case was not asked for.
    """

    labels: tuple[str, ...] = ()
    known: int = 0
    probabilities: np.ndarray | None = None

    def _lost(self, answers: np.ndarray) -> np.ndarray:
        return (answers != self.truth).astype(float)

    def scores(self, method: str = MODEL) -> ClassScores:
        """All measures of a method."""
        return score_classes(self.truth, self.answers[method], len(self.labels))

    @property
    def accuracy(self) -> float:
        """Share of cases whose class is right."""
        return self.scores().accuracy

    @property
    def majority_accuracy(self) -> float | None:
        """That of always answering with the most frequent class; None where it is not known."""
        return self.scores(MAJORITY).accuracy if MAJORITY in self.answers else None

    @property
    def unknown_labels(self) -> tuple[str, ...]:
        """Labels of these cases that the model never saw."""
        return self.labels[self.known :]

    @property
    def log_loss(self) -> float | None:
        """Mean negative logarithm of the probability of the right class; None without any."""
        if self.probabilities is None:
            return None
        return log_loss(self.truth[self.tested], self.probabilities[self.tested])

    @property
    def consensus(self) -> np.ndarray:
        """The answer (n,) that a case got most often; -1 where it was not asked for."""
        answers = self.answers[MODEL]
        votes = np.stack([(answers == k).sum(axis=0) for k in range(self.known)])
        if self.probabilities is not None:  # the likelier of those that came equally often
            votes = votes + 0.5 * np.nan_to_num(self.probabilities.T)
        return np.where(self.tested, votes.argmax(axis=0), -1)


@dataclass(frozen=True, eq=False)
class NumberEvaluation(Evaluation):
    """Answers that are numbers; a loss is an absolute error."""

    def _lost(self, answers: np.ndarray) -> np.ndarray:
        return np.abs(answers - self.truth)

    def scores(self, method: str = MODEL) -> NumberScores:
        """All measures of a method."""
        return score_numbers(self.truth, self.answers[method])

    @property
    def consensus(self) -> np.ndarray:
        """The mean answer (n,) over repeats; NaN where a case was not asked for."""
        answers = self.answers[MODEL]
        seen = np.isfinite(answers).sum(axis=0)
        total = np.nansum(answers, axis=0)
        return np.divide(total, seen, out=np.full(total.size, np.nan), where=seen > 0)


class Asked(NamedTuple):
    """Answers by method, mean probabilities of the model, and what to know about them."""

    answers: dict[str, np.ndarray]
    probabilities: np.ndarray | None
    notes: tuple[str, ...]


def cross_validate(
    task: Task, series: Any, plan: FoldPlan, *, seed: int = 0, progress: Progress = silent
) -> Asked:
    """Hold out every fold in turn, learn from the others, and ask for the cases held out."""
    band, notes = _band(series, None)
    matrix = None
    if band is not None:
        matrix = nearest_neighbour.pairwise(series, band, progress)
    names = [MODEL, task.naive, *([] if band is None else [nearest_neighbour.NAMES[band]])]
    answers = {name: np.full((plan.repeats, len(series)), np.nan) for name in names}
    total, asked = None, np.zeros(len(series))
    for repeat in range(plan.repeats):
        dealt = task.deal(plan.folds, np.random.default_rng([seed, repeat]))
        for fold, (rows, held_out) in enumerate(splits(dealt, plan)):
            share = (repeat + fold / plan.held_out) / plan.repeats
            progress(f"evaluating, repeat {repeat + 1} of {plan.repeats}", share)
            answer = task.ask(task.fit(_taken(series, rows), rows), _taken(series, held_out))
            given = [answer.values, task.guess(rows)]
            if matrix is not None:
                given.append(task.truth[rows[matrix[np.ix_(held_out, rows)].argmin(axis=1)]])
            for name, values in zip(names, given, strict=True):
                answers[name][repeat, held_out] = values
            total, asked = _added(total, asked, held_out, answer)
    return Asked(answers, _mean(total, asked), notes)


def ask_other(task: Task, model: Any, train: Any, test: Any, progress: Progress = silent) -> Asked:
    """Ask a fitted model, and naive methods that know its training series, for other series."""
    progress("classifying", 0.0)
    answer = task.ask(model, test)
    rows = np.arange(len(train))
    answers = {MODEL: answer.values, task.naive: np.full(len(test), task.guess(rows))}
    band, notes = _band(test, train)
    if band is not None:
        nearest = nearest_neighbour.nearest(test, train, band, progress)
        answers[nearest_neighbour.NAMES[band]] = task.truth[nearest]
    every = {name: np.asarray(values, float)[None] for name, values in answers.items()}
    return Asked(every, answer.probabilities, notes)


def _band(series: Any, others: Any) -> tuple[float | None, tuple[str, ...]]:
    """The band of warping that can be afforded, and a note where there is none."""
    lengths = [len(values) for values in series]
    other_lengths = None if others is None else [len(values) for values in others]
    band = nearest_neighbour.affordable_band(lengths, other_lengths, series[0].shape[1])
    if band is None:
        budget = f"{nearest_neighbour.BUDGET:.0e}"
        return None, (f"no nearest neighbours: distances would take more than {budget} operations",)
    return band, () if band else (f"1-NN is {nearest_neighbour.EXPLAINED[band]}",)


def _added(
    total: np.ndarray | None, asked: np.ndarray, rows: np.ndarray, answer: Answer
) -> tuple[np.ndarray | None, np.ndarray]:
    """Sums of probabilities of every case, and how many there are."""
    if answer.probabilities is None:
        return total, asked
    if total is None:
        total = np.zeros((asked.size, answer.probabilities.shape[1]))
    total[rows] += answer.probabilities
    asked[rows] += 1
    return total, asked


def _mean(total: np.ndarray | None, asked: np.ndarray) -> np.ndarray | None:
    if total is None:
        return None
    empty = np.full(total.shape, np.nan)
    return np.divide(total, asked[:, None], out=empty, where=asked[:, None] > 0)


def _taken(series: Any, rows: Sequence[int] | np.ndarray) -> Any:
    """Some of the series, as they were given."""
    return series[rows] if isinstance(series, np.ndarray) else [series[row] for row in rows]
