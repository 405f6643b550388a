"""What estimators of whole series share: features of each, then a readout."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from paralesn import sources
from paralesn.estimators import defaults
from paralesn.estimators.components import own_features, own_readout
from paralesn.features.filter_bank import FilterBank
from paralesn.features.pooled_states import PooledStates
from paralesn.missing import MissingValues, opened, reopened
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.fitted_dual_ridge import LeftOut
from paralesn.readouts.ridge import Ridge
from paralesn.sources import Source
from paralesn.tunable import TunableDefaults

_AT_ONCE = 1 << 14  # series whose features are kept while a readout is fitted
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

    def _begin(self, X: Any, task: str) -> tuple[Any, Any, Source, MissingValues | None]:
        """Own features and readout, unfitted; the series, and how missing values are read."""
        features = own_features(self.features, partial(self.component, "features"))
        default = partial(defaults.classifying_readout, features)
        readout = own_readout(self.readout, default, task)
        owner = type(self).__name__
        source, missing = opened(X, self.missing, owner, sources.collection, by_series=True)
        return features, readout, source, missing

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


def fit_readout(
    features: Any, readout: Any, source: Source, targets: np.ndarray, weight: np.ndarray | None
) -> LeftOut | None:
    """Fit features to series, and a readout to their rows and targets.

    Returns
    -------
    left_out : LeftOut or None
        What readouts that know it in closed form say of series they were not fitted to.
    """
    arguments = {} if weight is None else {"sample_weight": weight}
    data = data_for(features, source)
    if isinstance(readout, DualRidge) and len(source) > _AT_ONCE:
        features.fit(data)
        readout.fit_blocks(partial(features.blocks, data), targets, **arguments)
        return readout.left_out_
    rows = np.asarray(features.fit_transform(data))  # whatever scikit-learn's set_output says
    readout.fit(rows, targets, **arguments)
    if isinstance(readout, DualRidge):
        return readout.left_out_
    return left_out_rows(readout, rows, targets, weight) if isinstance(readout, Ridge) else None


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


def check_weighs(readout: Any, arguments: str) -> None:
    """Raise unless a readout takes weights, which the arguments named demand."""
    if not has_fit_parameter(readout, "sample_weight"):
        raise ValueError(
            f"{arguments} a readout whose fit takes sample_weight, got {type(readout).__name__}"
        )


def data_for(features: Any, source: Source) -> Any:
    """Series as features take them: parsed for ours, arrays for others'."""
    return source if isinstance(features, (FilterBank, PooledStates)) else source.values()
