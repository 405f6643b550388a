"""Filter banks: thousands of features of whole series, from filters that are drawn, not trained."""

from collections.abc import Iterator
from math import pi
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, series
from paralesn.engines.cpu.filter_layout import CHUNK, KINDS, ROWS, RUN, TAPS
from paralesn.persistence import register_estimator

_CHANNELS = 9  # of a combination, at most
_CYCLES = 2.0  # a filter turns at most this often while it forgets
_SAMPLE, _SAMPLED_STEPS, _PICKS = 32, 1 << 14, 2048  # what filters are calibrated on
_SERIES, _VALUES = 256, 1 << 22  # read at a time
_FLOOR = 0.3  # of the median spread of a kind of feature: what hardly varies stays small


class _Rows(NamedTuple):
    """Some series, normalised and laid end to end."""

    x: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


class FilterBank(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Features of series from a linear reservoir of complex filters, made to be read linearly.

    Filters are units of a diagonal reservoir that hears how a series x changes,

    .. math:: h_t = \lambda h_{t-1} + w (x_t - x_{t-1}), \qquad h_0 = 0,

    so that a constant is not heard at all. Time constants are drawn log-uniformly from one step to
    half a series. A response is the real part of a random mixture of three neighbours. A series is
    described by each response's share of time above several thresholds, which are quantiles of
    training responses; by its standard deviation; and by how it fares among seven others: the
    sum of its values where it is the largest, and its share of time as the smallest.

    Features are centred and divided by their standard deviation over the training series, or by a
    third of the usual one where that is more. Series of different lengths are comparable.

    Parameters
    ----------
    units : int
        Number of filters, a multiple of 64.
    thresholds : int
        Thresholds of each response.
    normalize : bool
        Bring every channel of every series to unit variance. Otherwise all series are measured in
        units of the training series' standard deviation.
    n_jobs : int, optional
        Threads; None is every core. Results do not depend on it.
    seed : int, Generator or None
        With several channels, each run of 16 filters hears a random combination of at most nine.

    Attributes
    ----------
    filters_, combinations_, thresholds_ : arrays
        Parameters of the filters, weights of the channels, and thresholds, by chunks of 64.
    mean_, scale_ : arrays (features,)
        Of the features, over the training series.
    n_features_in_ : int
        Channels of a series.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> X = np.random.default_rng(0).normal(size=(20, 100))
    >>> pe.FilterBank(units=64, thresholds=4).fit_transform(X).shape
    (20, 448)
    """

    def __init__(
        self,
        units: int = 1024,
        *,
        thresholds: int = 8,
        normalize: bool = True,
        n_jobs: int | None = None,
        seed: Any = 0,
    ) -> None:
        self.units = units
        self.thresholds = thresholds
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the filters, and calibrate them on series X (y is ignored).

        Parameters
        ----------
        X : array-like (batch, time, features), (batch, time) for univariate series, or a list of
            arrays (time, features) or (time,), of equal length or not
        """
        X = self._begin(X)
        self._measure(self._blocks(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to X and return its features, in one pass."""
        X = self._begin(X)
        out = np.empty((len(X), self.n_features_out_), np.float32)
        self._measure(self._kept(X, out))
        for first in range(0, len(out), _SERIES):
            self._standardise(out[first : first + _SERIES])
        return out

    def transform(self, X: Any) -> np.ndarray:
        """Features (batch, (thresholds + 3) * units) of series X, float32."""
        check_is_fitted(self, "scale_")
        X = self._read(X, self.n_features_in_)
        out = np.empty((len(X), self.n_features_out_), np.float32)
        first = 0
        for block in self.blocks(X):
            out[first : first + len(block)] = block
            first += len(block)
        return out

    def blocks(self, X: Any) -> Iterator[np.ndarray]:
        """The same for some series at a time, in bounded memory."""
        check_is_fitted(self, "scale_")
        for block in self._blocks(self._read(X, self.n_features_in_)):
            self._standardise(block)
            yield block

    # -- drawing ---------------------------------------------------------------------------------

    def _begin(self, X: Any) -> Any:
        """Check everything, draw and calibrate the filters; returns X as a collection."""
        checks.integer("units", self.units, CHUNK)
        if self.units % CHUNK:
            raise checks.fail("units", self.units, f"a multiple of {CHUNK}")
        checks.integer("thresholds", self.thresholds, 1)
        checks.flag("normalize", self.normalize)
        checks.jobs(self.n_jobs)
        rng = checks.generator(self.seed)
        X = self._read(X)
        self.n_features_in_ = X[0].shape[-1]
        self.n_features_out_ = self.units * (self.thresholds + KINDS)
        self._spread = None if self.normalize else _spread(X, self.n_features_in_)
        length = float(np.median([len(x) for x in X]))
        self.combinations_ = self._combinations(rng)
        count = self.units // CHUNK
        reach = np.log(max(length / 2, 2.0))
        tau = np.exp(rng.uniform(0, reach, (count, CHUNK // RUN))).repeat(RUN, axis=1)
        angle = rng.uniform(0, 2 * pi, tau.shape) * _CYCLES / tau
        angle = np.where(angle > pi, rng.uniform(0, pi, tau.shape), angle)
        eigenvalues = np.exp(-1 / tau + 1j * angle)
        weights = np.exp(2j * pi * rng.uniform(size=tau.shape))
        mix = rng.uniform(-1, 1, (2, count, TAPS))
        chosen = rng.permutation(len(X))
        chosen = chosen[: max(2, min(_SAMPLE, 1 + int(_SAMPLED_STEPS // length)))]
        self._calibrate([X[i] for i in chosen], eigenvalues, weights, mix[0] + 1j * mix[1], rng)
        return X

    def _combinations(self, rng: np.random.Generator) -> np.ndarray:
        """Weights (chunks, runs, channels): a random few channels for every run of filters."""
        channels, runs = self.n_features_in_, self.units // RUN
        weights = np.zeros((runs, channels), np.float32)
        if channels == 1:
            weights[:] = 1.0
        else:  # one channel as often as two or three, or four to seven
            most = min(_CHANNELS, channels)
            sizes = 2 ** rng.uniform(0, np.log2(most + 1), runs)
            for row, size in zip(weights, sizes, strict=True):
                heard = rng.choice(channels, min(int(size), most), replace=False)
                drawn = rng.normal(size=heard.size)
                row[heard] = drawn / np.linalg.norm(drawn)
        return weights.reshape(self.units // CHUNK, CHUNK // RUN, channels)

    def _calibrate(
        self,
        X: list[np.ndarray],
        eigenvalues: np.ndarray,
        weights: np.ndarray,
        mix: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Bring filters and responses to unit power on some series, and choose thresholds."""
        from paralesn.engines.cpu import filters

        rows = self._rows(X)
        given = (*rows, self.combinations_)
        nothing, ones = np.zeros(0, np.int64), np.ones(weights.shape)
        packed = filters.pack(eigenvalues, weights, mix, ones)
        power, _, _ = filters.calibrate(*given, packed, nothing, self.n_jobs)
        weights = weights * _inverse_root(power)
        steps = int(rows.lengths.sum())
        picks = np.arange(steps)
        if steps > _PICKS:
            picks = np.sort(rng.choice(steps, _PICKS, replace=False))
        packed = filters.pack(eigenvalues, weights, mix, ones)
        _, squares, picked = filters.calibrate(*given, packed, picks, self.n_jobs)
        scale = _inverse_root(squares)
        self.filters_ = filters.pack(eigenvalues, weights, mix, scale)
        picked = np.sort(picked, axis=1)
        levels = np.arange(self.thresholds)[:, None] + rng.uniform(size=(len(mix), 1, CHUNK))
        places = np.minimum((levels / self.thresholds * picks.size).astype(int), picks.size - 1)
        found = np.take_along_axis(picked, places, axis=1) * scale[:, None]
        self.thresholds_ = np.ascontiguousarray(found, np.float32)

    # -- features --------------------------------------------------------------------------------

    def _read(self, X: Any, n_features: int | None = None) -> Any:
        """X as an array (batch, time, features) or a list of such series, every value finite."""
        X = series.collection(X, n_features, type(self).__name__)
        named = [(x, f"X[{b}]") for b, x in enumerate(X)] if isinstance(X, list) else [(X, "X")]
        for array, name in named:
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                series.convert(array, np.dtype(float), name)  # says where
            if array.shape[-1] != X[0].shape[-1]:
                raise ValueError(
                    f"{name} must have {X[0].shape[-1]} features like X[0], got {array.shape[-1]}"
                )
        return X

    def _rows(self, X: Any) -> _Rows:
        """Series normalised and laid end to end."""
        from paralesn.engines.cpu import filters

        lengths = np.array([len(x) for x in X])
        starts = np.cumsum(lengths) - lengths
        x = np.ascontiguousarray(np.concatenate(list(X)), float)
        if self._spread is None:
            return _Rows(filters.normalise(x, starts, lengths, self.n_jobs), starts, lengths)
        with np.errstate(over="ignore"):  # reported once the features are there
            x = (x / self._spread - (x[starts] / self._spread).repeat(lengths, axis=0)).astype(
                np.float32
            )
        return _Rows(x, starts, lengths)

    def _blocks(self, X: Any) -> Iterator[np.ndarray]:
        """Features of some series at a time, not yet standardised."""
        from paralesn.engines.cpu import filters

        longest = max(len(x) for x in X)
        size = min(_SERIES, max(1, _VALUES // (longest * self.n_features_in_)))
        for first in range(0, len(X), size):
            rows = self._rows(X[first : first + size])
            found = filters.features(
                *rows, self.combinations_, self.filters_, self.thresholds_, self.n_jobs
            )
            found = found.reshape(len(found), -1)
            if self._spread is not None and not np.isfinite(found).all():
                place = first + int(np.argwhere(~np.isfinite(found))[0, 0])
                raise ValueError(
                    "X must be of the training series' size where normalize is False, got "
                    f"responses that overflow in series {place}"
                )
            yield found

    def _kept(self, X: Any, out: np.ndarray) -> Iterator[np.ndarray]:
        """The same, and written to `out` as well."""
        first = 0
        for block in self._blocks(X):
            out[first : first + len(block)] = block
            first += len(block)
            yield block

    def _measure(self, blocks: Iterator[np.ndarray]) -> None:
        """Mean and scale of every feature, from sums of differences to the first block's mean."""
        count, origin = 0, np.zeros(0)
        total = squares = np.zeros(self.n_features_out_)
        for block in blocks:
            origin = origin if count else block.mean(axis=0, dtype=float)
            shifted = block - origin
            count, total = count + len(block), total + shifted.sum(axis=0)
            squares = squares + np.einsum("ij,ij->j", shifted, shifted)
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        mean += origin
        self.mean_ = mean.astype(np.float32)
        varies = spread > 1e-6 * (np.abs(mean) + 1e-12)
        scale = np.ones_like(spread)
        ends = np.array([0, self.thresholds, *range(self.thresholds + 1, self.thresholds + 4)])
        for begin, end in zip(ends[:-1] * self.units, ends[1:] * self.units, strict=True):
            some = spread[begin:end][varies[begin:end]]
            usual = float(np.median(some)) if some.size else 1.0
            scale[begin:end] = np.hypot(spread[begin:end], _FLOOR * usual)
        self.scale_ = scale.astype(np.float32)

    def _standardise(self, features: np.ndarray) -> None:
        features -= self.mean_
        features /= self.scale_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of columns, by the name scikit-learn's mixin looks for."""
        return self.n_features_out_

    # What a saved bank holds besides its parameters.
    LEARNT = (
        "n_features_in_", "n_features_out_", "_spread", "filters_", "combinations_", "thresholds_",
        "mean_", "scale_",
    )  # fmt: skip

    def _check_learnt(self) -> None:
        """Check that what a file said was learnt fits together."""
        chunks, kinds, width = self.thresholds_.shape
        arrays = (self.filters_, self.combinations_, self.thresholds_, self.mean_, self.scale_)
        right = (
            width == CHUNK
            and self.filters_.shape == (chunks, ROWS, CHUNK)
            and self.combinations_.shape == (chunks, CHUNK // RUN, self.n_features_in_)
            and self.mean_.shape == self.scale_.shape == (self.n_features_out_,)
            and self.n_features_out_ == chunks * CHUNK * (kinds + KINDS)
            and all(a.dtype == np.float32 and np.isfinite(a).all() for a in arrays)
            and (self.scale_ > 0).all()
            and (self._spread is None or self._spread.shape == (self.n_features_in_,))
        )
        if not right:
            raise ValueError("the arrays of a FilterBank do not fit together")


def _inverse_root(squares: np.ndarray) -> np.ndarray:
    """1 / sqrt, or one where nothing was heard."""
    return 1.0 / np.sqrt(np.where(squares > 1e-20, squares, 1.0))


def _spread(X: Any, channels: int) -> np.ndarray:
    """Standard deviation of every channel over all series, one where there is none."""
    unit = np.max([np.abs(np.asarray(x, float)).max(axis=0) for x in X], axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    count, total, squares = 0, np.zeros(channels), np.zeros(channels)
    origin = X[0][0] / unit
    for x in X:
        shifted = x / unit - origin
        count, total = count + len(x), total + shifted.sum(axis=0)
        squares = squares + (shifted**2).sum(axis=0)
    spread = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0)) * unit
    return np.where(spread > 0, spread, 1.0)


register_estimator(FilterBank, FilterBank.LEARNT, FilterBank._check_learnt)
