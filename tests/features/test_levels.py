"""Levels of series, against plain NumPy of each, and how they join a filter bank."""

import numpy as np
import pytest

import paralesn as pe
from paralesn import sources
from paralesn.features import levels


def by_hand(x):
    """Statistics of one series (time, channels)."""
    n = len(x)
    way = np.linspace(-1, 1, n)[:, None] if n > 1 else np.zeros((1, 1))
    changes = np.diff(x, axis=0)
    of_all = [
        x.mean(0), x.std(0), x.min(0), x.max(0), x[0], x[-1], (way * x).mean(0),
        np.sqrt((changes**2).sum(0) / n),
    ]  # fmt: skip
    for k in range(4):
        part = x[n * k // 4 : max(n * (k + 1) // 4, n * k // 4 + 1)]
        of_all += [part.mean(0), part.std(0)]
    return np.concatenate(of_all)


@pytest.mark.parametrize("channels", [1, 3])
def test_statistics_of_series_of_any_length(rng, channels):
    X = [rng.normal(5, 2, (n, channels)) for n in (1, 2, 3, 4, 7, 50, 101)]
    found = levels.statistics(sources.collection(X, None, "test").read())
    np.testing.assert_allclose(found, [by_hand(x) for x in X], rtol=1e-10, atol=1e-12)


def test_a_bank_with_levels_begins_with_one_without(rng):
    X = rng.normal(size=(20, 50, 2)) * rng.uniform(1, 9, (20, 1, 1)) + rng.normal(size=(20, 1, 2))
    plain, both = pe.FilterBank(units=64), pe.FilterBank(units=64, levels=True)
    rows, more = plain.fit_transform(X), both.fit_transform(X)
    width = rows.shape[1]
    np.testing.assert_array_equal(more[:, :width], rows)
    np.testing.assert_array_equal(both.transform(X), more)
    described = more[:, width:].astype(float)
    assert described.shape == (20, 32)
    np.testing.assert_allclose(described.mean(axis=0), 0, atol=1e-4)
    assert (described**2).mean(axis=0).sum() == pytest.approx(0.1 * width, rel=1e-3)
    values = np.array([by_hand(x) for x in X])
    for column, of_all in zip(described.T, values.T, strict=True):
        np.testing.assert_array_equal(np.argsort(column), np.argsort(of_all))  # monotone
    assert len(both.get_feature_names_out()) == width + 32


def test_outliers_stay_near_and_constants_are_nothing(rng):
    X = rng.normal(size=(30, 40))
    X[3] = 1e9 + rng.normal(size=40)
    bank = pe.FilterBank(units=64, levels=True)
    rows = bank.fit_transform(X)
    assert np.isfinite(rows).all()
    levels = rows[:, 6 * 64 :]
    assert levels.shape[1] == 16
    assert np.abs(levels).max() < 12 * np.abs(levels).mean()
    same = pe.FilterBank(units=64, levels=True).fit_transform(np.ones((5, 20)))
    np.testing.assert_array_equal(same[:, 6 * 64 :], 0)


def test_saved_in_blocks_and_refused(rng, tmp_path, monkeypatch):
    from paralesn.features import filter_bank

    X = rng.normal(size=(20, 50)) + rng.normal(size=(20, 1))
    bank = pe.FilterBank(units=64, levels=True).fit(X)
    pe.save(bank, tmp_path / "bank")
    np.testing.assert_array_equal(pe.load(tmp_path / "bank").transform(X), bank.transform(X))
    monkeypatch.setattr(filter_bank, "_SERIES", 3)
    np.testing.assert_allclose(
        pe.FilterBank(units=64, levels=True).fit_transform(X), bank.transform(X), atol=1e-4
    )
    with pytest.raises(TypeError, match="levels must be True or False, got 'yes'"):
        pe.FilterBank(levels="yes").fit(X)
