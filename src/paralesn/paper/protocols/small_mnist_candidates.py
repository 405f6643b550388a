"""What a search of the small digits judges: learning rates, and configurations of reservoirs.

Every reservoir has as many candidates: what was chosen for the large digits, the same with a
shorter memory, neighbours of both, and others from anywhere in the space.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paralesn.datasets.seeds import stream
from paralesn.paper.catalogue import models, read
from paralesn.paper.spaces import hyperparameters, suggest

FILE = "small-mnist.toml"
SPACE = "extended"


def candidates(task: str, model: str) -> list[dict[str, Any]]:
    """Configurations that a search judges."""
    known = read(FILE)["search"]
    if models()[model].trained:
        return [{"learning_rate": rate} for rate in known["learning_rates"]]
    large = read(FILE)["large"][task][model]
    given = [large, quicker(large, read(FILE)["digits"]["pool"] ** 2)]
    rng = stream(known["seed"], task + model)
    near = [hyperparameters(given[i % 2], models()[model], SPACE) for i in range(known["near"])]
    for draw in [_Draw(rng, centre) for centre in [*near, *[None] * known["anywhere"]]]:
        while (found := suggest(draw, models()[model], SPACE)) in given:
            pass
        given.append(found)
    return given


def quicker(configuration: Mapping[str, Any], times: int) -> dict[str, Any]:
    """A configuration whose units remember so many times fewer steps, and turn as much faster.

    Eigenvalues are raised to that power; of dense matrices only the leak is known.
    """
    changed = dict(configuration)
    if isinstance(changed["rho"], list):
        changed["rho"] = [radius**times for radius in changed["rho"]]
        changed["theta"] = [min(times * angle, 2 * math.pi) for angle in changed["theta"]]
    elif changed["tau"] < 1.0:
        changed["tau"] = 1.0 - (1.0 - changed["tau"]) ** times
    if "inter" in changed:
        changed["inter"] = quicker(changed["inter"], times)
    return changed


class _Draw:
    """Suggests hyperparameters as a trial of Optuna does: at random, or a few near known ones."""

    def __init__(self, rng: np.random.Generator, centre: Mapping[str, Any] | None) -> None:
        self.rng, self.centre = rng, centre

    def _kept(self, name: str) -> bool:
        """Whether a hyperparameter stays what it is: three of them change on average."""
        return self.centre is not None and bool(self.rng.random() > 3 / len(self.centre))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of the choices."""
        if self._kept(name):
            return self.centre[name]  # type: ignore[index]
        return choices[int(self.rng.integers(len(choices)))]

    def suggest_float(self, name: str, low: float, high: float, log: bool = False) -> float:
        """A number in the range; near a known one, a step of a tenth of the range on average."""
        if self._kept(name):
            return float(self.centre[name])  # type: ignore[index]
        a, b = (math.log(low), math.log(high)) if log else (low, high)
        if self.centre is None:
            drawn = self.rng.uniform(a, b)
        else:
            known = math.log(self.centre[name]) if log else self.centre[name]
            drawn = np.clip(known + 0.12 * (b - a) * self.rng.standard_normal(), a, b)
        return float(math.exp(drawn) if log else drawn)
