"""A block of series as it was given: read, with its inputs as numbers, seasons and effects.

How a block is read depends on the others: short series follow the clock of most, and text becomes
the categories of all. These conventions are proposed by every block and settled by all of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.calendar import calendar_columns, check_calendar
from paralesn.estimators.forecaster.effects import Effects
from paralesn.estimators.forecaster.ensemble import Learning
from paralesn.estimators.forecaster.exogenous import Encoder, merged_encoders
from paralesn.estimators.forecaster.fitting import (
    Request,
    effects_of,
    read_inputs,
    read_static,
    scaled,
    seasons_of_panel,
)
from paralesn.estimators.forecaster.grid import Grid, usual_clock
from paralesn.estimators.forecaster.panel import LONG, LongNames, Panel, read_panel
from paralesn.estimators.forecaster.panel_notes import PanelNotes
from paralesn.estimators.forecaster.roles import check_roles
from paralesn.estimators.passes import Block
from paralesn.persistence import register
from paralesn.tables.clock import Clock, clock_of

ClockSteps = tuple[tuple[str, float, bool, int], ...]  # clocks, and how many steps each has


class SeriesInputs(NamedTuple):
    """What goes with the series of a block, as `fit` takes it: the ``y`` of a `Block`.

    Attributes
    ----------
    X, past, static : of the series of the block
    names : LongNames
        Columns of long frames.
    """

    X: Any = None
    past: Any = None
    static: Any = None
    names: LongNames = LongNames()


class KeptBlock:
    """The series of a block on one machine: what was read of them is kept from pass to pass."""

    def __init__(self, y: Any, panel: Panel) -> None:
        self.y, self.panel = y, panel
        self.opened: OpenBlock | None = None


@register
@dataclass(frozen=True)
class Conventions:
    """What blocks must agree on to be read as they would be together.

    Attributes
    ----------
    usual : tuple or None
        The clock that series of a long frame follow where it fits.
    calendar : tuple of str
        Parts of the calendar that are inputs.
    known, past, fixed : Encoder
    """

    usual: tuple[str, float, bool] | None
    calendar: tuple[str, ...]
    known: Encoder
    past: Encoder
    fixed: Encoder

    def merged(self, other: "Conventions") -> "Conventions":
        """These conventions, with encoders of what is in either."""
        return replace(
            self,
            known=merged_encoders(self.known, other.known, "X"),
            past=merged_encoders(self.past, other.past, "past"),
            fixed=merged_encoders(self.fixed, other.fixed, "static"),
        )


class OpenBlock(NamedTuple):
    """The series of a block, and everything about them that does not depend on other blocks.

    Attributes
    ----------
    panel : Panel
    conventions : Conventions
        That they were read by.
    known, past : lists of (n, inputs)
        Inputs of every series, none missing; `known` with the calendar.
    fixed : (S, static)
    seasons : list of tuples of int
    effects : Effects
    explained : list of (n,)
        What known inputs explain of every series.
    notes : PanelNotes
    came : ClockSteps
        Of long frames: clocks of the rows as they came.
    """

    panel: Panel
    conventions: Conventions
    known: list[np.ndarray]
    past: list[np.ndarray]
    fixed: np.ndarray
    seasons: list[tuple[int, ...]]
    effects: Effects
    explained: list[np.ndarray]
    notes: PanelNotes
    came: ClockSteps

    def learnings(self, past: np.ndarray | None, fixed: np.ndarray | None) -> list[Learning]:
        """What members learn from, with scaled inputs; None where only y and seasons matter."""
        others = self.past if past is None else [scaled(rows, past) for rows in self.past]
        whole = self.fixed if fixed is None else scaled(self.fixed, fixed)
        return [
            Learning(v - e, s, o, f)
            for v, e, s, o, f in zip(
                self.panel.values, self.explained, self.seasons, others, whole, strict=True
            )
        ]


def open_block(block: Block, request: Request, conventions: Conventions | None) -> OpenBlock:
    """Read a block: by conventions that were settled, or by those that it proposes itself."""
    kept = block.X if isinstance(block.X, KeptBlock) else None
    if kept is not None and kept.opened is not None and kept.opened.conventions == conventions:
        return kept.opened
    try:
        opened = _opened(block, request, conventions)
    except ValueError as error:
        if block.first:
            error.add_note(f"in the block that begins with series {block.first}")
        raise
    if kept is not None:
        kept.opened = opened
    return opened


def _opened(block: Block, request: Request, conventions: Conventions | None) -> OpenBlock:
    given = SeriesInputs() if block.y is None else block.y
    if not isinstance(given, SeriesInputs):
        raise TypeError(f"y of a block of series must be SeriesInputs, got {type(given).__name__}")
    panel, y, came = _read(block, given, request, conventions)
    fixed_by = known_by = past_by = None
    if conventions is not None:
        known_by, past_by, fixed_by = conventions.known, conventions.past, conventions.fixed
    known, known_rows, no_x = read_inputs(given.X, y, panel, given.names, "X", known_by)
    past, past_rows, no_past = read_inputs(given.past, y, panel, given.names, "past", past_by)
    fixed, fixed_rows = read_static(given.static, y, panel.layout, given.names, fixed_by)
    used = conventions
    if used is None:
        parts = check_calendar(request.calendar, panel.clock)
        used = Conventions(plain_clock(clock_of_most(came)), parts, known, past, fixed)
    if used.calendar:
        known_rows = [np.hstack([rows, calendar_columns(np.asarray(grid.times), used.calendar)])
                      for rows, grid in zip(known_rows, panel.grids, strict=True)]  # fmt: skip
    seasons = seasons_of_panel(panel, request.season)
    effects = effects_of(panel.values, known_rows, seasons)
    explained = [effects.of(i, rows) for i, rows in enumerate(known_rows)]
    notes = PanelNotes.of(panel, no_x, no_past)
    return OpenBlock(
        panel, used, known_rows, past_rows, fixed_rows, seasons, effects, explained, notes, came
    )


def _read(
    block: Block, given: SeriesInputs, request: Request, conventions: Conventions | None
) -> tuple[Panel, Any, ClockSteps]:
    """The panel of a block, what it was read from, and clocks of its rows where others matter."""
    if isinstance(block.X, KeptBlock):
        return block.X.panel, block.X.y, ()
    if block.before is not None:
        raise ValueError("before must be None: a block of a forecaster holds whole series")
    check_roles(block.X, given.X)
    usual = Clock(*conventions.usual) if conventions and conventions.usual else None
    panel = read_panel(
        block.X, given.names, request.frequency, least=2, usual=usual, first=block.first
    )
    if panel.layout.kind != LONG or request.frequency is not None or isinstance(block.X, Panel):
        return panel, block.X, ()
    whens = [grid.row_times for grid in panel.grids]
    return (
        panel,
        block.X,
        clock_steps(Grid(len(when), clock_of(when)) for when in whens if when is not None),
    )


# -- clocks ----------------------------------------------------------------------------------------


def clock_steps(grids: Iterable[Grid]) -> ClockSteps:
    """The clocks of series, and how many steps each has, in the order they first come."""
    return added_steps([(*grid.clock, grid.count) for grid in grids if grid.clock is not None])


def added_steps(every: Sequence[tuple[str, float, bool, int]]) -> ClockSteps:
    """Steps of equal clocks added up."""
    steps: Counter[tuple[str, float, bool]] = Counter()
    for kind, step, at_end, count in every:
        steps[kind, step, at_end] += count
    return tuple((*clock, count) for clock, count in steps.items())


def clock_of_most(steps: ClockSteps) -> Clock | None:
    """The clock of most steps, as `usual_clock` has it."""
    return usual_clock(
        Grid(count, Clock(kind, step, at_end)) for kind, step, at_end, count in steps
    )


def plain_clock(clock: Clock | None) -> tuple[str, float, bool] | None:
    """A clock as a tuple, which files can hold."""
    return None if clock is None else (clock.kind, clock.step, clock.at_end)
