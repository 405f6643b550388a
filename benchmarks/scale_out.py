"""Training on Dask with one and more workers: time, bytes moved, memory, the share of merging.

Data are generated on the workers, so that nothing but partials moves. Beside it, what one would do
otherwise: `Incremental` of dask-ml with scikit-learn's SGD on the same states.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.timing import Report
from paralesn import FilterBank, ParalESN, PooledStates, ReservoirClassifier, ReservoirRegressor
from paralesn.dask import fit
from paralesn.runtime import threads

STEPS, CHUNK, UNITS = 10**8, 10**6, 128  # of one series, and of a reservoir
SERIES, LENGTH, CASES = 10**5, 100, 2000  # of a classifier, and series of a block
OTHERWISE = 2 * 10**6  # steps that dask-ml learns from


def run() -> Report:
    """Measure every claim about several workers."""
    report = Report("Training on Dask, workers of one thread each, data generated on the workers")
    most = threads.available()
    counts = [count for count in (1, 2, 4, 8) if count <= most]
    for name, work in (("regressor", _regressor), ("classifier, pooled states", _pooled),
                       ("classifier, filter bank", _bank)):  # fmt: skip
        _scaling(report, name, work, counts)
    _otherwise(report, most)
    return report


def _scaling(report: Report, name: str, work: Any, counts: list[int]) -> None:
    """Seconds of some work by numbers of workers, and that the result is the same to the bit."""
    seconds, results = {}, []
    for count in counts:
        with _cluster(count) as client:
            title = work(client, 0.01)[0]  # workers load what was compiled
            before = _moved(client)
            begin = time.perf_counter()
            title, model = work(client, 1.0)
            seconds[count] = time.perf_counter() - begin
            results.append(np.asarray(model.readout_.coef_).tobytes())
            share = _merging(client)
            moved, memory = _moved(client) - before, max(client.run(_peak).values())
            detail = f"{title}; {moved / 1e6:.3g} MB between workers, {memory / 2**30:.2f} GiB each"
            report.value(f"{name}, {count} workers", seconds[count], "s", detail=detail)
            below = 2.0 if count == 2 else None
            report.value(f"  share of merging, {count} workers", 100 * share, "%", below)
    for count in counts[1:]:
        wanted = 1.6 if count == 2 else None
        report.ratio(f"{name}, {count} workers against 1", seconds[count], seconds[1], wanted)
    same = "the same bits" if len(set(results)) == 1 else "DIFFERENT BITS"
    report.note(f"{name}, {counts} workers", same)


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    quiet = {"distributed.worker.memory.terminate": False}
    with (
        dask.config.set(quiet),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


# -- work ------------------------------------------------------------------------------------------


def _noise(block_id: tuple[int, ...] = (0,), size: int = 0) -> np.ndarray:
    return np.random.default_rng(block_id[0]).normal(size=size)


def _regressor(client: Client, share: float) -> tuple[str, Any]:
    """A target that takes a memory of three steps, over one long series."""
    steps = int(STEPS * share)
    chunk = min(CHUNK, steps)
    x = da.map_blocks(_noise, chunks=((chunk,) * (steps // chunk),), dtype=float, size=chunk,
                      meta=np.zeros(0))  # fmt: skip
    y = x.map_blocks(_target, dtype=float)
    model = ReservoirRegressor(ParalESN(units=UNITS, rho=(0.0, 0.9)))
    fitted = fit(model, x, y, client=client, progress=False, persist=False)
    return f"{steps:.0e} steps, {UNITS} units", fitted


def _target(x: np.ndarray) -> np.ndarray:
    return x * np.roll(x, 2) + np.roll(x, 5)


def _tones(block_id: tuple[int, ...] = (0,)) -> np.ndarray:
    rng = np.random.default_rng(block_id[0])
    labels = np.arange(CASES) % 3
    phase = rng.uniform(0, 6, (CASES, 1))
    x = np.sin(np.arange(LENGTH) / (3.0 + 0.4 * labels[:, None]) + phase)
    return (x + rng.normal(size=x.shape))[:, :, None]


def _cases(share: float) -> tuple[Any, np.ndarray]:
    blocks = max(1, int(SERIES * share) // CASES)
    X = da.map_blocks(_tones, chunks=((CASES,) * blocks, (LENGTH,), (1,)), dtype=float,
                      meta=np.zeros((0, 0, 0)))  # fmt: skip
    return X, np.tile(np.arange(CASES) % 3, blocks)


def _pooled(client: Client, share: float) -> tuple[str, Any]:
    model = ReservoirClassifier(PooledStates(ParalESN(units=UNITS, dtype="float32")))
    X, y = _cases(share)
    fitted = fit(model, X, y, client=client, progress=False, persist=False)
    return f"{len(y):.0e} series, {fitted.features_.n_features_out_} features, Ridge", fitted


def _bank(client: Client, share: float) -> tuple[str, Any]:
    X, y = _cases(share)
    model = ReservoirClassifier(FilterBank(units=192))
    fitted = fit(model, X, y, client=client, progress=False, persist=False)
    return f"{len(y):.0e} series, {fitted.features_.n_features_out_} features, DualRidge", fitted


def _otherwise(report: Report, workers: int) -> None:
    """Time and fit of dask-ml's `Incremental`, which learns from one block after the other."""
    if find_spec("dask_ml") is None:
        report.note("against dask-ml", "not installed")
        return
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDRegressor

    x = da.map_blocks(_noise, chunks=((10**5,) * (OTHERWISE // 10**5),), dtype=float, size=10**5,
                      meta=np.zeros(0))  # fmt: skip
    y = x.map_blocks(_target, dtype=float)
    reservoir = ParalESN(units=UNITS, rho=(0.0, 0.9))
    reservoir.fit(np.zeros((1, 1)))
    new = _noise((10**6,), 10**5)
    with _cluster(workers) as client:
        begin = time.perf_counter()
        model = fit(ReservoirRegressor(reservoir), x, y, client=client, progress=False)
        ours = time.perf_counter() - begin
        begin = time.perf_counter()
        states = x.map_blocks(_states, reservoir, dtype=float, new_axis=1,
                              chunks=(x.chunks[0], (UNITS,)))  # fmt: skip
        rival = Incremental(SGDRegressor(random_state=0), shuffle_blocks=False)
        rival.fit(states, y)
        seconds = time.perf_counter() - begin
        report.ratio(f"against dask-ml's Incremental(SGD), {OTHERWISE:.0e} steps", ours, seconds)
        wanted = _target(new)
        r2 = model.score(new, wanted)
        theirs = float(rival.estimator_.score(_states(new, reservoir)[100:], wanted[100:]))
        report.score("  R2 on new steps, ours", r2, f"Incremental(SGD), one pass: {theirs:.3f}")


def _states(x: np.ndarray, reservoir: ParalESN) -> np.ndarray:
    with threads.limited(1):
        return np.asarray(reservoir.run(x)[0])


# -- what workers say ------------------------------------------------------------------------------


def _peak(dask_worker: Any = None) -> int:
    """The most memory that a worker had so far, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _moved(client: Client) -> float:
    """Bytes that workers sent each other so far."""
    return float(sum(client.run(_sent).values()))


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _merging(client: Client) -> float:
    """The share of merges in the time of all tasks."""
    spent: dict[str, float] = client.run_on_scheduler(_spent)
    return spent.get("merge", 0.0) / max(sum(spent.values()), 1e-9)


def _spent(dask_scheduler: Any) -> dict[str, float]:
    return {
        name: float(sum(prefix.all_durations.values()))  # computing, and what it waits for
        for name, prefix in dask_scheduler.task_prefixes.items()
    }


if __name__ == "__main__":
    from rich.console import Console

    factor = float(os.environ.get("PARALESN_SCALE", "1"))
    STEPS, SERIES, OTHERWISE = (int(n * factor) for n in (STEPS, SERIES, OTHERWISE))
    run().show(Console())
