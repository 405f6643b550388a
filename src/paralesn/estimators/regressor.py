"""Regression over time: a target for every time step."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_is_fitted

from paralesn import checks, series
from paralesn.estimators import defaults, online, regressor_passes
from paralesn.estimators import feedback as output_feedback
from paralesn.estimators.components import check_readout, check_reservoir
from paralesn.estimators.feedback import Feedback, Loop
from paralesn.estimators.lessons import lessons_of, omits_nan
from paralesn.estimators.passes import Block
from paralesn.estimators.state_blocks import StateBlocks
from paralesn.estimators.targets import Targets, restore, targets_for
from paralesn.layers.state import State
from paralesn.missing import CHOICES, ERROR, MissingValues, reopened
from paralesn.persistence import register
from paralesn.persistence.fields import Names
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir
from paralesn.scaling import Scaling
from paralesn.sources import Source
from paralesn.tunable import TunableDefaults
from paralesn.typing import ListOfSeries


@register
@dataclass(frozen=True, eq=False)
class FittedRegressor:
    """Everything a regressor learnt.

    `state` is that of the reservoir at the end of training, or None where series came in blocks
    and their states were not kept, `feature_names` are those of a frame's
    columns, `is_flat` says whether targets came without an axis of their own, and `feedback` what
    is fed back, if anything.
    """

    reservoir: Reservoir
    readout: Any
    state: State | None
    scaling: Scaling | None
    feature_names: Names | None
    is_flat: bool
    missing: MissingValues | None = None
    feedback: Feedback | None = None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        check_reservoir(self.reservoir)
        check_readout(self.readout, self.reservoir.n_features_out_)
        origin = self.reservoir.fingerprint_
        if self.feedback is not None:
            self.feedback.check()
            origin = output_feedback.origin(self.reservoir)
        if self.state is not None and self.state.origin != origin:
            raise ValueError("the state does not belong to the reservoir")
        if self.scaling is not None:
            self.scaling.check(self.n_inputs)
        if self.missing is not None:
            self.missing.check(self.n_inputs)

    @property
    def n_inputs(self) -> int:
        """What the reservoir reads at a step, without what is fed back to it."""
        fed = 0 if self.feedback is None else self.feedback.n_targets
        return self.reservoir.n_features_in_ - fed


def _learns_on(model: "ReservoirRegressor") -> bool:
    """Raise, naming the cure, unless the readout, fitted or not, can learn on."""
    readout = getattr(model, "readout_", model.readout)
    return readout is None or online.check_learns_on(readout)


@register
class ReservoirRegressor(TunableDefaults, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Predict a target at every time step from the input up to it.

    The states of the reservoir are read out at each time step. The default reservoir bends its
    inputs, remembers what was bent and bends it again: delays, products and powers of inputs are
    learnt without any setting. X may be one series, a batch, or a list of series of different
    lengths. With a `Ridge` readout, training and prediction need memory for one block of states,
    however long the series.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default: a `ParalESN` of three layers, chosen by experiment. Its parameters have names, as
        `reservoir__units`, also where none is given.
    readout : regressor, optional
        Default: `Ridge` with penalties from 1e-7 to 1e6. Any other scikit-learn regressor is given
        all states at once.
    washout : int, optional
        Time steps at the start of each series that are neither learnt from nor scored. Default: a
        tenth of the series, 100 at most.
    standardize : bool
        Bring every input feature to zero mean and unit variance over the training series.
    missing : "error", "interpolate" or "mask"
        What to do about missing inputs (NaN, None): refuse them; fill them in between their
        neighbours in time, at the ends by the nearest value; or read them as the mean of training,
        with an additional input for each feature that had missing values, 1 where one is missing.
    feedback : bool
        Let the reservoir read, beside the input, what came out one step before, first
        :math:`y_{t-1}`, then :math:`x_t`: in training the target (teacher forcing), in prediction
        its own output. For systems that follow their own past, such as generators of patterns. A
        loop that runs away is an error. Predictions start from zero unless they are given a state
        that knows the last output: `state_`, or what `warm_up` returns.
    feedback_noise : float
        Noise on the targets fed back in training, in standard deviations of them: it teaches the
        readout to correct its own errors. About 1e-4 to 1e-2 makes long loops stable.
    seed : int, None or Generator
        Of that noise.

    Attributes
    ----------
    reservoir_, readout_ : the fitted ones
    state_ : State
        State of the reservoir at the end of training; pass it to `predict` to continue from there.
        With `feedback` its last array is the last target, scaled as the reservoir reads it.
    scaling_ : Scaling or None
        Mean and scale of the inputs over the training series.
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

    fitted_: FittedRegressor
    DEFAULT_COMPONENTS: ClassVar = {
        "reservoir": lambda model: defaults.regressing_reservoir(),
        "readout": lambda model: defaults.regressing_readout(),
    }

    def __init__(
        self,
        reservoir: Reservoir | None = None,
        readout: Any = None,
        *,
        washout: int | None = None,
        standardize: bool = True,
        missing: str = ERROR,
        feedback: bool = False,
        feedback_noise: float = 0.0,
        seed: Any = 0,
    ) -> None:
        self.reservoir = reservoir
        self.readout = readout
        self.washout = washout
        self.standardize = standardize
        self.missing = missing
        self.feedback = feedback
        self.feedback_noise = feedback_noise
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to inputs X and targets y.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), or list of arrays
        y : array-like (time,) or (time, targets), with a batch axis or as a list where X is
        """
        names = _get_feature_names(X)
        checks.choice("missing", self.missing, CHOICES)
        source = regressor_passes.raw_source(X, self.missing, type(self).__name__)
        step: Any = regressor_passes.begin(self, source.n_features, names=names)
        block = Block(source, y)
        if isinstance(step, regressor_passes.InputSurvey):
            step = step.finish(step.digest(block))
        source, targets = step.open(block)
        if self.feedback:
            step, source = step.fed_back(source, targets)
        step = step.shown(source)
        learnt = step.learnt(source, targets, 0, None, None)
        self.fitted_ = step.finish(learnt).fitted_
        return self

    @available_if(_learns_on)
    def partial_fit(self, X: Any, y: Any, *, fresh: bool = False) -> Self:
        """Learn from time steps that follow those seen so far, a block or a single one.

        The reservoir continues from `state_`, and the readout learns by recursive least squares:
        what comes out is the readout that all time steps together give. Inputs stay scaled as they
        were measured in the first call, which is `fit`, so that should hold what is typical. With
        `feedback`, targets are fed back as they are, without noise.

        Parameters
        ----------
        X, y : as in `fit`, the new time steps only
            Where the model was fitted to several series, as many, which continue them.
        fresh : bool
            Learn from series that begin instead: from zero, with a washout.
        """
        checks.flag("fresh", fresh)
        if not hasattr(self, "fitted_"):
            return self.fit(X, y)
        fitted, readout = self.fitted_, online.own_learner(self.fitted_.readout)
        source = self._source(X)
        allow_nan = omits_nan(readout) and fitted.feedback is None
        targets = targets_for(y, source, allow_nan=allow_nan)
        if not fresh:
            online.check_goes_on(self.state_, source)
        washout = (
            regressor_passes.check_washouts(self.washout, source.lengths)
            if fresh
            else np.zeros(len(source), int)
        )
        start = None if fresh else fitted.state
        if fitted.feedback is None:
            blocks = StateBlocks(fitted.reservoir, fitted.scaling, source, start)
        else:
            blocks = self._loop().taught(source, targets, start)
        for states, wanted in lessons_of(blocks, targets, washout):
            if isinstance(readout, Ridge):
                readout.learn_from(states, wanted)
            else:
                readout.partial_fit(states, wanted[:, 0] if fitted.is_flat else wanted)
        state = self._end(blocks, fitted.reservoir, fitted.feedback, targets)
        self.fitted_ = replace(fitted, readout=online.settled(readout), state=state)
        return self

    def forget(self, factor: float) -> Self:
        """Multiply the weight of everything learnt so far by `factor` in (0, 1].

        Called before every `partial_fit`, the model follows a system that changes.
        """
        check_is_fitted(self, "fitted_")
        readout = online.forgetful(self.fitted_.readout, factor)
        self.fitted_ = replace(self.fitted_, readout=readout)
        return self

    @overload
    def predict(
        self, X: ListOfSeries, state: State | None = None, return_state: Literal[False] = False
    ) -> list[np.ndarray]: ...
    @overload
    def predict(
        self, X: ListOfSeries, state: State | None = None, *, return_state: Literal[True]
    ) -> tuple[list[np.ndarray], State]: ...
    @overload
    def predict(
        self, X: Any, state: State | None = None, return_state: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def predict(
        self, X: Any, state: State | None = None, *, return_state: Literal[True]
    ) -> tuple[np.ndarray, State]: ...
    def predict(self, X: Any, state: State | None = None, return_state: bool = False) -> Any:
        """Predict the target at every time step.

        Parameters
        ----------
        X : as in `fit`
        state : State, optional
            Where to start, such as `state_` or what an earlier call returned. Default: zero.
        return_state : bool
            Return the state to continue from as well.

        Returns
        -------
        predictions : array or list of arrays, shaped as the targets were
        state : State, only with `return_state`
        """
        source = self._source(X)
        if state is not None and not isinstance(state, State):
            raise checks.fail("state", state, "None or a State", TypeError)
        if state is not None and source.kind != series.SINGLE:
            for h in state.layers:
                if h.ndim != 2 or h.shape[0] != len(source):
                    raise ValueError(
                        f"state must be of as many series as X ({len(source)}), got layers of "
                        f"shape {h.shape}"
                    )
        predictions, end = self._predictions(source, state)
        result = restore(predictions, source.kind, self.fitted_.is_flat)
        return (result, end) if return_state else result

    def warm_up(self, X: Any, y: Any, state: State | None = None) -> State:
        """State after inputs whose targets are known, for a model with feedback to go on from.

        Parameters
        ----------
        X, y : as in `fit`
            The targets are fed back in place of the model's own output.
        state : State, optional
            Where to start. Default: zero.

        Returns
        -------
        state : State

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> t = np.arange(1200)
        >>> y, tick = np.sin(t / 9), np.zeros(1200)  # no input to speak of
        >>> model = pe.ReservoirRegressor(pe.ESN(units=50), feedback=True, feedback_noise=1e-3)
        >>> model = model.fit(tick[:800], y[:800])
        >>> state = model.warm_up(tick[900:1000], y[900:1000])
        >>> bool(np.abs(model.predict(tick[1000:], state=state) - y[1000:]).max() < 0.05)
        True
        """
        source = self._source(X)
        loop, targets = self._loop(), targets_for(y, source)
        if targets.arrays[0].shape[1] != loop.feedback.n_targets:
            raise ValueError(
                f"y must have {loop.feedback.n_targets} targets as in fit, got "
                f"{targets.arrays[0].shape[1]}"
            )
        return loop.follow(source, targets, state)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination (R2) over all time steps but the washout, as in training.

        Averaged over targets. Where the readout omits missing targets, so does the score. With
        `feedback`, targets are fed back during the washout, and the model's own output after it.
        """
        from sklearn.metrics import r2_score  # slow to import

        source = self._source(X)
        omits = omits_nan(self.readout_) and self.fitted_.feedback is None
        targets = targets_for(y, source, allow_nan=omits)
        skipped = regressor_passes.washouts(self.washout, source.lengths)
        if (rest := int(np.maximum(source.lengths - skipped, 0).sum())) < 2:
            raise ValueError(
                f"X must leave at least two time steps after the washout ({skipped.max()} steps) "
                f"to score, got {rest} of {source.lengths.sum()}; score more steps, or set washout "
                "(None leaves out a tenth of each series)"
            )

        def scored(arrays: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([a[skip:] for a, skip in zip(arrays, skipped, strict=True)])

        weight = None
        if sample_weight is not None:
            weight = scored(targets_for(sample_weight, source).arrays)[:, 0]
        if self.fitted_.feedback is None:
            predictions = self._predictions(source, None)[0]
        else:
            taught = np.minimum(skipped, source.lengths - 1)
            predictions = self._loop().judged(source, targets, taught)
        wanted, predicted = scored(targets.arrays), scored(predictions)
        if not omits:
            return float(r2_score(wanted, predicted, sample_weight=weight))
        scores = [
            r2_score(
                wanted[known, t],
                predicted[known, t],
                sample_weight=None if weight is None else weight[known],
            )
            for t, known in enumerate(~np.isnan(wanted).T)
        ]
        return float(np.mean(scores))

    # -- what was learnt -------------------------------------------------------------------------

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that was drawn."""
        return self.fitted_.reservoir

    @property
    def readout_(self) -> Any:
        """The fitted readout."""
        return self.fitted_.readout

    @property
    def state_(self) -> State:
        """State of the reservoir at the end of training."""
        if self.fitted_.state is None:
            raise AttributeError(
                "state_: states at the ends of series are not kept where these came in blocks; "
                "partial_fit(fresh=True) learns from series that begin"
            )
        return self.fitted_.state

    @property
    def scaling_(self) -> Scaling | None:
        """Mean and scale of the inputs over the training series, or None."""
        return self.fitted_.scaling

    @property
    def n_features_in_(self) -> int:
        """Features of a time step."""
        missing = self.fitted_.missing
        return self.fitted_.n_inputs - (0 if missing is None else missing.flagged.size)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of X; absent where it had none."""
        if self.fitted_.feature_names is None:
            raise AttributeError("feature_names_in_: the model was fitted to data without names")
        return self.fitted_.feature_names

    # -- predictions -----------------------------------------------------------------------------

    def _source(self, X: Any) -> Source:
        """Series to predict from, with the features of those learnt from."""
        check_is_fitted(self, "fitted_")
        _check_feature_names(self, X, reset=False)
        return reopened(X, self.fitted_.missing, self.n_features_in_, type(self).__name__)

    def _predictions(self, source: Source, start: State | None) -> tuple[list[np.ndarray], State]:
        """Predictions (time, targets) of each series, and the state at their ends."""
        if self.fitted_.feedback is not None:
            return self._loop().predict(source, start)
        pieces: list[list[np.ndarray]] = [[] for _ in range(len(source))]
        blocks = StateBlocks(self.reservoir_, self.scaling_, source, start)
        for first, _, states_of_each in blocks:
            for b, states in enumerate(states_of_each, first):
                if states.shape[0]:
                    predicted = np.asarray(self.readout_.predict(states))
                    pieces[b].append(predicted.reshape(states.shape[0], -1))
        return [np.concatenate(of_one) for of_one in pieces], blocks.state

    @staticmethod
    def _end(
        blocks: StateBlocks, reservoir: Reservoir, feedback: Feedback | None, targets: Targets
    ) -> State:
        """State of the model after blocks whose targets are known."""
        if feedback is None:
            return blocks.state
        known = (feedback, targets, blocks.source.kind)
        return output_feedback.taught_state(reservoir, blocks.state, *known)

    def _loop(self) -> Loop:
        """The model as one whose output is fed back."""
        fitted = self.fitted_
        if fitted.feedback is None:
            raise checks.fail("feedback", False, "True in fit for a state with an output")
        return Loop(fitted.reservoir, fitted.readout, fitted.feedback, fitted.scaling)
