"""Something that goes on for long, of the kind that is named: a child that a test interrupts.

Everything is tried on little data first, so that nothing is compiled or imported later.
"""

import sys
import time
import traceback
from functools import cache
from itertools import count

import numpy as np

import paralesn as pe
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.reservoirs.structured import StructuredRC


def series(share, steps=20_000_000, features=1):
    """One series that takes no memory."""
    return np.broadcast_to(0.1, (int(steps * share) + 300, features))


def many(share, number, steps):
    """Many series that take no memory."""
    return np.broadcast_to(0.1, (int(number * share) + 70, steps if share == 1 else 60, 1))


def again(share, function, *arguments):
    """Short calls, many times over: what lies between kernels counts as well."""
    for _ in range(1) if share < 1 else count():
        function(*arguments)


@cache
def numbers(rows, columns):
    return np.random.default_rng(0).normal(size=(rows, columns))


def ridge(readout, share, rows, columns):
    x = numbers(rows, columns)
    x = x if share == 1 else x[:100, :50]
    readout.fit(x, x[:, 0])


@cache
def closed_loop(reservoir):
    y = np.sin(np.arange(3000) / 9)
    return pe.ReservoirForecaster(reservoir, strategy="closed-loop").fit(y).closed_loop_


LOOP, DENSE_LOOP = pe.ParalESN(units=50), pe.ESN(units=50)
KINDS = {
    "run": lambda n: pe.ParalESN(units=4096, n_jobs=1).last(series(n), return_state=True),
    "threads": lambda n: pe.ParalESN(units=4096).last(series(n), return_state=True),
    "states": lambda n: again(n, pe.ParalESN(units=2048, n_jobs=1).run, many(n, 64, 1500)),
    "many series": lambda n: pe.ParalESN(units=4096).last(many(n, 20_000, 900), return_state=True),
    "features": lambda n: pe.ParalESN(units=4096, n_jobs=1).last(
        series(n, 300_000, 100), return_state=True
    ),
    "deep": lambda n: pe.ParalESN(units=2048, layers=3).last(series(n), return_state=True),
    "last": lambda n: pe.ParalESN(units=4096).last(many(n, 20_000, 2000)),
    "pool": lambda n: pe.ParalESN(units=4096, n_jobs=1).pool(series(n), ("mean", "std")),
    "pool of many": lambda n: pe.ParalESN(units=4096).pool(many(n, 20_000, 900)),
    "deep pool": lambda n: pe.ParalESN(units=2048, layers=2).pool(series(n)),
    "dense": lambda n: pe.ESN(units=300, n_jobs=1).last(series(n)),
    "dense threads": lambda n: pe.ESN(units=2000).last(series(n)),
    "dense series": lambda n: pe.ESN(units=500).last(many(n, 400, 50_000)),
    "sparse": lambda n: pe.ESN(units=1000, density=0.1, n_jobs=1).last(series(n)),
    "structured": lambda n: StructuredRC(units=1024, n_jobs=1).last(series(n)),
    "nvar": lambda n: again(n, pe.NVAR(delay=20, order=3, n_jobs=1).run, series(n, 50_000)),
    "loop": lambda n: closed_loop(LOOP).run(int(5_000_000 * n) + 1),
    "loop of a matrix": lambda n: closed_loop(DENSE_LOOP).run(int(1_000_000 * n) + 1),
    "filters": lambda n: pe.FilterBank(n_jobs=1).fit_transform(
        numbers(4000, 2000)[: int(4000 * n) + 40]
    ),
    "smoothers": lambda n: pe.SmootherBank(horizon=24, n_jobs=1).fit(
        numbers(20_000_000, 1)[: int(20_000_000 * n) + 200, 0]
    ),
    "ridge": lambda n: ridge(pe.Ridge(), n, 20_000, 4000),
    "wide ridge": lambda n: ridge(DualRidge(), n, 6000, 10_000),
}

if __name__ == "__main__":
    task = KINDS[sys.argv[1]]
    task(1e-5)
    print("begins", flush=True)
    try:
        task(1)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
        traceback.print_exc(file=sys.stdout)
