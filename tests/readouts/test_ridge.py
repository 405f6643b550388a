"""Ridge against explicit SVDs, scikit-learn, and itself in other pieces."""

from copy import copy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.datasets import mackey_glass
from paralesn.readouts import triangular

ALPHAS = (0, 0.01, 0.1, 1, 10, 100)
EPS = np.finfo(float).eps


def svd_ridges(Z, Y, alphas):
    """Predictions on the training data for every penalty, by an explicit float64 SVD."""
    standard = StandardScaler().fit_transform(Z)
    u, s, vt = np.linalg.svd(standard, full_matrices=False)
    keep = s > EPS * max(Z.shape) * s[0]
    for alpha in alphas:
        gain = np.where(keep, s / (s**2 + alpha), 0) if alpha else np.where(keep, 1 / s, 0)
        yield standard @ (vt.T @ (gain[:, None] * (u.T @ (Y - Y.mean(0))))) + Y.mean(0)


def svd_ridge(Z, Y, alpha):
    return next(svd_ridges(Z, Y, [alpha]))


@cache
def near_linear(task, units=128):
    """States of a near-linear reservoir, condition number around 1e11, targets, predictions."""
    rng = np.random.default_rng(5)
    if task == "mackey-glass":
        series = mackey_glass(5001)
        x, Y = series[:-1], series[1:]
    else:
        x = rng.uniform(-0.8, 0.8, (5000, 1))
        Y = np.hstack([np.roll(x, delay, axis=0) for delay in range(1, 21)])
    Z = pe.ParalESN(units=units, mix_scale=0.01, rho=(0.5, 0.99)).run(x)[0]
    Z, Y = Z[200:].copy(), Y[200:]
    assert np.linalg.cond(StandardScaler().fit_transform(Z)) > 1e6
    return Z, Y, list(svd_ridges(Z, Y, ALPHAS))


def in_blocks(Z, Y, size, **options):
    ridge = pe.Ridge(ALPHAS, **options)
    for start in range(0, len(Z), size):
        ridge.partial_fit(Z[start : start + size], Y[start : start + size])
    return ridge


def predictions(ridge, Z):
    path = ridge.solve().fitted_.solution.path
    return [Z @ w + b for w, b in zip(path.coefs, path.intercepts, strict=True)]


def merged(parts, order):
    parts = [clone(ridge).partial_fit(*data) for ridge, data in parts]
    total = parts[order[0]]
    for i in order[1:]:
        total = total.merge(parts[i])
    return total


@pytest.mark.parametrize("task", ["mackey-glass", "memory"])
@pytest.mark.parametrize("how", ["whole", 1000, 333, 61, "merged", "merged backwards"])
def test_the_accuracy_of_the_svd_on_ill_conditioned_states(task, how):
    Z, Y, truths = near_linear(task)
    if how == "whole":
        ridge = pe.Ridge(ALPHAS).fit(Z, Y)
    elif isinstance(how, int):
        ridge = in_blocks(Z, Y, how)
    else:
        cuts = [slice(0, 1500), slice(1500, 1700), slice(1700, None)]
        order = [0, 1, 2] if how == "merged" else [2, 1, 0]
        ridge = merged([(pe.Ridge(ALPHAS), (Z[cut], Y[cut])) for cut in cuts], order)
    for alpha, predicted, expected in zip(ALPHAS, predictions(ridge, Z), truths, strict=True):
        if alpha:
            assert np.abs(predicted - expected).max() <= 1e-6 * Y.std()
        else:
            ours, truth = ((predicted - Y) ** 2).mean(), ((expected - Y) ** 2).mean()
            assert ours <= 1.02 * truth  # one percent of the root


def test_condition_numbers_up_to_1e12(rng):
    """Singular values from 1 to 1e-12, targets along all of them."""
    u, _ = np.linalg.qr(rng.normal(size=(3000, 40)))
    v, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    Z = (u * np.logspace(0, -12, 40)) @ v.T
    Y = u @ rng.normal(size=(40, 2)) + 0.1 * rng.normal(size=(3000, 2))
    truths = list(svd_ridges(Z, Y, ALPHAS))
    for size in (3000, 500, 50):
        predicted = predictions(in_blocks(Z, Y, size), Z)
        for alpha, ours, truth in zip(ALPHAS, predicted, truths, strict=True):
            if alpha:
                assert np.abs(ours - truth).max() <= 1e-6 * Y.std()


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learns_ridge_on_standardised_states(alpha, weighted, rng):
    Z = rng.normal(size=(300, 7)) * np.logspace(-2, 2, 7) + 3
    Y = Z @ rng.normal(size=(7, 3)) + rng.normal(size=(300, 3))
    weight = rng.uniform(0, 2, 300) if weighted else None
    scaler = StandardScaler().fit(Z, sample_weight=weight)
    expected = SklearnRidge(alpha).fit(scaler.transform(Z), Y, sample_weight=weight)
    ridge = pe.Ridge([alpha]).fit(Z, Y, sample_weight=weight)
    np.testing.assert_allclose(ridge.predict(Z), expected.predict(scaler.transform(Z)), rtol=1e-9)
    np.testing.assert_allclose(ridge.mean_, scaler.mean_, rtol=1e-12)
    np.testing.assert_allclose(ridge.scale_, scaler.scale_, rtol=1e-12)
    np.testing.assert_allclose(ridge.coef_ * scaler.scale_, expected.coef_, rtol=1e-8)


def test_validation_in_pieces_and_its_choice_kept(rng):
    """Errors of several calls add up; what is learnt afterwards does not change the choice."""
    Z, Y = rng.normal(size=(60, 30)), rng.normal(size=(60, 2))
    held = rng.normal(size=(90, 30)), rng.normal(size=(90, 2))
    whole = pe.Ridge(ALPHAS).fit(Z, Y, validation=held)
    pieces = pe.Ridge(ALPHAS).fit(Z, Y)
    pieces.validate(held[0][:20], held[1][:20]).validate(held[0][20:], held[1][20:])
    np.testing.assert_allclose(pieces.scores_, whole.scores_, rtol=1e-10)
    assert pieces.alpha_ == whole.alpha_
    later = pe.Ridge(ALPHAS).fit(np.vstack([Z, held[0]]), np.vstack([Y, held[1]]))
    later.choose_as(whole)
    np.testing.assert_array_equal(later.scores_, whole.scores_)
    pieces.partial_fit(*held)
    assert pieces.alpha_ == whole.alpha_
    np.testing.assert_allclose(pieces.coef_, later.coef_, atol=1e-9)
    assert pieces.fit(Z, Y).alpha_ == pe.Ridge(ALPHAS).fit(Z, Y).alpha_  # a new fit forgets it
    with pytest.raises(ValueError, match="other must be a Ridge with validation data"):
        later.choose_as(pe.Ridge(ALPHAS).fit(Z, Y))
    with pytest.raises(ValueError, match="as many alphas and targets"):
        later.choose_as(pe.Ridge([1.0]).fit(Z, Y, validation=held))
    with pytest.raises(ValueError, match="validation data must hold 90 rows of 2 targets"):
        whole.validate(held[0], held[1][:, 0])


def test_many_targets_in_groups(rng):
    """More targets than states: one factor for each group of them, the same solution."""
    Z, Y = rng.normal(size=(500, 5)), rng.normal(size=(500, 200))
    ridge = pe.Ridge(ALPHAS).fit(Z, Y)
    assert [len(group) for group in ridge.fitted_.statistics.groups] == [64, 64, 64, 8]
    for t in (0, 63, 64, 199):
        alone = pe.Ridge([ridge.alpha_]).fit(Z, Y[:, t])
        np.testing.assert_allclose(ridge.coef_[t], alone.coef_, atol=1e-10)


@pytest.mark.parametrize("size", [50, 49, 7, 1])
@pytest.mark.parametrize("alphas", [(0.0, 1e-3, 1.0), (0.1, 1.0, 100.0)])
def test_fewer_rows_than_states_in_any_pieces(size, alphas, rng):
    """By SVD where alpha = 0 is asked for, by the Gram matrix where penalties allow it."""
    Z = rng.normal(size=(50, 300)) * np.logspace(-2, 2, 300) + 3
    Y = rng.normal(size=(50, 4))
    ridge = pe.Ridge(alphas)
    for start in range(0, 50, size):
        ridge.partial_fit(Z[start : start + size], Y[start : start + size])
    half = pe.Ridge(alphas).partial_fit(Z[:20], Y[:20])
    both = half.merge(pe.Ridge(alphas).partial_fit(Z[20:], Y[20:]))
    assert ridge.fitted_.statistics.factors[0].shape == (50, 305)  # no more memory than the rows
    for i, alpha in enumerate(alphas):
        expected = svd_ridge(Z, Y, alpha)
        for model in (ridge, both):
            np.testing.assert_allclose(predictions(model, Z)[i], expected, atol=1e-8)
    more = rng.normal(size=(1000, 300)), rng.normal(size=(1000, 4))
    ridge.partial_fit(*more)
    expected = svd_ridge(np.vstack([Z, more[0]]), np.vstack([Y, more[1]]), alphas[1])
    np.testing.assert_allclose(predictions(ridge, Z)[1], expected[:50], atol=1e-8)


def test_gram_matrix_only_where_it_is_as_good(monkeypatch, rng):
    from paralesn.readouts import ridge_path as solving

    used = []
    monkeypatch.setattr(solving, "svd", lambda *a, **k: used.append("svd") or svd(*a, **k))
    from scipy.linalg import svd

    Z, y = rng.normal(size=(200, 50)), rng.normal(size=200)
    for alphas, expected in (((0.1, 1), []), ((0, 1), ["svd"]), ((1e-9, 1), ["svd"])):
        used.clear()
        pe.Ridge(alphas).fit(Z, y)
        assert used == expected


def test_a_single_row(rng):
    ridge = pe.Ridge((0, 1)).fit(rng.normal(size=(1, 5)), [3.0])
    assert (ridge.coef_ == 0).all()
    assert ridge.predict(np.ones((2, 5))).tolist() == [3.0, 3.0]


def test_whole_weights_equal_repeated_rows(rng):
    Z, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    times = rng.integers(0, 4, 50)
    repeated = pe.Ridge([1.0]).fit(np.repeat(Z, times, axis=0), np.repeat(y, times))
    weighted = pe.Ridge([1.0]).fit(Z, y, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)


def test_generalised_cross_validation_is_its_definition(rng):
    Z, y = rng.normal(size=(60, 10)), rng.normal(size=60)
    ridge = pe.Ridge((0.1, 5.0, 50.0)).fit(Z, y)
    standard = np.hstack([np.ones((60, 1)), StandardScaler().fit_transform(Z)])
    for alpha, score in zip(ridge.alphas, ridge.scores_[:, 0], strict=True):
        penalty = alpha * np.eye(11)
        penalty[0, 0] = 0
        hat = standard @ np.linalg.solve(standard.T @ standard + penalty, standard.T)
        error = 60 * ((y - hat @ y) ** 2).sum() / (60 - np.trace(hat)) ** 2
        np.testing.assert_allclose(score, error / y.var(), rtol=1e-10)
    assert ridge.alpha_ == ridge.alphas[ridge.scores_[:, 0].argmin()]


def test_validation_data_choose_alpha(rng):
    Z, y = rng.normal(size=(40, 30)), rng.normal(size=40)
    Z_held, y_held = rng.normal(size=(500, 30)), rng.normal(size=500)
    ridge = pe.Ridge(ALPHAS).fit(Z, y, validation=(Z_held, y_held))
    errors = [
        ((pe.Ridge([alpha]).fit(Z, y).predict(Z_held) - y_held) ** 2).mean() / y_held.var()
        for alpha in ALPHAS
    ]
    np.testing.assert_allclose(ridge.scores_[:, 0], errors, rtol=1e-8)
    assert ridge.alpha_ == ALPHAS[int(np.argmin(errors))]


def test_one_alpha_per_target(rng):
    Z = rng.normal(size=(80, 20))
    clean = Z @ rng.normal(size=20)
    Y = np.column_stack([clean, rng.normal(size=80)])
    ridge = pe.Ridge((0, 1000.0), per_target=True).fit(Z, Y)
    np.testing.assert_array_equal(ridge.alpha_, [0, 1000.0])
    for t, alpha in enumerate(ridge.alpha_):
        alone = pe.Ridge([alpha]).fit(Z, Y[:, t])
        np.testing.assert_allclose(ridge.coef_[t], alone.coef_, rtol=1e-8, atol=1e-12)
    assert np.isscalar(pe.Ridge((0, 1000.0)).fit(Z, Y).alpha_)


@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 12),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    order=st.randoms(use_true_random=False),
    targets=st.integers(1, 3),
)
def test_blocks_and_merges_in_any_order_see_the_same(rows, columns, cuts, order, targets):
    rng = np.random.default_rng(rows * 100 + columns)
    Z, Y = rng.normal(size=(rows, columns)), rng.normal(size=(rows, targets))
    whole = pe.Ridge((0.5, 2.0)).fit(Z, Y)
    edges = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
    parts = [(pe.Ridge((0.5, 2.0)), (Z[a:b], Y[a:b])) for a, b in pairwise(edges)]
    sequence = list(range(len(parts)))
    order.shuffle(sequence)
    total = merged(parts, sequence)
    assert total.n_samples_seen_ == rows
    np.testing.assert_allclose(total.predict(Z), whole.predict(Z), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_what_is_long_forgotten_weighs_nothing(alpha, rng):
    Z, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    ridge = pe.Ridge([alpha]).fit(Z, Y)
    # Without a penalty the solution stays; any penalty outweighs what is left.
    expected = np.broadcast_to(Y.mean(0), Y.shape) if alpha else ridge.predict(Z)
    for _ in range(100):
        ridge.forget(1e-30)
    np.testing.assert_allclose(ridge.predict(Z), expected, atol=1e-9)
    fresh = pe.Ridge([alpha]).fit(Z[:20] + 1.0, Y[:20])
    ridge.partial_fit(Z[:20] + 1.0, Y[:20])
    np.testing.assert_allclose(ridge.predict(Z), fresh.predict(Z), atol=1e-9)


def test_rows_without_weight_are_no_rows_of_a_target(rng):
    Z, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    Y[:20, 1] = np.nan
    weight = np.r_[np.ones(20), np.zeros(10)]
    ridge = pe.Ridge(nan_targets="omit")
    with pytest.raises(ValueError, match="y must hold a number with weight for target 1"):
        ridge.fit(Z, Y, sample_weight=weight).predict(Z)


def test_forgetting_is_exponential_weighting(rng):
    Z, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    ridge = pe.Ridge([0.1]).partial_fit(Z[:1], y[:1])
    for t in range(1, 200):
        ridge.forget(0.97).partial_fit(Z[t : t + 1], y[t : t + 1])
    weight = 0.97 ** np.arange(199, -1, -1)
    expected = pe.Ridge([0.1]).fit(Z, y, sample_weight=weight)
    np.testing.assert_allclose(ridge.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(ridge.intercept_, expected.intercept_, rtol=1e-10)


def test_states_without_variance_get_no_weight(rng):
    Z = rng.normal(size=(500, 6))
    Z[:, 1], Z[:, 3], Z[:, 5] = 0.0, 7.3, -1e8
    y = Z[:, 0] + 2
    for size in (500, 100, 3):
        ridge = in_blocks(Z, y, size)
        assert (ridge.coef_[[1, 3, 5]] == 0).all()
        assert (ridge.scale_[[1, 3, 5]] == 0).all()
        np.testing.assert_allclose(ridge.predict(Z), y, atol=1e-5)


def test_repeated_states_share_their_weight(rng):
    """alpha = 0 is the minimum-norm solution."""
    z = rng.normal(size=(400, 3))
    Z, y = np.hstack([z, z]), z @ [1.0, 2.0, 3.0]
    for size in (400, 50):
        ridge = pe.Ridge([0])
        for start in range(0, 400, size):
            ridge.partial_fit(Z[start : start + size], y[start : start + size])
        np.testing.assert_allclose(ridge.coef_, [0.5, 1.0, 1.5] * 2, rtol=1e-9)


def test_fewer_rows_than_states(rng):
    Z, y = rng.normal(size=(10, 50)), rng.normal(size=10)
    interpolated = pe.Ridge([0]).fit(Z, y).predict(Z)
    np.testing.assert_allclose(interpolated, y, atol=1e-10)
    assert pe.Ridge((0, 1.0)).fit(Z, y).alpha_ == 1.0  # interpolation has no error to judge by
    np.testing.assert_allclose(
        pe.Ridge([1.0]).fit(Z, y).predict(Z),
        SklearnRidge(1.0).fit(StandardScaler().fit_transform(Z), y).predict(StandardScaler().fit_transform(Z)),
    )  # fmt: skip


def test_directions_that_appear_late(rng):
    """A factor that does not know some direction must not spoil the block that brings it."""
    Z = rng.normal(size=(4000, 30))
    Z[:2000, 10:20] = 0.0
    Z[:2000, 20:] *= 1e-9
    y = Z @ rng.normal(size=30)
    for size in (4000, 1000, 200):
        ridge = in_blocks(Z, y, size)
        np.testing.assert_allclose(predictions(ridge, Z)[0][:, 0], y, atol=1e-8)
        np.testing.assert_allclose(predictions(ridge, Z)[3], svd_ridge(Z, y[:, None], 1), atol=1e-7)


def test_missing_targets_are_left_out_one_by_one(rng):
    Z, Y = rng.normal(size=(100, 4)), rng.normal(size=(100, 2))
    Y[:30, 0] = np.nan
    Y[50:55, 1] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        pe.Ridge().fit(Z, Y)
    ridge = in_blocks(Z, Y, 40, nan_targets="omit")
    for t in range(2):
        known = ~np.isnan(Y[:, t])
        alone = pe.Ridge(ALPHAS).fit(Z[known], Y[known, t])
        together, apart = (r.solve().fitted_.solution.path.coefs for r in (ridge, alone))
        np.testing.assert_allclose(together[:, :, t], apart[:, :, 0], rtol=1e-9)
    with pytest.raises(ValueError, match="target 1"):
        pe.Ridge(nan_targets="omit").fit(
            Z, np.column_stack([Y[:, 0], np.full(100, np.nan)])
        ).predict(Z)


def test_float32_states_are_digested_as_float64(rng):
    Z, y = rng.normal(size=(300, 5)).astype("float32"), rng.normal(size=300)
    expected = pe.Ridge(ALPHAS).fit(Z.astype(float), y)
    np.testing.assert_allclose(pe.Ridge(ALPHAS).fit(Z, y).coef_, expected.coef_, rtol=1e-12)


def test_as_a_readout_in_a_search():
    series = mackey_glass(1200)
    Z = pe.ParalESN(units=50).run(series[:-1])[0]
    search = GridSearchCV(pe.Ridge(), {"alphas": [(0.0,), (1e3,)]}, cv=TimeSeriesSplit(3)).fit(
        Z[100:], series[101:, 0]
    )
    assert search.best_params_["alphas"] == (0.0,)
    assert search.best_score_ > 0.999


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("known", [False, True])
def test_factors_have_the_gram_matrix_of_their_rows(columns, known, rng):
    A, B = rng.normal(size=(2, 500, columns))
    start = np.linalg.qr(A, mode="r") if known else None
    factor = triangular.absorb(start, lambda some: B[some].copy(), len(B), wide=2)
    gram = B.T @ B + (A.T @ A if known else 0)
    np.testing.assert_allclose(factor.T @ factor, gram, rtol=1e-11, atol=1e-9)
    assert np.array_equal(factor, np.triu(factor))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphas": ()}, "alphas must be a sequence of at least one number"),
        ({"alphas": 1.0}, "alphas must be a sequence"),
        ({"alphas": (-1.0,)}, "alphas must be finite and not negative, got .*-1"),
        ({"alphas": (np.nan,)}, "alphas must be finite"),
        ({"alphas": "many"}, "alphas must be a sequence"),
        ({"per_target": "yes"}, "per_target must be True or False, got 'yes'"),
        ({"nan_targets": "drop"}, "nan_targets must be one of 'error', 'omit', got 'drop'"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.Ridge(**options).fit(np.zeros((3, 2)), np.zeros(3))


def test_wrong_data(rng):
    Z, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    ridge = pe.Ridge().fit(Z, y)
    for call, message in (
        (lambda: pe.Ridge().fit(Z, y[:9]), r"y must have as many rows as X \(10\), got 9"),
        (lambda: ridge.partial_fit(Z, np.zeros((10, 2))), "y must have 1 targets as before, got 2"),
        (lambda: ridge.partial_fit(Z[:, :1], y), "X has 1 features, but Ridge is expecting 2"),
        (lambda: ridge.predict(Z[:, :1]), "X has 1 features"),
        (lambda: ridge.predict(np.full((1, 2), np.nan)), "NaN"),
        (lambda: pe.Ridge().fit(Z, y, sample_weight=-np.ones(10)), "[Nn]egative"),
        (lambda: pe.Ridge().fit(Z, y, validation=Z), "validation must"),
        (lambda: pe.Ridge().fit(Z, y, validation=(Z, y[:3])), "validation data must hold 10 rows"),
        (lambda: ridge.forget(0), r"factor must be a finite number in \(0, 1\], got 0"),
        (lambda: ridge.forget(1.5), "factor must be"),
        (lambda: ridge.merge(pe.Ridge().fit(Z[:, :1], y)), "other must have seen as many features"),
        (lambda: pe.Ridge().fit(Z, np.zeros((10, 2, 2))), "y must be|dim"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="other must be a Ridge, got str"):
        ridge.merge("ridge")


def test_whatever_fails_leaves_the_readout_as_it_was(rng):
    Z, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    ridge = pe.Ridge(ALPHAS).fit(Z, y, validation=(Z, y))
    before = ridge.fitted_
    for call in (
        lambda: ridge.fit(Z[:, :2], y[:9]),
        lambda: ridge.fit(Z[:, :2], y, validation=(Z, y)),
        lambda: ridge.partial_fit(Z, np.full(30, np.nan)),
        lambda: ridge.validate(Z, y[:3]),
        lambda: ridge.merge(pe.Ridge().fit(Z[:, :1], y)),
        lambda: ridge.forget(2),
    ):
        with pytest.raises(ValueError, match=r"must|NaN|features"):
            call()
        assert ridge.fitted_ is before


def test_learning_replaces_the_state_and_changes_nothing_in_it(rng):
    """States may be shared: copies go separate ways, and the other of a merge stays as it was."""
    Z, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    Z[:30, 1] = 2.0
    first = pe.Ridge(ALPHAS).fit(Z[:30], y[:30])
    state, coef = first.fitted_, first.coef_
    second = copy(first).partial_fit(Z[30:], y[30:]).forget(0.5)
    before = second.fitted_
    both = second.merge(first).validate(Z, y)
    assert first.fitted_ is state
    assert second.fitted_ is before
    assert state.statistics.constant.tolist() == [False, True, False]
    np.testing.assert_array_equal(first.coef_, coef)
    assert both.n_samples_seen_ == 90


def test_missing_targets_are_not_let_in_later(rng):
    """Targets learnt together cannot be left out one by one afterwards."""
    Z, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    ridge = pe.Ridge(ALPHAS).fit(Z, Y).set_params(nan_targets="omit")
    with pytest.raises(ValueError, match="y contains NaN"):
        ridge.partial_fit(Z, np.where(Y > 0, np.nan, Y))


def test_gamma_makes_degrees_of_freedom_count_more(rng):
    """The score is n RSS / (n - 1 - gamma df)^2 in units of the variance, from the hat matrix."""
    Z, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    alphas, standard = (0.5, 5.0, 50.0), (Z - Z.mean(axis=0)) / Z.std(axis=0)
    centred = y - y.mean()
    for gamma in (1.0, 1.4):
        ridge = pe.Ridge(alphas, gamma=gamma).fit(Z, y)
        for alpha, score in zip(alphas, ridge.scores_[:, 0], strict=True):
            hat = standard @ np.linalg.solve(standard.T @ standard + alpha * np.eye(6), standard.T)
            rest = ((centred - hat @ centred) ** 2).sum()
            expected = 40 * rest / (40 - 1 - gamma * np.trace(hat)) ** 2 / y.var()
            assert abs(score - expected) < 1e-10
    with pytest.raises(ValueError, match=r"gamma must be a finite number in \[1, inf\), got 0.5"):
        pe.Ridge(gamma=0.5).fit(Z, y)


@pytest.mark.parametrize(("n", "p"), [(30, 70), (70, 30), (40, 40)])
@pytest.mark.parametrize("alphas", [(0.03,), (0.5, 3.0)])
@pytest.mark.parametrize("form", ["flat", "targets", "each"])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_left_out_are_those_of_models_fitted_without(rng, n, p, alphas, form, weighted):
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 2, p) + 3
    Y = np.sign(X[:, :2] - 3) + 2 * rng.normal(size=(n, 2)) * [1, 5]
    Y = Y[:, 0] if form == "flat" else Y
    weight = rng.uniform(0.5, 3, n) if weighted else None
    model = pe.Ridge(alphas, per_target=form == "each").fit(X, Y, weight)
    some = np.arange(0, n, 3)
    left_out = model.left_out(X[some], Y[some], None if weight is None else weight[some])
    Z = (X - model.mean_) / model.scale_
    for row, predicted in zip(some, left_out, strict=True):
        rest = np.arange(n) != row
        without = SklearnRidge(model.alpha_).fit(
            Z[rest], Y[rest], sample_weight=None if weight is None else weight[rest]
        )
        expected = without.predict(Z[row : row + 1])[0]
        np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-6)


def test_predictions_left_out_without_a_penalty(rng):
    """The states are a basis of fewer dimensions than there are of them."""
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 9))
    y = X[:, 0] + rng.normal(size=50)
    model = pe.Ridge([0]).fit(X, y)
    for row, predicted in enumerate(model.left_out(X, y)[:10]):
        rest = np.delete(np.column_stack([np.ones(50), X]), row, 0)
        coef = np.linalg.lstsq(rest, np.delete(y, row), rcond=1e-10)[0]
        assert predicted == pytest.approx(np.append(1, X[row]) @ coef, rel=1e-7)
