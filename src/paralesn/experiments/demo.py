"""The demonstration: one-step prediction of Mackey-Glass, beside an echo state network loop."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.datasets import mackey_glass
from paralesn.reservoirs.diagonal import ParalESN

WASHOUT = 200
TAU = 0.5


@dataclass(frozen=True)
class Outcome:
    """One model's result on the demonstration task."""

    name: str
    error: float
    seconds: float
    prediction: np.ndarray


@dataclass(frozen=True)
class Demonstration:
    """Both results and the series they predict."""

    paralesn: Outcome
    esn: Outcome
    target: np.ndarray
    horizon: int
    units: int
    steps: int


def echo_state_loop(x: np.ndarray, w: np.ndarray, w_in: np.ndarray, tau: float) -> np.ndarray:
    """States of a plain leaky echo state network, one NumPy step after the other."""
    states = np.empty((len(x), len(w)))
    h = np.zeros(len(w))
    for t in range(len(x)):
        h = (1 - tau) * h + tau * np.tanh(w @ h + w_in @ x[t])
        states[t] = h
    return states


def echo_state_weights(units: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Recurrent matrix of spectral radius 0.9 and input weights, both uniform."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(-1, 1, (units, units))
    w *= 0.9 / np.abs(np.linalg.eigvals(w)).max()
    return w, rng.uniform(-1, 1, (units, features))


def demonstrate(
    units: int = 128, steps: int = 10_000, horizon: int = 84, seed: int = 0
) -> Demonstration:
    """Predict Mackey-Glass `horizon` steps ahead with a least-squares readout, twice."""
    series = mackey_glass(steps + horizon, seed=seed)
    x, y = series[:-horizon], series[horizon:]
    reservoir = ParalESN(
        units=units,
        rho=(0.0, 0.9),
        theta=(0.0, np.pi / 4),
        tau=TAU,
        bias_scale=0.1,
        mix_scale=1.0,
        seed=seed,
    )
    reservoir.run(x)  # compile, or load what was compiled
    paralesn = _evaluate("ParalESN", lambda: reservoir.run(x)[0], x, y)
    w, w_in = echo_state_weights(units, 1, seed)
    esn = _evaluate("echo state network", lambda: echo_state_loop(x, w, w_in, TAU), x, y)
    return Demonstration(paralesn, esn, y[len(y) // 2 :, 0], horizon, units, steps)


def _evaluate(
    name: str, states_of: Callable[[], np.ndarray], x: np.ndarray, y: np.ndarray
) -> Outcome:
    """Time the states, fit on the first half after the washout, score on the second half."""
    seconds = []
    states = np.empty(0)
    for _ in range(5):
        start = time.perf_counter()
        states = states_of()
        seconds.append(time.perf_counter() - start)
    half = len(x) // 2
    features = np.hstack([states, np.ones((len(states), 1))])
    weights = np.linalg.lstsq(features[WASHOUT:half], y[WASHOUT:half], rcond=None)[0]
    prediction = (features[half:] @ weights)[:, 0]
    target = y[half:, 0]
    error = float(np.sqrt(np.mean((prediction - target) ** 2) / np.mean(target**2)))
    return Outcome(name, error, float(np.median(seconds)), prediction)


def plot(result: Demonstration, path: Path, shown: int = 600) -> None:
    """Save a picture of the prediction and its error."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    t = np.arange(shown)
    target, predicted = result.target[:shown], result.paralesn.prediction[:shown]
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(9, 5), sharex=True, height_ratios=[3, 1], layout="constrained"
    )
    above.plot(t, target, color="0.6", linewidth=3, label="Mackey-Glass")
    above.plot(t, predicted, color="tab:blue", linewidth=1.2, label="ParalESN")
    above.set_ylabel("tanh(f - 1)")
    above.set_title(
        f"Mackey-Glass {result.horizon} steps ahead, {result.units} units: "
        f"NRMSE {result.paralesn.error:.3f}"
    )
    above.margins(y=0.18)  # room for the legend
    above.legend(loc="upper right", ncols=2)
    errors: list[tuple[Any, str]] = [(result.esn, "tab:orange"), (result.paralesn, "tab:blue")]
    for outcome, color in errors:
        error = np.abs(outcome.prediction[:shown] - target)
        below.semilogy(t, np.maximum(error, 1e-6), color=color, linewidth=0.8, label=outcome.name)
    below.set_ylabel("|error|")
    below.set_xlabel("time step of the test half")
    below.legend(loc="lower right", ncols=2, fontsize="small")
    unfinished = path.with_name(f".{path.name}.part")
    try:
        figure.savefig(unfinished, dpi=120, format="png")
        unfinished.replace(path)
    finally:
        plt.close(figure)
        unfinished.unlink(missing_ok=True)
