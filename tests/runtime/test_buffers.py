"""Recycled memory must never be in two hands."""

import gc

import numpy as np
import pytest

import paralesn as pe
from paralesn.runtime import buffers

F8 = np.dtype("float64")
LARGE = (3000, 1000)  # 24 MB


@pytest.fixture(autouse=True, scope="module")
def _no_garbage_of_others():
    """Arrays in cycles of other tests would come back any time; ours are in none."""
    gc.collect()


@pytest.fixture(autouse=True)
def _nothing_kept(_no_garbage_of_others):
    buffers._spare.clear()


def kept_bytes():
    return sum(m.size for memories in buffers._spare.values() for m in memories)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(3, 5), LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays_begin_at_a_cache_line(shape, dtype):
    array = buffers.empty(shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    assert address(array) % 64 == 0
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[:] = 1
    assert array.sum() == array.size


def test_memory_is_used_again_once_nobody_refers_to_it():
    first = buffers.empty(LARGE, F8)
    where = address(first)
    second = buffers.empty(LARGE, F8)
    assert address(second) != where
    del first
    assert address(buffers.empty(LARGE, F8)) == where


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[10:20],
        lambda a: a.T,
        lambda a: a.reshape(-1)[::7],
        lambda a: a[5][3:4],
        lambda a: a.view(np.int64),
        memoryview,
        lambda a: np.asarray(memoryview(a)),
        lambda a: np.split(a, 3)[1],
        lambda a: a[0].reshape(10, 100)[2:].T,
    ],
)
def test_a_view_keeps_its_memory(view):
    array = buffers.empty(LARGE, F8)
    array[:] = 1
    kept = view(array)
    before = np.array(kept)
    del array
    assert kept_bytes() == 0
    buffers.empty(LARGE, F8)[:] = 2
    np.testing.assert_array_equal(np.array(kept), before)
    del kept
    assert kept_bytes() > 0


def test_results_of_several_runs_do_not_overwrite_each_other(rng):
    x = rng.normal(size=(6000, 1))
    res = pe.ParalESN(units=200)
    expected = res.run(x)[0].copy()
    results = [res.run(x * sign)[0] for sign in (1, -1)]
    tail = res.run(x)[0][-5:]
    for _ in range(5):
        res.run(rng.normal(size=(6000, 1)))
    np.testing.assert_array_equal(results[0], expected)
    np.testing.assert_array_equal(tail, expected[-5:])
    np.testing.assert_allclose(results[1], -expected, rtol=0, atol=1e-15)


def test_no_more_is_kept_than_allowed():
    arrays = [buffers.empty(LARGE, F8) for _ in range(12)]
    del arrays
    assert 0 < kept_bytes() <= buffers.KEPT_BYTES
    huge = buffers.empty((buffers.KEPT_BYTES // 8 + 1, 1), F8)
    del huge
    assert kept_bytes() <= buffers.KEPT_BYTES


def test_memory_that_is_given_back_at_exit_is_no_error(monkeypatch):
    lease = buffers.empty(LARGE, F8).base
    monkeypatch.setattr(buffers, "_spare", None)  # as an interpreter that shuts down leaves it
    monkeypatch.setattr(buffers, "_GRAIN", None)
    assert lease.__del__() is None
    monkeypatch.undo()
