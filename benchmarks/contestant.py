"""One contestant of the races for states and for whole fits, in a process of its own.

``python -m benchmarks.contestant NAME UNITS STEPS ROUNDS`` prints the seconds of every round.
Libraries keep threads that spin for a while after their work; in one process with others they
would slow those down, and be slowed down.
"""

import json
import subprocess
import sys
import time
from functools import partial

import numpy as np

from benchmarks import rivals
from paralesn import ParalESN, ReservoirRegressor, Ridge
from paralesn.datasets import mackey_glass

NAMES = ("ours", "PyTorch scan", "JAX associative_scan", "reservoirpy ESN", "NumPy ESN loop")
FITS = ("our fit", "reservoirpy fit", "PyTorch scan and scikit-learn Ridge(svd)")
ALPHAS = (0, 0.01, 0.1, 1, 10, 100)
WASHOUT = 100


def states(name: str, units: int, steps: int) -> rivals.States:
    """Make the call that computes all states of one series."""
    x = np.random.default_rng(0).uniform(-1, 1, (steps, 1))
    ours = ParalESN(units=units)
    expected = ours.run(x)[0]
    if name == "ours":
        return partial(ours.run, x)
    if name == "reservoirpy ESN":
        return rivals.reservoirpy_esn(x, units)
    if name == "NumPy ESN loop":
        return rivals.numpy_esn(x, units)
    scan = rivals.torch_scan if name == "PyTorch scan" else rivals.jax_scan
    call = scan(x, ours.layers_[0])
    difference = np.abs(np.asarray(call()) - expected).max()
    if difference > 1e-4:  # then the race means nothing
        raise AssertionError(f"{name} computes something else: difference {difference}")
    return call


def fit(name: str, units: int, steps: int) -> rivals.States:
    """Make the call that fits a reservoir and a readout to one series."""
    series = mackey_glass(steps + 1)
    x, y = series[:-1], series[1:]
    if name == "our fit":
        model = ReservoirRegressor(ParalESN(units=units), Ridge(ALPHAS), washout=WASHOUT)
        return partial(model.fit, x, y[:, 0])
    if name == "reservoirpy fit":
        return rivals.reservoirpy_fit(x, y, units, WASHOUT)
    scan = rivals.torch_scan(x, ParalESN(units=units).fit(x).layers_[0])
    return partial(rivals.scan_and_ridges, scan, y[:, 0], ALPHAS, WASHOUT)


def race(names: tuple[str, ...], units: int, steps: int, rounds: int) -> dict[str, float]:
    """Median seconds of contestants, each having `rounds` turns in each of three processes."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(3):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.contestant", name]
            command += [str(units), str(steps), str(rounds)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds[name] += json.loads(done.stdout.splitlines()[-1])
    return {name: float(np.median(times)) for name, times in seconds.items()}


def main() -> None:
    """Measure the contestant named on the command line."""
    name, units, steps, rounds = sys.argv[1], *map(int, sys.argv[2:5])
    call = (fit if name in FITS else states)(name, units, steps)
    seconds = []
    for _ in range(rounds + 2):  # two to warm up
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
        del result
    print(json.dumps(seconds[2:]))


if __name__ == "__main__":
    main()
