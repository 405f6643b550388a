"""Sources: shapes are parsed at the door, values are checked as they are read."""

import numpy as np
import pytest

import paralesn as pe
from paralesn import sources


def test_a_memory_mapped_file_is_read_block_by_block(tmp_path, monkeypatch):
    X = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (5000, 2))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    X.flush()
    monkeypatch.setattr(sources, "_AT_ONCE", 1000)
    source = sources.source(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert not source.is_finite
    blocks = list(source.blocks(600))
    assert max(len(block.rows) for block in blocks) == 600
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), X)


@pytest.mark.parametrize("at_once", [0, 1 << 22])
@pytest.mark.parametrize("kind", ["single", "batch", "ragged"])
def test_a_value_that_is_not_finite_is_named_by_its_position(kind, at_once, monkeypatch, rng):
    monkeypatch.setattr(sources, "_AT_ONCE", at_once)
    X, Y = rng.normal(size=(6, 50, 2)), np.zeros((6, 50))
    X[4, 37, 1] = np.inf
    data = {"single": X[4], "batch": X, "ragged": list(X)}[kind]
    said = {"single": "X must be finite, got infinity at step 37, feature 1",
            "batch": "X must be finite, got infinity at series 4, step 37, feature 1",
            "ragged": r"X\[4\] must be finite, got infinity at step 37, feature 1"}[kind]  # fmt: skip
    with pytest.raises(ValueError, match=said):
        [list(group.blocks(7)) for group in sources.source(data).groups(2)]
    y = {"single": Y[4], "batch": Y, "ragged": list(Y)}[kind]
    with pytest.raises(ValueError, match=said):
        pe.ReservoirRegressor(pe.ParalESN(units=5), washout=0).fit(data, y)


def test_reading_all_at_once_or_in_blocks_gives_one_model(monkeypatch, rng):
    X = [rng.normal(size=(steps, 2)) for steps in (30, 80, 55)]
    y = [x[:, :1] for x in X]
    model = pe.ReservoirRegressor(pe.ParalESN(units=20), washout=5)
    expected = model.fit(X, y).predict(X)
    monkeypatch.setattr(sources, "_AT_ONCE", 0)
    for a, b in zip(model.fit(X, y).predict(X), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_series_of_a_list_have_the_same_features():
    with pytest.raises(ValueError, match=r"X\[1\] must have 1 features like X\[0\], got 2"):
        sources.source([np.zeros(5), np.zeros((5, 2))])
