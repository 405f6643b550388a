"""From a search space to a configuration: what a trial suggests, as constructor arguments.

A configuration is plain data, so that it can be written down and read again: the arguments of the
reservoir, `inter` among them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from paralesn.experiments.catalogue import Model, read

Configuration = dict[str, Any]
SPACES = ("paper", "extended")
# What a layer has of its own; `input_scale` and so on, but neither `layers` nor `concat`.


def alphas(space: str) -> tuple[float, ...]:
    """Penalties of the readout in a space."""
    return tuple(float(alpha) for alpha in read("spaces.toml")[space]["alphas"])


def suggest(trial: Any, model: Model, space: str) -> Configuration:
    """Ask an Optuna trial for a configuration of a model."""
    everything = read("spaces.toml")[space]
    of_a_layer = everything[model.space]
    found: Configuration = {name: _draw(trial, name, spec) for name, spec in of_a_layer.items()}
    if model.deep:
        for name, spec in everything["deep"].items():
            found[name] = _draw(trial, name, spec)
        found["inter"] = {
            name: _draw(trial, f"inter {name}", spec) for name, spec in of_a_layer.items()
        }
    return found


def _draw(trial: Any, name: str, spec: Any) -> Any:
    """One hyperparameter, or a pair of them."""
    if isinstance(spec, list):
        return trial.suggest_categorical(name, spec)
    if "max" not in spec:
        return _number(trial.suggest_float, name, spec)
    if isinstance(spec["max"], list):  # only pairs that are configurations
        pairs = [(low, high) for high in spec["max"] for low in spec["min"] if low <= high]
        labels = [f"{low:.4g}..{high:.4g}" for low, high in pairs]
        return list(pairs[labels.index(trial.suggest_categorical(name, labels))])
    highest = _number(trial.suggest_float, f"{name} max", spec["max"])
    share = _number(trial.suggest_float, f"{name} min", spec["min"])
    return [share * highest, highest]


def _number(suggest: Callable[..., float], name: str, spec: Mapping[str, Any]) -> float:
    value = suggest(name, spec["low"], spec["high"], log=spec.get("log", False))
    return 1.0 - value if spec.get("from_one") else value
