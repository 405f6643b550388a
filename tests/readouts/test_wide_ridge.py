"""Ridge on many states: Gram matrices where a bound allows them, and singular values elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import paralesn as pe
from paralesn.readouts import gram_factor as gram_factors
from paralesn.readouts import ridge_blocks, ridge_statistics
from paralesn.readouts.block_tridiagonal import BlockTridiagonal
from paralesn.readouts.ridge_rows import Rows
from paralesn.runtime import threads

ALPHAS = (0, 0.01, 0.1, 1, 10, 100)


def truth(X, y, alphas, weight=None):
    """Coefficients of standardised states for every alpha, by NumPy's SVD."""
    X, w = X.astype(float), np.ones(len(X)) if weight is None else weight
    mean, y_mean = np.average(X, axis=0, weights=w), np.average(y, axis=0, weights=w)
    away = X - mean
    scale = np.sqrt(np.average(away**2, axis=0, weights=w))
    root = np.sqrt(w)[:, None]
    Z = away * root * np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    u, s, vt = np.linalg.svd(Z, full_matrices=False)
    live = s > np.finfo(float).eps * max(X.shape) * s[0]
    d = u.T @ ((y - y_mean)[:, None] * root)
    gains = [np.where(live, s / np.where(live, s**2 + a, 1.0), 0.0) for a in alphas]
    return np.array([(vt.T @ (gain[:, None] * d))[:, 0] for gain in gains]), scale


def deviations(ridge, X, y, weight=None):
    expected, scale = truth(X, y, ridge.alphas, weight)
    ours = ridge.path_.coefs[..., 0] * scale
    return np.linalg.norm(ours - expected, axis=1) / np.linalg.norm(expected, axis=1)


def mixed(rng, rows, columns, condition, dtype=float):
    """Rows with singular values down to one over `condition`, and a target with noise."""
    v, _ = np.linalg.qr(rng.normal(size=(columns, columns)))
    X = (rng.normal(size=(rows, columns)) * np.geomspace(1, 1 / condition, columns)) @ v.T
    X = (X + 0.1 * rng.normal(size=columns)).astype(dtype)
    return X, X[:, :5].sum(axis=1) / X[:, :5].std() + rng.normal(size=rows)


@pytest.fixture
def ways(monkeypatch):
    """Which factors were made from Gram matrices, and which solutions from blocks."""
    made = []
    for module, name in ((ridge_statistics, "gram_factor"), (ridge_blocks, "solver")):
        inner = getattr(module, name)

        def watched(*args, inner=inner):
            result = inner(*args)
            made.append(result is not None)
            return result

        monkeypatch.setattr(module, name, watched)
    return made


def test_all_rows_of_a_call_make_one_gram_matrix(ways, monkeypatch, rng):
    """Blocks that reflections are made for would have a factor each, and lose a little each."""
    monkeypatch.setattr(ridge_statistics, "_ROWS", 600)
    X, y = mixed(rng, 4000, 520, 10, "float32")
    whole = pe.Ridge(ALPHAS[3:]).partial_fit(X, y)
    assert ways == [True]
    lost = whole.fitted_.statistics.rounding
    assert lost == pytest.approx(np.finfo(float).eps * 520 * 4000)
    assert deviations(whole, X, y).max() < 1e-7
    monkeypatch.setattr(ridge_statistics, "gram_factor", lambda *args: None)
    reflected = pe.Ridge(ALPHAS[3:]).partial_fit(X, y)
    assert reflected.fitted_.statistics.rounding == 0.0
    np.testing.assert_allclose(reflected.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "condition", "alphas", "expected"),
    [
        ("float32", 10, ALPHAS, [True, True]),
        ("float64", 10, ALPHAS, [True, True]),
        ("float32", 100, ALPHAS, [True, True]),
        ("float32", 1e6, (1.0, 10.0), [True, True]),  # the penalty alone allows it
        ("float32", 1e6, (1e-6, 1.0), [False, False]),
        ("float64", 1e6, (1e-3, 1.0), [False, False]),
        ("float64", 1e9, (1e-9, 1e-3), [False, False]),
    ],
)
def test_gram_matrices_where_the_bound_allows_them(ways, rng, dtype, condition, alphas, expected):
    X, y = mixed(rng, 1500, 520, condition, dtype)
    ridge = pe.Ridge(alphas).fit(X, y)
    assert ways == expected
    allowed = 2.0**-24 if dtype == "float32" and expected[0] else 1e-10
    tight = [a > 0 or condition < 1e6 for a in alphas]
    if condition < 1e9:
        assert deviations(ridge, X, y)[tight].max() < allowed


def test_nearly_collinear_states_take_the_exact_way(ways):
    x = np.random.default_rng(0).uniform(-1, 1, (2001, 1))
    X = pe.ParalESN(units=520, mix_scale=0.01).run(x[1:])[0]
    ridge = pe.Ridge((1e-3, 1.0)).fit(X, x[:-1, 0])
    assert ways == [False, False]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected, _ = truth(X, x[:-1, 0], ridge.alphas)
    for ours, w in zip(ridge.predict_each(X), expected, strict=True):
        assert np.abs(ours[:, 0] - Z @ w - x[:-1, 0].mean()).max() < 1e-9


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    power=st.floats(0, 6),
    penalty=st.sampled_from([0.0, 1e-3, 1.0, 100.0]),
    columns=st.integers(20, 90),
    dtype=st.sampled_from(["float32", "float64"]),
    is_later=st.booleans(),
)
def test_the_bound_holds(seed, power, penalty, columns, dtype, is_later):
    """Whatever is accepted deviates from the SVD by less than it may."""
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, 400, columns, 10.0**power, dtype)
    weight = rng.uniform(0.5, 2, 400)
    rows = Rows(X, y[:, None], np.sqrt(weight))
    before, lost = None, 0.0
    if is_later:
        first = Rows(X[:150], y[:150, None], np.sqrt(weight[:150]))
        before = np.linalg.qr(first.with_ones(slice(None)), mode="r")
        rows = Rows(X[150:], y[150:, None], np.sqrt(weight[150:]))
    accepted = gram_factors.gram_factor(before, rows, penalty, lost)
    if accepted is None:
        assert power > 0.5
        return
    factor, p = accepted.factor, columns
    assert np.array_equal(factor, np.triu(factor))
    expected, scale = truth(X, y, [penalty], weight)
    standard = factor[1 : p + 1, 1 : p + 1] / scale
    stacked = np.vstack([standard, np.sqrt(penalty) * np.eye(p)])
    right = np.concatenate([factor[1 : p + 1, -1], np.zeros(p)])
    w = np.linalg.lstsq(stacked, right, rcond=None)[0]
    allowed = gram_factors._LOST[X.dtype.char].error
    reach = np.linalg.norm(y) / np.sqrt(np.linalg.svd(stacked)[1][-1] ** 2)
    scale_of_w = max(np.linalg.norm(expected[0]), reach)
    assert np.linalg.norm(w - expected[0]) <= allowed * scale_of_w


def test_scores_are_those_of_singular_values(monkeypatch, rng):
    """The alpha chosen is the same, and a state without variance is left out of the count."""
    X, y = mixed(rng, 1300, 530, 30)
    X[:, 7], X[:, 300] = 0.0, 3.7
    blocks = pe.Ridge(ALPHAS).fit(X, y)
    monkeypatch.setattr(ridge_statistics, "gram_factor", lambda *args: None)
    monkeypatch.setattr(ridge_blocks, "solver", lambda *args: None)
    singular = pe.Ridge(ALPHAS).fit(X, y)
    np.testing.assert_allclose(blocks.scores_, singular.scores_, rtol=1e-8)
    assert blocks.alpha_ == singular.alpha_
    np.testing.assert_allclose(blocks.coef_, singular.coef_, atol=1e-9)
    assert (blocks.coef_[[7, 300]] == 0).all()


def test_targets_without_a_residual_take_the_exact_way(ways, rng):
    X, _ = mixed(rng, 1200, 520, 3)
    ridge = pe.Ridge(ALPHAS).fit(X, X[:, 0] + 2 * X[:, 1])
    assert ways[0] is False
    assert ridge.alpha_ == 0
    np.testing.assert_allclose(ridge.coef_[:3], [1, 2, 0], atol=1e-9)


def test_collinear_targets(ways, rng):
    """Indicators of classes add up to one."""
    X, _ = mixed(rng, 1300, 520, 10, "float32")
    codes = (X[:, 0] > 0).astype(int) + (rng.random(1300) > 0.5)
    Y = np.eye(3)[codes]
    ridge = pe.Ridge((1.0, 10.0)).fit(X, Y)
    assert ways == [True, True]
    np.testing.assert_allclose(ridge.predict(X).sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("how", ["blocks", "merged"])
def test_pieces_give_what_all_rows_give(ways, rng, how):
    X, y = mixed(rng, 3000, 520, 30, "float32")
    whole, weight = pe.Ridge(ALPHAS), rng.uniform(0.5, 2, 3000)
    cuts = [slice(0, 1100), slice(1100, 2100), slice(2100, 3000)]
    parts = [pe.Ridge(ALPHAS).partial_fit(X[c], y[c], weight[c]) for c in cuts]
    if how == "merged":
        whole = parts[0].merge(parts[1]).merge(parts[2])
    else:
        for c in cuts:
            whole.partial_fit(X[c], y[c], weight[c])
    assert all(ways)
    assert deviations(whole, X, y, weight).max() < 2.0**-24
    one = pe.Ridge(ALPHAS).partial_fit(X[:1500], y[:1500])
    one.partial_fit(X[1500:1510], y[1500:1510])  # rotations
    assert deviations(one, X[:1510], y[:1510]).max() < 2.0**-24


def test_penalties_below_those_rows_were_learnt_for(rng):
    X, y = mixed(rng, 1500, 520, 1e6, "float32")
    ridge = pe.Ridge((1.0, 10.0)).partial_fit(X, y)
    assert ridge.fitted_.statistics.rounding > 0
    with pytest.warns(UserWarning, match=r"alphas from .* on are good to 1e-6, got 1e-06"):
        ridge.set_params(alphas=(1e-6, 1.0)).solve()


def test_a_solution_is_saved_with_what_was_lost(rng, tmp_path):
    X, y = mixed(rng, 1200, 520, 10, "float32")
    ridge = pe.Ridge(ALPHAS).fit(X, y)
    pe.save(ridge, tmp_path / "ridge.safetensors")
    loaded = pe.load(tmp_path / "ridge.safetensors")
    assert loaded.fitted_.statistics.rounding == ridge.fitted_.statistics.rounding > 0
    np.testing.assert_array_equal(loaded.coef_, ridge.coef_)


def test_the_same_bits_for_any_number_of_threads(rng, monkeypatch):
    X, y = mixed(rng, 2500, 700, 10, "float32")
    results = []
    for blas, own in ((1, 1), (2, 2), (2, 3)):
        monkeypatch.setattr(threads, "available", lambda own=own: own)
        with threadpool_limits(blas, user_api="blas"):
            ridge = pe.Ridge(ALPHAS).fit(X, y)
            results.append((ridge.path_.coefs, ridge.scores_, ridge.fitted_.statistics.factors[0]))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 700])
def test_block_tridiagonal_matrices(rng, n):
    A, c = rng.normal(size=(2 * n + 3, n)), rng.normal(size=(n, 2))
    S = A.T @ A
    blocks = BlockTridiagonal(np.tril(S))
    for alpha in (0.0, 0.5):
        shifted, M = blocks.shifted(alpha), S + alpha * np.eye(n)
        ours = blocks.rotated_back(shifted.solve(blocks.rotated(c)))
        np.testing.assert_allclose(ours, np.linalg.solve(M, c), rtol=1e-9, atol=1e-12)
        assert shifted.inverse_trace() == pytest.approx(np.trace(np.linalg.inv(M)), rel=1e-11)
