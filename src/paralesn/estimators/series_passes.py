"""Passes that fit an estimator of whole series: a survey, filters' samples, then features.

What a filter bank has to know of all series before any feature can be read out, its features'
means and scales, is taken from the sums that the readout keeps anyway, so that features of a
series are computed once.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from paralesn import checks, missing, sources
from paralesn.estimators import defaults
from paralesn.estimators.components import own_features, own_readout
from paralesn.estimators.passes import Block, Held, Pass, check_partial
from paralesn.estimators.series_targets import Encoded
from paralesn.features import levels
from paralesn.features.filter_bank import FilterBank
from paralesn.features.filter_drawing import FilterDraft
from paralesn.features.pooled_states import PooledStates
from paralesn.missing import MissingValues
from paralesn.moments import ColumnMoments
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, OpenFloats
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.dual_statistics import (
    DualAccumulator,
    DualStatistics,
    KeptRows,
    keeps_rows,
    sample_rows,
)
from paralesn.readouts.fitted_dual_ridge import LeftOut
from paralesn.readouts.ridge import Ridge
from paralesn.series import RAGGED, Series
from paralesn.sources import Source

_LEVELS = 1 << 14  # series whose levels say what is usual, at most
_WORTH_MERGING = 32  # rows for each column that a merge of readouts takes a fiftieth of


# -- what is known of all series -------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class SeriesSurvey(Held):
    """What is known of the series of some blocks.

    Attributes
    ----------
    count, n_features : int
    lengths, length_counts : arrays
        Lengths that series have, and how many have each.
    targets : LabelSurvey or NumberSurvey
    moments : ColumnMoments or None
        Of the inputs, where they are needed.
    levels : KeptRows or None
        Levels of series, where these are described; of a random few where there are many.
    """

    count: Count
    n_features: Count
    lengths: Counts
    length_counts: Counts
    targets: Any
    moments: ColumnMoments | None
    levels: KeptRows | None

    @property
    def usual_length(self) -> float:
        """The median of the lengths."""
        ends = np.cumsum(self.length_counts)
        middle = [(self.count - 1) // 2, self.count // 2]
        return float(self.lengths[np.searchsorted(ends, middle, side="right")].mean())

    def merged(self, other: Self) -> Self:
        """What is known of the series of both."""
        if self.n_features != other.n_features:
            raise ValueError(
                f"X must have {self.n_features} features in every block, got {other.n_features}"
            )
        every = np.concatenate([self.lengths, other.lengths])
        lengths, places = np.unique(every, return_inverse=True)
        counts = np.concatenate([self.length_counts, other.length_counts])
        moments, kept = self.moments, self.levels
        if moments is not None:
            moments = moments.merged(other.moments)  # type: ignore[arg-type]
        if kept is not None:
            kept = sample_rows((kept, other.levels), _LEVELS)  # type: ignore[arg-type]
        return replace(
            self,
            count=self.count + other.count,
            lengths=lengths,
            length_counts=np.bincount(places, counts).astype(np.int64),
            targets=self.targets.merged(other.targets),
            moments=moments,
            levels=kept,
        )


@dataclass(frozen=True, eq=False)
class _SeriesPass(Pass):
    """What passes over whole series have in common."""

    model: Any
    task: Any
    features: Any  # not fitted, until the features are computed
    readout: Any  # not fitted
    missing: MissingValues | None

    def open(self, block: Block) -> Source:
        """Series of a block, checked and without missing values."""
        source = raw_collection(block.X, self.model.missing, type(self.model).__name__)
        source = replace(source, first_series=source.first_series + block.first)
        return source if self.missing is None else missing.filled(source, self.missing)

    def changed(self, kind: type, **fields: Any) -> Any:
        """Another pass of the same estimator."""
        same = {name: getattr(self, name) for name in _SeriesPass.__dataclass_fields__}
        return kind(**(same | fields))


@register
@dataclass(frozen=True, eq=False)
class KnownMoments(Held):
    """Moments of what is known of inputs of which some are missing."""

    moments: ColumnMoments

    def merged(self, other: Self) -> Self:
        """Those of the inputs of both."""
        return replace(self, moments=self.moments.merged(other.moments))


@dataclass(frozen=True, eq=False)
class MissingPass(_SeriesPass):
    """Find the features that have missing values, and the means of the others."""

    def digest(self, block: Block, into: Any = None) -> KnownMoments:
        """Moments of what is known in a block."""
        source = raw_collection(block.X, self.model.missing, type(self.model).__name__)
        moments = sources.moments_of(source, check=False)
        missing.check_infinite(source, moments)
        partial = KnownMoments(moments)
        return partial if into is None else into.merged(partial)

    def finish(self, partial: KnownMoments) -> "SurveyPass":
        """The pass that surveys series without holes."""
        check_partial(partial, KnownMoments)
        means = missing.known_means(partial.moments)
        holes = MissingValues.of(missing.MASK, *means, by_series=True)
        return self.changed(SurveyPass, missing=holes)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class SurveyPass(_SeriesPass):
    """Count series and targets, and measure inputs where that is needed."""

    @property
    def reads_inputs(self) -> bool:
        """Whether values of series matter, and not only their number and targets."""
        features = self.features
        if isinstance(features, FilterBank):
            return not features.normalize or bool(features.levels)
        return isinstance(features, PooledStates) and bool(features.standardize)

    def digest(self, block: Block, into: Any = None) -> SeriesSurvey:
        """What is known of the series of a block."""
        source, features = self.open(block), self.features
        lengths, counts = np.unique(source.lengths, return_counts=True)
        targets = self.task.survey(block.y, len(source), block.weight)
        is_bank = isinstance(features, FilterBank)
        moments = kept = None
        if self.reads_inputs and not (is_bank and features.normalize):
            moments = sources.moments_of(source)
        if is_bank and features.levels:
            kept = _levels(source, block.first)
        survey = SeriesSurvey(
            len(source), source.n_features, lengths, counts, targets, moments, kept
        )
        return survey if into is None else into.merged(survey)

    def finish(self, survey: SeriesSurvey) -> Any:
        """The pass that chooses series to calibrate filters on, or that computes features."""
        self._check(survey)
        features = self.features
        if isinstance(features, FilterBank):
            draft = features.draft(survey.count, survey.usual_length, survey.n_features)
            return self.changed(SamplePass, survey=survey, draft=draft)
        if not isinstance(features, PooledStates) or features.adapts:
            expected = "a FilterBank, or PooledStates of a reservoir that does not adapt, in blocks"
            raise checks.fail("features", features, expected)
        moments = survey.moments
        if moments is None:  # inputs are read as they are: only their number matters
            moments = ColumnMoments.of_nothing(survey.n_features)
        fitted = clone(features).fit_moments(moments)
        return self.changed(FeaturePass, features=fitted, survey=survey)

    def shown(self, survey: SeriesSurvey, block: Block) -> Any:
        """As `finish`, with features that have to see all series to be fitted."""
        features = self.features
        if isinstance(features, (FilterBank, PooledStates)) and not getattr(
            features, "adapts", False
        ):
            return self.finish(survey)
        self._check(survey)
        fitted = clone(features).fit(data_for(features, self.open(block)))
        return self.changed(FeaturePass, features=fitted, survey=survey)

    def _check(self, survey: SeriesSurvey) -> None:
        check_partial(survey, SeriesSurvey)
        self.task.check(survey.targets)
        if self.task.is_weighted(survey.targets):
            check_weighs(self.readout, self.task)


def _levels(source: Source, first: int) -> KeptRows:
    """Levels of series, numbered from `first`."""
    values = np.concatenate([levels.statistics(group.read()) for group in source.groups(256)])
    nothing = np.zeros((len(values), 0))
    numbers = np.arange(first, first + len(values))
    return sample_rows((KeptRows(values, nothing, np.ones(len(values)), numbers),), _LEVELS)


# -- series that filters are calibrated on ---------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class ChosenSeries(Held):
    """A few series, (time, features) each, with their numbers."""

    arrays: tuple[OpenFloats, ...]
    numbers: tuple[Count, ...]

    def merged(self, other: Self) -> Self:
        """Those of both."""
        return type(self)(self.arrays + other.arrays, self.numbers + other.numbers)


@dataclass(frozen=True, eq=False)
class SamplePass(_SeriesPass):
    """Take the series that a draft of filters chose."""

    survey: SeriesSurvey
    draft: FilterDraft

    def wants(self, first: int, count: int) -> bool:
        """Whether some of these series were chosen."""
        return any(first <= number < first + count for number in self.draft.sample)

    def digest(self, block: Block, into: Any = None) -> ChosenSeries:
        """The chosen ones among the series of a block."""
        source = self.open(block)
        inside = [n for n in self.draft.sample if 0 <= n - block.first < len(source)]
        arrays = tuple(source.take([n - block.first]).rows for n in inside)
        chosen = ChosenSeries(arrays, tuple(inside))
        return chosen if into is None else into.merged(chosen)

    def finish(self, chosen: ChosenSeries) -> "FeaturePass":
        """The pass that computes features."""
        check_partial(chosen, ChosenSeries)
        at = {number: k for k, number in enumerate(chosen.numbers)}
        in_order = [chosen.arrays[at[number]] for number in self.draft.sample]
        lengths = np.array([len(array) for array in in_order])
        sample, survey = Series(np.concatenate(in_order), lengths, RAGGED), self.survey
        scale = None
        if survey.levels is not None:
            scale = levels.scale_of(survey.levels.X)
        channels = None
        if survey.moments is not None:
            spread = survey.moments.spread
            channels = np.where(spread > 0, spread, 1.0)
        features = clone(self.features)
        features.fitted_ = features.calibrated(self.draft, sample, channels, scale)
        return self.changed(  # type: ignore[no-any-return]
            FeaturePass, features=features, survey=survey, is_raw=True
        )


# -- features --------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class FeaturePartial(Held):
    """What was learnt from the features of some series.

    Attributes
    ----------
    statistics : DualStatistics or None
        Of a `DualRidge`.
    readout : Ridge or None
    kept : KeptRows or None
        Rows: a random few that are left out to see how good a `Ridge` is, or all of them, where
        the readout cannot learn from blocks.
    """

    statistics: DualStatistics | None = None
    readout: Any = None
    kept: KeptRows | None = None

    def merged(self, other: Self) -> Self:
        """What was learnt from both."""
        if self.statistics is not None and other.statistics is not None:
            return replace(self, statistics=self.statistics.merged(other.statistics))
        assert self.kept is not None
        assert other.kept is not None
        if self.readout is None:
            return replace(self, kept=self.kept.joined(other.kept))
        kept = sample_rows((self.kept, other.kept))
        return replace(self, readout=self.readout.merge(other.readout), kept=kept)


@dataclass(frozen=True, eq=False)
class FeaturePass(_SeriesPass):
    """Compute features, and learn from them.

    With `is_raw`, features are those of a filter bank whose means and scales are not known yet.
    """

    survey: SeriesSurvey
    is_raw: bool = False

    def warm_up(self) -> None:
        """Compile what computing features takes, on two series of the usual length."""
        width = self.survey.n_features - (0 if self.missing is None else self.missing.flagged.size)
        noise = np.random.default_rng(0).normal(
            size=(2, max(2, int(self.survey.lengths[0])), width)
        )
        for _ in self._lessons(self.open(Block(noise)), 0, Encoded(np.zeros((2, 1)), None)):
            pass

    @property
    def is_flat(self) -> bool:
        """Whether a readout is given targets (n,)."""
        return bool(self.model.is_flat(self.survey.targets))

    @property
    def rows_per_merge(self) -> int:
        """Series that take far longer to learn from than two partials to merge."""
        columns = int(self.features.n_features_out_)
        if not isinstance(self.readout, DualRidge):
            return _WORTH_MERGING * columns
        return 1 if self.survey.count <= columns else columns // 2  # rows, or a matrix of products

    def digest(self, block: Block, into: FeaturePartial | None = None) -> FeaturePartial:
        """What the readout learns from the series of a block."""
        source = self.open(block)
        given = (block.y, len(source), block.weight, self.readout)
        encoded = self.task.encode(self.survey.targets, *given)
        lessons = self._lessons(source, block.first, encoded)
        if isinstance(self.readout, DualRidge):
            before = None if into is None else into.statistics
            grown = DualAccumulator(before, self.survey.count)
            if keeps_rows(self.survey.count, int(self.features.n_features_out_)):
                lessons = iter([_gathered(lessons, len(source))])
            for rows in lessons:
                grown.add_rows(rows)
            return FeaturePartial(statistics=grown.statistics)
        if isinstance(self.readout, Ridge) and not self.is_raw:
            return self._learnt(lessons, into)
        kept = list(lessons)
        if into is not None and into.kept is not None:
            kept.insert(0, into.kept)
        return FeaturePartial(kept=kept[0].joined(*kept[1:]))

    def _lessons(self, source: Source, first: int, encoded: Any) -> Iterator[KeptRows]:
        """Features and targets, some series at a time."""
        data = data_for(self.features, source)
        if self.is_raw:
            blocks = self.features.raw_blocks(self.features.fitted_, data)
        else:
            blocks = self.features.blocks(data)
        done = 0
        for rows in map(np.asarray, blocks):  # whatever scikit-learn's set_output says
            cut = slice(done, done + len(rows))
            weight = np.ones(len(rows)) if encoded.weight is None else encoded.weight[cut]
            numbers = np.arange(first + done, first + cut.stop)
            yield KeptRows(rows, encoded.Y[cut], weight, numbers)
            done = cut.stop

    def _learnt(self, lessons: Iterator[KeptRows], into: FeaturePartial | None) -> FeaturePartial:
        readout = copy(self.readout if into is None else into.readout)
        kept = [] if into is None or into.kept is None else [into.kept]
        is_weighted = self.task.is_weighted(self.survey.targets)
        for rows in lessons:
            wanted = rows.Y[:, 0] if self.is_flat else rows.Y
            readout.partial_fit(rows.X, wanted, rows.weight if is_weighted else None)
            some = rows.taken(np.flatnonzero(rows.weight)) if is_weighted else rows
            kept = [sample_rows((*kept, some))]
        return FeaturePartial(readout=readout, kept=kept[0])

    def finish(self, partial: FeaturePartial) -> Any:
        """The fitted estimator."""
        return self._finished(partial, overwrite=False)

    def use_up(self, partial: FeaturePartial) -> Any:
        """The same from a partial that nobody needs any more, without copies of its rows."""
        return self._finished(partial, overwrite=True)

    def _finished(self, partial: FeaturePartial, overwrite: bool) -> Any:
        check_partial(partial, FeaturePartial)
        if partial.statistics is not None:
            return self._dual(partial.statistics, overwrite)
        kept = partial.kept
        assert kept is not None
        is_weighted, readout = self.task.is_weighted(self.survey.targets), partial.readout
        features = self.features
        if readout is not None:
            readout = copy(readout)
            readout.solve()  # with alpha chosen by all rows; and predicting changes nothing
        else:
            if self.is_raw:
                features, seen = self._standardised(DualStatistics(len(kept), (kept,)))
                kept = seen.rows
            readout = clone(self.readout)
            weight = {"sample_weight": kept.weight} if is_weighted else {}
            wanted = self.model.restored_targets(kept.Y, self.survey.targets, readout)
            readout.fit(kept.X, wanted, **weight)
            if isinstance(readout, Ridge):
                some = kept.taken(np.flatnonzero(kept.weight)) if is_weighted else kept
                kept = sample_rows((some,))
        left_out = None
        if isinstance(readout, Ridge):
            weights = kept.weight if is_weighted else None
            wanted = kept.Y[:, 0] if self.is_flat else kept.Y
            predictions = readout.left_out(kept.X, wanted, weights)
            left_out = LeftOut(kept.numbers, predictions.reshape(len(kept), -1))
        return self._assembled(features, readout, left_out, kept)

    def _dual(self, statistics: DualStatistics, overwrite: bool) -> Any:
        features, seen = self.features, statistics
        if self.is_raw:
            features, seen = self._standardised(statistics, overwrite)
        # Features that were standardised are nobody else's.
        readout = clone(self.readout).fit_statistics(
            seen, self.is_flat, overwrite=overwrite or self.is_raw
        )
        return self._assembled(features, readout, readout.left_out_, seen.rows)

    def _standardised(
        self, seen: DualStatistics, overwrite: bool = False
    ) -> tuple[Any, DualStatistics]:
        """The filter bank with means and scales of its features, and statistics in their units."""
        features = clone(self.features)
        features.fitted_ = bank = self.features.fitted_.scaled_by(*seen.moments())
        return features, seen.standardised(bank.mean, bank.scale, overwrite)

    def _assembled(
        self, features: Any, readout: Any, left_out: LeftOut | None, kept: KeptRows
    ) -> Any:
        state = self.model.assembled(
            features, readout, self.survey.targets, self.missing, left_out, kept
        )
        return self.fitted(state)


def _gathered(lessons: Iterator[KeptRows], count: int) -> KeptRows:
    """All rows of a block, written to one array as they come, so that there is no second copy."""
    first = next(lessons)
    X, done, others = np.empty((count, first.X.shape[1]), first.X.dtype), 0, []
    for rows in chain([first], lessons):
        X[done : done + len(rows)] = rows.X
        done += len(rows)
        others.append(replace(rows, X=rows.X[:, :0]))
    return replace(others[0].joined(*others[1:]), X=X)


# -- beginning -------------------------------------------------------------------------------------


def begin(model: Any, task: Any) -> MissingPass | SurveyPass:
    """The first pass of an estimator of whole series."""
    features = own_features(model.features, lambda: model.component("features"))
    readout = own_readout(model.readout, lambda: defaults.classifying_readout(features), task.name)
    how = checks.choice("missing", model.missing, missing.CHOICES)
    if how == missing.MASK:
        return MissingPass(model, task, features, readout, None)
    holes = None if how == missing.ERROR else MissingValues.of(how, by_series=True)
    return SurveyPass(model, task, features, readout, holes)


def raw_collection(X: Any, how: str, owner: str) -> Source:
    """Series as they came, with missing values where these will be filled."""
    if how == missing.ERROR:
        return missing.not_turned(sources.collection(X, None, owner, hint=missing.HINT))
    return missing.not_turned(sources.collection(X, None, owner, allow_nan=True))


def data_for(features: Any, source: Source) -> Any:
    """Series as features take them: parsed for ours, arrays for others'."""
    return source if isinstance(features, (FilterBank, PooledStates)) else source.values()


def check_weighs(readout: Any, task: Any) -> None:
    """Raise unless a readout takes weights."""
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(readout, "sample_weight"):
        what = "class_weight and sample_weight need"
        if task.name == "regression":
            what = "sample_weight needs"
        raise ValueError(
            f"{what} a readout whose fit takes sample_weight, got {type(readout).__name__}"
        )
