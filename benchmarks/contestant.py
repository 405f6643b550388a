"""One contestant of the races for states and for whole fits, in a process of its own.

``python -m benchmarks.contestant NAME UNITS STEPS ROUNDS [SERIES DENSITY]`` prints the seconds of
every round.
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
from paralesn import ES2N, ESN, NVAR, ParalESN, PlasticESN, ReservoirRegressor, Ridge
from paralesn.datasets import mackey_glass

NAMES = ("ours", "PyTorch scan", "JAX associative_scan", "reservoirpy ESN", "NumPy ESN loop")
FITS = ("our fit", "reservoirpy fit", "PyTorch scan and scikit-learn Ridge(svd)")
ESNS = ("our ESN", "our ParalESN", "their ESN")  # theirs is reservoirpy's
OTHERS = ("our NVAR", "their NVAR", "our ES2N", "their ES2N", "our PlasticESN", "their PlasticESN")
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


def echo_state(name: str, units: int, steps: int, series: int, density: float) -> rivals.States:
    """Make the call that computes all states of some series by an echo state network."""
    X = np.random.default_rng(0).uniform(-1, 1, (series, steps, 1))
    if name == "our ParalESN":
        return partial(ParalESN(units=units).fit(X).run, X)
    if name == "their ESN":
        return rivals.reservoirpy_batch(X, units, density)
    if units > 2000:  # its spectral radius would take longer than all else, and costs no time here
        ours = ESN.from_layers([rivals.circular_layer(units)])
    else:
        ours = ESN(units=units, density=density).fit(X)
    return partial(ours.run, X)


def other_states(name: str, units: int, steps: int) -> rivals.States:
    """Make the call that computes all states of one series by another reservoir.

    Of NVAR, `units` is the number of delays of three features; plastic ones are adapted first.
    """
    x = np.random.default_rng(0).uniform(-1, 1, (steps, 3))
    if name.startswith("their"):
        return rivals.reservoirpy_other(name.removeprefix("their "), x, units)
    ours: NVAR | ES2N | PlasticESN = NVAR(units)
    if not name.endswith("NVAR"):
        ours = (ES2N if name.endswith("ES2N") else PlasticESN)(units=units)
    return partial(ours.fit(x).run, x)


def fit(name: str, units: int, steps: int) -> rivals.States:
    """Make the call that fits a reservoir and a readout to one series."""
    series = mackey_glass(steps + 1)
    x, y = series[:-1], series[1:]
    if name == "our fit":
        model = ReservoirRegressor(
            ParalESN(units=units), Ridge(ALPHAS), washout=WASHOUT, standardize=False
        )
        return partial(model.fit, x, y[:, 0])
    if name == "reservoirpy fit":
        return rivals.reservoirpy_fit(x, y, units, WASHOUT)
    scan = rivals.torch_scan(x, ParalESN(units=units).fit(x).layers_[0])
    return partial(rivals.scan_and_ridges, scan, y[:, 0], ALPHAS, WASHOUT)


def race(
    names: tuple[str, ...],
    units: int,
    steps: int,
    rounds: int,
    series: int = 1,
    density: float = 1.0,
) -> dict[str, float]:
    """Median seconds of contestants, each having `rounds` turns in each of three processes."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(3):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.contestant", name]
            command += [str(n) for n in (units, steps, rounds, series, density)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds[name] += json.loads(done.stdout.splitlines()[-1])
    return {name: float(np.median(times)) for name, times in seconds.items()}


def main() -> None:
    """Measure the contestant named on the command line."""
    name, units, steps, rounds = sys.argv[1], *map(int, sys.argv[2:5])
    if name in ESNS:
        call = echo_state(name, units, steps, int(sys.argv[5]), float(sys.argv[6]))
    elif name in OTHERS:
        call = other_states(name, units, steps)
    else:
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
