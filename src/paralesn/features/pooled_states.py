"""Pooled states: a row of features for each series, a reservoir's states summed up over time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, scaling, sources
from paralesn.engines.base import check_pools
from paralesn.moments import ColumnMoments
from paralesn.persistence import register
from paralesn.persistence.fields import Count
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.scaling import Scaling
from paralesn.series import SINGLE, Series
from paralesn.tunable import TunableDefaults

_VALUES = 1 << 22  # input values read at a time


@register
@dataclass(frozen=True, eq=False)
class FittedPooledStates:
    """The reservoir as drawn, how its states are pooled, and how inputs are scaled, if at all."""

    reservoir: Reservoir
    pools: tuple[str, ...]
    segments: Count
    scaling: Scaling | None

    def check(self, model: Any = None) -> None:
        """Check that what a file said was learnt fits together."""
        if not isinstance(self.reservoir, Reservoir):
            raise TypeError("PooledStates must hold a reservoir")
        check_pools(self.pools)
        checks.integer("segments", self.segments, 1)
        if self.scaling is not None:
            self.scaling.check(self.reservoir.n_features_in_)


@register
class PooledStates(
    TunableDefaults, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    r"""Features of series: statistics of each unit's states over time.

    A reservoir runs over a series of T steps; unit n of its states :math:`z_{t,n}` is summed up by
    each of the pools, over each of S segments,

    .. math:: \phi_{s,n} = \mathrm{pool}\, \{z_{t,n} : T s \le S t < T (s + 1)\},
        \qquad s = 0, \dots, S - 1.

    Statistics are gathered while the reservoir runs; the states themselves are never stored.

    Parameters
    ----------
    reservoir : reservoir, optional
        Default: one layer of 1 024 units, whose hyperparameters were chosen for classification.
    pool : name or sequence of names
        "last" (the last state, the paper's choice), "mean", "std", "max", "min", "ppv" (share of
        positive states).
    segments : int
        Equal parts of each series to pool over, one after the other.
    standardize : bool
        Bring every input feature to zero mean and unit variance over the training series.

    Attributes
    ----------
    reservoir_ : reservoir
        The one that was drawn.
    scaling_ : Scaling or None
        Mean and scale of the inputs.
    n_features_in_, n_features_out_ : int
        Features (channels) of a time step; columns of the result.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> X = np.random.default_rng(0).normal(size=(20, 100))
    >>> pe.PooledStates(pe.ParalESN(units=16), pool=("mean", "std")).fit_transform(X).shape
    (20, 64)

    The paper's features are the last states, of inputs as they are:

    >>> paper = pe.PooledStates(pe.ParalESN(units=16), pool="last", segments=1, standardize=False)
    >>> paper.fit_transform(X).shape
    (20, 16)
    """

    fitted_: FittedPooledStates
    DEFAULT_COMPONENTS: ClassVar = {"reservoir": lambda features: default_reservoir()}

    def __init__(
        self,
        reservoir: Reservoir | None = None,
        *,
        pool: str | Sequence[str] = ("mean", "std", "ppv"),
        segments: int = 2,
        standardize: bool = True,
    ) -> None:
        self.reservoir = reservoir
        self.pool = pool
        self.segments = segments
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the reservoir for series like X, and measure their mean and variance.

        Parameters
        ----------
        X : array-like (batch, time, features), (batch, time) for univariate series, or a list of
            arrays (time, features) or (time,), of equal length or not
        y : ignored
        """
        source = sources.collection(X, None, type(self).__name__)
        measured = scaling.measure(source) if self.standardize else None
        self.fitted_ = self._drawn(measured, lambda own: own.fit_to(source, measured))
        return self

    def fit_moments(self, moments: ColumnMoments) -> Self:
        """Draw the reservoir for series of which only the moments are here.

        For series that lie in blocks; a reservoir that adapts to its input has to see it.
        """
        measured = scaling.scaling_of(moments) if self.standardize else None
        zeros = Series(np.zeros((1, moments.mean.size)), np.array([1]), SINGLE)
        self.fitted_ = self._drawn(measured, lambda own: own.fit(zeros))
        return self

    @property
    def adapts(self) -> bool:
        """Whether the reservoir adapts to its input, so that it has to see all of it."""
        return bool(getattr(self.component("reservoir"), "adapts", False))

    def _drawn(
        self, measured: Scaling | None, draw: Callable[[Reservoir], Any]
    ) -> FittedPooledStates:
        pools = check_pools(self.pool, "pool")
        segments = checks.integer("segments", self.segments, 1)
        checks.flag("standardize", self.standardize)
        reservoir = self._own_reservoir()
        draw(reservoir)
        return FittedPooledStates(reservoir, pools, segments, measured)

    def transform(self, X: Any) -> np.ndarray:
        """Features (batch, segments * pools * units) of series X, in the reservoir's precision."""
        return np.concatenate(list(self.blocks(X)))

    def blocks(self, X: Any) -> Iterator[np.ndarray]:
        """The same in blocks of series, one after the other, in bounded memory."""
        check_is_fitted(self, "fitted_")
        source = sources.collection(X, self.n_features_in_, type(self).__name__)
        fitted, reservoir = self.fitted_, self.reservoir_
        size = max(1, _VALUES // (source.longest * source.n_features))
        for group in source.groups(size):
            if fitted.scaling is None:
                series = group.read(reservoir.real_dtype)
            else:
                series = fitted.scaling.apply_to(group.read(check=False))
            yield reservoir.pool(series, fitted.pools, fitted.segments)

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that was drawn."""
        return self.fitted_.reservoir

    @property
    def scaling_(self) -> Scaling | None:
        """Mean and scale of the inputs over the training series, or None."""
        return self.fitted_.scaling

    @property
    def n_features_in_(self) -> int:
        """Features (channels) of a time step."""
        return self.reservoir_.n_features_in_

    @property
    def n_features_out_(self) -> int:
        """Columns of the features."""
        fitted = self.fitted_
        return len(fitted.pools) * fitted.segments * fitted.reservoir.n_features_out_

    @property
    def _n_features_out(self) -> int:
        """The same, by the name scikit-learn's mixin looks for."""
        return self.n_features_out_

    def _own_reservoir(self) -> Reservoir:
        """A fresh copy of the reservoir given, or the default one."""
        given = self.component("reservoir")
        if not isinstance(given, Reservoir):
            raise checks.fail("reservoir", given, "None or a reservoir", TypeError)
        if self.standardize and getattr(given, "vocabulary", None) is not None:
            raise checks.fail("standardize", True, "False with a reservoir that reads tokens")
        copy: Reservoir = clone(given)
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        given = getattr(self.reservoir, "dtype", "float32")
        tags.transformer_tags.preserves_dtype = [checks.dtype_name(given)]
        return tags


def default_reservoir() -> ParalESN:
    """One layer chosen by experiment, see `paralesn.estimators.defaults`."""
    return ParalESN(
        units=1024,
        rho=(0.9, 0.999),
        theta=(0.0, pi / 2),
        input_scale=10.0,
        bias_scale=0.1,
        mix_scale=1.0,
        mix_bias_scale=0.3,
        mix_size=5,
        dtype="float32",
    )
