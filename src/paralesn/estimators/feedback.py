"""Output feedback: the reservoir reads, beside the input, what came out one step before.

In training it reads the targets of the step before (teacher forcing), in prediction its own output.
The state of such a model is that of the reservoir and, as if it were one more layer, the last
output as the reservoir reads it: so that a prediction in pieces is the same to the last bit.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn import scaling
from paralesn.estimators.state_blocks import StateBlocks
from paralesn.estimators.targets import Targets
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Floats
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.scaling import Scaling
from paralesn.series import BATCH, RAGGED, SINGLE, Series
from paralesn.sources import FLOAT, Source
from paralesn.sources import source as opened

RANGES = 3.0  # an output may leave the range of the targets by so many times that range
_ROWS = 8192  # steps that are predicted before the state is brought up to date


@register
@dataclass(frozen=True, eq=False)
class Feedback:
    """What the reservoir has to know of the targets that are fed back to it.

    Attributes
    ----------
    scaling : Scaling or None
        How the reservoir reads them.
    low, high : (D,)
        Their range in training.
    """

    scaling: Scaling | None
    low: Floats
    high: Floats

    @property
    def n_targets(self) -> int:
        """Targets D of a time step."""
        return int(self.low.size)

    def check(self) -> None:
        """Check what a file said."""
        right = self.low.ndim == 1 and self.low.shape == self.high.shape
        if not right or not np.isfinite([self.low, self.high]).all():
            raise ValueError("the range of the targets that are fed back is not one")
        if self.scaling is not None:
            self.scaling.check(self.n_targets)

    def read(self, y: np.ndarray) -> np.ndarray:
        """Targets as the reservoir reads them."""
        return y if self.scaling is None else self.scaling.apply(y)

    def restore(self, fed: np.ndarray) -> np.ndarray:
        """Targets of what the reservoir reads."""
        return fed if self.scaling is None else self.scaling.undo(fed)

    def joint(self, inputs: Scaling | None) -> Scaling | None:
        """Scaling of the targets and inputs that the reservoir reads side by side."""
        if self.scaling is None or inputs is None:
            return None
        mean = np.concatenate([self.scaling.mean, inputs.mean])
        return Scaling(mean, np.concatenate([self.scaling.scale, inputs.scale]))

    def check_bounded(self, values: np.ndarray, first: int) -> None:
        """Raise where outputs (steps, series, D) from step `first` on ran away."""
        reach = RANGES * np.where(self.high > self.low, self.high - self.low, 1.0)
        away = ~((values <= self.high + reach) & (values >= self.low - reach))  # NaN is away, too
        if away.any():
            step, b, d = np.argwhere(away)[0].tolist()
            raise ValueError(
                f"the output feedback ran away: at step {first + step} of series {b}, target {d} "
                f"is at {values[step, b, d]:.6g}, more than {RANGES:g} ranges outside of the "
                f"targets learnt from ({self.low[d]:.6g} to {self.high[d]:.6g}). Train with "
                "feedback_noise, or start where the output is known: from state_ or warm_up"
            )


# -- the state ----------------------------------------------------------------------------------


def origin(reservoir: Reservoir) -> str:
    """What the state of a model with feedback is known by; a reservoir alone refuses it."""
    return f"feedback of {reservoir.fingerprint_}"


def with_output(reservoir: Reservoir, state: State, fed: np.ndarray) -> State:
    """The state of a model: its reservoir's, and what is to be fed back, (D,) or (series, D)."""
    return State((*state.layers, np.array(fed, float)), origin(reservoir))


def without_output(
    reservoir: Reservoir, feedback: Feedback, state: State | None, count: int
) -> tuple[State | None, np.ndarray]:
    """The reservoir's state of `count` series, and what is to be fed back, (count, D)."""
    if state is None:
        return None, np.zeros((count, feedback.n_targets))
    expected = origin(reservoir)
    if state.origin != expected or not state.layers:
        raise ValueError(
            "state must come from this model, whose output is fed back, got the state of another "
            "one: pass state_, or what predict or warm_up returned"
        )
    *layers, fed = (np.asarray(h) for h in state.layers)
    fed = np.array(fed, float).reshape(-1, feedback.n_targets)
    if fed.shape[0] != count:
        raise ValueError(f"state must be of {count} series, got one of {fed.shape[0]}")
    together = tuple(h.reshape(count, -1) for h in layers)
    return State(together, reservoir.fingerprint_), fed


# -- training -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TaughtSource(Source):
    """Series whose steps begin with the targets of the step before.

    `inner` holds the series, and `fed` the targets, (steps, D) of each.
    """

    inner: Source | None = None
    fed: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(cls, inner: Source, fed: tuple[np.ndarray, ...]) -> "TaughtSource":
        """Put targets before the features of series."""
        of_series = {field.name: getattr(inner, field.name) for field in fields(Source)}
        return cls(**of_series, inner=inner, fed=fed)

    @property
    def n_features(self) -> int:
        """Targets and features of a time step."""
        assert self.inner is not None
        return int(self.fed[0].shape[1]) + self.inner.n_features

    def read(
        self, dtype: np.dtype = FLOAT, first: int = 0, last: int | None = None, check: bool = True
    ) -> Series:
        """Time steps from `first` to before `last` of every series; see `Source.read`."""
        assert self.inner is not None
        data = self.inner.read(dtype, first, last, check)
        fed = np.concatenate([values[first:last] for values in self.fed]).astype(dtype)
        return data._replace(rows=np.hstack([fed, data.rows]))

    def group(self, first: int, last: int) -> "TaughtSource":
        """The series from number `first` to before `last`."""
        assert self.inner is not None
        fed = self.fed if self.kind == SINGLE else self.fed[first:last]
        return TaughtSource.of(self.inner.group(first, last), fed)


def teach(source: Source, targets: Targets, starts: np.ndarray) -> TaughtSource:
    """The series with the targets of the step before; before the first one `starts` (…, D)."""
    starts = np.broadcast_to(starts, (len(source), targets.arrays[0].shape[1]))
    pairs = zip(starts, targets.arrays, strict=True)
    return TaughtSource.of(source, tuple(np.vstack([start, y[:-1]]) for start, y in pairs))


def prepare(
    source: Source, targets: Targets, standardize: bool, noise: float, rng: np.random.Generator
) -> tuple[TaughtSource, Feedback]:
    """Series to learn from with forced targets, noisy by `noise` standard deviations of them."""
    measured = scaling.measure(Source(targets.arrays, source.lengths, RAGGED))
    y = targets.arrays
    low, high = (pick([pick(a, axis=0) for a in y], axis=0) for pick in (np.min, np.max))
    feedback = Feedback(measured if standardize else None, low, high)
    taught = teach(source, targets, feedback.restore(np.zeros(low.size)))
    if noise:
        spread = noise * measured.scale
        fed = tuple(values + spread * rng.normal(size=values.shape) for values in taught.fed)
        taught = replace(taught, fed=fed)
    return taught, feedback


def taught_state(
    reservoir: Reservoir, state: State, feedback: Feedback, targets: Targets, kind: str
) -> State:
    """The state of a model after targets that were fed back to it."""
    fed = feedback.read(np.stack([y[-1] for y in targets.arrays]))
    return with_output(reservoir, state, fed[0] if kind == SINGLE else fed)


# -- prediction ---------------------------------------------------------------------------------


class Loop(NamedTuple):
    """A reservoir and a readout whose output is fed back."""

    reservoir: Reservoir
    readout: Any
    feedback: Feedback
    scaling: Scaling | None  # of the inputs

    def predict(self, source: Source, start: State | None) -> tuple[list[np.ndarray], State]:
        """Outputs (time, targets) of each series, and the state of the model at their ends."""
        count = len(source)
        before, fed = without_output(self.reservoir, self.feedback, start, count)
        values: list[Any] = [None] * count
        plan = self.reservoir.plan()
        layers = [np.zeros((count, width), plan.state) for width in plan.widths]
        if before is None:
            before = State(tuple(layers), self.reservoir.fingerprint_)
        for steps in np.unique(source.lengths):
            members = np.flatnonzero(source.lengths == steps)
            state = State(tuple(h[members] for h in before.layers), before.origin)
            made, end, fed[members] = self._run(source, members, int(steps), state, fed[members])
            for b, of_one in zip(members, made, strict=True):
                values[b] = of_one
            for whole, h in zip(layers, end.layers, strict=True):
                whole[members] = h
        if source.kind == SINGLE:
            layers, fed = [h[0] for h in layers], fed[0]
        state = State(tuple(layers), self.reservoir.fingerprint_)
        return values, with_output(self.reservoir, state, fed)

    def taught(self, source: Source, targets: Targets, start: State | None) -> StateBlocks:
        """Blocks of states over series whose targets are fed back, from a state of the model."""
        before, fed = without_output(self.reservoir, self.feedback, start, len(source))
        if before is not None and source.kind == SINGLE:
            before = State(tuple(h[0] for h in before.layers), before.origin)
        series = teach(source, targets, self.feedback.restore(fed))
        return StateBlocks(self.reservoir, self.feedback.joint(self.scaling), series, before)

    def follow(self, source: Source, targets: Targets, start: State | None) -> State:
        """The state of the model after series whose targets are known."""
        blocks = self.taught(source, targets, start)
        for _ in blocks:
            pass
        return taught_state(self.reservoir, blocks.state, self.feedback, targets, source.kind)

    def judged(self, source: Source, targets: Targets, washouts: np.ndarray) -> list[np.ndarray]:
        """Outputs of each series on its own after so many steps of targets, which come first."""
        values = []
        for b, (y, steps) in enumerate(zip(targets.arrays, washouts.tolist(), strict=True)):
            rows, state = source.group(b, b + 1).read().rows, None
            if steps:
                state = self.follow(opened(rows[:steps]), Targets([y[:steps]], False), None)
            (made,), _ = self.predict(opened(rows[steps:]), state)
            values.append(np.vstack([y[:steps], made]))
        return values

    def _run(
        self, source: Source, members: np.ndarray, steps: int, state: State, fed: np.ndarray
    ) -> tuple[np.ndarray, State, np.ndarray]:
        """Outputs (series, steps, D) of series of equal length, and what to continue from."""
        block, width = max(1, _ROWS // members.size), self.feedback.n_targets
        advance = self._in_engine if isinstance(self.readout, Ridge) else self._by_steps
        pieces = []
        for first in range(0, steps, block):
            inputs = self._inputs(source, members, first, min(first + block, steps))
            inputs[0, :, :width] = fed
            made, state = advance(inputs, state, first)
            fed = made[-1]
            pieces.append(self.feedback.restore(made))
        return np.concatenate(pieces).transpose(1, 0, 2), state, fed

    def _inputs(self, source: Source, members: np.ndarray, first: int, last: int) -> np.ndarray:
        """What the reservoir reads, (steps, series, D + F), where the output is yet to come."""
        if source.kind == RAGGED:
            rows = [source.group(b, b + 1).read(first=first, last=last) for b in members.tolist()]
            data = Series(
                np.concatenate([piece.rows for piece in rows]),
                np.full(members.size, last - first), BATCH, first_step=first,
            )  # fmt: skip
        else:
            data = source.read(first=first, last=last)
        if self.scaling is not None:
            data = self.scaling.apply_to(data)
        width, count = self.feedback.n_targets, members.size
        inputs = np.zeros((last - first, count, width + data.rows.shape[1]))
        inputs[:, :, width:] = data.rows.reshape(count, last - first, -1).transpose(1, 0, 2)
        return inputs

    def _in_engine(self, inputs: np.ndarray, state: State, first: int) -> tuple[np.ndarray, State]:
        """A linear readout: the engine closes the loop, then runs over what came out."""
        reservoir, width, scaled = self.reservoir, self.feedback.n_targets, self.feedback.scaling
        weights = np.asarray(self.readout.coef_).reshape(width, -1)
        intercept = np.asarray(self.readout.intercept_).reshape(width)
        if scaled is not None:  # the loop is in the reservoir's units
            weights = weights / scaled.scale[:, None]
            intercept = (intercept - scaled.mean) / scaled.scale
        weights = np.ascontiguousarray(weights)
        made = reservoir.close_loop(inputs, state, weights, intercept, False)
        self.feedback.check_bounded(self.feedback.restore(made), first)
        inputs[1:, :, :width] = made[:-1]
        rows = inputs.transpose(1, 0, 2).reshape(-1, inputs.shape[2])
        data = Series(rows, np.full(inputs.shape[1], len(inputs)), BATCH)
        data = data.astype(reservoir.real_dtype)
        return made, reservoir.last(data, state, return_state=True)[1]

    def _by_steps(self, inputs: np.ndarray, state: State, first: int) -> tuple[np.ndarray, State]:
        """Any readout: one step after the other."""
        made = np.empty((*inputs.shape[:2], self.feedback.n_targets))
        for t, row in enumerate(inputs):
            if t:
                row[:, : made.shape[2]] = made[t - 1]
            z, state = self.reservoir.step(row, state)
            made[t] = self._read_out(z, first + t)
        return made, state

    def _read_out(self, z: np.ndarray, step: int) -> np.ndarray:
        """The output (series, D) of states (series, units), as the reservoir reads it."""
        value = np.asarray(self.readout.predict(z)).reshape(len(z), -1)
        self.feedback.check_bounded(value[None], step)
        return self.feedback.read(value)

    def read_row(self, row: np.ndarray, start: State | None) -> tuple[np.ndarray, State]:
        """One scaled row (F,) of live data: the output (1, D), and the state of the model then."""
        state, fed = without_output(self.reservoir, self.feedback, start, 1)
        z, after = self.reservoir.step(np.concatenate([fed[0], row])[None], state)
        made = self._read_out(z, 0)
        state = State(tuple(h[0] for h in after.layers), after.origin)
        return self.feedback.restore(made), with_output(self.reservoir, state, made[0])
