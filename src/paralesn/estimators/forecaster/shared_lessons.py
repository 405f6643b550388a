"""What the shared readout learns from every series, and is judged by: in parts, which merge.

Of each series the steps before its last quarter are learnt first. Their readout is judged on that
quarter, which chooses its penalty and weighs it against the bank of smoothers; the readout that
forecasts has learnt from both.
"""

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from paralesn.estimators.forecaster.changes import Reading, StateBlocks, scales
from paralesn.estimators.forecaster.shared_readout import (
    Gathering,
    Judged,
    Lesson,
    held_out_from,
    together,
)
from paralesn.estimators.forecaster.shared_tasks import SharedTask
from paralesn.estimators.passes import Held
from paralesn.persistence import register
from paralesn.readouts.validation import ValidationErrors
from paralesn.runtime.blas import single_threaded_blas

# -- learning --------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class SharedLessons(Held):
    """What was learnt from some series, before their last quarters and in these.

    Attributes
    ----------
    before, after : Ridge or None
        None where there was nothing to learn from.
    rows_before, rows_after : tuple of pairs of arrays
        States and targets, where the readout cannot learn from blocks.
    """

    before: Any
    after: Any
    rows_before: tuple[Lesson, ...] = ()
    rows_after: tuple[Lesson, ...] = ()

    def merged(self, other: Self) -> Self:
        """What was learnt from the series of both; `other` has later ones."""
        return replace(
            self,
            before=_merged(self.before, other.before),
            after=_merged(self.after, other.after),
            rows_before=self.rows_before + other.rows_before,
            rows_after=self.rows_after + other.rows_after,
        )

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to learn from before the last quarters."""
        return self.before is None and not self.rows_before


def _merged(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)


class _Visit(NamedTuple):
    """A series on the way through a block of states: its values, and states from `first` on."""

    task: SharedTask
    reading: Reading
    scale: float
    first: int
    states: np.ndarray

    def lesson(self, begin: int, stop: int) -> Lesson | None:
        """States of steps `begin` to before `stop`, as far as they are here, and their futures."""
        h, every, y = self.task.horizon, self.task.every, self.reading.values
        at = max(begin, self.first)
        at += (begin - at) % every
        steps = np.arange(at, min(stop, len(y) - h, self.first + len(self.states)), every)
        if not steps.size:
            return None
        wanted = (y[steps[:, None] + np.arange(1, h + 1)] - y[steps, None]) / self.scale
        static = np.tile(self.reading.static, (steps.size, 1))
        return np.hstack([self.states[steps - self.first], static]), wanted


def _visits(task: SharedTask, readings: Sequence[Reading]) -> Iterator[_Visit]:
    scale = scales(readings)
    for i, first, z in StateBlocks(task.reservoir, readings, scale):
        yield _Visit(task, readings[i], scale[i], first, z)


@single_threaded_blas()  # the same bits whatever the number of threads
def learn(task: SharedTask, readings: Sequence[Reading]) -> SharedLessons:
    """Learn from series, before their last quarters and in these, in a single run of each."""
    rows: tuple[list[Lesson], list[Lesson]] = ([], [])
    ridges = [copy(task.readout), copy(task.readout)] if task.merges else []
    gathered = [Gathering(ridge.partial_fit) for ridge in ridges]
    for visit in _visits(task, readings):
        n = len(visit.reading.values)
        cut = held_out_from(n, task.horizon) - task.horizon
        for k, span in enumerate(((min(20, n // 8), cut), (cut, n))):
            lesson = visit.lesson(*span)
            if lesson is not None:
                (gathered[k].add if gathered else rows[k].append)(lesson)
    if not gathered:
        return SharedLessons(None, None, tuple(rows[0]), tuple(rows[1]))
    for part in gathered:
        part.close()
    before, after = (ridge if hasattr(ridge, "fitted_") else None for ridge in ridges)
    return SharedLessons(before, after)


# -- judging ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearntTask:
    """A task, and what became of it.

    Attributes
    ----------
    task : SharedTask
    judge : regressor
        Fitted to what precedes the last quarters, which it is judged on.
    readout : regressor
        Fitted to everything.
    """

    task: SharedTask
    judge: Any
    readout: Any

    @classmethod
    @single_threaded_blas()
    def of(cls, task: SharedTask, lessons: SharedLessons) -> Self:
        """Both readouts, from what was learnt from all series."""
        if task.merges:
            judge = copy(lessons.before).solve()
            readout = copy(_merged(lessons.before, lessons.after))
            return cls(task, judge, readout)
        judge = deepcopy(task.readout).fit(*together(lessons.rows_before))
        every = together([*lessons.rows_before, *lessons.rows_after])
        return cls(task, judge, deepcopy(judge).fit(*every))

    @single_threaded_blas()
    def errors(self, readings: Sequence[Reading]) -> ValidationErrors | None:
        """Errors of every penalty in the last quarters of series; None where these are short."""
        judge = copy(self.judge)
        gathered = Gathering(judge.validate)
        for visit in _visits(self.task, readings):
            n = len(visit.reading.values)
            lesson = visit.lesson(held_out_from(n, self.task.horizon) - 1, n)
            if lesson is not None:
                gathered.add(lesson)
        gathered.close()
        errors: ValidationErrors | None = judge.fitted_.validation
        return errors

    @single_threaded_blas()
    def chosen_by(self, errors: ValidationErrors | None) -> Self:
        """Both readouts with the penalty chosen by errors in the last quarters of all series."""
        judge, readout = copy(self.judge), copy(self.readout)
        if errors is not None:
            state = replace(judge.fitted_, validation=errors)
            judge.fitted_ = state.solved(judge.path_, judge.per_target)
            readout.choose_as(judge)
        readout.coef_  # noqa: B018 (solve now, so that forecasting changes nothing)
        return replace(self, judge=judge, readout=readout)

    @single_threaded_blas()
    def judged(self, readings: Sequence[Reading], origins: Sequence[np.ndarray]) -> Judged:
        """The member at the ends of series, and what it forecast from origins before them.

        Forecasts are those of the readout that had not learnt from what they are judged by.
        """
        h, draft = self.task.horizon, self.task.member(readings, self.judge)
        forecasts, member = draft.follow(readings, origins, go_on=False)
        cuts = [held_out_from(len(r.values), h) for r in readings]
        fit_for = [cut - h >= 8 or self.task.count > 1 for cut in cuts]
        return Judged(
            replace(member, readout=self.readout),
            [f if fits else None for f, fits in zip(forecasts, fit_for, strict=True)],
        )
