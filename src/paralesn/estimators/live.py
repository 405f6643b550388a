"""Models on live data: one row in, one prediction out, and a state that outlives the process."""

from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.readouts.ridge import Ridge
from paralesn.scaling import Scaling


@register
@dataclass(frozen=True, eq=False)
class Standing:
    """Where a model on live data stands.

    Attributes
    ----------
    state : State or None
        Of the reservoir; None before the first row of a fresh start.
    newest : (series, width)
        The newest observation as the reservoir's inputs are scaled; empty for a regressor and
        before the first row.
    lines : int
        Lines read so far, whoever counts them.
    model : str
        What tells the model apart, such as a digest of its file.
    """

    state: State | None
    newest: np.ndarray
    lines: int = 0
    model: str = ""

    def __post_init__(self) -> None:
        right = (
            (self.state is None or isinstance(self.state, State))
            and isinstance(self.newest, np.ndarray) and np.isfinite(self.newest).all()
            and isinstance(self.lines, int) and self.lines >= 0 and isinstance(self.model, str)
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a Standing do not fit together")


class _Linear(NamedTuple):
    """What a fitted `Ridge` computes, for one row at a time."""

    weights: np.ndarray  # (features, outputs)
    intercept: np.ndarray

    def predict(self, z: np.ndarray) -> np.ndarray:
        return z @ self.weights + self.intercept


class Live:
    """Feed a fitted forecaster or regressor row by row.

    A forecaster reads an observation and forecasts its horizon from it, a regressor reads inputs
    and predicts. It goes on where the model stands, or from zero if `fresh`. The model itself stays
    as it is. A row that is refused changes nothing.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.estimators.live import Live
    >>> y = np.sin(np.arange(600) / 9)
    >>> live = Live(pe.ReservoirForecaster(horizon=3).fit(y[:500]))
    >>> for value in y[500:510]:
    ...     ahead = live.read(np.array([value]))
    >>> bool(np.abs(ahead[:, 0] - y[510:513]).max() < 0.01)
    True
    """

    def __init__(self, model: Any, fresh: bool = False) -> None:
        if not isinstance(model, (ReservoirForecaster, ReservoirRegressor)):
            raise TypeError(
                "live data need a ReservoirForecaster or a ReservoirRegressor, got a "
                f"{type(model).__name__}"
            )
        self.model = model
        self.width = int(model.n_features_in_)
        self._readout = _of_one_row(model.readout_)
        if isinstance(model, ReservoirForecaster):
            if model.n_known_:
                raise ValueError(
                    f"live data need a model without inputs known in advance, got {model.n_known_}"
                )
            self._rows = model._rows
            self.standing = _empty() if fresh else _end_of(model)
        else:
            found = model._scaling
            self._scaling = None if found is None else Scaling(**found)
            is_single = all(h.ndim == 1 for h in model.state_.layers)
            start = model.state_ if is_single and not fresh else None
            self.standing = Standing(start, np.zeros((0, 0)))

    def read(self, row: np.ndarray, lines: int = 0) -> np.ndarray:
        """Read a row (width,): forecasts (horizon, targets), or predictions (1, targets).

        With `only_last`, the forecast of one step.
        """
        if isinstance(self.model, ReservoirForecaster):
            return self._forecast(row, lines)
        x = row if self._scaling is None else self._scaling.apply(row[None])[0]
        z, state = self.model.reservoir_.step(x, self.standing.state)
        predicted = np.asarray(self._readout.predict(z[None])).reshape(1, -1)
        self.standing = Standing(state, self.standing.newest, lines, self.standing.model)
        return predicted

    def _forecast(self, row: np.ndarray, lines: int) -> np.ndarray:
        rows, standing = self._rows, self.standing
        newest = rows.series(rows.scaled(row[None]))[:, 0]  # (series, width)
        seen = newest
        if rows.changes:
            seen = newest - standing.newest if standing.newest.size else np.zeros_like(newest)
        z, state = self.model.reservoir_.step(seen, standing.state)
        values = rows.restored(rows.flat(rows.predictions(self._readout, z, newest)))
        self.standing = Standing(state, newest, lines, standing.model)
        return values


def _of_one_row(readout: Any) -> Any:
    """The readout, without what checking and sharing out a large matrix costs."""
    if not isinstance(readout, Ridge):
        return readout
    weights = np.atleast_2d(np.asarray(readout.coef_)).T
    return _Linear(np.ascontiguousarray(weights), np.atleast_1d(readout.intercept_))


def _empty() -> Standing:
    return Standing(None, np.zeros((0, 0)))


def _end_of(model: ReservoirForecaster) -> Standing:
    """At the newest observation; a forecaster keeps its state a horizon before it."""
    rows, pending = model._rows, model._rows.series(model._pending)
    seen = rows.seen(pending[:, 1:], pending[:, :1])
    _, state = model.reservoir_.run(seen, model.state_)
    return Standing(state, np.ascontiguousarray(pending[:, -1]))


def reading(model: ReservoirForecaster, y: np.ndarray, X: np.ndarray | None) -> ReservoirForecaster:
    """A forecaster as `model`, that has observed nothing but y (time, targets).

    X (time, inputs) where the model has inputs known in advance.
    """
    h = model.horizon_
    if len(y) <= h:
        raise ValueError(f"y must be longer than the horizon ({h}) time steps, got {len(y)}")
    found, first = copy(model), model._rows.read(y[:h], None if X is None else X[:h])
    observed = first[:, : model.n_features_in_]
    found._pending = np.vstack([observed[:1], observed])
    layers = tuple(np.zeros_like(part) for part in model.state_.layers)
    found.state_ = State(layers, model.state_.origin)
    return found.update(y[h:], None if X is None else X[h:])
