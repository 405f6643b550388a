"""The reservoir contract: draw once from a seed, then run from any state, in any portions."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, series
from paralesn.engines.base import Batch, Engine, States, check_pools, load_engine, takes_tensors
from paralesn.engines.overflow import Overflow
from paralesn.engines.stepping import prepare_steps
from paralesn.engines.torch import tensors
from paralesn.layers.state import State, ended, starts
from paralesn.reservoirs.drawable import Drawable
from paralesn.reservoirs.state_stream import StateStream
from paralesn.reservoirs.stepper import Stepper, series_of
from paralesn.runtime.memory import require_room
from paralesn.series import Series
from paralesn.typing import ArrayLike, ListOfSeries, Tensor

_MANY = 1 << 27  # numbers of an output from which on memory is looked at
Start = State | Sequence[np.ndarray] | None


class Plan(NamedTuple):
    """How the layers are run, for the present values of the parameters."""

    engine: Engine
    program: Any  # the layers, prepared by the engine
    real: np.dtype  # of inputs and outputs
    state: np.dtype
    widths: tuple[int, ...]  # units of each layer
    outputs: int  # columns of the states
    takes_tensors: bool


class Reservoir(Drawable):
    """What every reservoir offers: its layers are run by an engine.

    `paralesn.reservoirs.drawable.Drawable` says what a subclass has to implement.
    """

    @overload
    def run(self, X: Tensor, state: Start = None) -> tuple[Tensor, State]: ...
    @overload
    def run(self, X: ListOfSeries, state: Start = None) -> tuple[list[np.ndarray], State]: ...
    @overload
    def run(self, X: ArrayLike, state: Start = None) -> tuple[np.ndarray, State]: ...
    @overload
    def run(self, X: Any, state: Start = None) -> tuple[Any, State]: ...
    def run(self, X: Any, state: Start = None) -> tuple[Any, State]:
        """States of every time step, and the state to continue from.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), list of arrays, or Series
            A reservoir that was never fitted is drawn for the number of features of X.
        state : State or sequence of arrays, optional
            Where to start: what an earlier call returned, or one array per layer, each (units,)
            or (batch, units). Default: zero.

        Returns
        -------
        states : array (…, time, units), or list of arrays for a list
        state : State

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> x = np.sin(np.arange(100) / 5)
        >>> res = pe.ParalESN(units=16)
        >>> states, _ = res.run(x)
        >>> first, state = res.run(x[:60])
        >>> rest, _ = res.run(x[60:], state)
        >>> bool((states == np.vstack([first, rest])).all())
        True
        """
        return self._run(self.read(X), state)

    def stream(
        self,
        X: Any,
        block: int = 4096,
        state: Start = None,
    ) -> StateStream:
        """Blocks of states, one after the other, in memory for a single block.

        Parameters
        ----------
        X : as in `run`, or an iterator of blocks
            An iterator delivers consecutive pieces of one series, (time, features), or of a batch,
            (batch, time, features), so that the source may be larger than memory.
        block : int
            Most time steps of a block. Shorter blocks of an iterator are passed on as they are.
        state : as in `run`

        Returns
        -------
        StateStream
            An iterator of arrays like those of `run`; its `state` is the one after the latest
            block.

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> res = pe.ParalESN(units=16)
        >>> [z.shape for z in res.stream(np.zeros(1000), block=400)]
        [(400, 16), (400, 16), (200, 16)]
        """
        block = checks.integer("block", block, 1)
        pieces = (
            self.read(piece, first_step=t0, allow_ended=True)
            for t0, piece in series.blocks(X, block, numeric=self._numeric())
        )
        return StateStream(self._run, pieces, state)

    @overload
    def last(
        self, X: Tensor, state: Start = None, return_state: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def last(
        self, X: Any, state: Start = None, return_state: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def last(
        self, X: Tensor, state: Start = None, *, return_state: Literal[True]
    ) -> tuple[Tensor, State]: ...
    @overload
    def last(
        self, X: Any, state: Start = None, *, return_state: Literal[True]
    ) -> tuple[np.ndarray, State]: ...
    def last(
        self,
        X: Any,
        state: Start = None,
        return_state: bool = False,
    ) -> Any:
        """States of the last time step only, without storing the others.

        Parameters
        ----------
        X, state : as in `run`
        return_state : bool
            Return the state to continue from as well. Without it, the last states of many series
            through a single layer are one matrix product.

        Returns
        -------
        last : array (batch, units), or (units,) for a single series
        state : State, only with `return_state`
        """
        data = self.read(X)
        try:
            if tensors.is_tensor(data.rows):
                states, end = tensors.last(self.plan().program, data, state, self.fingerprint_)
                return (states, end) if return_state else states
            plan, batch, before = self._one_row_each(data, state)
            out = plan.engine.empty((data.lengths.size, plan.outputs), plan.real)
            arguments, after = (plan.program, data.rows, batch, before, out), None
            if return_state:
                after = plan.engine.run(*arguments, last_only=True, n_jobs=self.n_jobs)
            else:
                plan.engine.last(*arguments, n_jobs=self.n_jobs)
        except Overflow as error:
            raise _placed(error, data) from None
        result = out[0] if data.kind == series.SINGLE else out
        return result if after is None else (result, self._state(after, data.kind))

    def pool(
        self,
        X: Any,
        pools: str | Sequence[str] = "mean",
        segments: int = 1,
        state: Start = None,
    ) -> np.ndarray:
        """States pooled over time, without storing them: a row of features for each series.

        Parameters
        ----------
        X, state : as in `run`
        pools : name or sequence of names
            "last", "mean", "std" (ddof 0), "max", "min", "ppv" (share of positive states).
        segments : int
            Pool over this many equal parts of each series: part s of T steps goes from step
            ``T * s // segments`` to before ``T * (s + 1) // segments``.

        Returns
        -------
        features : array (batch, segments * pools * units), or without batch for a single series
            Segment by segment, in each of them pool by pool.

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> X = np.random.default_rng(0).normal(size=(10, 200, 3))
        >>> pe.ParalESN(units=16).pool(X, ("mean", "std"), segments=4).shape
        (10, 128)
        """
        names, segments = check_pools(pools), checks.integer("segments", segments, 1)
        if names == ("last",) and segments == 1:
            return self.last(X, state)
        data = self.read(X)
        if data.lengths.min() < segments:
            b = int(data.lengths.argmin())
            raise ValueError(
                f"segments must be at most the number of time steps, got {segments} for "
                f"{data.lengths[b]} steps in series {b}"
            )
        try:
            if tensors.is_tensor(data.rows):
                call = (self.plan().program, data, state, self.fingerprint_, names, segments)
                return tensors.pool(*call)
            plan, batch, before = self._one_row_each(data, state)
            out = np.empty((data.lengths.size, segments * len(names) * plan.outputs), plan.real)
            plan.engine.pool(
                plan.program, data.rows, batch, before, out, names, segments, n_jobs=self.n_jobs
            )
        except Overflow as error:
            raise _placed(error, data) from None
        return out[0] if data.kind == series.SINGLE else out

    def step(self, x: Any, state: Start = None) -> tuple[np.ndarray, State]:
        """One time step, for live data.

        Parameters
        ----------
        x : number, array (features,), or (batch, features)
        state : as in `run`

        Returns
        -------
        z : array (units,) or (batch, units)
        state : State

        Examples
        --------
        >>> import paralesn as pe
        >>> res, state = pe.ParalESN(units=16), None
        >>> for x in (0.1, 0.2, 0.3):
        ...     z, state = res.step(x, state)
        >>> z.shape
        (16,)
        """
        if not hasattr(self, "_plans"):
            self._ensure_drawn(series.features_of_step(x))
        plan = self.plan()
        if plan.takes_tensors and tensors.is_tensor(x):
            call = (plan.program, x, state, self.fingerprint_, self.n_features_in_)
            try:
                return tensors.step(*call)
            except Overflow as error:
                raise error.live(x.ndim < 2) from None
        rows, kind = series.one_step(x, plan.real, self.n_features_in_)
        z = np.empty((rows.shape[0], plan.outputs), plan.real)
        before = self._start(plan, state, rows.shape[0], kind)
        try:
            after = plan.engine.step(plan.program, rows, before, z)
        except Overflow as error:
            raise error.live(kind is series.SINGLE) from None
        return z if kind is series.BATCH else z[0], self._state(after, kind)

    def stepper(
        self, state: Start = None, *, batch: int | None = None, n_features: int | None = None,
        copy: bool = True,
    ) -> Stepper:  # fmt: skip
        """A function that takes one time step a call: `step` with everything prepared.

        Parameters
        ----------
        state : as in `run`
            Where to start; of several series where its arrays are (batch, units).
        batch : int, optional
            Number of series that advance together. Default: as many as `state` is of, or a single
            one.
        n_features : int, optional
            Features of the input, where the reservoir was not drawn yet. Default: 1.
        copy : bool
            Return states that stay as they are. Without it, every call returns the same array,
            which the next call overwrites.

        Returns
        -------
        Stepper
            Called with the inputs of a step it returns states, those of `run` bit for bit; its
            attribute `state` is the state to continue from. It takes parameters as they are now.

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> x = np.sin(np.arange(100) / 5)
        >>> res = pe.ParalESN(units=16)
        >>> step = res.stepper()
        >>> states = np.array([step(value) for value in x])
        >>> bool((states == res.run(x)[0]).all())
        True
        >>> step.state.layers[0].shape
        (16,)
        """
        wanted = 1 if n_features is None else checks.integer("n_features", n_features, 1)
        self._ensure_drawn(wanted)
        if n_features not in (None, self.n_features_in_):
            raise checks.fail("n_features", n_features, f"{self.n_features_in_}, as it was drawn")
        plan, count = self.plan(), series_of(state, batch)
        kind = series.SINGLE if count is None else series.BATCH
        before = self._start(plan, state, count or 1, kind)
        own = tuple([h.copy() for h in before])  # the stepper works in them
        shape = (self.n_features_in_, plan.outputs, plan.real)
        steps = prepare_steps(plan.engine, plan.program, *shape, own)
        check = self._step_check()
        return Stepper(steps, self.fingerprint_, kind, checks.flag("copy", copy), check)

    def _step_check(self) -> Callable[[Any], None] | None:
        """What looks at the inputs of a step before they are read as numbers, if anything does."""
        return None

    @overload
    def transform(self, X: Tensor) -> Tensor: ...
    @overload
    def transform(self, X: ListOfSeries) -> list[np.ndarray]: ...
    @overload
    def transform(self, X: ArrayLike) -> np.ndarray: ...
    @overload
    def transform(self, X: Any) -> Any: ...
    def transform(self, X: Any) -> Any:
        """States of every time step from a zero state: `run` without the final state."""
        check_is_fitted(self, "layers_")
        self.check_names(X, reset=False)
        return self.run(X)[0]

    def close_loop(
        self,
        inputs: np.ndarray,
        state: State,
        weights: np.ndarray,
        intercept: np.ndarray,
        difference: bool,
    ) -> np.ndarray:
        """Feed the predictions of a linear readout back as the next step's input.

        Parameters
        ----------
        inputs : (steps, batch, features)
            The first D features are fed back, and given for the first step; the others are known.
        state : State
            Of `batch` series.
        weights : (D, units); intercept : (D,)
        difference : bool
            Whether the readout predicts what is to be added to the fed-back features.

        Returns
        -------
        predictions : array (steps, batch, D)
        """
        plan = self.plan()
        before = self._start(plan, state, inputs.shape[1], series.BATCH)
        call = (plan.program, inputs.astype(plan.real), before, weights, intercept, difference)
        return np.asarray(plan.engine.loop(*call, n_jobs=self.n_jobs))

    def close_loops(
        self,
        inputs: np.ndarray,
        state: State,
        weights: np.ndarray,
        intercept: np.ndarray,
        which: np.ndarray,
        difference: bool,
    ) -> tuple[np.ndarray, State]:
        """`close_loop` with several readouts at once; the states to continue from, too.

        Nobody looks at these: who continues a loop that has diverged is refused.

        `weights` are (R, D, units), `intercept` (R, D), and `which` (batch,) of them a series has.
        """
        plan = self.plan()
        before = self._start(plan, state, inputs.shape[1], series.BATCH)
        call = (plan.program, inputs.astype(plan.real), before, weights, intercept, difference)
        after = tuple([np.empty_like(h) for h in before])
        predicted = plan.engine.loop(*call, n_jobs=self.n_jobs, which=which, after=after)
        return np.asarray(predicted), ended(after, self.fingerprint_)

    def states_after(self, X: Any, stops: Sequence[int], state: Start = None) -> list[State]:
        """The states after some numbers of steps, which increase; no others are stored.

        X is as in `run`, of equally many steps for every series.
        """
        data, plan = self.read(X), self.plan()
        starts, targets, _ = Batch.one_row_each(data.lengths)
        before = self._start(plan, state, starts.size, data.kind)
        out = plan.engine.empty((starts.size, plan.outputs), plan.real)
        ends, first = [], 0
        for stop in stops:
            batch = Batch(starts + first, targets, np.full(starts.size, stop - first))
            call = (plan.program, data.rows, batch, before, out)
            try:
                before = plan.engine.run(*call, last_only=True, n_jobs=self.n_jobs)
            except Overflow as error:
                raise _placed(error, data, first) from None
            ends.append(self._state(before, data.kind))
            first = stop
        return ends

    # -- how it is run ---------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Engine, program, dtypes and shapes, for the present values of the parameters."""
        key = (self.engine, self.device, self.dtype, self.concat, self.mixing, self.n_jobs)
        plan: Plan | None = self._plans.get(key)
        if plan is None:
            self.check_hyperparameters()
            real = self.real_dtype
            self.check_precision(real)
            engine = load_engine(self.engine)
            wanted = (self.layers_, self.concat, self.mixing, real, self.device)
            plan = self._plans[key] = Plan(
                engine=engine,
                program=engine.prepare(*wanted),
                real=real,
                state=np.result_type(real, 1j if self.layers_[0].is_complex else 1.0),
                widths=tuple(layer.units for layer in self.layers_),
                outputs=self.n_features_out_,
                takes_tensors=takes_tensors(self.engine),
            )
        return plan

    def _run(self, data: Series, state: Start) -> tuple[Any, State]:
        plan = self.plan()
        try:
            if tensors.is_tensor(data.rows):
                return tensors.run(plan.program, data, state, self.fingerprint_)
            batch = Batch.end_to_end(data.lengths)
            before = self._start(plan, state, batch.size, data.kind)
            shape = data.rows.shape[0], plan.outputs
            if shape[0] * shape[1] > _MANY:
                what = f"{shape[0]} time steps for {shape[1]} states each"
                require_room("X", what, shape[0] * shape[1] * plan.real.itemsize)
            out = plan.engine.empty(shape, plan.real)
            after = plan.engine.run(plan.program, data.rows, batch, before, out, n_jobs=self.n_jobs)
        except Overflow as error:
            raise _placed(error, data) from None
        return data.split(out), self._state(after, data.kind)

    def _one_row_each(self, data: Series, state: Start) -> tuple[Plan, Batch, States]:
        """What an engine needs to write one row for each series."""
        plan, batch = self.plan(), Batch.one_row_each(data.lengths)
        return plan, batch, self._start(plan, state, batch.size, data.kind)

    def _start(self, plan: Plan, state: Start, count: int, kind: str) -> States:
        """The states to start from as one (count, units) array per layer."""
        is_single = kind == series.SINGLE
        return starts(state, self.fingerprint_, plan.widths, plan.state, count, is_single)

    def _state(self, after: States, kind: str) -> State:
        if kind is series.SINGLE:
            after = tuple([h[0] for h in after])
        return ended(after, self.fingerprint_)


def _placed(error: Overflow, data: Series, first: int = 0) -> Overflow:
    """The error with series and step as the data count them; patches of a series are that one."""
    series_ = data.first_series + (error.series or 0) % data.lengths.size
    step = data.first_step + first + (error.step or 0)
    return error.placed(None if data.kind == series.SINGLE else series_, step)
