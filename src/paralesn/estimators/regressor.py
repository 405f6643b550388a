"""Regression over time: a target for every time step."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, scaling, series
from paralesn.estimators.components import (
    check_readout,
    check_reservoir,
    own_readout,
    own_reservoir,
)
from paralesn.estimators.targets import Layout, layout, restore, targets_for
from paralesn.layers.state import State
from paralesn.persistence import register_estimator
from paralesn.readouts.ridge import Ridge
from paralesn.readouts.rollback import unharmed
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.paralesn import ParalESN

_ROWS = 8192  # time steps whose states exist at a time


class ReservoirRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Predict a target at every time step from the input up to it.

    Rows are time steps: the states of the reservoir are read out at each of them. One series, a
    batch or a ragged list of series will do. Training and prediction need the memory of a block
    of states, however long the series, where the readout is a `Ridge`.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default ``ParalESN()``.
    readout : regressor, optional
        Default ``Ridge()``. Any other scikit-learn regressor is given all states at once.
    washout : int
        Time steps at the start of each series that are not learnt from.
    standardize : bool
        Bring every input feature to zero mean and unit variance over the training series.

    Attributes
    ----------
    reservoir_, readout_ : the fitted ones
    state_ : State
        Where the reservoir stood at the end of training; hand it to `predict` to go on from there.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> x = np.sin(np.arange(1001) / 5)
    >>> model = pe.ReservoirRegressor().fit(x[:800], x[1:801])
    >>> ahead = model.predict(x[800:1000], state=model.state_)
    >>> bool(np.abs(ahead - x[801:1001]).max() < 1e-3)
    True
    """

    def __init__(
        self,
        reservoir: Reservoir | None = None,
        readout: Any = None,
        *,
        washout: int = 100,
        standardize: bool = True,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.washout = washout
        self.standardize = standardize

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to inputs X and targets y.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), or list of arrays
        y : array-like (time,) or (time, targets), with a batch axis or as a list where X is
        """
        with unharmed(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        washout = checks.integer("washout", self.washout, 0)
        standardize = checks.flag("standardize", self.standardize)
        reservoir = own_reservoir(self.reservoir, ParalESN, standardize)
        readout = own_readout(self.readout, Ridge, "regression")
        shape = layout(X)
        omits = getattr(readout, "nan_targets", "error") == "omit"
        targets = targets_for(y, shape, allow_nan=omits)
        for b, steps in enumerate(shape.lengths):
            if steps <= washout:
                raise ValueError(
                    f"every series must be longer than the washout ({washout} steps), "
                    f"got {steps} in series {b}"
                )
        self.reservoir_ = reservoir.fit(X)
        self._scaling = scaling.measure(X)._asdict() if standardize else None
        self.n_features_in_ = self.reservoir_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.reservoir_, "feature_names_in_"):
            self.feature_names_in_ = self.reservoir_.feature_names_in_
        self._flat = targets.flat
        ends: list[tuple[np.ndarray, ...]] = []
        learnt = self._learnt(X, shape, targets.arrays, washout, ends)
        if isinstance(readout, Ridge):
            for states, wanted in learnt:
                readout.partial_fit(states, wanted)
            readout.coef_  # noqa: B018 (solve now, so that predicting changes nothing)
        else:
            pairs = list(learnt)
            wanted = np.concatenate([pair[1] for pair in pairs])
            readout.fit(
                np.concatenate([pair[0] for pair in pairs]), wanted[:, 0] if self._flat else wanted
            )
        self.readout_ = readout
        self.state_ = _joined(ends, shape.kind, self.reservoir_)

    def predict(self, X: Any, state: State | None = None, return_state: bool = False) -> Any:
        """Predict the target at every time step.

        Parameters
        ----------
        X : as in `fit`
        state : State, optional
            Where to start, such as `state_` or what an earlier call returned. Default: zero.
        return_state : bool
            Return the state to go on from as well.

        Returns
        -------
        predictions : array or list of arrays, shaped as the targets were
        state : State, only with `return_state`
        """
        check_is_fitted(self, "readout_")
        if state is not None and not isinstance(state, State):
            raise checks.fail("state", state, "None or a State", TypeError)
        self.reservoir_.check_names(X, reset=False)
        shape = layout(X, self.n_features_in_, type(self).__name__)
        if state is not None and shape.kind != series.SINGLE:
            for h in state.layers:
                if h.ndim != 2 or h.shape[0] != shape.lengths.size:
                    raise ValueError(
                        f"state must be of as many series as X ({shape.lengths.size}), got layers "
                        f"of shape {h.shape}"
                    )
        pieces: list[list[np.ndarray]] = [[] for _ in shape.lengths]
        ends: list[tuple[np.ndarray, ...]] = []
        for first, _, blocks in self._states(X, shape, ends, state):
            for b, states in enumerate(blocks, first):
                if states.shape[0]:
                    predicted = np.asarray(self.readout_.predict(states))
                    pieces[b].append(predicted.reshape(states.shape[0], -1))
        result = restore([np.concatenate(p) for p in pieces], shape.kind, self._flat)
        if not return_state:
            return result
        return result, _joined(ends, shape.kind, self.reservoir_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination over all time steps but the washout, as in training.

        Averaged over targets; a readout that leaves missing targets out has them left out here too.
        """
        shape = layout(X)
        omits = getattr(self.readout_, "nan_targets", "error") == "omit"
        targets = targets_for(y, shape, allow_nan=omits).arrays
        predicted = targets_for(self.predict(X), shape).arrays
        skipped = [min(self.washout, int(steps) - 1) for steps in shape.lengths]

        def scored(arrays: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([a[skip:] for a, skip in zip(arrays, skipped, strict=True)])

        weight = None
        if sample_weight is not None:
            weight = scored(targets_for(sample_weight, shape).arrays)[:, 0]
        wanted, got = scored(targets), scored(predicted)
        if not omits:
            return float(r2_score(wanted, got, sample_weight=weight))
        known = ~np.isnan(wanted)
        scores = [
            r2_score(wanted[k, t], got[k, t], sample_weight=None if weight is None else weight[k])
            for t, k in enumerate(known.T)
        ]
        return float(np.mean(scores))

    # What a saved model holds besides its parameters.
    LEARNT = ("reservoir_", "readout_", "state_", "n_features_in_", "feature_names_in_", "_flat",
              "_scaling")  # fmt: skip

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        check_reservoir(self.reservoir_)
        check_readout(self.readout_, self.reservoir_.n_features_out_)
        if self.state_.origin != self.reservoir_.fingerprint_:
            raise ValueError("the state does not belong to the reservoir")
        scaling.check(self._scaling, self.reservoir_.n_features_in_)

    # -- blocks of states ------------------------------------------------------------------------

    def _states(
        self,
        X: Any,
        shape: Layout,
        ends: list[tuple[np.ndarray, ...]],
        state: State | None = None,
    ) -> Iterator[tuple[int, int, list[np.ndarray]]]:
        """Blocks of states: number of the first series, first step, one array per series.

        A few series at a time, so that a block holds about `_ROWS` rows; where they ended is
        appended to `ends`.
        """
        count, longest = shape.lengths.size, int(shape.lengths.max())
        size = count if shape.kind == series.SINGLE else max(1, _ROWS // min(longest, _ROWS))
        block = max(1, _ROWS // min(size, count))
        for first in range(0, count, size):
            group = X if shape.kind == series.SINGLE else X[first : first + size]
            if first:  # the reservoir would count series from the first of the group
                series.check_finite(group, first)
            start = state
            if state is not None and shape.kind != series.SINGLE:
                start = State(tuple(h[first : first + size] for h in state.layers), state.origin)
            if self._scaling is not None:
                group = _scaled(group, block, scaling.Scaling(**self._scaling), shape.kind)
            stream = self.reservoir_.stream(group, block, start)
            step = 0
            for states in stream:
                blocks = [states] if shape.kind == series.SINGLE else list(states)
                yield first, step, blocks
                step += block
            assert isinstance(stream.state, State)
            ends.append(stream.state.layers)

    def _learnt(
        self,
        X: Any,
        shape: Layout,
        targets: list[np.ndarray],
        washout: int,
        ends: list[tuple[np.ndarray, ...]],
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """States and targets to learn from, block by block, the washout left out."""
        for first, step, blocks in self._states(X, shape, ends):
            skip = max(0, washout - step)
            pairs = [
                (states[skip:], targets[b][step + skip : step + states.shape[0]])
                for b, states in enumerate(blocks, first)
                if states.shape[0] > skip
            ]
            if len(pairs) == 1:
                yield pairs[0]
            elif pairs:
                states, wanted = zip(*pairs, strict=True)
                yield np.concatenate(states), np.concatenate(wanted)


register_estimator(ReservoirRegressor, ReservoirRegressor.LEARNT, ReservoirRegressor._check_learnt)


def _scaled(group: Any, block: int, found: scaling.Scaling, kind: str) -> Any:
    """Series in units of standard deviations; long ones block by block."""
    if kind == series.RAGGED:
        return found.apply(group)
    return (found.apply(piece) for _, piece in series.blocks(group, block))


def _joined(ends: list[tuple[np.ndarray, ...]], kind: str, reservoir: Reservoir) -> State:
    """One state from those of groups of series."""
    if kind == series.SINGLE:
        return State(ends[0], reservoir.fingerprint_)
    layers = tuple(np.concatenate(parts) for parts in zip(*ends, strict=True))
    return State(layers, reservoir.fingerprint_)
