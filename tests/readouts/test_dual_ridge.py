"""The dual ridge against scikit-learn's, rows left out one by one, and itself in other forms."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV

import paralesn as pe
from paralesn.readouts import dual_ridge as module
from paralesn.readouts import dual_statistics, leave_one_out, tiled_cholesky


def data(rng, n, p, targets=None, noise=0.5):
    Z = rng.normal(size=(n, p)) * rng.uniform(0.1, 2, p) + 3
    shape = p if targets is None else (p, targets)
    Y = (Z - 3) @ rng.normal(size=shape) / np.sqrt(p)
    return Z, Y + noise * rng.normal(size=Y.shape) + 1


FORMS = {  # what to set in order to get there
    "eigenvectors": {},
    "downhill": {"SMALL": 1},
    "sample": {"SMALL": 1, "SAMPLE": 20},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "p"), [(30, 80), (80, 30), (40, 40)])
@pytest.mark.parametrize("targets", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learns_ridge(rng, monkeypatch, form, n, p, targets, weighted):
    for name, value in FORMS[form].items():
        monkeypatch.setattr(dual_statistics, name, value)
    Z, Y = data(rng, n, p, targets)
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    model = pe.DualRidge().fit(Z, Y, weight)
    expected = SklearnRidge(model.alpha_ * p).fit(Z, Y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-7)
    np.testing.assert_allclose(model.predict(Z), expected.predict(Z), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("form", ["eigenvectors", "downhill"])
@pytest.mark.parametrize(("n", "p"), [(25, 60), (60, 25)])
def test_errors_are_those_of_rows_left_out(rng, monkeypatch, form, n, p):
    for name, value in FORMS[form].items():
        monkeypatch.setattr(dual_statistics, name, value)
    monkeypatch.setattr(module, "fit_sums", None)
    if n > p > dual_statistics.SMALL:
        pytest.skip("goes another way")
    Z, y = data(rng, n, p)
    alphas = (1e-3, 0.1, 3.0)
    model = pe.DualRidge(alphas).fit(Z, y)
    for alpha, score in zip(alphas, model.scores_, strict=True):
        errors = [
            SklearnRidge(alpha * p).fit(np.delete(Z, i, 0), np.delete(y, i)).predict(Z[i : i + 1])
            - y[i]
            for i in range(n)
        ]
        if not np.isnan(score):
            assert np.mean(np.square(errors)) == pytest.approx(score, rel=1e-6)
    best = RidgeCV([a * p for a in alphas]).fit(Z, y)
    assert model.alpha_ * p == pytest.approx(best.alpha_)


def test_weighted_errors_are_those_of_rows_left_out(rng):
    Z, y = data(rng, 25, 60)
    weight = rng.uniform(0.5, 3, 25)
    alphas = (1e-3, 0.1, 3.0)
    scores = pe.DualRidge(alphas).fit(Z, y, weight).scores_
    for alpha, score in zip(alphas, scores, strict=True):
        errors = []
        for i in range(25):
            rest = np.arange(25) != i
            model = SklearnRidge(alpha * 60).fit(Z[rest], y[rest], sample_weight=weight[rest])
            errors.append(weight[i] * (model.predict(Z[i : i + 1])[0] - y[i]) ** 2)
        assert np.mean(errors) == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "p"), [(30, 60), (60, 30)])
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_left_out_are_those_of_models_fitted_without(
    rng, monkeypatch, form, n, p, targets, weighted
):
    monkeypatch.setattr(module, "_KEPT", 12)
    for name, value in FORMS[form].items():
        monkeypatch.setattr(dual_statistics, name, value)
    Z, Y = data(rng, n, p, targets)
    weight = np.where(rng.uniform(size=n) < 0.2, 0, rng.uniform(0.5, 3, n)) if weighted else None
    model = pe.DualRidge().fit(Z, Y, weight)
    left_out = model.left_out_
    everything = np.arange(n) if weight is None else np.flatnonzero(weight)
    complete = form == "eigenvectors" or (form == "downhill" and n < p)
    assert set(left_out.rows) <= set(everything)
    assert len(left_out.rows) == (len(everything) if complete else 12)
    for row, prediction in zip(left_out.rows, left_out.predictions, strict=True):
        rest = np.arange(n) != row
        without = SklearnRidge(model.alpha_ * p).fit(
            Z[rest], Y[rest], sample_weight=None if weight is None else weight[rest]
        )
        np.testing.assert_allclose(
            prediction, np.ravel(without.predict(Z[row : row + 1])), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("single", [False, True])
def test_going_downhill_finds_what_eigenvectors_find(rng, single):
    Z, Y = data(rng, 120, 300, 2, noise=1.0)
    Z -= Z.mean(axis=0)
    Z, Y = Z.astype(np.float32 if single else float), Y - Y.mean(axis=0)
    alphas, share = 300 * 10.0 ** np.arange(-4, 2), np.full(120, 1 / 120)
    errors, coef, left_out = leave_one_out.by_eigenvectors(Z, Y, alphas, share)
    tried, other, also = leave_one_out.downhill(Z, Y, alphas, share)
    known = ~np.isnan(tried)
    tolerance = 1e-3 if single else 1e-8
    np.testing.assert_allclose(tried[known], errors[known], rtol=tolerance)
    assert np.nanargmin(tried) == errors.argmin()
    np.testing.assert_allclose(other, coef, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(also, left_out, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("n", "p"), [(30, 50), (90, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_rows(rng, monkeypatch, n, p, weighted):
    monkeypatch.setattr(dual_statistics, "SMALL", 10)
    Z, Y = data(rng, n, p, 2)
    weight = rng.uniform(0, 2, n) if weighted else None
    whole = pe.DualRidge().fit(Z, Y, weight)
    blocks = pe.DualRidge().fit_blocks(lambda: iter([Z[:7], Z[7:20], Z[20:]]), Y, weight)
    np.testing.assert_allclose(blocks.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert blocks.alpha_ == whole.alpha_
    for wrong in (Y[:-1], np.concatenate([Y, Y])):
        with pytest.raises(ValueError, match=r"y must have as many rows as X"):
            pe.DualRidge().fit_blocks(lambda: iter([Z[:7], Z[7:]]), wrong)


def test_single_precision_is_good_enough(rng):
    Z, y = data(rng, 50, 400)
    double, single = pe.DualRidge().fit(Z, y), pe.DualRidge().fit(Z.astype(np.float32), y)
    assert single.predict(Z.astype(np.float32)).dtype == float
    np.testing.assert_allclose(single.predict(Z), double.predict(Z), atol=1e-3)


def test_saved_and_loaded(rng, tmp_path):
    for targets in (None, 2):
        Z, Y = data(rng, 20, 50, targets)
        model = pe.DualRidge().fit(Z, Y)
        pe.save(model, tmp_path / "model")
        np.testing.assert_array_equal(pe.load(tmp_path / "model").predict(Z), model.predict(Z))


def test_wrong_data_and_arguments(rng):
    Z, y = data(rng, 10, 3)
    for call, message in (
        (lambda: pe.DualRidge([]).fit(Z, y), "alphas must be a sequence"),
        (lambda: pe.DualRidge([0, 1]).fit(Z, y), "alphas must be positive, got 0"),
        (lambda: pe.DualRidge().fit(Z, y[:3]), r"as many rows as X \(10\), got 3"),
        (lambda: pe.DualRidge().fit(Z, None), "y is None"),
        (lambda: pe.DualRidge().fit(Z, np.zeros((10, 2, 2))), "y must be|dim"),
        (lambda: pe.DualRidge().fit(Z, y, np.zeros(10)), "at least one non-zero"),
        (lambda: pe.DualRidge().fit(Z, y, -np.ones(10)), "[Nn]egative"),
        (lambda: pe.DualRidge().fit(Z, y).predict(Z[:, :2]), "X has 2 features"),
        (lambda: pe.DualRidge().fit(np.where(Z > 3, np.nan, Z), y), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def _statistics(Z, Y, weight, cuts):
    parts = []
    for first, last in pairwise([0, *cuts, len(Z)]):
        grown = dual_statistics.DualAccumulator()
        some = None if weight is None else weight[first:last]
        grown.add(Z[first:last], Y[first:last], some, first)
        parts.append(grown.statistics)
    return parts


@pytest.mark.parametrize(("n", "p"), [(30, 50), (400, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_parts_merge_in_any_order(rng, monkeypatch, n, p, weighted):
    """Rows, sums, and rows with sums; the sample does not depend on the parts."""
    monkeypatch.setattr(dual_statistics, "SMALL", 10)
    monkeypatch.setattr(dual_statistics, "SAMPLE", 60)
    Z, Y = data(rng, n, p, 2)
    weight = rng.uniform(0, 2, n) if weighted else None
    whole = pe.DualRidge().fit(Z, Y, weight)
    for cuts in ([7, 20], [5, 25], [n // 2], [1, 2, 3, n - 1]):
        parts = _statistics(Z, Y, weight, cuts)
        kept = pickle.dumps(parts)
        for order in (parts, parts[::-1]):
            total = order[0]
            for part in order[1:]:
                total = total.merged(part)
            assert total.n_rows == n
            merged = pe.DualRidge().fit_statistics(total)
            np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
            np.testing.assert_array_equal(merged.left_out_.rows, whole.left_out_.rows)
            np.testing.assert_allclose(
                merged.left_out_.predictions, whole.left_out_.predictions, rtol=1e-8, atol=1e-9
            )
        assert pickle.dumps(parts) == kept


def test_standardised_statistics_are_those_of_standardised_rows(rng, monkeypatch):
    monkeypatch.setattr(dual_statistics, "SMALL", 10)
    Z, Y = data(rng, 300, 40, 2)
    Z += 1e4  # far from zero: squares of rows as they are would lose half the digits
    seen = _statistics(Z, Y, None, [100])
    merged = seen[0].merged(seen[1])
    mean, spread = merged.moments()
    np.testing.assert_allclose(mean, Z.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(spread, Z.std(axis=0), rtol=1e-10)
    ours = pe.DualRidge().fit_statistics(merged.standardised(mean, spread))
    truth = pe.DualRidge().fit((Z - Z.mean(axis=0)) / Z.std(axis=0), Y)
    np.testing.assert_allclose(ours.coef_, truth.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 16, 50])
def test_factors_in_tiles_are_those_of_lapack(rng, monkeypatch, dtype, n):
    monkeypatch.setattr(tiled_cholesky, "_TILE", 16)
    monkeypatch.setattr(tiled_cholesky, "_COLUMNS", 13)
    Z = rng.normal(size=(n, 60)).astype(dtype)
    K = tiled_cholesky.row_gram(Z, dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(np.tril(K), np.tril(Z @ Z.T), rtol=tolerance, atol=tolerance)
    np.fill_diagonal(K, K.diagonal() + 1)
    A = np.tril(K) + np.tril(K, -1).T
    lower = tiled_cholesky.factor(K)
    np.testing.assert_allclose(lower, np.linalg.cholesky(A), rtol=tolerance, atol=10 * tolerance)
    inverse = np.linalg.inv(A.astype(float))
    diagonal = tiled_cholesky.inverse_diagonal(lower)
    np.testing.assert_allclose(diagonal, np.diag(inverse), rtol=100 * tolerance)
    right = rng.normal(size=(n, 3)).astype(dtype)
    np.testing.assert_allclose(
        tiled_cholesky.solve(lower, right), inverse @ right, rtol=100 * tolerance, atol=tolerance
    )
    expected = np.einsum("ij,ik,kj->j", right, inverse, right)
    np.testing.assert_allclose(tiled_cholesky.squares(lower, right), expected, rtol=100 * tolerance)
    with pytest.raises(np.linalg.LinAlgError):
        tiled_cholesky.factor(-np.eye(n, dtype=dtype))
