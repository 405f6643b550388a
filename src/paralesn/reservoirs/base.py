"""The reservoir contract: draw once from a seed, then run, stream, last, step, from any state."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from paralesn import checks, series
from paralesn.engines.base import (
    Batch,
    Engine,
    check_pools,
    load_engine,
    n_columns,
    takes_tensors,
)
from paralesn.engines.torch import tensors
from paralesn.layers.state import State, fingerprint, starts
from paralesn.reservoirs.state_stream import StateStream
from paralesn.series import Series


class Plan(NamedTuple):
    """How the drawn layers are run as the parameters stand now."""

    engine: Engine
    program: Any
    real: np.dtype
    state: np.dtype
    widths: tuple[int, ...]
    outputs: int
    takes_tensors: bool


class Reservoir(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """What every reservoir offers. Subclasses say how to draw layers and which engine runs them.

    A subclass has the attributes below and implements `_check_hyperparameters`, `_draw` and
    `_count_parameters`.
    """

    dtype: Any
    engine: str
    device: Any
    n_jobs: int | None
    seed: Any
    concat: bool
    mixing: bool
    layers_: tuple[Any, ...]
    n_parameters_: int
    n_features_in_: int
    fingerprint_: str
    _plans: dict[Any, Any]

    @abstractmethod
    def _check_hyperparameters(self) -> None:
        """Raise for the first hyperparameter that is not what it must be."""

    @abstractmethod
    def _draw(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the layers for inputs with `n_features` features."""

    @abstractmethod
    def _count_parameters(self) -> int:
        """Number of parameters of the recurrence, as the paper counts them."""

    def _check_precision(self, dtype: np.dtype) -> None:
        """Raise where rounding the drawn layers to `dtype` would break the reservoir."""

    # -- drawing ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the reservoir for inputs like X, of which only the number of features matters.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), or list of arrays
        y : ignored
        """
        self._check_hyperparameters()
        self._check_names(X, reset=True)
        n_features = 0
        for t0, block in series.blocks(X, block=1 << 16, numeric=self._numeric()):
            n_features = self._convert(block, None, t0, allow_ended=True).rows.shape[1]
        self._draw_for(n_features)
        return self

    def _draw_for(self, n_features: int) -> None:
        self.layers_ = self._draw(n_features, checks.generator(self.seed))
        self.n_features_in_ = n_features
        self._settle()

    def _settle(self) -> None:
        """Derive what follows from the layers."""
        self.n_parameters_ = self._count_parameters()
        self.fingerprint_ = fingerprint(self.layers_)
        self._plans = {}

    def _ensure_drawn(self, n_features: int) -> None:
        if not hasattr(self, "layers_"):
            self._check_hyperparameters()
            self._draw_for(n_features)

    @property
    def n_features_out_(self) -> int:
        """Columns of the states, as concat and mixing stand now."""
        return n_columns(self.layers_, self.concat, self.mixing)

    @property
    def _n_features_out(self) -> int:
        """The same, by the name scikit-learn's mixin looks for."""
        return self.n_features_out_

    def _check_names(self, X: Any, reset: bool) -> None:
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [checks.dtype_name(self.dtype)]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_plans" in state:
            state["_plans"] = {}  # compiled kernels do not travel
        return state

    # -- running ---------------------------------------------------------------------------------

    def run(self, X: Any, state: State | Sequence[np.ndarray] | None = None) -> tuple[Any, State]:
        """States of every time step, and the state to go on from.

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
        return self._run(self._read(X), state)

    def stream(
        self,
        X: Any,
        block: int = 4096,
        state: State | Sequence[np.ndarray] | None = None,
    ) -> StateStream:
        """Blocks of states, one after the other, in the memory of a block.

        Parameters
        ----------
        X : as in `run`, or an iterator of blocks
            An iterator delivers consecutive pieces of one series, (time, features), or of a batch,
            (batch, time, features), so that the source may be larger than memory.
        block : int
            Most time steps of a block. An iterator's shorter blocks are handed on as they come.
        state : as in `run`

        Returns
        -------
        StateStream
            An iterator of arrays like those of `run`, whose `state` is where it stands.

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> res = pe.ParalESN(units=16)
        >>> [z.shape for z in res.stream(np.zeros(1000), block=400)]
        [(400, 16), (400, 16), (200, 16)]
        """
        block = checks.integer("block", block, 1)
        pieces = (
            self._read(piece, first_step=t0, allow_ended=True)
            for t0, piece in series.blocks(X, block, numeric=self._numeric())
        )
        return StateStream(self._run, pieces, state)

    def last(
        self,
        X: Any,
        state: State | Sequence[np.ndarray] | None = None,
        return_state: bool = False,
    ) -> Any:
        """States of the last time step only, without storing the others.

        Parameters
        ----------
        X, state : as in `run`
        return_state : bool
            Return the state to go on from as well. Without it, the last states of many series
            through a single layer are one matrix product.

        Returns
        -------
        last : array (batch, units), or (units,) for a single series
        state : State, only with `return_state`
        """
        data = self._read(X)
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
        result = out[0] if data.kind == series.SINGLE else out
        return result if after is None else (result, self._state(after, data.kind))

    def pool(
        self,
        X: Any,
        pools: str | Sequence[str] = "mean",
        segments: int = 1,
        state: State | Sequence[np.ndarray] | None = None,
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
        data = self._read(X)
        if data.lengths.min() < segments:
            b = int(data.lengths.argmin())
            raise ValueError(
                f"segments must be at most the number of time steps, got {segments} for "
                f"{data.lengths[b]} steps in series {b}"
            )
        if tensors.is_tensor(data.rows):
            call = (self.plan().program, data, state, self.fingerprint_, names, segments)
            return tensors.pool(*call)
        plan, batch, before = self._one_row_each(data, state)
        out = np.empty((data.lengths.size, segments * len(names) * plan.outputs), plan.real)
        plan.engine.pool(
            plan.program, data.rows, batch, before, out, names, segments, n_jobs=self.n_jobs
        )
        return out[0] if data.kind == series.SINGLE else out

    def step(
        self, x: Any, state: State | Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, State]:
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
        if not hasattr(self, "layers_"):
            self._ensure_drawn(series.features_of_step(x))
        plan = self.plan()
        if plan.takes_tensors and tensors.is_tensor(x):
            return tensors.step(plan.program, x, state, self.fingerprint_, self.n_features_in_)
        rows, kind = series.one_step(x, plan.real, self.n_features_in_)
        z = np.empty((rows.shape[0], plan.outputs), plan.real)
        before = self._start(plan, state, rows.shape[0], kind)
        after = plan.engine.step(plan.program, rows, before, z)
        return z if kind is series.BATCH else z[0], self._state(after, kind)

    def transform(self, X: Any) -> Any:
        """States of every time step from a zero state: `run` without the final state."""
        check_is_fitted(self, "layers_")
        self._check_names(X, reset=False)
        return self.run(X)[0]

    # -- helpers ---------------------------------------------------------------------------------

    @property
    def real_dtype(self) -> np.dtype:
        """Floating-point type of inputs and of mixed states."""
        name = checks.dtype_name(self.dtype)
        return np.dtype(checks.choice("dtype", name, ("float32", "float64")))

    def plan(self) -> Plan:
        """How the layers are run as the parameters stand now: engine, program, dtypes, shapes."""
        key = (self.engine, self.device, self.dtype, self.concat, self.mixing, self.n_jobs)
        plan = self._plans.get(key)
        if plan is None:
            self._check_hyperparameters()
            real = self.real_dtype
            self._check_precision(real)
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

    def _read(self, X: Any, first_step: int = 0, allow_ended: bool = False) -> Series:
        data = self._convert(X, getattr(self, "n_features_in_", None), first_step, allow_ended)
        self._ensure_drawn(data.rows.shape[1])
        return data

    def _convert(self, X: Any, n_features: Any, first_step: int, allow_ended: bool) -> Series:
        if isinstance(X, Series):
            return X.require(self.real_dtype, n_features, type(self).__name__)
        call = (self.real_dtype, n_features, type(self).__name__, "X", first_step, allow_ended)
        if takes_tensors(self.engine) and tensors.are_tensors(X):
            return tensors.read(X, *call, device=self.device)
        return series.read(X, *call)

    def _numeric(self) -> Any:
        return tensors.tensor_or_numeric if takes_tensors(self.engine) else series.numeric

    def _run(self, data: Series, state: State | Sequence[np.ndarray] | None) -> tuple[Any, State]:
        plan = self.plan()
        if tensors.is_tensor(data.rows):
            return tensors.run(plan.program, data, state, self.fingerprint_)
        before = self._start(plan, state, data.lengths.size, data.kind)
        out = plan.engine.empty((data.rows.shape[0], plan.outputs), plan.real)
        batch = Batch.end_to_end(data.lengths)
        after = plan.engine.run(plan.program, data.rows, batch, before, out, n_jobs=self.n_jobs)
        return data.split(out), self._state(after, data.kind)

    def _one_row_each(
        self, data: Series, state: State | Sequence[np.ndarray] | None
    ) -> tuple[Plan, Batch, tuple[np.ndarray, ...]]:
        """What an engine needs to write one row for each series."""
        plan, batch = self.plan(), Batch.one_row_each(data.lengths)
        return plan, batch, self._start(plan, state, batch.size, data.kind)

    def _start(
        self,
        plan: Plan,
        state: State | Sequence[np.ndarray] | None,
        count: int,
        kind: str,
    ) -> tuple[np.ndarray, ...]:
        """The states to start from as one (count, units) array per layer."""
        return starts(
            state, self.fingerprint_, plan.widths, plan.state, count, kind == series.SINGLE
        )

    def close_loop(
        self,
        inputs: np.ndarray,
        state: State,
        weights: np.ndarray,
        intercept: np.ndarray,
        difference: bool,
    ) -> np.ndarray:
        """Feed predictions of a linear readout back: inputs (steps, batch, F), see the engines."""
        plan = self.plan()
        before = self._start(plan, state, inputs.shape[1], series.BATCH)
        call = (plan.program, inputs.astype(plan.real), before, weights, intercept, difference)
        return np.asarray(plan.engine.loop(*call, n_jobs=self.n_jobs))

    def _state(self, after: tuple[np.ndarray, ...], kind: str) -> State:
        if kind is series.SINGLE:
            after = tuple([h[0] for h in after])
        return State(after, self.fingerprint_)
