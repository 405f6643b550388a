r"""The theorem of universality, demonstrated: linear reservoirs with a perceptron on top.

The filter to approximate has infinite memory that fades, and is not linear: for inputs u uniform on
[-1, 1], independent,

.. math::

    y_t = \sin(a_t)\, b_t, \qquad
    a_t = c_\alpha \sum_{k \ge 0} \alpha^k u_{t-k}, \quad
    b_t = c_\beta \sum_{k \ge 0} \beta^k u_{t-k}, \qquad c_\lambda = \sqrt{3 (1 - \lambda^2)},

with :math:`\alpha = 0.7` and :math:`\beta = -0.5`; the factors make a and b of variance one. It is
even in u: no linear readout of linear states correlates with it, whatever the size.

Three readouts of the same raw states (`ParalESN(mixing=False)`) are compared: `Ridge`; `MLP`; and
the formula above, of a and b as a linear least-squares fit of the states gives them. The last is no
readout to use in practice, but shows what the states hold: a perfectly trained perceptron would do
about as well or better.

The perceptron is given the principal components of the states, scaled to variance one. That is a
linear map, which its first layer could hold, and changes nothing about what it can represent; but
states of a reservoir are nearly collinear, and gradient descent then takes very long. Components
with less than a hundredth, or a thousandth, of the first one's deviation are left out; which of the
two is decided by the rows held out, as is when to stop.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from scipy.signal import lfilter

from paralesn.files import machine, require, save_figure, save_json, versions
from paralesn.readouts.mlp import MLP
from paralesn.readouts.mlp_network import require_torch
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

ALPHA, BETA = 0.7, -0.5
WASHOUT = 500
WEAKEST = (0.01, 0.001)  # deviations of components to keep, relative to the first, to choose from
READOUTS = {
    "linear": "linear readout",
    "perceptron": "MLP readout",
    "formula": "formula of fitted a and b",
}


@dataclass(frozen=True)
class Settings:
    """What is run: sizes, reservoirs of each, rows to train, to stop by and to test, readout."""

    units: tuple[int, ...]
    seeds: int
    rows: int
    held_rows: int
    hidden: int
    learning_rate: float
    batch_size: int
    epochs: int


def settings(seeds: int = 3, quick: bool = False) -> Settings:
    """The default, or a quick version of it."""
    if quick:
        return Settings((2, 8, 32), seeds, 6000, 2000, 64, 4e-3, 128, 12)
    return Settings((2, 4, 8, 16, 32, 64, 128), seeds, 60_000, 10_000, 256, 3e-3, 1024, 40)


def averages(u: np.ndarray) -> np.ndarray:
    """The exponential averages a and b of inputs u (T,), as columns (T, 2)."""
    columns = [
        np.sqrt(3 * (1 - decay**2)) * lfilter([1.0], [1.0, -decay], u) for decay in (ALPHA, BETA)
    ]
    return np.stack(columns, axis=1)


def nonlinearity(ab: np.ndarray) -> np.ndarray:
    """What the filter makes of a and b (T, 2)."""
    return np.sin(ab[:, 0]) * ab[:, 1]


def approximate(
    wanted: Settings,
    path: Path,
    report: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> dict[str, Any]:
    """Errors of the three readouts for every size and seed, as a record that goes to `path`."""
    require_torch()  # before minutes are spent
    T = wanted.rows + 2 * wanted.held_rows
    u = np.random.default_rng(0).uniform(-1, 1, WASHOUT + T)
    ab = averages(u)[WASHOUT:]
    results: list[dict[str, Any]] = []
    total = len(wanted.units) * wanted.seeds
    for units in wanted.units:
        for seed in range(wanted.seeds):
            report(f"{units} units, reservoir {seed + 1}", len(results), total)
            states = ParalESN(units=units, mixing=False, seed=seed).run(u)[0][WASHOUT:]
            results.append({"units": units, "seed": seed} | _errors(states, ab, wanted, seed))
    report("done", total, total)
    record: dict[str, Any] = {
        "experiment": "universality",
        "versions": versions("torch"),
        "machine": machine(),
        "settings": asdict(wanted) | {"units": list(wanted.units), "alpha": ALPHA, "beta": BETA},
        "results": results,
    }
    save_json(record, path)
    return record


def _errors(states: np.ndarray, ab: np.ndarray, wanted: Settings, seed: int) -> dict[str, Any]:
    """Test error (NRMSE) of each readout of states (T, features)."""
    train = slice(0, wanted.rows)
    held = slice(wanted.rows, wanted.rows + wanted.held_rows)
    test = slice(held.stop, None)
    y = nonlinearity(ab)

    def error(predicted: np.ndarray) -> float:
        return float(np.sqrt(np.mean((predicted - y[test]) ** 2)) / np.std(y[test]))

    linear = Ridge().fit(states[train], y[train], validation=(states[held], y[held]))
    inner = Ridge([0]).fit(states[train], ab[train])
    choices = {z.shape[1]: z for z in (whitened(states, train, weakest) for weakest in WEAKEST)}
    fitted = []
    for z in choices.values():
        perceptron = MLP(
            wanted.hidden,
            task="regression",
            learning_rate=wanted.learning_rate,
            batch_size=wanted.batch_size,
            epochs=wanted.epochs,
            seed=seed,
            progress=False,
        ).fit(z[train], y[train], validation=(z[held], y[held]))
        fitted.append((min(perceptron.validation_curve_), perceptron, z))
    _, perceptron, z = min(fitted, key=lambda judged: judged[0])
    return {
        "linear": error(linear.predict(states[test])),
        "perceptron": error(perceptron.predict(z[test])),
        "formula": error(nonlinearity(inner.predict(states[test]))),
        "components": z.shape[1],
        "epochs": perceptron.n_iter_,
        "training": float(np.sqrt(min(perceptron.loss_curve_))),
    }


def whitened(states: np.ndarray, train: slice, weakest: float) -> np.ndarray:
    """Principal components of standardised states (T, features), of variance one in `train`.

    Without those whose deviation was less than `weakest` times the largest.
    """
    mean, scale = states[train].mean(axis=0), states[train].std(axis=0)
    z = (states - mean) / scale
    variances, directions = np.linalg.eigh(z[train].T @ z[train] / len(z[train]))
    keep = variances > weakest**2 * variances[-1]
    return z @ (directions[:, keep] / np.sqrt(variances[keep]))


def medians(record: dict[str, Any], readout: str) -> dict[int, float]:
    """Median error over the seeds, by units."""
    return {
        units: float(
            np.median([run[readout] for run in record["results"] if run["units"] == units])
        )
        for units in sorted({run["units"] for run in record["results"]})
    }


def table(record: dict[str, Any]) -> Table:
    """Errors by size, and where the perceptron ceases to improve."""
    curves = {name: medians(record, name) for name in READOUTS}
    made = Table(title="Test error (NRMSE) by reservoir size")
    made.title_justify = made.caption_justify = "left"
    made.add_column("units", justify="right")
    for name in READOUTS.values():
        made.add_column(name, justify="right")
    for units, linear in curves["linear"].items():
        others = (curves[name][units] for name in ("perceptron", "formula"))
        made.add_row(str(units), f"{linear:.3f}", *(f"{error:.2g}" for error in others))
    seeds = record["settings"]["seeds"]
    made.caption = f"Median of {seeds} reservoirs. {verdict(curves)}"
    return made


def verdict(curves: dict[str, dict[int, float]]) -> str:
    """Up to which size the perceptron's errors fall, and why no further."""
    errors = curves["perceptron"]
    least = min(errors.values())
    enough = min(units for units, error in errors.items() if error <= 1.1 * least)
    if enough == max(errors):
        return "The error with the MLP falls up to the largest size."
    said = f"The error with the MLP falls up to {enough} units, and hardly or not beyond."
    if curves["formula"][enough] < errors[enough] / 2:
        said += (
            " The states hold more than that, as the last column shows: what limits it is how well "
            "the MLP is trained."
        )
    return said


def plot(record: dict[str, Any], path: Path) -> None:
    """Save a picture of the errors by size, all seeds and their medians."""
    require("matplotlib", "plot", purpose="a picture").use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.8), layout="constrained")
    styles = zip(READOUTS.items(), ("tab:red", "tab:blue", "0.5"), "so^", strict=True)
    for (name, label), color, marker in styles:
        curve = medians(record, name)
        axes.plot(list(curve), list(curve.values()), color=color, marker=marker, label=label,
                  linestyle="--" if name == "formula" else "-")  # fmt: skip
        at = [run["units"] for run in record["results"]]
        values = [run[name] for run in record["results"]]
        axes.plot(at, values, marker, color=color, alpha=0.35, markersize=4, linestyle="none")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(medians(record, "linear")))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("units of the linear reservoir")
    axes.set_ylabel("test NRMSE")
    axes.set_title("Approximating a nonlinear filter with fading memory")
    axes.grid(color="0.9", linewidth=0.6)
    axes.legend(loc="lower left", fontsize="small")
    try:
        save_figure(figure, path)
    finally:
        plt.close(figure)
