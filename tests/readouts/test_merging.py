"""Partials of a readout: pure, exact, small to keep, and the same bits on any number of cores."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import paralesn as pe
from paralesn.moments import ColumnMoments, measured
from paralesn.readouts import triangular
from paralesn.runtime import threads


@pytest.fixture
def lesson(rng):
    Z = rng.normal(size=(900, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=12)
    return Z, Z @ rng.normal(size=(12, 2)) + rng.normal(size=(900, 2))


def test_merging_twice_gives_the_same_as_merging_once(lesson):
    Z, Y = lesson
    a, b = pe.Ridge().partial_fit(Z[:300], Y[:300]), pe.Ridge().partial_fit(Z[300:], Y[300:])
    kept = pickle.dumps((a, b))
    first, second = a.merge(b), a.merge(b)
    assert first.n_samples_seen_ == second.n_samples_seen_ == 900
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert pickle.dumps((a, b)) == kept


def test_errors_on_validation_data_add_up(lesson):
    Z, Y = lesson
    learnt = pe.Ridge((0.1, 10.0, 1e4)).partial_fit(Z[:500], Y[:500]).solve()
    # Two halves of the validation data, by readouts that know the same rows.
    halves = [pickle.loads(pickle.dumps(learnt)).validate(Z[a:b], Y[a:b])
              for a, b in ((500, 650), (650, 900))]  # fmt: skip
    whole = pickle.loads(pickle.dumps(learnt)).validate(Z[500:], Y[500:])
    together = halves[0].fitted_.validation.merged(halves[1].fitted_.validation)
    np.testing.assert_allclose(together.scores(), whole.scores_, rtol=1e-12)
    merged = halves[0].merge(halves[1])
    assert merged.n_samples_seen_ == 1000
    np.testing.assert_allclose(merged.scores_, whole.scores_, rtol=1e-12)
    other = pe.Ridge((1.0,)).partial_fit(Z[:9], Y[:9]).validate(Z[:9], Y[:9])
    with pytest.raises(ValueError, match="validated with the same alphas"):
        whole.merge(other)
    only_one = pe.Ridge((0.1, 10.0, 1e4)).partial_fit(Z[500:], Y[500:]).merge(whole)
    np.testing.assert_array_equal(only_one.scores_, whole.scores_)


def test_a_partial_is_kept_without_being_solved(lesson, tmp_path):
    """Also where a target has no number in a block: others have."""
    Z, Y = lesson
    Y = Y.copy()
    Y[:300, 1] = np.nan
    a, b = (pe.Ridge(nan_targets="omit").partial_fit(Z[cut], Y[cut])
            for cut in (slice(0, 300), slice(300, None)))  # fmt: skip
    pe.save(a, tmp_path / "partial.safetensors")
    for copy in (pe.load(tmp_path / "partial.safetensors"), pickle.loads(pickle.dumps(a))):
        assert copy.fitted_.solution is None
        merged = copy.merge(b)
        assert copy.fitted_.solution is None
        whole = pe.Ridge(nan_targets="omit").fit(Z, Y)
        np.testing.assert_allclose(merged.predict(Z), whole.predict(Z), rtol=1e-10)
    assert a.fitted_.solution is None


def test_the_size_of_a_readout_is_that_of_its_arrays(rng):
    ridge = pe.Ridge().partial_fit(rng.normal(size=(700, 300)), rng.normal(size=700))
    factor = ridge.fitted_.statistics.factors[0]
    assert factor.nbytes < sys.getsizeof(ridge) < 1.1 * factor.nbytes
    dual = pe.DualRidge().fit(rng.normal(size=(40, 3000)), rng.normal(size=40))
    assert 24_000 < sys.getsizeof(dual) < 40_000
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    assert sizeof(ridge) == sys.getsizeof(ridge)


@pytest.mark.parametrize("columns", [1, 2, 31, 33, 200])
def test_triangles_merge_as_their_rows_do(rng, columns):
    first, second = (np.linalg.qr(rng.normal(size=(columns + 9, columns)))[1] for _ in range(2))
    before = first.copy(), second.copy()
    merged = triangular.stack(first, second, 0)
    truth = first.T @ first + second.T @ second
    np.testing.assert_allclose(merged.T @ merged, truth, rtol=1e-12, atol=1e-12 * truth.max())
    assert not np.tril(merged, -1).any()
    np.testing.assert_array_equal(first, before[0])
    np.testing.assert_array_equal(second, before[1])


def test_merged_triangles_keep_small_directions(rng):
    """Squares would lose what is 1e-9 times as large; reflections do not."""
    scales = 10.0 ** -np.linspace(0, 9, 20)
    Z = rng.normal(size=(4000, 20)) @ np.linalg.qr(rng.normal(size=(20, 20)))[0] * scales
    w = rng.normal(size=20) / scales
    parts = [pe.Ridge([0]).partial_fit(Z[i::4], Z[i::4] @ w) for i in range(4)]
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    np.testing.assert_allclose(merged.coef_, w, rtol=1e-6)


def _fits(Z, Y):
    """Bits of everything a readout does, of sizes at which BLAS shares its work out."""
    ridge = pe.Ridge((0, 1e-3, 1.0)).fit(Z, Y)
    halves = [pe.Ridge().partial_fit(Z[i::2], Y[i::2]) for i in range(2)]
    merged = halves[0].merge(halves[1])
    wide = Z[:300].repeat(6, axis=1) + np.arange(6 * Z.shape[1]) % 7
    dual = pe.DualRidge().fit(wide, Y[:300])
    large = pe.DualRidge().fit(Z[:2500].repeat(5, axis=1).astype(np.float32), Y[:2500])
    return [
        ridge.coef_, ridge.scores_, ridge.predict(Z), ridge.left_out(Z[:50], Y[:50]),
        merged.coef_, merged.fitted_.statistics.factors[0],
        dual.coef_, dual.predict(wide), large.coef_, large.left_out_.predictions,
    ]  # fmt: skip


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads(rng, monkeypatch):
    Z = np.cumsum(rng.normal(size=(9000, 330)), axis=1)
    Y = Z @ rng.normal(size=(330, 3)) + rng.normal(size=(9000, 3))
    results = []
    for blas, own in ((1, 1), (2, 2), (2, 1), (4, 3)):
        monkeypatch.setattr(threads, "available", lambda own=own: own)
        with threadpool_limits(blas, user_api="blas"):
            results.append(_fits(Z, Y))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_same_bits_from_any_thread(rng):
    """Limits that one thread set before bind the others as well, which threadpoolctl ignores."""
    Z, Y = rng.normal(size=(3000, 66)), rng.normal(size=(3000, 2))
    here = pe.Ridge().fit(Z, Y).coef_
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(lambda: pe.Ridge().fit(Z, Y).coef_).result()
    np.testing.assert_array_equal(here, there)


@given(
    cuts=st.lists(st.integers(0, 200), max_size=6),
    order=st.randoms(use_true_random=False),
    level=st.sampled_from([0.0, 1.0, 1e8, -1e12]),
    size=st.sampled_from([1e-300, 1.0, 1e290]),
)
def test_moments_of_any_pieces_are_those_of_the_whole(cuts, order, level, size):
    rng = np.random.default_rng(len(cuts))
    rows = (rng.normal(size=(200, 3)) + level) * size
    rows[:, 2] = level * size  # a constant
    rows[rng.random(200) < 0.1, 1] = np.nan
    pieces = [measured(piece) for piece in np.split(rows, sorted(cuts))]
    order.shuffle(pieces)
    total = pieces[0]
    for piece in pieces[1:]:
        total = total.merged(piece)
    assert isinstance(total, ColumnMoments)
    assert total.rows == 200
    np.testing.assert_array_equal(total.count, (~np.isnan(rows)).sum(axis=0))
    with np.errstate(under="ignore"):
        mean, spread = np.nanmean(rows / size, axis=0), np.nanstd(rows / size, axis=0)
        np.testing.assert_allclose(total.mean / size, mean, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(
            total.spread[:2] / size, spread[:2], rtol=1e-3 if level < -1e9 else 1e-7
        )
    assert total.spread[2] == 0.0
    assert total.mean[2] == level * size


def test_no_block_is_a_reference_for_the_others():
    """A first block far away costs the others no digits."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100_000, 1))
    rows[:10] += 1e7
    whole = measured(rows)
    parts = measured(rows[:10])
    for start in range(10, 100_000, 9999):
        parts = parts.merged(measured(rows[start : start + 9999]))
    exact = rows.astype(np.longdouble)
    for moments in (whole, parts):
        np.testing.assert_allclose(moments.mean, float(exact.mean()), rtol=1e-12)
        np.testing.assert_allclose(moments.spread, float(exact.std()), rtol=1e-12)
