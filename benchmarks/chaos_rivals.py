"""Contestants for closed-loop forecasts of chaotic series: what they share, and reservoirpy's ESN.

A contestant draws a random configuration, fits it to a standardised series one step ahead, and
hands back a loop: spun up with true values, it feeds its forecasts back to itself.
`benchmarks.chaos_orc` has the contestants of OpenReservoirComputing.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

WASHOUT = 100
LIMIT = 1e3  # standard deviations: a forecast beyond is lost, and overflows some steps later
# known (P, W, D): at each of P places the W values before it; steps -> forecasts (P, steps, D).
Loop = Callable[[np.ndarray, int], np.ndarray]
Space = Mapping[str, Sequence[Any]]


class Contestant(Protocol):
    """A model with a search space; forecasts that diverged end in NaN, without a warning."""

    name: str

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Learn `train` (T, D), of mean 0 and variance 1, one step ahead after a washout."""


def draw_from(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """One value of each parameter, all equally likely."""
    return {name: values[int(rng.integers(len(values)))] for name, values in space.items()}


def blank_lost(forecasts: np.ndarray) -> np.ndarray:
    """Forecasts (P, steps, D) with NaN from the first step on that is no number or too large."""
    good = (np.abs(forecasts) <= LIMIT).all(axis=-1)
    kept = np.logical_and.accumulate(good, axis=1)
    return np.where(kept[..., None], forecasts, np.nan)


class ReservoirpyESN:
    """reservoirpy's Reservoir >> Ridge.

    The space holds its defaults and what its tutorials on Mackey-Glass and hyperparameters choose,
    except no penalty at all; and a bias, which symmetric systems like Lorenz's cannot do without.
    """

    name = "reservoirpy ESN"
    space: ClassVar[Space] = {
        "sr": (0.1, 0.3, 0.6, 0.9, 1.0, 1.25),
        "lr": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0),
        "input_scaling": (0.03, 0.1, 0.3, 1.0, 2.0),
        "input_connectivity": (0.1, 0.2, 0.5, 1.0),
        "rc_connectivity": (0.02, 0.05, 0.1, 0.3),
        "bias": (0.0, 0.1, 0.3, 1.0, 2.0),
        "ridge": (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4),
    }

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""
        return draw_from(self.space, rng)

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Fit by the library's own `fit`."""
        from reservoirpy.mat_gen import uniform
        from reservoirpy.nodes import Reservoir, Ridge
        from scipy.linalg import LinAlgWarning

        hyper = dict(hyper)
        readout = Ridge(ridge=hyper.pop("ridge"))
        bias = np.random.default_rng(seed).uniform(-1, 1, units) * hyper.pop("bias")
        reservoir = Reservoir(units=units, seed=seed, bias=bias, Win=uniform, **hyper)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # a small penalty is a choice
            (reservoir >> readout).fit(train[:-1], train[1:], warmup=WASHOUT)
        reservoir.bias = bias[:, None]  # from now on states are columns, one for each place
        return partial(_reservoirpy_loop, reservoir, readout)


def _reservoirpy_loop(reservoir: Any, readout: Any, known: np.ndarray, steps: int) -> np.ndarray:
    """Forecasts at all places at once, in a half to a seventh of the time of calls of the model.

    A step of a node is a function of state and input that works on columns as well as on vectors;
    the model's checks, its bookkeeping and one product for each place are what it saves.
    """
    places, _, features = known.shape
    state = {"out": np.zeros((reservoir.units, places))}
    for values in known.transpose(1, 2, 0):
        state = reservoir._step(state, values)
    forecasts = np.full((places, steps, features), np.nan)
    alive = np.arange(places)
    with np.errstate(all="ignore"):
        for step in range(steps):
            values = readout._step({}, state["out"].T)["out"]
            good = (np.abs(values) <= LIMIT).all(axis=1)
            if not good.all():
                alive, values, state = alive[good], values[good], {"out": state["out"][:, good]}
                if not alive.size:
                    break
            forecasts[alive, step] = values
            state = reservoir._step(state, values.T)
    return forecasts
