"""A reservoir that is drawn when it is first used, by several threads at once."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import paralesn as pe

X = np.sin(np.arange(50) / 5)


@pytest.fixture
def restless():
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pe.ParalESN(units=30, layers=2),
        lambda: pe.ESN(units=30),
        lambda: pe.LocalReservoirs(pe.ParalESN(units=10), size=1, overlap=0),
        lambda: pe.ParalESN(units=30, seed=None),  # drawn once, whoever comes first
    ],
    ids=["ParalESN", "ESN", "local", "without a seed"],
)
def test_all_threads_see_one_draw(make, restless):
    count = 4
    for _ in range(15):
        reservoir, meeting = make(), Barrier(count)

        def use(number, reservoir=reservoir, meeting=meeting):
            meeting.wait()
            if number % 2:
                return reservoir.run(X)[0]
            return np.array([reservoir.step(X[0])[0]])

        with ThreadPoolExecutor(count) as pool:
            states = list(pool.map(use, range(count)))
        expected = reservoir.run(X)[0]
        for got in states:
            np.testing.assert_array_equal(got, expected[: len(got)])
