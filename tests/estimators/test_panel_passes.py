"""Forecasters fitted by passes over blocks of series: the same model, however blocks are cut."""

import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import paralesn as pe
from paralesn.estimators.forecaster.panel import LongNames
from paralesn.estimators.forecaster.panel_block import SeriesInputs
from paralesn.estimators.forecaster.panel_passes import (
    JudgingPass,
    LearningPass,
    PanelErrors,
    PanelSurvey,
    WeighingPass,
    begin,
)
from paralesn.estimators.passes import Block, Pass
from paralesn.readouts.mlp import MLP


def mixed_series(rng: np.random.Generator, count: int = 40) -> list[np.ndarray]:
    """Short, long, positive, negative and intermittent series, some with NaN, seasons 12 or none."""
    series = []
    for i in range(count):
        n = int(rng.integers(6, 20)) if i % 7 == 3 else int(rng.integers(60, 160))
        t = np.arange(n)
        y = 0.3 * rng.normal(size=n).cumsum() + rng.normal(size=n)
        if i % 2:
            y = y + 6 * np.sin(2 * np.pi * t / 12)
        if i % 3 == 0:
            y = np.exp(0.05 * y + 3)
        if i % 10 == 4:
            y = np.where(rng.uniform(size=n) < 0.7, 0.0, rng.integers(1, 9, n)).astype(float)
        if i % 5 == 2:
            y[rng.integers(2, n - 2, 3)] = np.nan
        series.append(y)
    return series


def cuts(rng: np.random.Generator, count: int) -> list[slice]:
    """Blocks of random sizes, at least one of a single series."""
    at = np.unique([0, 1, *rng.integers(1, count, 6), count])
    return [slice(int(a), int(b)) for a, b in pairwise(at)]


def tree(partials: list, rng: np.random.Generator) -> object:
    """Partials merged in a random grouping that keeps their order."""
    partials = list(partials)
    while len(partials) > 1:
        k = int(rng.integers(0, len(partials) - 1))
        partials[k : k + 2] = [partials[k].merged(partials[k + 1])]
    return partials[0]


def through_pickle(value: object) -> object:
    return pickle.loads(pickle.dumps(value))


def fit_by_blocks(model: object, blocks: list[Block], seed: int = 1, steps: list | None = None):
    """The model that passes over blocks lead to; every pass and partial goes through a pickle."""
    step = begin(model)
    while isinstance(step, Pass):
        if steps is not None:
            steps.append(step)
        rng = np.random.default_rng(seed)
        partials = [through_pickle(through_pickle(step).digest(block)) for block in blocks]
        step = step.finish(tree(partials, rng))
    return step


def blocks_of(y: list, parts: list[slice], **inputs: list) -> list[Block]:
    return [
        Block(y[part], SeriesInputs(**{n: v[part] for n, v in inputs.items()}), part.start)
        for part in parts
    ]


def check_same(model, other, rtol: float = 1e-10, **ahead) -> None:
    """Forecasts and intervals that differ by less than `rtol` of the largest value of a series."""
    assert model.horizon_ == other.horizon_
    assert model.season_ == other.season_
    assert model.names_ == other.names_
    for ours, theirs in zip(
        model.forecast(interval=0.8, **ahead), other.forecast(interval=0.8, **ahead), strict=True
    ):
        for y, one, two in zip(model.fitted_.observed(), ours, theirs, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=rtol * np.nanmax(np.abs(y)))


@pytest.fixture(scope="module")
def series():
    return mixed_series(np.random.default_rng(7))


@pytest.fixture(scope="module")
def together(series):
    return pe.ReservoirForecaster(horizon=6).fit(series)


@pytest.fixture
def reflections(monkeypatch):
    """Readouts that factor rows by reflections alone.

    The faster way rounds, with states that depend on each other, to 1e-10 of the rows' products,
    for some blocks and not for others; what passes do beside that is seen without it.
    """
    monkeypatch.setattr("paralesn.readouts.triangular._WORST", 0.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_blocks_and_trees_do_not_matter(seed, reflections):
    rng, steps = np.random.default_rng(seed), []
    series = mixed_series(rng)
    together = pe.ReservoirForecaster(horizon=6).fit(series)
    model = fit_by_blocks(
        pe.ReservoirForecaster(horizon=6), blocks_of(series, cuts(rng, 40)), seed, steps
    )
    assert [type(step) for step in steps] == [PanelSurvey, LearningPass, JudgingPass, WeighingPass]
    check_same(together, model, rtol=1e-12)
    assert model.notes_ == together.notes_
    assert len(model.fitted_.ensemble.shared) == 2
    for one, other in zip(
        model.fitted_.ensemble.of_shared, together.fitted_.ensemble.of_shared, strict=True
    ):
        np.testing.assert_array_equal(one, other)
        assert 0 < len(one) < 40
    model.fitted_.check(model)
    readout, other = (m.fitted_.ensemble.shared[0].readout for m in (model, together))
    assert readout.alpha_ == other.alpha_
    assert readout.n_samples_seen_ == other.n_samples_seen_


def test_fast_factors_round_more_but_little(series, together):
    parts = cuts(np.random.default_rng(4), 40)
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=6), blocks_of(series, parts))
    check_same(together, model, rtol=1e-9)


def test_every_so_manieth_step_is_counted_in_each_series(series, reflections, monkeypatch):
    monkeypatch.setattr("paralesn.estimators.forecaster.shared_tasks.MOST_ROWS", 500)
    together = pe.ReservoirForecaster(horizon=3).fit(series)
    parts = cuts(np.random.default_rng(6), 40)
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=3), blocks_of(series, parts))
    seen, all_seen = (
        m.fitted_.ensemble.shared[0].readout.n_samples_seen_ for m in (model, together)
    )
    assert seen == all_seen < 1200
    check_same(together, model, rtol=1e-12)


def test_a_long_series_is_learnt_from_piece_by_piece(rng, monkeypatch, reflections):
    series = [rng.normal(size=n).cumsum() for n in (700, 90)]
    monkeypatch.setattr("paralesn.estimators.forecaster.shared_tasks.MOST_ROWS", 150)
    whole = pe.ReservoirForecaster(horizon=3).fit(series)
    monkeypatch.setattr("paralesn.estimators.forecaster.changes._VALUES", 128 * 37)
    pieces = pe.ReservoirForecaster(horizon=3).fit(series)
    one, other = (m.fitted_.ensemble.shared[0].readout for m in (whole, pieces))
    assert one.n_samples_seen_ == other.n_samples_seen_ < 400
    check_same(whole, pieces, rtol=1e-9)


def test_the_model_goes_on_as_the_one_of_fit(series, together):
    model = fit_by_blocks(
        pe.ReservoirForecaster(horizon=6), blocks_of(series, cuts(np.random.default_rng(3), 40))
    )
    new = [np.full(2, np.nanmean(y)) for y in series]
    once, again = (pickle.loads(pickle.dumps(m)).update(new) for m in (together, model))
    check_same(once, again, rtol=1e-9)


def test_the_same_tree_gives_the_same_bits(series):
    parts = cuts(np.random.default_rng(5), 40)
    one, other = (
        fit_by_blocks(pe.ReservoirForecaster(horizon=6, n_jobs=jobs), blocks_of(series, parts))
        for jobs in (1, 2)
    )
    for a, b in zip(one.forecast(), other.forecast(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_merging_changes_no_partial(series):
    step, blocks = (
        begin(pe.ReservoirForecaster(horizon=6)),
        blocks_of(series, [slice(0, 14), slice(14, 40)]),
    )
    while isinstance(step, Pass):
        a, b = (step.digest(block) for block in blocks)
        before = pickle.dumps(a), pickle.dumps(b)
        once, again = a.merged(b), a.merged(b)
        assert (pickle.dumps(a), pickle.dumps(b)) == before
        assert pickle.dumps(once) == pickle.dumps(again)
        assert sys.getsizeof(once) > 0.5 * len(before[0])  # arrays included
        ahead = step.digest(blocks[1], into=a)
        assert pickle.dumps(a) == before[0]
        assert pickle.dumps(ahead) == pickle.dumps(once)
        step = step.finish(once)


def test_partials_can_be_saved(series, tmp_path):
    model = pe.ReservoirForecaster(horizon=6)
    step, blocks = begin(model), blocks_of(series, [slice(0, 14), slice(14, 40)])
    direct = fit_by_blocks(model, blocks)
    while isinstance(step, Pass):
        kept = []
        for i, block in enumerate(blocks):
            pe.save(step.digest(block), tmp_path / f"{i}.npz")
            kept.append(pe.load(tmp_path / f"{i}.npz"))
        step = step.finish(kept[0].merged(kept[1]))
    for a, b in zip(step.forecast(), direct.forecast(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_smoother_bank(series):
    model = pe.SmootherBank(horizon=5)
    blocks = blocks_of(series, cuts(np.random.default_rng(2), 40))
    steps: list = []
    other = fit_by_blocks(model, blocks, 3, steps)
    assert [type(step) for step in steps] == [PanelSurvey, WeighingPass]
    check_same(model.fit(series), other)


def test_inputs_of_every_kind(rng, reflections):
    count, n = 9, 90
    price = [rng.normal(size=(n, 1)) for _ in range(count)]
    kind = [np.array(["a", "b" if i < 5 else "c"])[rng.integers(0, 2, n)] for i in range(count)]
    X = [np.column_stack([p.astype(object), k]) for p, k in zip(price, kind, strict=True)]
    past = [rng.normal(5, 3, size=(n, 2)) for _ in range(count)]
    static = np.array(["u", "v", "w"])[np.arange(count) // 4]
    y = [
        20 + 2 * p[:, 0] + 3 * (k == "c") + np.roll(q[:, 0], 1) + 0.1 * rng.normal(size=n).cumsum()
        for p, k, q in zip(price, kind, past, strict=True)
    ]
    parts = [slice(0, 2), slice(2, 3), slice(3, 7), slice(7, 9)]
    whole = pe.ReservoirForecaster(horizon=4).fit(y, X, past=past, static=static)
    steps: list = []
    blocks = blocks_of(y, parts, X=X, past=past, static=static)
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=4), blocks, 0, steps)
    # Blocks know different categories, so that they are surveyed again with those of all.
    assert [type(step) for step in steps[:3]] == [PanelSurvey, PanelSurvey, LearningPass]
    assert model.fitted_.known == whole.fitted_.known
    assert model.fitted_.known.categories == {"1": ["a", "b", "c"]}
    np.testing.assert_allclose(model.fitted_.past_scaling, whole.fitted_.past_scaling, rtol=1e-12)
    assert whole.fitted_.effects.helps.any()
    check_same(whole, model, X=[x[:4] for x in X])
    assert sorted(model.notes_) == sorted(whole.notes_)


def test_default_horizon_is_that_of_all_series(series):
    whole = pe.ReservoirForecaster().fit(series)
    model = fit_by_blocks(
        pe.ReservoirForecaster(), blocks_of(series, [slice(0, 3), slice(3, 4), slice(4, 40)])
    )
    alone = pe.ReservoirForecaster().fit(series[3])
    assert model.horizon_ == whole.horizon_ != alone.horizon_
    check_same(whole, model, rtol=1e-9)


def test_readouts_that_do_not_merge_gather_rows(series):
    def forecaster():
        return pe.ReservoirForecaster(horizon=4, readout=MLP(8, epochs=3, seed=0))

    steps: list = []
    blocks = blocks_of(series[:8], [slice(0, 3), slice(3, 8)])
    model = fit_by_blocks(forecaster(), blocks, 0, steps)
    assert [type(step) for step in steps] == [PanelSurvey, LearningPass, WeighingPass]
    check_same(forecaster().fit(series[:8]), model, rtol=1e-6)


def long_frame(series, names, first="2015-01-31", frequency="ME"):
    return pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range(first, periods=len(y), freq=frequency),
                "y": y,
                "size": float(len(y)),
            }
        )
        for name, y in zip(names, series, strict=True)
    )


def test_long_frames_in_blocks_of_whole_series(series):
    names = [f"s{i:02d}" for i in range(20)]
    frame = long_frame(series[:20], names)
    gaps = frame["ds"].dt.month.eq(5) & frame["unique_id"].isin(["s02", "s11"])
    frame = frame[~gaps].sample(frac=1, random_state=0).sort_values("unique_id", kind="stable")
    # Two rows look like anything; they follow the clock of the others.
    short = pd.DataFrame({"unique_id": "s99", "ds": pd.to_datetime(["2015-01-31", "2015-03-31"])})
    days = np.sort(np.random.default_rng(0).choice(900, 40, replace=False))
    uneven = pd.DataFrame(
        {"unique_id": "r", "ds": pd.Timestamp("2016-01-01") + pd.to_timedelta(days, "D")}
    )
    frame = pd.concat(
        [uneven.assign(y=days % 7.0, size=1.0), frame, short.assign(y=[1.0, 2.0], size=2.0)]
    )
    given = LongNames()
    whole = pe.ReservoirForecaster(horizon=6, calendar="auto").fit(frame, static=["size"])
    groups = [["r"], names[:3], names[3:4], names[4:15], names[15:], ["s99"]]
    blocks = [
        Block(frame[frame["unique_id"].isin(group)], SeriesInputs(None, None, ["size"], given), i)
        for i, group in enumerate(groups)
    ]
    steps: list = []
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=6, calendar="auto"), blocks, 0, steps)
    assert [type(s) for s in steps[:3]] == [PanelSurvey, PanelSurvey, LearningPass]
    assert model.fitted_.ends.counts[-1] == 3
    assert model.fitted_.ends.kind == whole.fitted_.ends.kind == "months"
    assert model.fitted_.calendar == whole.fitted_.calendar == ("month",)
    one, other = whole.forecast(interval=0.9), model.forecast(interval=0.9)
    assert list(one.columns) == list(other.columns)
    assert one[["unique_id", "ds"]].equals(other[["unique_id", "ds"]])
    numbers = [c for c in one.columns if c.startswith("yhat")]
    np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-9, atol=1e-9)
    assert sum("not in the order of time" in note for note in model.notes_) == 1
    assert sorted(model.notes_) == sorted(whole.notes_)


def test_tables_and_wide_frames_by_columns(rng):
    table = rng.normal(size=(80, 6)).cumsum(axis=0)
    whole = pe.ReservoirForecaster(horizon=3).fit(table)
    blocks = [Block(table[:, :1]), Block(table[:, 1:4], first=1), Block(table[:, 4:], first=4)]
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=3), blocks)
    np.testing.assert_allclose(model.forecast(), whole.forecast(), rtol=1e-9)
    frame = pd.DataFrame(
        table, columns=list("abcdef"), index=pd.date_range("2024-01-01", periods=80, freq="D")
    )
    blocks = [Block(frame[["a", "b"]]), Block(frame[["c", "d", "e", "f"]], first=2)]
    model = fit_by_blocks(pe.ReservoirForecaster(horizon=3), blocks)
    pd.testing.assert_frame_equal(
        model.forecast(), pe.ReservoirForecaster(horizon=3).fit(frame).forecast(), rtol=1e-9
    )


def test_what_cannot_be_in_blocks_is_named(series):
    with pytest.raises(ValueError, match="strategy must be 'auto' for blocks"):
        begin(pe.ReservoirForecaster(strategy="closed-loop"))
    with pytest.raises(ValueError, match="noise needs strategy"):
        begin(pe.ReservoirForecaster(noise=0.1))
    survey = begin(pe.SmootherBank(horizon=2))
    single = survey.digest(Block(np.arange(9.0)))
    with pytest.raises(ValueError, match="list of series"):
        single.merged(single)
    frame = long_frame(series[:2], ["a", "b"])
    twice = survey.digest(Block(frame))
    with pytest.raises(ValueError, match="one block, got 'a'"):
        survey.finish(twice.merged(twice))
    with pytest.raises(ValueError, match="alike in kind"):
        twice.merged(survey.digest(Block(series[:2])))
    ragged = survey.digest(Block(np.ones((5, 2)))).merged(survey.digest(Block(np.ones((6, 2)))))
    with pytest.raises(ValueError, match="same time steps, got 5 and 6"):
        survey.finish(ragged)
    with pytest.raises(TypeError, match="SeriesInputs"):
        survey.digest(Block(series, series))
    with pytest.raises(TypeError, match="PanelFacts"):
        survey.finish(PanelErrors(()))
    with pytest.raises(ValueError, match=r"y\[7\] must be finite .* infinity") as caught:
        survey.digest(Block([np.array([1.0, np.inf, 2.0])], first=7))
    assert caught.value.__notes__ == ["in the block that begins with series 7"]
