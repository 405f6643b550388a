"""Passes that fit a forecaster to many series: surveyed, learnt from, judged on and weighed.

Blocks hold whole series: `Block.X` is the ``y`` of a forecaster, and `Block.y` holds what goes
with it, `SeriesInputs`.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from paralesn.estimators.forecaster import joining
from paralesn.estimators.forecaster.calendar import check_calendar
from paralesn.estimators.forecaster.changes import Reading
from paralesn.estimators.forecaster.ensemble import Learning
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster, Memory
from paralesn.estimators.forecaster.fitting import (
    Request,
    default_horizon,
    floor_of,
    scaled,
    scaling_of,
)
from paralesn.estimators.forecaster.panel import Layout, LongNames
from paralesn.estimators.forecaster.panel_block import (
    ClockSteps,
    Conventions,
    OpenBlock,
    SeriesInputs,
    added_steps,
    clock_of_most,
    clock_steps,
    open_block,
    plain_clock,
)
from paralesn.estimators.forecaster.panel_notes import PanelNotes
from paralesn.estimators.forecaster.shared_lessons import LearntTask, SharedLessons, learn
from paralesn.estimators.forecaster.shared_tasks import (
    SeriesFacts,
    SharedTask,
    readings_for,
    shared_tasks,
)
from paralesn.estimators.forecaster.weighing import least_rows, weigh
from paralesn.estimators.passes import Block, Held, Pass, check_partial
from paralesn.moments import ColumnMoments, measured
from paralesn.persistence import register
from paralesn.readouts.validation import ValidationErrors
from paralesn.tables.clock import Clock

_WORTH_MERGING = 32  # rows for each column that a merge of readouts takes a fiftieth of

# -- survey ----------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class PanelFacts(Held):
    """What is known of series before anything is learnt from them.

    Attributes
    ----------
    layout : Layout
    series : SeriesFacts
    past, fixed : ColumnMoments
        Of inputs that are known up to now, and of series as a whole.
    used : Conventions
        That blocks were read by, with the categories of all of them.
    agreed : bool
        Whether all blocks were read by the same.
    came, clocks : tuples
        Clocks of rows as they came, and of the steps that became of them.
    """

    layout: Layout
    series: SeriesFacts
    past: ColumnMoments
    fixed: ColumnMoments
    used: Conventions
    agreed: bool
    came: ClockSteps
    clocks: ClockSteps

    def merged(self, other: Self) -> Self:
        """What is known of the series of both; `other` has later ones."""
        agreed = self.agreed and other.agreed and self.used == other.used
        return replace(
            self,
            layout=joining.joined_layouts([self.layout, other.layout]),
            series=self.series.merged(other.series),
            # Blocks that do not agree may have other columns; they will be surveyed again.
            past=self.past.merged(other.past) if agreed else self.past,
            fixed=self.fixed.merged(other.fixed) if agreed else self.fixed,
            used=self.used.merged(other.used),
            agreed=agreed,
            came=added_steps([*self.came, *other.came]),
            clocks=added_steps([*self.clocks, *other.clocks]),
        )


@dataclass(frozen=True, eq=False)
class PanelSurvey(Pass):
    """Look at all series: lengths, seasons, clocks, categories, moments of inputs.

    Attributes
    ----------
    model : Forecaster
    request : Request
        Its parameters, checked.
    conventions : Conventions or None
        Settled by a survey before, whose blocks did not agree.
    """

    model: Any
    request: Request
    conventions: Conventions | None = None

    def digest(self, block: Block, into: Any = None) -> PanelFacts:
        """What is known of the series of a block."""
        opened = open_block(block, self.request, self.conventions)
        partial = PanelFacts(
            opened.panel.layout,
            SeriesFacts.of(opened.learnings(None, None)),
            measured(np.concatenate(opened.past)),
            measured(opened.fixed),
            opened.conventions,
            True,
            opened.came,
            clock_steps(opened.panel.grids),
        )
        return partial if into is None else into.merged(partial)

    def finish(self, partial: PanelFacts) -> Pass:
        """The pass that learns, or that weighs where nothing is to be learnt.

        Where blocks were not read as they would be together, another survey.
        """
        check_partial(partial, PanelFacts)
        facts, request = partial.series, self.request
        clock, usual = clock_of_most(partial.clocks), clock_of_most(partial.came)
        settled = replace(
            partial.used,
            usual=plain_clock(usual),
            calendar=check_calendar(request.calendar, clock),
        )
        if not (partial.agreed and settled == partial.used):
            return replace(self, conventions=settled)
        joining.check_names(partial.layout, facts.lengths)
        horizon = request.horizon or default_horizon(facts.seasons, facts.lengths.tolist())
        past, fixed = scaling_of(partial.past), scaling_of(partial.fixed)
        settings = PanelSettings(request, settled, clock, past, fixed, horizon, len(facts.lengths))
        tasks = shared_tasks(
            facts, horizon, settings.least, past.shape[1], fixed.shape[1], request.reservoir_for,
            request.readout,
        )  # fmt: skip
        if not tasks:
            return WeighingPass(self.model, settings, ())
        return LearningPass(self.model, settings, tasks)


@dataclass(frozen=True, eq=False)
class PanelSettings:
    """What the survey of all series decided.

    Attributes
    ----------
    request : Request
    conventions : Conventions
    clock : Clock or None
        Of most series.
    past_scaling, fixed_scaling : (2, inputs)
    horizon : int
    count : int
        Series in all blocks.
    """

    request: Request
    conventions: Conventions
    clock: Clock | None
    past_scaling: np.ndarray
    fixed_scaling: np.ndarray
    horizon: int
    count: int

    @property
    def least(self) -> int:
        """Rows that a series must have to be learnt from."""
        return least_rows(self.count > 1)

    def open(self, block: Block) -> tuple[OpenBlock, list[Learning]]:
        """A block, and what members learn from its series."""
        opened = open_block(block, self.request, self.conventions)
        return opened, opened.learnings(self.past_scaling, self.fixed_scaling)

    def readings(self, block: Block, tasks: tuple[SharedTask, ...]) -> list[list[Reading]]:
        """What every shared readout reads of a block."""
        _, series = self.open(block)
        facts = SeriesFacts.of(series)
        return [readings_for(task.log, series, facts.chosen(task.log, self.horizon, self.least))
                for task in tasks]  # fmt: skip


# -- shared readouts -------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class PanelLessons(Held):
    """What the shared readouts learnt from some series, one after the other."""

    lessons: tuple[SharedLessons, ...]

    def merged(self, other: Self) -> Self:
        """What they learnt from the series of both; `other` has later ones."""
        pairs = zip(self.lessons, other.lessons, strict=True)
        return replace(self, lessons=tuple(one.merged(more) for one, more in pairs))


@dataclass(frozen=True, eq=False)
class LearningPass(Pass):
    """Run the reservoirs, and learn from their states."""

    model: Any
    settings: PanelSettings
    tasks: tuple[SharedTask, ...]
    counts_steps: ClassVar[bool] = True

    @property
    def rows_per_merge(self) -> int:
        """Time steps that take fifty times as long to learn from as two readouts to merge."""
        return _WORTH_MERGING * max(task.reservoir.n_features_out_ for task in self.tasks)

    def digest(self, block: Block, into: Any = None) -> PanelLessons:
        """What the shared readouts learn from a block."""
        every = self.settings.readings(block, self.tasks)
        learnt = [learn(task, own) for task, own in zip(self.tasks, every, strict=True)]
        partial = PanelLessons(tuple(learnt))
        return partial if into is None else into.merged(partial)

    def finish(self, partial: PanelLessons) -> Pass:
        """The pass that judges the readouts, or that weighs them as they are."""
        check_partial(partial, PanelLessons)
        pairs = zip(self.tasks, partial.lessons, strict=True)
        learnt = tuple(LearntTask.of(*pair) for pair in pairs if not pair[1].is_empty)
        if any(each.task.merges for each in learnt):
            return JudgingPass(self.model, self.settings, learnt)
        return WeighingPass(self.model, self.settings, learnt)


@register
@dataclass(frozen=True, eq=False)
class PanelErrors(Held):
    """Errors of every penalty of the shared readouts in the last quarters of some series."""

    errors: tuple[ValidationErrors | None, ...]

    def merged(self, other: Self) -> Self:
        """Errors in the series of both."""
        pairs = zip(self.errors, other.errors, strict=True)
        return replace(self, errors=tuple(_added(one, more) for one, more in pairs))


def _added(one: ValidationErrors | None, more: ValidationErrors | None) -> ValidationErrors | None:
    if one is None or more is None:
        return more if one is None else one
    return one.merged(more)


@dataclass(frozen=True, eq=False)
class JudgingPass(Pass):
    """Measure how well every penalty does on what was not learnt from."""

    model: Any
    settings: PanelSettings
    learnt: tuple[LearntTask, ...]

    def digest(self, block: Block, into: Any = None) -> PanelErrors:
        """Errors in the series of a block."""
        every = self.settings.readings(block, tuple(each.task for each in self.learnt))
        pairs = zip(self.learnt, every, strict=True)
        partial = PanelErrors(tuple(each.errors(own) for each, own in pairs))
        return partial if into is None else into.merged(partial)

    def finish(self, partial: PanelErrors) -> Pass:
        """The pass that weighs the readouts with the best penalties."""
        check_partial(partial, PanelErrors)
        pairs = zip(self.learnt, partial.errors, strict=True)
        learnt = tuple(each.chosen_by(errors) for each, errors in pairs)
        return WeighingPass(self.model, self.settings, learnt)


# -- members together ------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class WeighedPanel(Held):
    """Forecasters of blocks, in their order, without the readouts that all share."""

    parts: tuple[FittedForecaster, ...]
    notes: PanelNotes

    def merged(self, other: Self) -> Self:
        """Those of both; `other` has later series."""
        notes = self.notes.merged(other.notes)
        return replace(self, parts=self.parts + other.parts, notes=notes)


@dataclass(frozen=True, eq=False)
class WeighingPass(Pass):
    """Fit smoothers, weigh them and the shared readouts for every series, measure intervals."""

    model: Any
    settings: PanelSettings
    learnt: tuple[LearntTask, ...]

    def digest(self, block: Block, into: Any = None) -> WeighedPanel:
        """The forecaster of the series of a block."""
        opened, series = self.settings.open(block)
        request = self.settings.request
        ensemble = weigh(
            series, self.learnt, self.settings.horizon, request.reservoir_for is not None,
            self.settings.count > 1, request.n_jobs,
        )  # fmt: skip
        if opened.effects.coefficients.shape[1]:
            ensemble = ensemble.without_floor()
        names = LongNames() if block.y is None else block.y.names
        part = self._part(opened, names, joining.without_readouts(ensemble))
        partial = WeighedPanel((part,), opened.notes)
        return partial if into is None else into.merged(partial)

    def _part(self, opened: OpenBlock, names: LongNames, ensemble: Any) -> FittedForecaster:
        """What was learnt of the series of a block, with their members."""
        settings, panel, used = self.settings, opened.panel, opened.conventions
        past = [scaled(rows, settings.past_scaling) for rows in opened.past]
        return FittedForecaster(
            panel.layout, tuple(names), settings.request.frequency,
            Ends.of(panel.grids, settings.clock),
            Memory.of(panel, opened.explained, opened.known, past), ensemble,
            tuple(opened.seasons), used.known, used.past, used.fixed, used.calendar,
            opened.effects, settings.past_scaling, settings.fixed_scaling,
            floor_of(panel.values), (),
        )  # fmt: skip

    def finish(self, partial: WeighedPanel) -> Any:
        """The fitted forecaster."""
        check_partial(partial, WeighedPanel)
        state = joining.joined(partial.parts, self.learnt)
        return self.fitted(replace(state, notes=partial.notes.worded(state)))


def begin(model: Any) -> PanelSurvey:
    """The first pass of a forecaster of many series, which blocks hold whole."""
    bare = copy(model)
    bare.__dict__.pop("fitted_", None)  # what was learnt before is no part of the task
    return PanelSurvey(bare, model.request_for_blocks())


__all__ = ["PanelSurvey", "SeriesInputs", "begin"]
