"""Filter banks: thousands of features of whole series, from filters that are drawn, not trained."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, scaling, sources
from paralesn.engines.cpu.filter_layout import CHUNK
from paralesn.features import filter_drawing, levels
from paralesn.features.filter_columns import FilterColumns
from paralesn.features.filter_drawing import FilterDraft
from paralesn.features.fitted_filter_bank import FittedFilterBank
from paralesn.persistence import register
from paralesn.runtime.memory import require_room
from paralesn.series import Series
from paralesn.sources import Source

_SERIES, _VALUES = 256, 1 << 22  # read at a time
_HUGE = 1e30  # in standard deviations


@register
class FilterBank(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Features of series from a linear reservoir of complex filters, made to be read linearly.

    Filters are units of a diagonal reservoir that hears a series x or, mostly, how it changes,

    .. math:: h_t = \lambda h_{t-1} + w (x_t - x_{t-1}), \qquad h_0 = 0,

    Time constants are drawn log-uniformly from one step to half a series. Most filters hear
    changes; three of sixteen chunks of 64 filters hear the centred values themselves instead, and
    three changes of changes, whose size is evened out between rough series and smooth ones. A
    constant is not heard at all. A response is the real part of a random mixture of three
    neighbours. A series is described by each response's share of time above several thresholds,
    which are quantiles of training responses, and by how it fares among seven others: the root of
    the sum of its values where it is the largest, and of its share of time as the smallest. An
    eighth of the filters count their shares in each quarter of the series, too, which says where
    something happens.

    Features are centred and divided by their standard deviation over the training series, or by a
    third of the usual one where that is more, and weighed: those of changes have 62 % of the
    variance, of values and of changes of changes 19 % each; quarters have up to 12 % besides, less
    where series are few (half of it with a hundred). Series of different lengths are comparable.

    Parameters
    ----------
    units : int
        Number of filters, a multiple of 64.
    thresholds : int
        Thresholds of each response.
    normalize : bool
        Bring every channel of every series to unit variance. Otherwise all series are measured in
        units of the training series' standard deviation.
    levels : bool
        Describe the level and size of every channel, too, which normalised series do not show:
        sixteen columns such as its mean, standard deviation, least and last value and the means of
        its quarters, which have a tenth of the variance of all other features.
    n_jobs : int, optional
        Threads; None is every core. Results do not depend on it.
    seed : int, Generator or None
        With several channels, each run of 16 filters hears a random combination of at most nine.

    Attributes
    ----------
    filters_, combinations_, thresholds_ : arrays
        Parameters of the filters, weights of the channels, and thresholds, by chunks of 64.
    mean_, scale_ : arrays (features,)
        What is subtracted from the features, and what they are then divided by.
    n_features_in_ : int
        Channels of a series.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> X = np.random.default_rng(0).normal(size=(20, 100))
    >>> pe.FilterBank(units=64, thresholds=4).fit_transform(X).shape
    (20, 384)
    """

    fitted_: FittedFilterBank

    def __init__(
        self,
        units: int = 2048,
        *,
        thresholds: int = 4,
        normalize: bool = True,
        levels: bool = False,
        n_jobs: int | None = None,
        seed: Any = 0,
    ) -> None:
        self.units = units
        self.thresholds = thresholds
        self.normalize = normalize
        self.levels = levels
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the filters, and calibrate them on series X (y is ignored).

        Parameters
        ----------
        X : array-like (batch, time, features), (batch, time) for univariate series, or a list of
            arrays (time, features) or (time,), of equal length or not
        """
        source = sources.collection(X, None, type(self).__name__)
        drawn = self._drawn_for(source)
        self.fitted_ = drawn.measured(self.raw_blocks(drawn, source))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to X and return its features, in one pass."""
        source = sources.collection(X, None, type(self).__name__)
        drawn = self._drawn_for(source)
        out = np.empty((len(source), drawn.mean.size), np.float32)
        self.fitted_ = drawn.measured(_copied(self.raw_blocks(drawn, source), out))
        for first in range(0, len(out), _SERIES):
            self._standardise(out[first : first + _SERIES])
        return out

    def transform(self, X: Any) -> np.ndarray:
        """Features (batch, columns) of series X, float32: of filters, quarters, levels."""
        check_is_fitted(self, "fitted_")
        source = sources.collection(X, self.n_features_in_, type(self).__name__)
        out = np.empty((len(source), self.n_features_out_), np.float32)
        for _ in _copied(self.blocks(source), out):
            pass
        return out

    def blocks(self, X: Any) -> Iterator[np.ndarray]:
        """The same in blocks of series, one after the other, in bounded memory."""
        check_is_fitted(self, "fitted_")
        source = sources.collection(X, self.n_features_in_, type(self).__name__)
        for block in self.raw_blocks(self.fitted_, source):
            self._standardise(block)
            yield block

    # -- what was learnt -------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Channels of a series."""
        return int(self.fitted_.combinations.shape[2])

    @property
    def n_features_out_(self) -> int:
        """Columns of the features."""
        return int(self.fitted_.mean.size)

    @property
    def _n_features_out(self) -> int:
        """The same, by the name scikit-learn's mixin looks for."""
        return self.n_features_out_

    @property
    def filters_(self) -> np.ndarray:
        """Parameters of the filters (chunks, rows, 64)."""
        return self.fitted_.filters

    @property
    def combinations_(self) -> np.ndarray:
        """Weights of the channels (chunks, runs, channels)."""
        return self.fitted_.combinations

    @property
    def thresholds_(self) -> np.ndarray:
        """Thresholds of the responses (chunks, thresholds, 64)."""
        return self.fitted_.thresholds

    @property
    def mean_(self) -> np.ndarray:
        """Mean of every feature over the training series."""
        return self.fitted_.mean

    @property
    def scale_(self) -> np.ndarray:
        """What every feature is divided by."""
        return self.fitted_.scale

    # -- drawing and features --------------------------------------------------------------------

    def _drawn_for(self, source: Source) -> FittedFilterBank:
        """Filters drawn and calibrated for series; features are not measured yet."""
        draft = self.draft(len(source), float(np.median(source.lengths)), source.n_features)
        channel_scale = None if self.normalize else scaling.measure(source).scale
        level_scale = None
        if self.levels:
            level_scale = levels.measure(group.read() for group in _groups(source))
        return self.calibrated(draft, source.take(draft.sample), channel_scale, level_scale)

    def draft(self, count: int, length: float, channels: int) -> FilterDraft:
        """Check everything, and draw filters for so many series of a usual length."""
        checks.integer("units", self.units, CHUNK)
        if self.units % CHUNK:
            raise checks.fail("units", self.units, f"a multiple of {CHUNK}")
        checks.integer("thresholds", self.thresholds, 1)
        require_room("units", self.units, 8 * self.units)
        require_room("thresholds", self.thresholds, 8 * self.units * self.thresholds)
        checks.flag("normalize", self.normalize)
        checks.flag("levels", self.levels)
        checks.jobs(self.n_jobs)
        rng = checks.generator(self.seed)
        combinations = filter_drawing.draw_combinations(channels, self.units, rng)
        drawn = filter_drawing.draw_filters(length, self.units, rng)
        sample = filter_drawing.draw_sample(count, length, rng)
        return FilterDraft(combinations, drawn, sample, rng, count)

    def calibrated(
        self,
        draft: FilterDraft,
        chosen: Series,
        channel_scale: np.ndarray | None,
        level_scale: levels.LevelScale | None,
    ) -> FittedFilterBank:
        """Filters calibrated on the series that a draft chose; features are not measured yet.

        `channel_scale` is the spread of channels where series are not normalised, `level_scale`
        that of levels where these are described.
        """
        filters, thresholds = filter_drawing.calibrate(
            self._normalised(chosen, channel_scale),
            draft.combinations,
            draft.drawn,
            self.thresholds,
            deepcopy(draft.rng),
            self.n_jobs,
        )
        further = 0 if level_scale is None else level_scale.centre.size
        layout = FilterColumns(self.units // CHUNK, self.thresholds)
        columns = np.zeros(layout.size + further, np.float32)
        return FittedFilterBank(
            filters, draft.combinations, thresholds, columns, columns, draft.n_series,
            channel_scale, level_scale,
        )  # fmt: skip

    def _normalised(self, series: Series, channel_scale: np.ndarray | None) -> Any:
        from paralesn.engines.cpu import filter_inputs  # compiles kernels, slow to import

        given = (series.rows, series.starts(), series.lengths)
        if channel_scale is None:
            return filter_inputs.normalised(*given, self.n_jobs)
        return filter_inputs.in_units(*given, channel_scale)

    def raw_blocks(self, drawn: FittedFilterBank, source: Source) -> Iterator[np.ndarray]:
        """Features of blocks of series, not yet standardised."""
        from paralesn.engines.cpu import filters

        parameters = (drawn.combinations, drawn.filters, drawn.thresholds)
        for group in _groups(source):
            read = group.read()
            series = self._normalised(read, drawn.channel_scale)
            if drawn.channel_scale is not None:
                _check_size(series, group.first_series)
            features = filters.features(series, *parameters, self.n_jobs)
            if drawn.levels is not None:
                described = drawn.levels.apply(levels.statistics(read))
                features = np.concatenate([features, described], axis=1)
            yield features

    def _standardise(self, features: np.ndarray) -> None:
        features -= self.fitted_.mean
        features /= self.fitted_.scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _groups(source: Source) -> Iterator[Source]:
    """The series, a few at a time."""
    size = min(_SERIES, max(1, _VALUES // (source.longest * source.n_features)))
    return source.groups(size)


def _check_size(series: Any, first: int) -> None:
    """Raise where values are so large that responses to them overflow."""
    huge = ~(np.abs(series.x) < _HUGE)
    if huge.any():
        row = int(np.argwhere(huge)[0, 0])
        number = first + int(np.searchsorted(series.starts, row, side="right")) - 1
        raise ValueError(
            "X must be of the training series' size where normalize is False, got "
            f"responses that overflow in series {number}"
        )


def _copied(blocks: Iterator[np.ndarray], out: np.ndarray) -> Iterator[np.ndarray]:
    """The blocks, each written to `out` as well."""
    first = 0
    for block in blocks:
        out[first : first + len(block)] = block
        first += len(block)
        yield block
