"""Outputs of several huge pages: threads share their first touch, and no number changes."""

import numpy as np
import pytest

from paralesn import ParalESN
from paralesn.engines import reference
from paralesn.engines.base import Batch
from paralesn.engines.cpu import engine
from paralesn.engines.cpu.kernels.output_memory import fetch_ahead, share_pages
from paralesn.runtime.compiler import kernel

HUGE = 1 << 21


@kernel
def _share(data, size, begin, stop, part, parts):
    share_pages(data, size, begin, stop, part, parts)


@kernel
def _fetch(rows):
    for row in rows:
        fetch_ahead(row, rows.shape[1] * rows.itemsize)


def test_making_memory_ready_changes_no_content():
    memory = np.arange(5 * HUGE // 8, dtype=float)
    expected = memory.copy()
    used = memory[1000:-1000]  # neither end at a page
    block = HUGE // 3
    for part in range(3):
        for begin in range(0, used.nbytes, block):
            stop = min(begin + block, used.nbytes)
            _share(used.ctypes.data, used.nbytes, begin, stop, part, 3)
    _fetch(memory[: 128 * 1000].reshape(-1, 128))  # the last rows fetch past their end
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("units", [100, 128, 640])
@pytest.mark.parametrize("offset", [0, 1])
def test_states_in_large_fresh_outputs_are_those_of_one_thread(units, offset):
    steps = 4 * HUGE // (8 * units)
    x = np.random.default_rng(0).uniform(-1, 1, (steps, 1))
    layers = tuple(ParalESN(units=units).fit(x).layers_)
    program = engine.prepare(layers, False, True, np.dtype(float))
    batch, state = Batch.end_to_end(np.array([steps])), (np.zeros((1, units), complex),)
    runs = []
    for n_jobs in (1, 2, 3):
        out = np.empty(steps * units + offset)[offset:].reshape(steps, units)
        engine.run(program, x, batch, state, out, n_jobs=n_jobs)
        runs.append(out)
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])
    plain = reference.prepare(layers, False, True, np.dtype(float))
    expected = np.empty((300, units))
    begin = Batch.end_to_end(np.array([300]))
    reference.run(plain, x[:300], begin, state, expected)
    assert np.abs(runs[0][:300] - expected).max() < 1e-12
