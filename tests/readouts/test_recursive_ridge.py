"""Ridge fed row by row against explicit solutions of the same weighted problem."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.engines.cpu.rotations import add_rows
from paralesn.readouts import recursive_solution


def batch(Z, y, alpha, weight):
    """Coefficients and intercept of standardised ridge regression, by scikit-learn."""
    scaler = StandardScaler().fit(Z, sample_weight=weight)
    model = SklearnRidge(alpha, solver="svd")
    model.fit(scaler.transform(Z), y, sample_weight=weight)
    coef = model.coef_ / scaler.scale_
    return coef, model.intercept_ - coef @ scaler.mean_


def is_followed(ridge):
    return ridge.fitted_.recursion is not None


def states(rng, n=400, p=24):
    """Correlated states of very different scales, and noisy targets of some of them."""
    Z = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * np.logspace(-3, 2, p) + 5
    return Z, Z[:, :3] @ [1.0, 1.0, 2.0] + rng.normal(size=n)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("factor", [1.0, 0.99, 0.9])
@pytest.mark.parametrize("begin", [1, 10, 60])
def test_every_row_gives_the_solution_of_all_rows(alpha, factor, begin, rng):
    Z, y = states(rng, 160)
    ridge = pe.Ridge([alpha]).partial_fit(Z[:begin], y[:begin])
    ridge.coef_  # noqa: B018
    for t in range(begin, 160):
        ridge.forget(factor).partial_fit(Z[t : t + 1], y[t : t + 1])
        if t < begin + 3 or t % 13 == 0:
            weight = factor ** np.maximum(t - np.arange(t + 1), 0.0)
            weight[:begin] = factor ** (t + 1 - begin)
            coef, intercept = batch(Z[: t + 1], y[: t + 1], alpha, weight)
            scale = np.abs(coef * ridge.scale_).max()
            off = np.abs((ridge.coef_ - coef) * ridge.scale_).max()
            assert off <= 1e-8 * scale
            np.testing.assert_allclose(ridge.intercept_, intercept, rtol=1e-8, atol=1e-8 * y.std())
            np.testing.assert_allclose(
                ridge.predict(Z), Z @ coef + intercept, rtol=1e-8, atol=1e-8 * y.std()
            )
    assert is_followed(ridge)


@given(
    alpha=st.sampled_from([1e-6, 0.1, 10.0]),
    cuts=st.lists(st.integers(1, 6), min_size=1, max_size=12),
    factors=st.lists(st.sampled_from([1.0, 0.999, 0.95, 0.5]), min_size=12, max_size=12),
    targets=st.integers(1, 4),
    weighted=st.booleans(),
    asks=st.lists(st.booleans(), min_size=12, max_size=12),
    p=st.sampled_from([1, 5, 40, 96]),
)
@settings(max_examples=60)
def test_any_pieces_weights_and_questions(alpha, cuts, factors, targets, weighted, asks, p):
    rng = np.random.default_rng(len(cuts) + p)
    n = 50 + sum(cuts)
    Z, Y = rng.normal(size=(n, p)) + 2, rng.normal(size=(n, targets))
    given_weight = rng.uniform(0.1, 2, n) if weighted else np.ones(n)
    pass_weight = (lambda cut: given_weight[cut]) if weighted else (lambda cut: None)
    ridge = pe.Ridge([alpha]).partial_fit(Z[:50], Y[:50], pass_weight(slice(50))).solve()
    weight, first = given_weight[:50], 50
    for size, factor, ask in zip(cuts, factors, asks, strict=False):
        cut = slice(first, first + size)
        ridge.forget(factor).partial_fit(Z[cut], Y[cut], pass_weight(cut))
        weight = np.concatenate([weight * factor, given_weight[cut]])
        first = cut.stop
        if ask:
            ridge.predict(Z[:1])
    expected = pe.Ridge([alpha]).fit(Z[:first], Y[:first], sample_weight=weight)
    scale = 1e-8 * np.abs(expected.coef_).max()
    np.testing.assert_allclose(ridge.coef_, expected.coef_, rtol=1e-8, atol=scale)
    np.testing.assert_allclose(ridge.predict(Z), expected.predict(Z), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ridge.predict(Z[:1]), expected.predict(Z[:1]), rtol=1e-8, atol=1e-8)


def test_states_of_condition_1e9(rng):
    """As accurate as a factor of everything: no product of the states with themselves."""
    x = rng.uniform(-0.8, 0.8, (1700, 1))
    Z = pe.ParalESN(units=96, mix_scale=0.01, rho=(0.5, 0.99)).run(x)[0][200:]
    Y = np.hstack([np.roll(x, k, axis=0) for k in (1, 5, 9)])[200:]
    assert np.linalg.cond(StandardScaler().fit_transform(Z)) > 1e6
    for alpha in (1e-8, 1e-2):
        ridge = pe.Ridge([alpha]).fit(Z[:1000], Y[:1000])
        for t in range(1000, 1300):
            ridge.partial_fit(Z[t : t + 1], Y[t : t + 1])
        assert is_followed(ridge)
        standard = StandardScaler().fit(Z[:1300])
        rows = np.vstack([standard.transform(Z[:1300]), np.sqrt(alpha) * np.eye(96)])
        wanted = np.vstack([Y[:1300] - Y[:1300].mean(axis=0), np.zeros((96, 3))])
        truth = np.linalg.lstsq(rows, wanted, rcond=None)[0]
        expected = standard.transform(Z) @ truth + Y[:1300].mean(axis=0)
        np.testing.assert_allclose(ridge.predict(Z), expected, atol=1e-8)
        one = np.vstack([ridge.predict(z[None]) for z in Z[1300:]])  # without coefficients
        np.testing.assert_allclose(one, expected[1300:], atol=1e-8)


@pytest.mark.parametrize("rank", ["full", "deficient"])
def test_least_squares_without_a_penalty(rank, rng):
    Z = rng.normal(size=(300, 12))
    if rank == "deficient":
        Z[:, 6:] = Z[:, :6]
    y = rng.normal(size=300)
    ridge = pe.Ridge([0]).fit(Z[:100], y[:100])
    for t in range(100, 300):
        ridge.partial_fit(Z[t : t + 1], y[t : t + 1])
    centred, mean = Z - Z.mean(axis=0), Z.mean(axis=0)
    standard = centred / Z.std(axis=0)
    expected = np.linalg.lstsq(standard, y - y.mean(), rcond=None)[0] / Z.std(axis=0)
    np.testing.assert_allclose(ridge.coef_, expected, atol=1e-10)
    np.testing.assert_allclose(ridge.intercept_, y.mean() - mean @ expected, atol=1e-10)
    assert is_followed(ridge) == (rank == "full")


def test_a_state_that_begins_to_vary(rng):
    Z, y = rng.normal(size=(200, 8)), rng.normal(size=200)
    Z[:100, 3] = 7.0
    ridge = pe.Ridge([1.0]).fit(Z[:90], y[:90])
    for t in range(90, 200):
        ridge.partial_fit(Z[t : t + 1], y[t : t + 1])
        if t in (95, 100, 101, 199):
            expected = pe.Ridge([1.0]).fit(Z[: t + 1], y[: t + 1])
            np.testing.assert_allclose(ridge.coef_, expected.coef_, atol=1e-10)
            assert (ridge.coef_[3] == 0) == (t < 100)


def test_missing_targets_and_a_penalty_for_each(rng):
    Z = rng.normal(size=(150, 10))
    Y = np.column_stack([Z @ rng.normal(size=10), rng.normal(size=150)])
    Y[80:90, 0] = Y[85:100, 1] = np.nan
    ridge = pe.Ridge([1e-3, 1e3], per_target=True, nan_targets="omit").fit(Z[:70], Y[:70])
    assert ridge.alpha_.tolist() == [1e-3, 1e3]
    for t in range(70, 100):
        ridge.partial_fit(Z[t : t + 1], Y[t : t + 1])
    assert is_followed(ridge)
    for k, alpha in enumerate(ridge.alpha_):
        known = ~np.isnan(Y[:100, k])
        coef, intercept = batch(Z[:100][known], Y[:100, k][known], alpha, None)
        np.testing.assert_allclose(ridge.coef_[k], coef, atol=1e-10)
        np.testing.assert_allclose(ridge.intercept_[k], intercept, atol=1e-10)


def test_float32_states_and_groups_of_targets(rng):
    Z, Y = rng.normal(size=(150, 6)).astype(np.float32), rng.normal(size=(150, 70))
    ridge = pe.Ridge([0.5]).fit(Z[:100], Y[:100])
    assert len(ridge.fitted_.statistics.groups) == 2
    for t in range(100, 150):
        ridge.partial_fit(Z[t : t + 1], Y[t : t + 1])
    expected = pe.Ridge([0.5]).fit(Z.astype(float), Y)
    np.testing.assert_allclose(ridge.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_allclose(ridge.predict(Z[:2]), expected.predict(Z[:2]), atol=1e-10)


def chosen_at(Z, y, asks):
    """Rows after which alpha was another one, asking for predictions at some of them or never."""
    ridge, found = pe.Ridge((1e-3, 1.0, 1e3)).partial_fit(Z[:40], y[:40]), []
    for t in range(40, len(Z)):
        ridge.partial_fit(Z[t : t + 1], y[t : t + 1])
        if t in asks:
            ridge.predict(Z[:1])
    found.append(ridge.alpha_)
    return found, ridge


def test_alpha_does_not_depend_on_when_predictions_are_asked_for(rng):
    Z = rng.normal(size=(130, 30))
    y = rng.normal(size=130)
    y[60:] += 30 * Z[60:] @ rng.normal(size=30)
    never, ridge = chosen_at(Z, y, ())
    for asks in ((50,), range(40, 130), (61, 100)):
        found, other = chosen_at(Z, y, asks)
        assert found == never
        np.testing.assert_allclose(other.coef_, ridge.coef_, rtol=1e-9, atol=1e-11)
    # Chosen from the rows at the last moment: 40, then 60, 90, 135.
    by = pe.Ridge((1e-3, 1.0, 1e3)).fit(Z[:90], y[:90])
    assert ridge.alpha_ == by.alpha_
    np.testing.assert_allclose(ridge.scores_, by.scores_, rtol=1e-9)
    expected = pe.Ridge([ridge.alpha_]).fit(Z, y)
    np.testing.assert_allclose(ridge.coef_, expected.coef_, atol=1e-9)
    whole = pe.Ridge((1e-3, 1.0, 1e3)).fit(Z, y)
    np.testing.assert_allclose(ridge.solve().scores_, whole.scores_, rtol=1e-9)


def test_what_was_learnt_before_stays_as_it_was(rng):
    Z, y = states(rng)
    ridge = pe.Ridge([1.0]).fit(Z[:100], y[:100])
    ridge.partial_fit(Z[100:101], y[100:101])
    before, twin = ridge.coef_.copy(), copy(ridge)
    arrays = [a.copy() for a in (twin.fitted_.statistics.factors[0],
                                 twin.fitted_.recursion.preconditioners[0].upper)]  # fmt: skip
    ridge.forget(0.9).partial_fit(Z[101:103], y[101:103])
    kept = (twin.fitted_.statistics.factors[0], twin.fitted_.recursion.preconditioners[0].upper)
    for array, expected in zip(kept, arrays, strict=True):
        np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(twin.coef_, before)
    state = ridge.fitted_
    with pytest.raises(ValueError, match="NaN"):
        ridge.partial_fit(np.full((1, 24), np.nan), [0.0])
    assert ridge.fitted_ is state


def test_a_saved_readout_learns_on_bit_identically(rng, tmp_path):
    Z, y = states(rng)
    ridge = pe.Ridge([1.0]).fit(Z[:100], y[:100]).forget(0.99).partial_fit(Z[100:101], y[100:101])
    pe.save(ridge, tmp_path / "ridge")
    again = pe.load(tmp_path / "ridge")
    for t in range(101, 120):
        for one in (ridge, again):
            one.forget(0.99).partial_fit(Z[t : t + 1], y[t : t + 1])
        np.testing.assert_array_equal(again.coef_, ridge.coef_)


def test_a_solution_that_is_not_found_is_solved_for(monkeypatch, rng):
    Z, y = states(rng)
    ridge = pe.Ridge([1.0]).fit(Z[:100], y[:100])
    monkeypatch.setattr(recursive_solution, "_NEARLY", 0.0)
    monkeypatch.setattr(recursive_solution, "_EXACT", 0.0)
    ridge.partial_fit(Z[100:101], y[100:101])
    assert is_followed(ridge)
    expected = pe.Ridge([1.0]).fit(Z[:101], y[:101])
    np.testing.assert_allclose(ridge.coef_, expected.coef_, rtol=1e-9)
    assert not is_followed(ridge)


def test_rotations_add_rows_to_a_triangle(rng):
    A, rows = rng.normal(size=(30, 8)), rng.normal(size=(3, 8))
    upper = np.linalg.qr(A, mode="r")
    grown = add_rows(upper, rows)
    assert (np.tril(grown, -1) == 0).all()
    np.testing.assert_allclose(grown.T @ grown, A.T @ A + rows.T @ rows, atol=1e-12)
    empty = add_rows(np.zeros((8, 8)), rows)
    np.testing.assert_allclose(empty.T @ empty, rows.T @ rows, atol=1e-13)
    huge = add_rows(1e200 * upper, 1e200 * rows)
    np.testing.assert_allclose(huge, 1e200 * grown, rtol=1e-12, atol=1e186)
