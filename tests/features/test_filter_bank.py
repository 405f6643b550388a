"""Filter banks against a second implementation, and the features as a user meets them."""

import numpy as np
import pytest
from sklearn.base import clone

import paralesn as pe
from paralesn.features import filter_bank as module

SMALL = {"units": 64, "thresholds": 5}


def responses(bank, x):
    """Responses (time, units) of one normalised series (time, channels), step by step."""
    chunks = len(bank.filters_)
    few = 3 * chunks // 16
    heard = [1] * (chunks - 2 * few) + [0] * few + [2] * few
    changes = np.diff(x, axis=0)
    rough = changes.std(axis=0) if len(x) > 1 else np.zeros(x.shape[1])
    calm = np.divide(1, rough, out=np.zeros_like(rough), where=rough > 1e-6)
    drives = [np.zeros_like(x) for _ in range(3)]
    drives[0], drives[1][1:] = x, changes
    drives[2][2:] = np.diff(x, n=2, axis=0) * calm
    columns = []
    for rows, combination, order in zip(
        bank.filters_.astype(float), bank.combinations_.astype(float), heard, strict=True
    ):
        eigenvalues, weights = rows[0] + 1j * rows[1], rows[2] + 1j * rows[3]
        mix = rows[4:7] + 1j * rows[7:10]
        h, found = np.zeros(64, complex), []
        for drive in drives[order]:
            h = eigenvalues * h + weights * np.repeat(combination @ drive, 16)
            found.append(sum(mix[k] * np.roll(h, -k) for k in range(3)).real)
        columns.append(found)
    return np.concatenate(columns, axis=1)


def plain_features(bank, x):
    """All features of one series, not standardised: shares, peaks, troughs, shares of quarters."""
    spread = x.std(axis=0)
    x = np.divide(x - x.mean(axis=0), spread, out=np.zeros_like(x), where=spread > 1e-12)
    u = responses(bank, x)
    thresholds = np.concatenate(list(bank.thresholds_.astype(float)), axis=1)
    shares = [(u > level).mean(axis=0) for level in thresholds]
    peaks, troughs = np.zeros(u.shape), np.zeros(u.shape)
    for first in range(0, u.shape[1], 64):
        for lane in range(8):
            group = slice(first + lane, first + 64, 8)
            mine = u[:, group]
            peaks[:, group] = np.where(mine == mine.max(axis=1, keepdims=True), mine, 0)
            troughs[:, group] = mine == mine.min(axis=1, keepdims=True)
    kinds = [*shares, np.sqrt(np.maximum(peaks.mean(axis=0), 0)), np.sqrt(troughs.mean(axis=0))]
    some = u.shape[1] // 64 // 8 * 64
    for p in range(4 if some else 0):
        part = u[len(u) * p // 4 : len(u) * (p + 1) // 4, :some]
        for level in thresholds[:, :some]:
            kinds.append((part > level).sum(axis=0) / max(len(part), 1))
    return np.concatenate(kinds)


@pytest.mark.parametrize("units", [64, 512, 1024])
@pytest.mark.parametrize("channels", [1, 3, 12])
@pytest.mark.parametrize("thresholds", [1, 4, 7])
def test_equals_the_features_step_by_step(rng, units, channels, thresholds):
    X = [rng.normal(size=(n, channels)).cumsum(axis=0) for n in (3, 31, 32, 33, 100, 200)]
    bank = pe.FilterBank(units=units, thresholds=thresholds).fit(X)
    # Thresholds are responses to training series: only to others are ties a matter of chance.
    X = [rng.normal(size=x.shape).cumsum(axis=0) for x in X]
    found = bank.transform(X).astype(float) * bank.scale_ + bank.mean_
    assert found.shape[1] == bank.n_features_out_
    for x, row in zip(X, found, strict=True):
        expected = plain_features(bank, x)
        # A response within rounding of a threshold or of a rival counts for one step of many.
        close = np.abs(row - expected) < 1e-4
        assert close.mean() > 0.995
        whole, counted = units * (thresholds + 2), units * thresholds
        assert np.abs(row - expected)[:counted].max() < 3.5 / len(x) + 1e-3
        wins = slice(counted, whole)  # roots
        assert np.abs(row**2 - expected**2)[wins].max() < 3.5 / len(x) + 1e-3
        if whole < row.size:
            assert np.abs(row - expected)[whole:].max() < 3.5 / max(len(x) // 4, 1) + 1e-3


def test_thresholds_are_quantiles_and_responses_have_unit_power(rng):
    X = rng.normal(size=(20, 300, 1)).cumsum(axis=1)
    bank = pe.FilterBank(**SMALL).fit(X)
    power = np.zeros(64)
    for x in X:
        power += (responses(bank, (x - x.mean()) / x.std()) ** 2).mean(axis=0)
    np.testing.assert_allclose(power / 20, 1, rtol=1e-3)
    shares = (bank.transform(X) * bank.scale_ + bank.mean_)[:, : 5 * 64].reshape(20, 5, 64)
    assert np.all(np.diff(shares.mean(axis=0), axis=0) <= 1e-6)
    np.testing.assert_allclose(shares.mean(axis=(0, 2)), (4.5 - np.arange(5)) / 5, atol=0.05)


def test_features_are_centred_and_what_hardly_varies_stays_small(rng):
    X = rng.normal(size=(300, 50))
    Z = pe.FilterBank(**SMALL).fit_transform(X)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-4)
    assert 0.8 < Z.var(axis=0).mean() < 1
    bank = pe.FilterBank(units=1024).fit(X)
    Z, raw = bank.transform(X), bank.transform(X) * bank.scale_
    assert 0.7 < Z.var(axis=0).mean() < 1
    shares, spread = Z.std(axis=0)[: 4 * 640], raw.std(axis=0)[: 4 * 640]
    assert shares[spread.argmin()] < np.median(shares) / 2


def test_families_have_their_shares_of_the_variance(rng):
    """Changes count most, then values and bends; where something happens if series are many."""
    X = rng.normal(size=(60, 80)).cumsum(axis=1)
    found = []
    for count in (60, 600):
        Z = pe.FilterBank(units=1024).fit_transform(np.tile(X, (count // 60, 1)))
        variance = Z.var(axis=0)
        whole, parts = (
            variance[: 6 * 1024].reshape(6, 16, 64).sum(axis=(0, 2)),
            variance[6 * 1024 :],
        )
        total = whole.sum()
        assert whole[:10].sum() / total == pytest.approx(1 / 1.6, abs=0.03)
        assert whole[10:13].sum() / total == pytest.approx(0.3 / 1.6, abs=0.02)
        found.append(parts.sum() / total)
    assert found == pytest.approx([0.12 * 60 / 160, 0.12 * 600 / 700], rel=0.15)


@pytest.mark.parametrize("ragged", [False, True])
def test_neither_threads_nor_blocks_nor_company_change_a_bit(rng, ragged, monkeypatch):
    X = rng.normal(size=(70, 90, 2)).cumsum(axis=1)
    X = [x[: 40 + b % 50] for b, x in enumerate(X)] if ragged else X
    one = pe.FilterBank(**SMALL, n_jobs=1).fit(X)
    expected = one.transform(X)
    three = pe.FilterBank(**SMALL, n_jobs=3)
    np.testing.assert_array_equal(three.fit_transform(X), expected)
    np.testing.assert_array_equal(three.fit(X).transform(X), expected)
    np.testing.assert_array_equal(three.transform(X[5:8]), expected[5:8])
    np.testing.assert_array_equal(np.concatenate(list(three.blocks(X))), expected)
    monkeypatch.setattr(module, "_VALUES", 500)
    np.testing.assert_array_equal(one.transform(X), expected)
    assert (pe.FilterBank(**SMALL, seed=1).fit_transform(X) != expected).any()


def test_level_and_size_are_not_heard(rng):
    X = rng.normal(size=(10, 60)).cumsum(axis=1)
    bank = pe.FilterBank(**SMALL).fit(X)
    moved = bank.transform(X * rng.uniform(1, 9, (10, 1)) + rng.normal(size=(10, 1)))
    np.testing.assert_allclose(moved, bank.transform(X), atol=0.2)
    assert np.abs(moved - bank.transform(X)).mean() < 1e-3
    raw = pe.FilterBank(**SMALL, normalize=False).fit(X)
    np.testing.assert_allclose(raw.transform(X + 5), raw.transform(X), atol=0.2)
    assert np.abs(raw.transform(3 * X) - raw.transform(X)).mean() > 0.1
    other = pe.FilterBank(**SMALL, normalize=False).fit(1e30 * X)
    np.testing.assert_allclose(other.transform(1e30 * X), raw.transform(X), atol=0.2)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("normalize", [True, False])
def test_short_and_constant_series(rng, steps, normalize):
    bank = pe.FilterBank(**SMALL, normalize=normalize)
    for X in (
        rng.normal(size=(4, steps)),
        np.zeros((3, steps)),
        np.full((2, steps), 0.1),
        np.ones((1, steps, 3)),
        [np.ones(1), rng.normal(size=50)],
    ):
        assert np.isfinite(bank.fit_transform(X)).all()
        assert np.isfinite(bank.transform(X)).all()


def test_huge_tiny_and_short_numbers(rng):
    X = rng.normal(size=(6, 80))
    bank = pe.FilterBank(**SMALL).fit(X)
    expected = bank.transform(X)
    for factor in (1e-300, 1e300, 2.0):
        assert np.abs(bank.transform(X * factor) - expected).mean() < 1e-3
    single = X.astype(np.float32)
    np.testing.assert_array_equal(bank.transform(single), bank.transform(single.astype(float)))
    whole = rng.integers(-3, 3, (6, 80))
    np.testing.assert_array_equal(bank.transform(whole), bank.transform(whole.astype(float)))
    raw = pe.FilterBank(**SMALL, normalize=False).fit(X)
    with pytest.raises(ValueError, match=r"responses that overflow in series 2"):
        raw.transform(X * np.array([1, 1, 1e200, 1, 1, 1])[:, None])


def test_saved_loaded_and_cloned(rng, tmp_path):
    X = rng.normal(size=(9, 40, 2))
    for normalize in (True, False):
        bank = pe.FilterBank(**SMALL, normalize=normalize).fit(X)
        pe.save(bank, tmp_path / "bank")
        np.testing.assert_array_equal(pe.load(tmp_path / "bank").transform(X), bank.transform(X))
    again = clone(bank).fit(X)
    np.testing.assert_array_equal(again.transform(X), bank.transform(X))
    assert repr(pe.FilterBank(units=128)) == "FilterBank(units=128)"
    assert len(bank.get_feature_names_out()) == bank.transform(X).shape[1]


X_WITH_NAN = np.zeros((5, 20))
X_WITH_NAN[3, 7] = np.nan


@pytest.mark.parametrize(
    ("options", "X", "error", "message"),
    [
        ({"units": 100}, np.zeros((2, 9)), ValueError, "units must be a multiple of 64, got 100"),
        ({"units": 0}, np.zeros((2, 9)), ValueError, "units must be a whole number of at least 64"),
        ({"thresholds": 0}, np.zeros((2, 9)), ValueError, "thresholds must be a whole number"),
        ({"normalize": 1}, np.zeros((2, 9)), TypeError, "normalize must be True or False"),
        ({"n_jobs": 0}, np.zeros((2, 9)), ValueError, "n_jobs must be"),
        ({"seed": -1}, np.zeros((2, 9)), ValueError, "seed must be"),
        ({}, X_WITH_NAN, ValueError, "X must be finite, got NaN at series 3, step 7, feature 0"),
        ({}, list(X_WITH_NAN), ValueError, r"X\[3\] must be finite, got NaN at step 7"),
        ({}, [np.zeros(5), np.zeros((5, 2))], ValueError, r"X\[1\] must have 1 features like X\[0\]"),
        ({}, np.zeros(9), ValueError, "X must be a collection of series"),
    ],
)  # fmt: skip
def test_wrong_data_and_arguments(options, X, error, message):
    with pytest.raises(error, match=message):
        pe.FilterBank(**options).fit(X)


def test_wrong_use(rng):
    bank = pe.FilterBank(**SMALL)
    with pytest.raises(ValueError, match="not fitted"):
        bank.transform(np.zeros((2, 9)))
    bank.fit(rng.normal(size=(4, 9)))
    with pytest.raises(ValueError, match="X has 2 features, but FilterBank is expecting 1"):
        bank.transform(np.zeros((2, 9, 2)))
