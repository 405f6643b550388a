"""Passes that fit a regressor over time: inputs are measured, then states are learnt from.

Blocks hold whole series, or consecutive pieces of a single long one; of the latter each begins in
a state that is known, or reads enough time steps before it to forget the one that is not.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from paralesn import checks, missing, scaling, series, sources
from paralesn.estimators import feedback as output_feedback
from paralesn.estimators.components import own_readout, own_reservoir
from paralesn.estimators.defaults import regressing_readout, regressing_reservoir
from paralesn.estimators.feedback import Feedback
from paralesn.estimators.lessons import lessons_of, omits_nan
from paralesn.estimators.passes import Block, Held, Pass, check_partial
from paralesn.estimators.state_blocks import StateBlocks
from paralesn.estimators.targets import Targets, targets_for
from paralesn.layers.state import State
from paralesn.missing import MissingValues
from paralesn.moments import ColumnMoments
from paralesn.persistence import register
from paralesn.persistence.fields import Count, OpenFloats
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.scaling import Scaling
from paralesn.series import SINGLE, Series
from paralesn.sources import Source

_WASHOUT, _SHARE = 100, 10  # of each series a tenth is left out, at most a hundred steps
_STEPS = 1 << 16  # read at a time where only the last state matters
_WORTH_MERGING = 32  # rows for each column that a merge of readouts takes a fiftieth of


def washouts(washout: int | None, lengths: np.ndarray) -> np.ndarray:
    """Time steps at the start of series of these lengths that are neither learnt nor scored."""
    if washout is None:
        return np.minimum(_WASHOUT, lengths // _SHARE)
    return np.full(len(lengths), checks.integer("washout", washout, 0))


def check_washouts(washout: int | None, lengths: np.ndarray, first: int = 0) -> np.ndarray:
    """The washout of each series, which must be longer; the first has number `first`."""
    skipped = washouts(washout, lengths)
    if (lengths <= skipped).any():
        b = int((lengths <= skipped).argmax())
        raise ValueError(
            f"every series must be longer than the washout ({skipped[b]} steps), got "
            f"{lengths[b]} in series {first + b}; washout=None leaves out a tenth of each"
        )
    return skipped


# -- inputs ----------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class InputMoments(Held):
    """Moments of the inputs, and how many time steps there were."""

    moments: ColumnMoments
    steps: Count

    def merged(self, other: Self) -> Self:
        """Those of the inputs of both."""
        if self.moments.mean.shape != other.moments.mean.shape:
            raise ValueError(
                f"X must have {self.moments.mean.size} features in every block, got "
                f"{other.moments.mean.size}"
            )
        return replace(
            self,
            moments=self.moments.merged(other.moments),
            steps=self.steps + other.steps,
        )


@dataclass(frozen=True, eq=False)
class InputSurvey(Pass):
    """Measure the inputs.

    `options` are those of the pass that follows; see `StatePass`.
    """

    model: Any
    options: dict[str, Any]

    def digest(self, block: Block, into: Any = None) -> InputMoments:
        """Moments of the inputs of a block."""
        how, owner = self.model.missing, type(self.model).__name__
        source = raw_source(block.X, how, owner)
        if how == missing.INTERPOLATE:
            source = missing.filled(source, MissingValues.of(how))
        moments = sources.moments_of(source, check=how != missing.MASK)
        if how == missing.MASK:
            missing.check_infinite(source, moments)
        partial = InputMoments(moments, int(source.lengths.sum()))
        return partial if into is None else into.merged(partial)

    def finish(self, partial: InputMoments) -> "StatePass":
        """The pass that learns from states."""
        check_partial(partial, InputMoments)
        holes, moments = None, partial.moments
        if self.model.missing == missing.MASK:
            mean, flagged = missing.known_means(moments)
            holes = MissingValues.of(missing.MASK, mean, flagged)
            moments = missing.filled_moments(moments, flagged)
        elif self.model.missing != missing.ERROR:
            holes = MissingValues.of(self.model.missing)
        options = dict(self.options)
        if options.get("is_one"):
            options["steps"] = partial.steps
        scales = scaling.scaling_of(moments) if self.model.standardize else None
        return StatePass.of(self.model, moments.mean.size, scales, holes, **options)


def raw_source(X: Any, how: str, owner: str) -> Source:
    """Series as they came, with missing values where these will be filled."""
    if how == missing.ERROR:
        return sources.source(X, None, owner, hint=missing.HINT)
    return sources.source(X, None, owner, allow_nan=True)


# -- states ----------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class StatePartial(Held):
    """What was learnt from the states of some blocks.

    Attributes
    ----------
    readout : Ridge or None
    rows : tuple of pairs of arrays
        States and targets, where the readout cannot learn from blocks.
    ends : tuple of State
        States of the reservoir at the ends of series, where they are kept.
    last : array (features,) or None
        The last inputs of a single series, where missing ones are filled in.
    is_flat : bool
        Targets came without an axis of their own.
    after : int
        The number of the series or time step that would follow.
    """

    readout: Any
    rows: tuple[Any, ...]
    ends: tuple[State, ...]
    last: OpenFloats | None
    is_flat: bool
    after: Count

    def merged(self, other: Self) -> Self:
        """What was learnt from both; `other` comes later."""
        if self.is_flat != other.is_flat:
            raise ValueError("y must have the same number of dimensions in every block")
        readout = other.readout if self.readout is None else self.readout
        if self.readout is not None and other.readout is not None:
            readout = self.readout.merge(other.readout)
        return replace(
            self,
            readout=readout,
            rows=self.rows + other.rows,
            ends=self.ends + other.ends,
            last=other.last,
            after=max(self.after, other.after),
        )


@dataclass(frozen=True, eq=False)
class StatePass(Pass):
    """Run the reservoir, and learn from its states.

    Attributes
    ----------
    model : ReservoirRegressor
    reservoir : Reservoir
        Drawn.
    readout : regressor
        Not fitted.
    inputs : Scaling or None
        Of the inputs, as they are kept.
    missing : MissingValues or None
    steps : int or None
        Length of the single series that blocks are pieces of; None where they hold whole series.
    keeps_states : bool
        Whether states at the ends of all series are kept, to continue from.
    names : array or None
        Of the features.
    feedback : Feedback or None
    """

    model: Any
    reservoir: Reservoir
    readout: Any
    inputs: Scaling | None
    missing: MissingValues | None
    steps: int | None = None
    keeps_states: bool = True
    names: np.ndarray | None = None
    feedback: Feedback | None = None
    counts_steps: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        model: Any,
        n_features: int,
        inputs: Scaling | None,
        holes: MissingValues | None,
        *,
        is_one: bool = False,
        steps: int | None = None,
        keeps_states: bool = True,
        names: np.ndarray | None = None,
    ) -> Self:
        """The pass with the model's reservoir drawn for so many inputs of a time step."""
        reservoir = own_reservoir(model.reservoir, regressing_reservoir, model.standardize)
        readout = own_readout(model.readout, regressing_readout, "regression")
        if isinstance(readout, Ridge):
            readout.check_parameters()
        if not reservoir.adapts:
            reservoir.fit(one_step_of_zeros(n_features))
        if is_one and steps is not None:
            check_washouts(model.washout, np.array([steps]))
        return cls(
            model, reservoir, readout, inputs, holes, steps if is_one else None, keeps_states, names
        )

    @property
    def scaling(self) -> Scaling | None:
        """Of everything that the reservoir reads."""
        return self.inputs if self.feedback is None else self.feedback.joint(self.inputs)

    @property
    def rows_per_merge(self) -> int:
        """Rows that take fifty times as long to learn from as two readouts to merge."""
        return _WORTH_MERGING * self.reservoir.n_features_out_

    def fed_back(self, source: Source, targets: Targets) -> tuple[Self, Source]:
        """The pass and its series with targets fed back, as the model's parameters say."""
        model, rng = self.model, checks.generator(self.model.seed)
        call = (bool(model.standardize), float(model.feedback_noise), rng)
        taught, feedback = output_feedback.prepare(source, targets, *call)
        drawn = clone(self.reservoir)
        changed = replace(self, reservoir=drawn, feedback=feedback)
        if not drawn.adapts:
            drawn.fit(one_step_of_zeros(taught.n_features))
        return changed, taught

    def shown(self, source: Source) -> Self:
        """The pass with a reservoir that adapted itself to series."""
        if not self.reservoir.adapts:
            return self
        adapted = clone(self.reservoir).fit_to(source, self.scaling)
        return replace(self, reservoir=adapted)

    def open(self, block: Block) -> tuple[Source, Targets]:
        """Series and targets of a block, checked and without missing inputs."""
        owner, holes = type(self.model).__name__, self.missing
        source = raw_source(block.X, self.model.missing, owner)
        source = source if holes is None else missing.filled(source, holes)
        omits = omits_nan(self.readout) and not self.model.feedback
        return source, targets_for(block.y, source, allow_nan=omits)

    def digest(self, block: Block, into: Any = None) -> StatePartial:
        """What the readout learns from a block."""
        source, targets = self.open(block)
        return self.learnt(source, targets, block.first, self.start(block, into), into)

    def learnt(
        self,
        source: Source,
        targets: Targets,
        first: int,
        start: State | None,
        into: StatePartial | None,
    ) -> StatePartial:
        """What the readout learns from series that were opened, from a state."""
        washout = self.washouts(source.lengths, first)
        blocks = StateBlocks(self.reservoir, self.scaling, source, start)
        rows: tuple[Any, ...] = ()
        learner = self.readout
        if isinstance(learner, Ridge):
            learner = copy(learner) if into is None or into.readout is None else copy(into.readout)
            for states, wanted in lessons_of(blocks, targets, washout):
                learner.partial_fit(states, wanted)
            learner = learner if hasattr(learner, "fitted_") else None  # nothing but washout
        else:
            rows, learner = tuple(lessons_of(blocks, targets, washout)), None
        last = None
        if self.missing is not None and source.kind == SINGLE:
            end = source.read(first=int(source.lengths[0]) - 1).rows[0]
            last = end[: end.size - self.missing.flagged.size]
        is_end = self.steps is not None or self.keeps_states
        after = first + (len(source) if self.steps is None else int(source.lengths[0]))
        ends: tuple[State, ...] = (self.end_of(blocks, targets),) if is_end else ()
        new = StatePartial(learner, rows, ends, last, targets.flat, after)
        if into is None:
            return new
        ends = new.ends if self.steps is not None else into.ends + new.ends
        return replace(new, rows=into.rows + rows, ends=ends)

    def washouts(self, lengths: np.ndarray, first: int) -> np.ndarray:
        """Time steps at the start of a block's series that are not learnt from."""
        if self.steps is None:
            return check_washouts(self.model.washout, lengths, first)
        left = washouts(self.model.washout, np.array([self.steps])) - first
        return np.clip(left, 0, lengths)

    def start(self, block: Block, into: StatePartial | None) -> State | None:
        """The state that a block begins in: a piece of a series in what precedes it."""
        before = block.before
        if self.steps is None:
            if before is not None:
                raise checks.fail("before", before, "None for blocks of whole series")
            return None
        if into is not None and into.after == block.first:
            return into.ends[-1]
        if before is None or isinstance(before, State):
            return before
        owner = type(self.model).__name__
        halo = raw_source(before, self.model.missing, owner)
        halo = halo if self.missing is None else missing.filled(halo, self.missing)
        return self.end_after(halo, None)

    def end_after(self, source: Source, before: State | None) -> State:
        """The state of the reservoir after a single series that begins in `before`."""
        state = before
        dtype = self.reservoir.real_dtype if self.scaling is None else sources.FLOAT
        for piece in source.blocks(_STEPS, dtype):
            read = piece if self.scaling is None else self.scaling.apply_to(piece)
            _, state = self.reservoir.last(read, state, return_state=True)
        assert state is not None
        return state

    def warm_up(self) -> None:
        """Compile what digesting takes, on a few steps of zeros."""
        width = self.reservoir.n_features_in_
        self.reservoir.run(one_step_of_zeros(width))
        self.reservoir.last(one_step_of_zeros(width), return_state=True)

    def end_of(self, blocks: StateBlocks, targets: Targets) -> State:
        """State of the model after blocks whose targets are known."""
        if self.feedback is None:
            return blocks.state
        known = (self.feedback, targets, blocks.source.kind)
        return output_feedback.taught_state(self.reservoir, blocks.state, *known)

    def finish(self, partial: StatePartial) -> Any:
        """The fitted regressor."""
        from paralesn.estimators.regressor import FittedRegressor

        check_partial(partial, StatePartial)
        if partial.readout is not None:
            readout = copy(partial.readout)
            readout.solve()  # with alpha chosen by all rows; and predicting changes nothing
        else:
            wanted = np.concatenate([pair[1] for pair in partial.rows])
            states = np.concatenate([pair[0] for pair in partial.rows])
            readout = clone(self.readout)
            readout.fit(states, wanted[:, 0] if partial.is_flat else wanted)
        holes = self.missing
        if holes is not None and partial.last is not None:
            holes = replace(holes, last=partial.last)
        state = FittedRegressor(
            self.reservoir, readout, self._state(partial.ends), self.inputs, self.names,
            partial.is_flat, holes, self.feedback,
        )  # fmt: skip
        return self.fitted(state)

    def _state(self, ends: tuple[State, ...]) -> State | None:
        """State at the ends of all series."""
        if not ends:
            return None
        if self.steps is not None or len(ends) == 1:
            return ends[-1]
        layers = zip(*(end.layers for end in ends), strict=True)
        return State(tuple(np.concatenate(h) for h in layers), ends[0].origin)


def one_step_of_zeros(n_features: int) -> Series:
    """What a reservoir is drawn for, of which only the number of features matters."""
    return Series(np.zeros((1, n_features)), np.array([1]), series.SINGLE)


def begin(model: Any, n_features: int | None, **options: Any) -> InputSurvey | StatePass:
    """The first pass of a regressor; `options` as those of `StatePass.of`."""
    standardize = checks.flag("standardize", model.standardize)
    checks.flag("feedback", model.feedback)
    checks.number("feedback_noise", model.feedback_noise, 0.0)
    checks.choice("missing", model.missing, missing.CHOICES)
    # What they are made of is checked before any data are read.
    own_reservoir(model.reservoir, regressing_reservoir, standardize)
    own_readout(model.readout, regressing_readout, "regression")
    is_measured = standardize or model.missing == missing.MASK
    if n_features is None or is_measured or (options.get("is_one") and not options.get("steps")):
        return InputSurvey(model, options)
    holes = None if model.missing == missing.ERROR else MissingValues.of(model.missing)
    return StatePass.of(model, n_features, None, holes, **options)
