"""What estimators of whole series share: features of each, then a readout."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from paralesn import sources
from paralesn.estimators import series_passes
from paralesn.estimators.passes import Block, Pass, carry_out
from paralesn.estimators.series_passes import data_for
from paralesn.missing import reopened
from paralesn.readouts.fitted_dual_ridge import LeftOut
from paralesn.readouts.ridge import Ridge
from paralesn.tunable import TunableDefaults

_LEFT_OUT = 4096  # series that are left out to see how good a readout is, at most


class SeriesReadout(TunableDefaults, BaseEstimator):
    """Base of estimators that fit a readout to a row of features for each series."""

    fitted_: Any
    features: Any
    readout: Any
    missing: str

    @property
    def features_(self) -> Any:
        """The fitted features."""
        return self.fitted_.features

    @property
    def readout_(self) -> Any:
        """The fitted readout."""
        return self.fitted_.readout

    @property
    def n_features_in_(self) -> int:
        """Features (channels) of a time step."""
        missing = self.fitted_.missing
        extra = 0 if missing is None else missing.flagged.size
        return int(self.features_.n_features_in_) - extra

    def first_pass(self) -> Pass:
        """The first of the passes over series that this estimator is fitted by."""
        return series_passes.begin(self, self._task())

    def _task(self) -> Any:
        """What targets are."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit by passes over all series at once."""
        step: Any = self.first_pass()
        source = series_passes.raw_collection(X, self.missing, type(self).__name__)
        block = Block(source, y, weight=sample_weight)
        if isinstance(step, series_passes.MissingPass):
            step = step.finish(step.digest(block))
        step = step.shown(step.digest(block), block)
        self.fitted_ = carry_out(step, block).fitted_

    def _read_out(self, X: Any, method: Callable[[np.ndarray], Any]) -> np.ndarray:
        """What a method of the readout says of the series X, block by block."""
        check_is_fitted(self, "fitted_")
        call = (self.n_features_in_, type(self).__name__, sources.collection)
        source = reopened(X, self.fitted_.missing, *call)
        blocks = self.features_.blocks(data_for(self.features_, source))
        return np.concatenate([np.asarray(method(block)) for block in blocks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def left_out_rows(
    readout: Ridge, rows: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
) -> LeftOut:
    """Predictions for series learnt from, each left out; of a random few where there are many."""
    numbers = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
    if len(numbers) > _LEFT_OUT:
        rng = np.random.default_rng(0)
        numbers = np.sort(rng.choice(numbers, _LEFT_OUT, replace=False))
    of_these = None if weight is None else weight[numbers]
    predictions = readout.left_out(rows[numbers], targets[numbers], of_these)
    return LeftOut(numbers, predictions.reshape(len(numbers), -1))
