"""Our contestants for closed-loop forecasts of chaotic series, all through `StateForecaster`.

The penalty of the readout is no part of their search: `fit` chooses it by closed loops into the
last fifth of the training series.
"""

from typing import Any, ClassVar

import numpy as np

from benchmarks.chaos_rivals import WASHOUT, Loop, Space, blank_lost, draw_from
from paralesn import ESN, NVAR, LocalReservoirs, ParalESN, ReservoirForecaster, Ridge
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.reservoirs.autonomous import ClosedLoop

PENALTIES = tuple(10.0**k for k in range(-12, 1))


def fit_loop(reservoir: Any, train: np.ndarray, **options: Any) -> Loop:
    """Fit a forecaster, and forecast from several places at once."""
    readout = Ridge(options.pop("penalties", PENALTIES))
    model = StateForecaster(
        reservoir, readout, washout=WASHOUT, standardize=False, by_loop=True, **options
    )
    return spun_up(model.fit(train).closed_loop_)


def spun_up(closed: ClosedLoop) -> Loop:
    """The loop from several places, at which it was not in training."""

    def loop(known: np.ndarray, steps: int) -> np.ndarray:
        return blank_lost(closed.started(known).forecast(steps))

    return loop


class OurParalESN:
    """A ParalESN whose last layer has as many units as the others have.

    Half of the draws have one layer, for systems whose next state follows from the present one. The
    others have two or three: the first bends its input, with hardly any memory, and the later ones
    remember what it made of it. The readout reads the last layer.
    """

    name = "ParalESN"
    bends: ClassVar[Space] = {
        "rho": (0.0, 0.1, 0.3, 0.6, 0.9),  # the largest radius, the smallest being 0
        "theta": (0.3, np.pi / 2, 2 * np.pi),
        "input_scale": (0.03, 0.1, 0.3, 1.0),
        "bias_scale": (0.1, 0.3, 1.0),
        "mix_scale": (0.3, 1.0, 2.0),
        "mix_bias_scale": (0.0, 0.3, 1.0),
        "mix_size": (1, 3, 7),
        "difference": (True, False),
    }
    bends_first: ClassVar[Space] = {
        "rho": (0.0, 0.2),
        "theta": (np.pi / 2,),
        "input_scale": (0.3, 1.0, 2.0),
        "bias_scale": (1.0,),
        "mix_scale": (0.5, 1.0),
        "mix_size": (1,),
        "layers": (2, 3),
        "difference": (True, False),
    }
    remembers: ClassVar[Space] = {
        "rho": (0.6, 0.8, 0.9, 0.95),
        "theta": (0.4, 0.8, np.pi / 2),
        "phases": ("even",),
        "tau": (0.3, 1.0),
        "input_scale": (0.3, 1.0, 1.7),
        "bias_scale": (0.0, 0.3),
        "mix_scale": (0.1, 0.3, 1.0),
        "mix_bias_scale": (0.3,),
        "mix_size": (1, 3, 7),
    }

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""
        if rng.integers(2):
            return draw_from(self.bends, rng)
        return {**draw_from(self.bends_first, rng), "inter": draw_from(self.remembers, rng)}

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Draw and fit."""
        return fit_loop(paralesn(hyper, seed, units), train, difference=hyper["difference"])


def paralesn(hyper: dict[str, Any], seed: int, units: int) -> ParalESN:
    """The reservoir of a configuration, whose radii and phases begin at 0."""
    drawn = {name: value for name, value in hyper.items() if name != "difference"}
    inter = drawn.pop("inter", None)
    return ParalESN(
        units=units, seed=seed, **_ranges(drawn), inter=None if inter is None else _ranges(inter)
    )


def _ranges(hyper: dict[str, Any]) -> dict[str, Any]:
    """A layer's hyperparameters with ranges in place of largest radius and phase."""
    return {**hyper, "rho": (0.0, hyper["rho"]), "theta": (0.0, hyper["theta"])}


class OurDefault:
    """The forecaster as it comes: nothing is searched, drawn or sized by the benchmark."""

    name = "default"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """There is only one configuration."""
        return {}

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Fit."""
        closed = ReservoirForecaster(strategy="closed-loop").fit(train).closed_loop_
        return spun_up(closed)


class OurESN:
    """A leaky ESN."""

    name = "ESN"
    space: ClassVar[Space] = {
        "rho": (0.05, 0.1, 0.3, 0.6, 0.9, 1.1),
        "tau": (0.3, 0.5, 0.7, 1.0),
        "input_scale": (0.03, 0.1, 0.3, 1.0),
        "bias_scale": (0.1, 0.3, 1.0),
        "density": (0.02, 0.1, 0.3),
        "difference": (True, False),
    }

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""
        return draw_from(self.space, rng)

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Draw and fit."""
        drawn = {name: value for name, value in hyper.items() if name != "difference"}
        reservoir = ESN(units=units, seed=seed, **drawn)
        return fit_loop(reservoir, train, difference=hyper["difference"])


class OurNVAR:
    """Delays and products of them, at most as many as the others have units."""

    name = "NVAR"
    space: ClassVar[Space] = {
        "delay": (1, 2, 3, 4, 6, 9),
        "order": (2, 3, 4, 5),
        "stride": (1, 2, 3, 5, 8, 17),
        "difference": (True, False),
    }

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""
        return draw_from(self.space, rng)

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Fit with as many orders as the number of units allows; nothing is drawn."""
        delay, order, stride = hyper["delay"], hyper["order"], hyper["stride"]
        while _products(train.shape[1] * delay, order) > units and order > 1:
            order -= 1
        while _products(train.shape[1] * delay, order) > units and delay > 1:
            delay -= 1
        reservoir = NVAR(delay, order, stride=stride)
        return fit_loop(reservoir, train, difference=hyper["difference"])


def _products(variables: int, order: int) -> int:
    """Products of at most so many factors."""
    from math import comb

    return comb(variables + order, order) - 1


class OurLocalReservoirs:
    """The same reservoir, a ParalESN or an ESN, on patches of a field, with one readout."""

    spaces: ClassVar[dict[type, Space]] = {
        ParalESN: {
            "rho": (0.0, 0.1, 0.3, 0.6),  # the largest radius, the smallest being 0
            "theta": (np.pi / 2, 2 * np.pi),
            "input_scale": (0.03, 0.05, 0.1, 0.2),
            "bias_scale": (0.3, 1.0),
            "mix_scale": (0.5, 1.0, 2.0),
            "mix_bias_scale": (0.0, 0.3),
            "mix_size": (1, 3, 7),
            "difference": (True, False),
        },
        ESN: {
            "rho": (0.05, 0.1, 0.3, 0.6, 0.9),
            "tau": (0.5, 0.7, 1.0),
            "input_scale": (0.03, 0.05, 0.1, 0.2),
            "bias_scale": (0.3, 1.0),
            "density": (0.02, 0.1),
            "difference": (True, False),
        },
    }
    penalties = tuple(10.0**k for k in range(-8, 3))

    def __init__(self, features: int, kind: type = ParalESN) -> None:
        self.features, self.kind = features, kind
        self.name = f"LocalReservoirs({kind.__name__})"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration, with patches that share out the field evenly."""
        sizes = [n for n in (4, 8, 16) if n < self.features and self.features % n == 0]
        size = draw_from({"size": sizes}, rng)["size"]
        reach = draw_from({"overlap": (size // 2, size, size + size // 2)}, rng)
        noise = draw_from({"noise": (0.0, 1e-4, 3e-4, 1e-3, 3e-3)}, rng)
        return {**draw_from(self.spaces[self.kind], rng), "size": size, **reach, **noise}

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Draw and fit, with `units` units on each patch."""
        hyper = dict(hyper)
        patches = {name: hyper.pop(name) for name in ("size", "overlap")}
        options = {name: hyper.pop(name) for name in ("noise", "difference")}
        reservoir: Any = ESN(units=units, seed=seed, **hyper) if self.kind is ESN else None
        if reservoir is None:
            reservoir = paralesn(hyper, seed, units)
        local = LocalReservoirs(reservoir, **patches)
        return fit_loop(local, train, **options, penalties=self.penalties, held_out=0.1)
