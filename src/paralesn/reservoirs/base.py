"""The reservoir contract: draw once from a seed, then run, stream, last, step, from any state."""

import hashlib
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from types import ModuleType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from paralesn.reservoirs import checks, series
from paralesn.reservoirs.series import Series
from paralesn.reservoirs.state import State
from paralesn.reservoirs.stream import StateStream

ENGINES = {"auto": "cpu", "cpu": "cpu", "reference": "reference"}
_STEP_ALONE = 1 << 16  # units up to which one step is not worth a second thread


class Reservoir(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """What every reservoir offers. Subclasses say how to draw layers and which engine runs them.

    A subclass has the attributes `dtype`, `engine`, `device`, `n_jobs`, `seed`, `concat` and
    `mixing`, and implements `_check_hyperparameters`, `_draw` and `_count_parameters`.
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
    _n_features_out: int
    _origin: str
    _programs: dict[Any, Any]

    @abstractmethod
    def _check_hyperparameters(self) -> None:
        """Raise for the first hyperparameter that is not what it must be."""

    @abstractmethod
    def _draw(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the layers for inputs with `n_features` features."""

    @abstractmethod
    def _count_parameters(self) -> int:
        """Number of parameters of the recurrence, as the paper counts them."""

    def _check_precision(self, dtype: np.dtype) -> None:  # noqa: B027
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
        dtype = self._real_dtype()
        for t0, block in series.blocks(X, block=1 << 16):
            data = series.read(block, dtype, name="X", first_step=t0, allow_ended=True)
            n_features = data.rows.shape[1]
        self._draw_for(n_features)
        return self

    def _draw_for(self, n_features: int) -> None:
        self.layers_ = self._draw(n_features, checks.generator(self.seed))
        self.n_features_in_ = n_features
        self.n_parameters_ = self._count_parameters()
        self._n_features_out = self._output_width()
        self._origin = _fingerprint(self.layers_)
        self._programs = {}

    def _ensure_drawn(self, n_features: int) -> None:
        if not hasattr(self, "layers_"):
            self._check_hyperparameters()
            self._draw_for(n_features)

    def _output_width(self) -> int:
        widths = [layer.eigenvalues.size for layer in self.layers_]
        parts = 2 if self._is_complex() and not self.mixing else 1
        return parts * (sum(widths) if self.concat else widths[-1])

    def _is_complex(self) -> bool:
        return np.iscomplexobj(self.layers_[0].eigenvalues)

    def _check_names(self, X: Any, reset: bool) -> None:
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_programs" in state:
            state["_programs"] = {}  # compiled kernels do not travel
        return state

    # -- running ---------------------------------------------------------------------------------

    def run(
        self, X: Any, state: State | Sequence[np.ndarray] | None = None
    ) -> tuple[Any, State]:
        """States of every time step, and the state to go on from.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), or list of arrays
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
            for t0, piece in series.blocks(X, block)
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
        count = data.lengths.size
        before = self._start(state, count, data.kind)
        out = np.empty((count, self._n_features_out), self._real_dtype())
        places = np.stack([data.starts(), np.arange(count), data.lengths])
        engine, program = self._engine_program()
        after = None
        if return_state or not hasattr(engine, "last"):
            after = engine.run(
                program, data.rows, places, before, out, last_only=True, n_jobs=self.n_jobs
            )
        else:
            engine.last(program, data.rows, places, before, out, n_jobs=self.n_jobs)
        result = out[0] if data.kind == series.SINGLE else out
        return (result, self._state(after, data.kind)) if return_state and after else result

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
        dtype = self._real_dtype()
        array = x if type(x) is np.ndarray and x.dtype == dtype else series.numeric(x, "x")
        if array.ndim > 2:
            raise ValueError(
                f"x must be a number, (features,) or (batch, features), got shape {array.shape}"
            )
        kind = series.BATCH if array.ndim == 2 else series.SINGLE
        rows = np.ascontiguousarray(array, dtype).reshape(-1, array.shape[-1] if array.ndim else 1)
        self._ensure_drawn(rows.shape[1])
        if rows.shape[1] != self.n_features_in_:
            series.shaped(rows, "x", self.n_features_in_, type(self).__name__)
        flat = rows.ravel()
        if not math.isfinite(flat.dot(flat)):  # cheap, but large numbers overflow: look closely
            series.convert(rows[:, None], dtype, "x")
        count = rows.shape[0]
        z = np.empty((count, self._n_features_out), dtype)
        places = _ONE_STEP if count == 1 else _one_step(count)
        engine, program = self._engine_program()
        alone = count * self._n_features_out <= _STEP_ALONE
        after = engine.run(
            program, rows, places, self._start(state, count, kind), z,
            n_jobs=1 if alone else self.n_jobs,
        )  # fmt: skip
        return z if kind == series.BATCH else z[0], self._state(after, kind)

    def transform(self, X: Any) -> Any:
        """States of every time step from a zero state: `run` without the final state."""
        check_is_fitted(self, "layers_")
        self._check_names(X, reset=False)
        return self.run(X)[0]

    # -- helpers ---------------------------------------------------------------------------------

    def _real_dtype(self) -> np.dtype:
        return np.dtype(checks.choice("dtype", _dtype_name(self.dtype), ("float32", "float64")))

    def _engine_program(self) -> tuple[ModuleType, Any]:
        key = (self.engine, self.dtype, self.concat, self.mixing)
        found = self._programs.get(key)
        if found is None:
            self._check_hyperparameters()
            self._check_precision(self._real_dtype())
            name = ENGINES[self.engine]
            engine = importlib.import_module(f"paralesn.engines.{name}")
            program = engine.prepare(self.layers_, self.concat, self.mixing, self._real_dtype())
            self._n_features_out = self._output_width()
            found = self._programs[key] = (engine, program)
        return found

    def _read(self, X: Any, first_step: int = 0, allow_ended: bool = False) -> Series:
        n_features = getattr(self, "n_features_in_", None)
        owner = type(self).__name__
        data = series.read(X, self._real_dtype(), n_features, owner, "X", first_step, allow_ended)
        self._ensure_drawn(data.rows.shape[1])
        return data

    def _run(
        self, data: Series, state: State | Sequence[np.ndarray] | None
    ) -> tuple[Any, State]:
        engine, program = self._engine_program()
        before = self._start(state, data.lengths.size, data.kind)
        out = np.empty((data.rows.shape[0], self._n_features_out), self._real_dtype())
        starts = data.starts()
        places = np.stack([starts, starts, data.lengths])
        after = engine.run(program, data.rows, places, before, out, n_jobs=self.n_jobs)
        return data.split(out), self._state(after, data.kind)

    def _start(
        self, state: State | Sequence[np.ndarray] | None, count: int, kind: str
    ) -> tuple[np.ndarray, ...]:
        """The states to start from as one (count, units) array per layer."""
        dtype = np.result_type(self._real_dtype(), 1j) if self._is_complex() else self.dtype
        widths = [layer.eigenvalues.size for layer in self.layers_]
        if state is None:
            return tuple(np.zeros((count, width), dtype) for width in widths)
        if isinstance(state, State):
            if state.origin != self._origin:
                raise ValueError(
                    "state must come from this model, got the state of another one "
                    f"(fingerprint {state.origin[:8]}, expected {self._origin[:8]})"
                )
            arrays: Sequence[np.ndarray] = state.layers
        elif isinstance(state, (list, tuple)) and len(state) == len(widths):
            arrays = [np.asarray(h) for h in state]
        else:
            raise TypeError(
                "state must be None, a State returned by this model or a list of one array per "
                f"layer ({len(widths)}), got {type(state).__name__}"
            )
        return tuple(
            _start_layer(f"state of layer {depth}", h, count, width, kind, dtype)
            for depth, (h, width) in enumerate(zip(arrays, widths, strict=True), 1)
        )

    def _state(self, after: tuple[np.ndarray, ...], kind: str) -> State:
        if kind == series.SINGLE:
            after = tuple(h[0] for h in after)
        return State(after, self._origin)


def _start_layer(
    name: str, h: np.ndarray, count: int, width: int, kind: str, dtype: Any
) -> np.ndarray:
    expected = (width,) if kind == series.SINGLE else (count, width)
    if h.shape != expected:
        raise ValueError(f"{name} must have shape {expected} here, got {h.shape}")
    if h.dtype != dtype:
        if h.dtype.kind not in "biufc" or (h.dtype.kind == "c" and np.dtype(dtype).kind != "c"):
            raise TypeError(f"{name} must be convertible to {np.dtype(dtype)}, got {h.dtype}")
        h = h.astype(dtype)
    if not np.isfinite(h).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return np.ascontiguousarray(h).reshape(count, width)


def _dtype_name(dtype: Any) -> str:
    try:
        return np.dtype(dtype).name if dtype is not None else "None"
    except TypeError:
        return repr(dtype)


def _one_step(count: int) -> np.ndarray:
    rows = np.arange(count)
    return np.stack([rows, rows, np.ones_like(rows)])


_ONE_STEP = _one_step(1)


def _fingerprint(layers: tuple[Any, ...]) -> str:
    """Digest of everything that was drawn: equal arrays, equal model."""
    digest = hashlib.blake2b(digest_size=16)
    for layer in layers:
        for field in fields(layer):
            value = np.ascontiguousarray(getattr(layer, field.name))
            digest.update(f"{field.name}{value.dtype}{value.shape}".encode())
            digest.update(value.data)
    return digest.hexdigest()
