"""From a search space to a configuration: what a trial suggests, as constructor arguments.

A configuration is plain data, so that it can be written down and read again: the arguments of the
reservoir, `inter` among them. Where a space leaves it open how a task is put to a model, `protocol`
says so: that is nothing the reservoir is told.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import paralesn
from paralesn.paper.catalogue import Model, Task, read

Configuration = dict[str, Any]
SPACES = ("paper", "extended")
VALUES = {"inputs": "values", "targets": "values"}  # how a task is put to a model
CHANGES = {"inputs": "changes", "targets": "changes"}


def alphas(space: str) -> tuple[float, ...]:
    """Penalties of the readout that a space holds."""
    return tuple(float(alpha) for alpha in read("spaces.toml")[space]["alphas"])


def stacks(space: str) -> list[Configuration]:
    """Every way of stacking layers in a space."""
    specs = read("spaces.toml")[space]["deep"]
    return [dict(zip(specs, values, strict=True)) for values in product(*specs.values())]


def exists(model: Model, space: str) -> bool:
    """Whether a model is searched in a space."""
    return space in (model.spaces or SPACES) and model.space in read("spaces.toml")[space]


def ways(task: Task | None, space: str) -> dict[str, Any]:
    """What a space leaves open about how a task is put to a model; the same for every model."""
    return read("spaces.toml")[space].get("protocol", {}) if task and task.wanders else {}


def suggest(trial: Any, model: Model, space: str, task: Task | None = None) -> Configuration:
    """Ask an Optuna trial for a configuration of a model, on a task."""
    everything = read("spaces.toml")[space]
    of_a_layer = everything[model.space]
    configuration = {name: _draw(trial, name, spec) for name, spec in of_a_layer.items()}
    if model.deep:
        for name, spec in everything["deep"].items():
            configuration[name] = _draw(trial, name, spec)
        configuration["inter"] = {
            name: _draw(trial, f"inter {name}", spec) for name, spec in of_a_layer.items()
        }
    if specs := ways(task, space):
        configuration["protocol"] = {
            name: _draw(trial, f"protocol {name}", spec) for name, spec in specs.items()
        }
    return configuration


def one_by_one(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters of a configuration by name, a pair as its minimum and its maximum.

    Examples
    --------
    >>> one_by_one({"rho": [0.1, 0.9], "inter": {"tau": 1.0}})
    {'rho min': 0.1, 'rho max': 0.9, 'inter tau': 1.0}
    """
    found: dict[str, Any] = {}
    for name, value in configuration.items():
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": one for key, one in one_by_one(value).items()}
        elif isinstance(value, list):
            found |= {f"{name} min": value[0], f"{name} max": value[1]}
        else:
            found[name] = value
    return found


def hyperparameters(
    configuration: Configuration, model: Model, space: str, task: Task | None = None
) -> dict[str, Any]:
    """Parameters of a trial that suggests a configuration, or the nearest one in the space.

    Where the configuration leaves an argument out, the reservoir's default stands for it.
    """
    defaults = {} if model.trained else getattr(paralesn, model.reservoir)().get_params()
    everything = read("spaces.toml")[space]
    of_a_layer = everything[model.space]
    parameters: dict[str, Any] = {}
    for prefix, arguments, specs in (
        ("", configuration, of_a_layer | (everything["deep"] if model.deep else {})),
        ("inter ", configuration.get("inter", {}), of_a_layer if model.deep else {}),
        ("protocol ", VALUES | configuration.get("protocol", {}), ways(task, space)),
    ):
        for name, spec in specs.items():
            if name not in arguments and model.trained:
                continue  # there is no default: the trial draws it
            value = arguments[name] if name in arguments else defaults[name]
            parameters |= _parameters(prefix + name, spec, value)
    return parameters


def _parameters(name: str, spec: Any, value: Any) -> dict[str, Any]:
    """The parameters of a trial that give a value: the reverse of `_draw`."""
    if isinstance(spec, list):
        if isinstance(value, str):
            return {name: value}
        return {name: min(spec, key=lambda choice: abs(choice - value))}
    if "max" not in spec:
        return {name: _within(spec, value)}
    low, high = value
    if isinstance(spec["max"], list):
        nearest = min(_pairs(spec), key=lambda pair: abs(pair[0] - low) + abs(pair[1] - high))
        return {name: _label(nearest)}
    share = low / high if high else 1.0
    return {f"{name} max": _within(spec["max"], high), f"{name} min": _within(spec["min"], share)}


def _within(spec: Mapping[str, Any], value: float) -> float:
    """The nearest number that a trial can suggest."""
    suggested = 1.0 - value if spec.get("from_one") else value
    return float(min(max(suggested, spec["low"]), spec["high"]))


def _pairs(spec: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Lower and upper limits that can be combined."""
    return [(low, high) for high in spec["max"] for low in spec["min"] if low <= high]


def _label(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.4g}..{pair[1]:.4g}"


def _draw(trial: Any, name: str, spec: Any) -> Any:
    """One hyperparameter, or a pair of them."""
    if isinstance(spec, list):
        return trial.suggest_categorical(name, spec)
    if "max" not in spec:
        return _number(trial.suggest_float, name, spec)
    if isinstance(spec["max"], list):
        pairs = _pairs(spec)
        labels = [_label(pair) for pair in pairs]
        return list(pairs[labels.index(trial.suggest_categorical(name, labels))])
    highest = _number(trial.suggest_float, f"{name} max", spec["max"])
    share = _number(trial.suggest_float, f"{name} min", spec["min"])
    return [share * highest, highest]


def _number(suggest: Callable[..., float], name: str, spec: Mapping[str, Any]) -> float:
    value = suggest(name, spec["low"], spec["high"], log=spec.get("log", False))
    return 1.0 - value if spec.get("from_one") else value
