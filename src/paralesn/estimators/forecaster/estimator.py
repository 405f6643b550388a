"""Forecasting: the next steps of a series from itself and from what is known in advance."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from math import ceil
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, scaling
from paralesn.estimators import defaults
from paralesn.estimators.components import (
    check_readout,
    check_reservoir,
    finish,
    own_readout,
    own_reservoir,
)
from paralesn.estimators.forecaster import intervals
from paralesn.estimators.forecaster.closed_loop import roll
from paralesn.estimators.forecaster.windows import Rows, names_of, read_rows
from paralesn.layers.state import State
from paralesn.persistence import register_estimator
from paralesn.readouts.ridge import Ridge
from paralesn.readouts.rollback import unharmed
from paralesn.reservoirs.base import Reservoir

_VALUES = 1 << 22  # states and targets that exist at a time


class ReservoirForecaster(BaseEstimator):
    r"""Forecast a series, univariate or multivariate.

    At every step t the reservoir reads :math:`[y_t, x_{t+h}]`, the newest observation and what is
    known of h = `horizon` steps later, and a readout predicts :math:`y_{t+1}, \dots, y_{t+h}` from
    its state. With ``horizon=1``, forecasts of any length come from the closed loop: predictions
    are fed back as observations. With a longer one, all its steps are predicted directly, and
    longer forecasts feed that many predictions back at a time.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default: one layer of 256 units.
    readout : regressor, optional
        Default: `Ridge` with penalties from 1e-8 to 100.
    horizon : int
        Steps predicted directly.
    only_last : bool
        Learn and predict only the last step of the horizon.
    washout : int
        First time steps that are not learnt from.
    difference : bool or "inputs"
        Predict differences to the newest observation. "inputs": and let the reservoir read changes
        from step to step, so that forecasts do not depend on the level of the series at all.
    held_out : float
        Share of the training series, at its end, that chooses the penalty of a `Ridge` and that
        intervals are calibrated on. The readout learns from it afterwards. 0: no intervals, and the
        penalty is chosen by generalised cross-validation, which trusts neighbouring steps too much.
    standardize : bool
        Bring y and X to zero mean and unit variance; forecasts are in the units of y.
    shared : bool
        Forecast every target from itself alone (and from X), all by the same reservoir and readout,
        which learn from all of them: often better than one model of many targets together.
    every : int
        Learn from every so many steps only. Neighbouring steps of a long horizon have nearly the
        same targets: little is lost, and training is that much faster.

    Attributes
    ----------
    reservoir_, readout_ : the fitted ones
    state_ : State
        Where the reservoir stands: `horizon` steps before the end of what was observed. A batch:
        of one series or, where `shared`, of one for each target.
    n_features_in_, n_known_ : int
        Number of series in y, and of inputs known in advance.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> y = np.sin(np.arange(1200) / 9) * np.cos(np.arange(1200) / 31)
    >>> model = pe.ReservoirForecaster().fit(y[:1000])
    >>> bool(np.abs(model.forecast(50) - y[1000:1050]).max() < 0.01)
    True
    >>> values, lower, upper = model.update(y[1000:1100]).forecast(20, interval=0.9)
    >>> values.shape
    (20,)
    """

    def __init__(
        self,
        reservoir: Reservoir | None = None,
        readout: Any = None,
        *,
        horizon: int = 1,
        only_last: bool = False,
        washout: int = 100,
        difference: bool | str = True,
        held_out: float = 0.2,
        standardize: bool = True,
        shared: bool = False,
        every: int = 1,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.horizon = horizon
        self.only_last = only_last
        self.washout = washout
        self.difference = difference
        self.held_out = held_out
        self.standardize = standardize
        self.shared = shared
        self.every = every

    # -- learning --------------------------------------------------------------------------------

    def fit(self, y: Any, X: Any = None) -> Self:
        """Fit to a series.

        Parameters
        ----------
        y : array-like (time,) or (time, targets)
        X : array-like (time,) or (time, inputs), optional
            What is known in advance, such as the hour or a plan: row t belongs to row t of y.
        """
        with unharmed(self):
            self._fit(y, X)
        return self

    def _fit(self, y: Any, X: Any) -> None:
        self._check_parameters()
        standardize = bool(self.standardize)
        reservoir = own_reservoir(self.reservoir, defaults.forecasting_reservoir, standardize)
        readout = own_readout(self.readout, defaults.forecasting_readout, "regression")
        self.horizon_, self.only_last_ = int(self.horizon), bool(self.only_last)
        self._changes = self.difference == "inputs"
        self._difference = bool(self.difference)
        self._shared = bool(self.shared)
        observed, flat = read_rows(y, "y")
        rows = observed
        if X is not None:
            known, _ = read_rows(X, "X", len(observed), "as y has")
            rows = np.hstack([observed, known])
        if len(rows) <= self.washout + self.horizon_:
            least = f"washout + horizon ({self.washout} + {self.horizon_})"
            raise ValueError(f"y must be longer than {least} time steps, got {len(rows)}")
        self._scaling = scaling.measure(rows)._asdict() if standardize else None
        self._flat, self.n_features_in_ = flat, observed.shape[1]
        self._names = {"y": names_of(y), "X": names_of(X)}
        self.n_known_ = rows.shape[1] - observed.shape[1]
        rows = self._rows.scaled(rows)
        panel = self._rows.panel(rows)
        inputs = self._rows.inputs(panel)
        self.reservoir_ = reservoir.fit(inputs)
        self._learn(panel, inputs, readout)
        self._pending = rows[-self.horizon_ - 1 :, : self.n_features_in_].copy()

    def _learn(self, panel: np.ndarray, inputs: np.ndarray, readout: Any) -> None:
        """Fit the readout in one pass, calibrating on the held-out part before learning it."""
        held = int(self.held_out * panel.shape[1])
        before = inputs.shape[1] - held  # states whose targets end before the held-out part
        calibrates = held > 1 and before > self.washout
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._calibration = None
        for first, last, z, state in self._run(inputs, None, [before] if calibrates else []):
            states, wanted = self._rows.lesson(panel, z, first)
            if len(wanted):
                if isinstance(readout, Ridge):
                    if self._calibration is not None:
                        self._calibration.readout.validate(states, wanted)
                    readout.partial_fit(states, wanted)
                else:  # it learns when all states are there
                    kept.append((states, wanted))
            if calibrates and last == before:
                finish(readout, kept)
                self._calibration = intervals.prepare(
                    self.reservoir_, deepcopy(readout), state, panel, inputs, held
                )
            self.state_, self._position = state, last
        if self._calibration is not None and isinstance(readout, Ridge):
            readout.choose_as(self._calibration.readout)
        finish(readout, kept)
        self.readout_ = readout

    def update(self, y: Any, X: Any = None, refit: bool = False) -> Self:
        """Go on from new observations, which follow on those seen so far.

        Parameters
        ----------
        y, X : as in `fit`, the new rows only
        refit : bool
            Learn from them too, which needs `Ridge`. What `fit` on everything would give, but that
            scaling, intervals and a penalty chosen on held-out steps stay.
        """
        check_is_fitted(self, "readout_")
        checks.flag("refit", refit)
        if refit and not isinstance(self.readout_, Ridge):
            raise checks.fail("refit", refit, "False with a readout that cannot, only Ridge can")
        new = self._rows.read(y, X)
        known = np.zeros((self.horizon_, self.n_known_))
        rows = np.vstack([np.hstack([self._pending[1:], known]), new])
        panel = self._rows.panel(rows)
        inputs = self._rows.inputs(panel, self._rows.series(self._pending[:1]))
        readout, end = deepcopy(self.readout_) if refit else self.readout_, self.state_
        for first, _, z, state in self._run(inputs, self.state_):
            states, wanted = self._rows.lesson(panel, z, first, self._position)
            if refit and len(wanted):
                readout.partial_fit(states, wanted)
            end = state
        if refit:
            finish(readout, [])
        self.readout_, self.state_ = readout, end
        self._position += inputs.shape[1]
        observed = np.vstack([self._pending[:1], rows[:, : self.n_features_in_]])
        self._pending = observed[-self.horizon_ - 1 :].copy()
        return self

    # -- forecasting -----------------------------------------------------------------------------

    def forecast(
        self, steps: int | None = None, X: Any = None, interval: float | None = None
    ) -> Any:
        """Forecast what follows on the observations so far.

        Parameters
        ----------
        steps : int, optional
            Default: the horizon.
        X : array-like (steps, inputs)
            What is known of the steps to come, for a model fitted with it: whole horizons of rows.
        interval : float, optional
            Share of observations, such as 0.9, that the interval at each step should hold.

        Returns
        -------
        values : array (steps,) or (steps, targets), as y was; with `only_last`, of one step
            (with `interval`, a `Forecast` with values, lower and upper)
        """
        check_is_fitted(self, "readout_")
        steps = self.horizon_ if steps is None else checks.integer("steps", steps, 1)
        if self.only_last_ and steps != self.horizon_:
            expected = f"None or the horizon, {self.horizon_}, with only_last"
            raise checks.fail("steps", steps, expected)
        whole = ceil(steps / self.horizon_) * self.horizon_
        known = self._rows.panel(self._rows.ahead(X, whole))[..., self._rows.width :]
        pending = self._rows.series(self._pending)
        values = self._roll(self.readout_, self.state_.layers, pending, known, steps)
        values = self._rows.flat(values)
        if not np.isfinite(values).all():
            step = int(np.argwhere(~np.isfinite(values))[0, 0]) + 1
            raise ValueError(f"the closed loop diverged: no finite forecast from step {step} on")
        if interval is None:
            return self._restored(values)
        level = checks.number("interval", interval, 0, 1, open_left=True, open_right=True)
        if self._calibration is None:
            reason = f"held_out is {self.held_out:g}, or the series was too short for it"
            raise ValueError(f"interval needs held-out steps to learn from: {reason}")
        errors = self._calibration.residuals(self._roll, self._rows, whole)[:, : len(values)]
        lower, upper = intervals.bounds(errors, level)
        parts = (values, values + lower, values + upper)
        return intervals.Forecast(*(self._restored(part) for part in parts))

    def predict(self, y: Any, X: Any = None, follow: bool = False) -> np.ndarray:
        """Forecasts from every step of a series, as if each were the last one known.

        Parameters
        ----------
        y : array-like (time,) or (time, targets)
        X : array-like (time + horizon, inputs)
            What is known of these steps and of `horizon` more, for a model fitted with it.
        follow : bool
            Whether y follows on the observations so far, which are left as they are. Otherwise the
            reservoir starts from zero.

        Returns
        -------
        values : array (time, horizon), (time, horizon, targets); one step without its axis
        """
        check_is_fitted(self, "readout_")
        checks.flag("follow", follow)
        rows, h, width = self._rows, self.horizon_, self._rows.width
        panel, before = rows.panel(rows.read(y, X, h)), None
        state = None
        if follow:
            pending = rows.series(self._pending)
            seen, before = rows.seen(pending[:, 1:], pending[:, :1]), pending[:, -1:]
            tail = np.concatenate([seen, panel[:, :h, width:]], axis=2)
            _, state = self.reservoir_.run(tail, self.state_)
        pieces = [
            rows.predictions(self.readout_, z, panel[:, first:last, :width])
            for first, last, z, _ in self._run(rows.inputs(panel, before), state)
        ]
        values = self._restored(rows.flat(np.concatenate(pieces, axis=1)))
        return values[:, 0] if self.only_last_ or h == 1 else values

    def score(self, y: Any, X: Any = None) -> float:
        """Coefficient of determination of direct predictions, from zero, after the washout."""
        check_is_fitted(self, "readout_")
        observed, _ = read_rows(y, "y", columns=self.n_features_in_)
        count = len(observed) - self.horizon_
        if count < 1:
            expected = f"longer than the horizon ({self.horizon_}) time steps"
            raise ValueError(f"y must be {expected}, got {len(observed)}")
        predicted = self.predict(observed[:count], X).reshape(count, -1)
        whole = self._rows._replace(difference=False, shared=False)
        wanted = whole.wanted(observed[None], slice(count))
        skip = min(self.washout, count - 1)
        return float(r2_score(wanted[skip:], predicted[skip:]))

    def _roll(self, readout: Any, *arguments: Any) -> np.ndarray:
        return roll(self._rows, self.reservoir_, readout, *arguments)

    # -- helpers ---------------------------------------------------------------------------------

    @property
    def _rows(self) -> Rows:
        return Rows(
            targets=self.n_features_in_,
            known=self.n_known_,
            horizon=self.horizon_,
            only_last=self.only_last_,
            difference=self._difference,
            changes=self._changes,
            shared=self._shared,
            washout=int(self.washout),
            every=int(self.every),
            scaling=None if self._scaling is None else scaling.Scaling(**self._scaling),
            names=self._names,
            dtype=self.reservoir_.real_dtype if hasattr(self, "reservoir_") else np.dtype(float),
        )

    def _run(
        self, inputs: np.ndarray, state: State | None, stops: Iterable[int] = ()
    ) -> Iterator[tuple[int, int, np.ndarray, State]]:
        """Run in blocks of bounded size, some of which end at the steps given.

        Yields the first step of each and the one after its last, its states, and the state then.
        """
        count, total, _ = inputs.shape
        outputs = self._rows.width * (1 if self.only_last_ else self.horizon_)
        size = max(1, _VALUES // (count * (outputs + self.reservoir_.n_features_out_)))
        first = 0
        for last in sorted({*(s for s in stops if s < total), *range(size, total, size), total}):
            z, state = self.reservoir_.run(inputs[:, first:last], state)
            yield first, last, z, state
            first = last

    def _restored(self, values: np.ndarray) -> np.ndarray:
        """Values (…, D) in the units of y, without the last axis if y had none."""
        values = self._rows.restored(values)
        return values[..., 0] if self._flat else values

    def _check_parameters(self) -> None:
        checks.integer("horizon", self.horizon, 1)
        checks.integer("washout", self.washout, 0)
        checks.integer("every", self.every, 1)
        checks.flag("only_last", self.only_last)
        checks.flag("shared", self.shared)
        checks.flag("standardize", self.standardize)
        if not isinstance(self.difference, str):
            checks.flag("difference", self.difference)
        elif self.difference != "inputs":
            raise checks.fail("difference", self.difference, "True, False or 'inputs'")
        checks.number("held_out", self.held_out, 0, 1, open_right=True)

    # What a saved model holds besides its parameters.
    LEARNT = (
        "reservoir_", "readout_", "state_", "n_features_in_", "n_known_", "_flat", "_scaling",
        "_pending", "_calibration", "_difference", "_changes", "_shared", "_names", "horizon_",
        "only_last_", "_position",
    )  # fmt: skip

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        self._check_parameters()
        check_reservoir(self.reservoir_)
        check_readout(self.readout_, self.reservoir_.n_features_out_)
        features = self.reservoir_.n_features_in_
        d, known = int(self.n_features_in_), int(self.n_known_)
        scaling.check(self._scaling, d + known)
        count, flags = d if self._shared else 1, (self._flat, self._changes, self._shared)
        right = (
            d >= 1 and known >= 0 and (d == 1 or not self._flat)
            and d + known == features + count - 1
            and {self._difference, self.only_last_, *flags} <= {True, False}
            and isinstance(self.horizon_, int) and isinstance(self._position, int)
            and self._names.keys() == {"y", "X"}
            and self.state_.origin == self.reservoir_.fingerprint_
            and self._pending.shape == (self.horizon_ + 1, d) and np.isfinite(self._pending).all()
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a ReservoirForecaster do not fit together")
        if self._calibration is not None:
            check_readout(self._calibration.readout, self.reservoir_.n_features_out_)
            self._calibration.check(self.horizon_, features, count)


register_estimator(
    ReservoirForecaster, ReservoirForecaster.LEARNT, ReservoirForecaster._check_learnt
)
