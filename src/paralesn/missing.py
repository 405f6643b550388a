"""Missing inputs: refused, interpolated over time, or read as the mean and pointed out.

An estimator opens its training series with `opened` and keeps what that returns; `reopened` reads
further series in the same way, `MissingValues.row` a row of live data.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paralesn import checks, sources
from paralesn.moments import ColumnMoments
from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Floats
from paralesn.series import BATCH, RAGGED, SINGLE, Series
from paralesn.sources import Source

ERROR, INTERPOLATE, MASK = CHOICES = ("error", "interpolate", "mask")
HINT = (
    ". Missing values: missing='interpolate' fills them in from their neighbours in time, "
    "missing='mask' reads them as the mean and adds an input that says so"
)
_LOOK = 4096  # steps looked at together for the next known value


@register
@dataclass(frozen=True, eq=False)
class MissingValues:
    """How an estimator reads inputs of which some are missing.

    Attributes
    ----------
    how : "interpolate" or "mask"
    mean : array (features,)
        Of known training values; empty unless needed.
    flagged : array of int
        Features with missing values in training: an indicator for each follows the features.
    last : array (features,)
        The end of a single training series, from which live data continue; else empty.
    by_series : bool
        Whether "mask" reads the mean of the series itself, where it has one.
    """

    how: str
    mean: Floats
    flagged: Counts
    last: Floats
    by_series: bool = False

    @classmethod
    def of(
        cls, how: str, mean: Any = (), flagged: Any = (), by_series: bool = False
    ) -> "MissingValues":
        """What is known before the end of a series is."""
        arrays = np.array(mean, float), np.array(flagged, int)
        return cls(how, *arrays, np.zeros(0), by_series)

    def check(self, width: int) -> None:
        """Check what a file said, for an estimator whose first component reads `width` inputs."""
        features = width - self.flagged.size
        right = (
            self.how in (INTERPOLATE, MASK)
            and self.flagged.ndim == 1
            and all(0 <= int(feature) < features for feature in self.flagged)
            and self.mean.shape in ((0,), (features,))
            and self.last.shape in ((0,), (features,))
            and all(np.isfinite(array).all() for array in (self.mean, self.last))
        )
        if not right:
            raise ValueError("what was learnt about missing values does not fit together")

    def filled(self, rows: np.ndarray, whole: np.ndarray, first: int, name: str) -> np.ndarray:
        """Rows (n, features), `whole[first : first + n]` of a series, as they are read."""
        holes = np.isnan(rows)
        if self.how == INTERPOLATE:
            return _interpolated(rows, holes, whole, first, name) if holes.any() else rows
        if holes.any():
            mean = _known_means(whole, self.mean) if self.by_series else self.mean
            rows = np.where(holes, mean, rows)
        return np.hstack([rows, holes[:, self.flagged]]) if self.flagged.size else rows

    def row(self, row: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A row of live data (features,) as it is read, and the values known last.

        What follows is not known yet: instead of interpolated, a value is repeated.
        """
        holes = np.isnan(row)
        if self.how == MASK:
            known = np.where(holes, self.mean, row)
            return np.concatenate([known, holes[self.flagged]]), last
        if holes.any() and not last.size:
            raise ValueError(
                f"x must be known in the first row, got NaN in feature {int(holes.argmax())}: "
                "there is no value before it to repeat"
            )
        known = np.where(holes, last, row) if holes.any() else row
        return known, known


@dataclass(frozen=True, eq=False)
class FilledSource(Source):
    """A source whose missing values are filled in as they are read."""

    missing: MissingValues | None = None

    @property
    def n_features(self) -> int:
        """Features of a time step, indicators included."""
        assert self.missing is not None
        return super().n_features + self.missing.flagged.size

    def values(self) -> Any:
        """Arrays without holes, in the shape in which they came."""
        series = self.read()
        return series.split(series.rows)

    def read(
        self,
        dtype: np.dtype = sources.FLOAT,
        first: int = 0,
        last: int | None = None,
        check: bool = True,
    ) -> Series:
        """Time steps from `first` to before `last` of every series; see `Source.read`."""
        assert self.missing is not None
        raw = super().read(sources.FLOAT, first, last, check=False)
        pieces = raw.split(raw.rows)
        each = [pieces] if raw.kind == SINGLE else pieces
        wholes = [self.arrays] if raw.kind == SINGLE else self.arrays
        names = (_name(raw.kind, raw.first_series + b) for b in range(len(each)))
        filled = [
            self.missing.filled(rows, whole, first, name)
            for rows, whole, name in zip(each, wholes, names, strict=True)
        ]
        return raw._replace(rows=np.concatenate(filled)).astype(dtype, check)


def opened(
    X: Any,
    how: Any,
    owner: str,
    parse: Callable[..., Source] = sources.source,
    by_series: bool = False,
) -> tuple[Source, MissingValues | None]:
    """Open training series, and learn what reading further ones takes.

    Parameters
    ----------
    X : array-like, list of arrays, or Source
    how : "error", "interpolate" or "mask"
    owner : str
        Who reads, for messages.
    parse : `sources.source` or `sources.collection`
    by_series : bool
        Whether "mask" reads the mean of the series itself.

    Returns
    -------
    source : Source
        Complete.
    missing : MissingValues or None
        None for "error".

    Examples
    --------
    >>> source, missing = opened([1.0, np.nan, 2.0], "interpolate", "a model")
    >>> source.read().rows.ravel()
    array([1. , 1.5, 2. ])
    >>> source, missing = opened([1.0, np.nan, 2.0], "mask", "a model")
    >>> source.read().rows
    array([[1. , 0. ],
           [1.5, 1. ],
           [2. , 0. ]])
    """
    checks.choice("missing", how, CHOICES)
    if how == ERROR or isinstance(X, Source):
        source = parse(X, None, owner, hint=HINT)
        return (not_turned(source) if by_series else source), None
    raw = parse(X, None, owner, allow_nan=True)
    if by_series:
        not_turned(raw)
    mean, flagged = _measured(raw) if how == MASK else (np.zeros(0), np.zeros(0, int))
    missing = MissingValues(how, mean, flagged, np.zeros(0), by_series)
    source = filled(raw, missing)
    if raw.kind == SINGLE:
        end = source.read(first=int(source.lengths[0]) - 1).rows[0]
        missing = replace(missing, last=end[: raw.n_features])
    return source, missing


def reopened(
    X: Any,
    missing: MissingValues | None,
    n_features: int,
    owner: str,
    parse: Callable[..., Source] = sources.source,
) -> Source:
    """Open further series in the same way."""
    if missing is None:
        return parse(X, n_features, owner, hint=HINT)
    return filled(parse(X, n_features, owner, allow_nan=True), missing)


def not_turned(source: Source) -> Source:
    """The source; refused if its series are of a single step, as features and time swapped are."""
    if source.longest == 1 and source.n_features > 1:
        shape = (len(source), 1, source.n_features)
        raise ValueError(
            f"X must be (batch, time, features), got shape {shape}, series of a single step. If "
            "the last axis is time, as in aeon, give X.transpose(0, 2, 1)"
        )
    return source


def filled(raw: Source, missing: MissingValues) -> Source:
    """The source without holes: at once where it is small, else as it is read."""
    lazy = FilledSource(raw.arrays, raw.lengths, raw.kind, raw.first_series, missing=missing)
    return sources.read_at_once(lazy) if sources.is_small(raw) else lazy


def _measured(raw: Source) -> tuple[np.ndarray, np.ndarray]:
    """Means of what is known of every feature, and the features that are not always known."""
    return known_means(sources.moments_of(raw, check=False))


def known_means(moments: ColumnMoments) -> tuple[np.ndarray, np.ndarray]:
    """Means of what is known of every feature, and the features that are not always known."""
    if not moments.count.all():
        feature = int(moments.count.argmin())
        raise ValueError(f"X must hold a number for feature {feature}, got only NaN")
    return moments.mean, np.flatnonzero(moments.count < moments.rows)


def check_infinite(raw: Source, moments: ColumnMoments) -> None:
    """Raise, naming the place, where a known value is infinite."""
    known = moments.count > 0
    if not np.isfinite([moments.low[known], moments.high[known]]).all():
        zeros = MissingValues.of(MASK, np.zeros(raw.n_features))
        sources.moments_of(filled(raw, zeros))


def filled_moments(moments: ColumnMoments, flagged: np.ndarray) -> ColumnMoments:
    """Moments of inputs whose missing values are read as the mean, and of the indicators.

    A value at the mean adds to the count and to nothing else; an indicator that is 1 in a share q
    of all rows has the mean q and the variance q (1 - q).
    """
    rows = float(moments.rows)
    missing = rows - moments.count[flagged]
    share = missing / rows
    return ColumnMoments(
        np.full(moments.mean.size + flagged.size, rows),
        np.concatenate([moments.mean, share]),
        np.concatenate([moments.squares, missing * (1 - share) / 4]),  # in units of 2
        np.concatenate([moments.low, np.zeros(flagged.size)]),
        np.concatenate([moments.high, np.ones(flagged.size)]),
        moments.rows,
    )


def _known_means(whole: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Means of what is known in one series; `otherwise` for what is not known at all."""
    values = np.asarray(whole, float)
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def _interpolated(
    rows: np.ndarray, holes: np.ndarray, whole: np.ndarray, first: int, name: str
) -> np.ndarray:
    """Rows with holes filled in linearly between neighbours, at the ends by the nearest value."""
    rows, last = rows.copy(), first + len(rows)
    for feature in np.flatnonzero(holes.any(axis=0)):
        steps = first + np.flatnonzero(~holes[:, feature])
        values = rows[steps - first, feature]
        if holes[0, feature]:
            step, value = _next_known(whole, feature, first - 1, -1)
            steps, values = np.append(step, steps), np.append(value, values)
        if holes[-1, feature]:
            step, value = _next_known(whole, feature, last, 1)
            steps, values = np.append(steps, step), np.append(values, value)
        if not steps.size:
            raise ValueError(
                f"{name} must hold a number for feature {feature}, got only NaN, which cannot be "
                "interpolated; missing='mask' reads it as the mean of training"
            )
        gaps = np.flatnonzero(holes[:, feature])
        rows[gaps, feature] = np.interp(first + gaps, steps.astype(int), values)
    return rows


def _next_known(
    whole: np.ndarray, feature: int, start: int, direction: int
) -> tuple[np.ndarray, np.ndarray]:
    """Step and value of what is known next, from step `start` on or backwards; or nothing."""
    while 0 <= start < len(whole):
        low, high = (start, start + _LOOK) if direction > 0 else (start + 1 - _LOOK, start + 1)
        low = max(low, 0)
        column = np.asarray(whole[low:high, feature], float)
        known = np.flatnonzero(~np.isnan(column))
        if known.size:
            at = known[:1] if direction > 0 else known[-1:]
            return low + at, column[at]
        start = high if direction > 0 else low - 1
    return np.zeros(0, int), np.zeros(0)


def _name(kind: str, number: int) -> str:
    """What a series is called in messages."""
    return {SINGLE: "X", BATCH: f"series {number} of X", RAGGED: f"X[{number}]"}[kind]
