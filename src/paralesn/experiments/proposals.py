"""What a study tries besides what its sampler suggests: known good configurations, and neighbours.

A deep model has over twenty hyperparameters, too many for a model of the loss after a hundred
trials. So a study begins with what others found for the same task (the shallow model, the paper's
space), and every other trial changes a few hyperparameters of one of its own best.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn.experiments import spaces
from paralesn.experiments.catalogue import models, read, tasks

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

BEST = 6  # trials whose neighbours are tried
_CHANGES = 2.0  # hyperparameters that a neighbour changes, on average
_STEP = 0.15  # of a range, standard deviation


def starts(
    task: str, model: str, space: str, known: dict[tuple[str, str], spaces.Configuration]
) -> list[dict[str, Any]]:
    """Hyperparameters to begin with, from the configurations of other studies of the task.

    `known` holds them by model and space: the model's own in the paper's space, and those of its
    shallow form, stacked in two ways. A few more come with the package.
    """
    one, given = models()[model], read("classification.toml")["starts"]
    found = [
        configuration
        for place in (task, tasks()[task].group)
        for configuration in given.get(place, {}).get(model, {}).get(space, [])
    ]
    if space != "paper" and (model, "paper") in known:
        found.append(known[model, "paper"])
    shallow = model.removesuffix(" (deep)")
    if one.deep and (shallow, space) in known:
        layer = known[shallow, space]
        found += [
            {**layer, "layers": 2, "concat": concat, "inter": layer} for concat in (False, True)
        ]
    return [spaces.hyperparameters(configuration, one, space) for configuration in found]


def neighbour(study: "Study", rng: np.random.Generator) -> dict[str, Any] | None:
    """One of the best trials with a few hyperparameters changed, or None if there are none."""
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not complete:
        return None
    tried = [trial.params for trial in study.get_trials(deepcopy=False)]
    ranked = sorted(complete, key=lambda trial: trial.value or 0.0)
    for _ in range(20):
        parent = ranked[int(rng.integers(min(BEST, len(ranked))))]
        names = list(parent.params)
        chosen = [name for name in names if rng.random() < _CHANGES / len(names)]
        changed = dict(parent.params)
        for name in chosen or [names[int(rng.integers(len(names)))]]:
            changed[name] = _step(parent.distributions[name], changed[name], rng)
        if changed not in tried:
            return changed
    return None


def _step(distribution: "BaseDistribution", value: Any, rng: np.random.Generator) -> Any:
    """Another value of a hyperparameter: a different choice, or a step within its range."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if isinstance(distribution, CategoricalDistribution):
        others = [choice for choice in distribution.choices if choice != value]
        return others[int(rng.integers(len(others)))] if others else value
    assert isinstance(distribution, FloatDistribution)  # there are no others in our spaces
    low, high = distribution.low, distribution.high
    if distribution.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    value = float(np.clip(value + _STEP * (high - low) * rng.standard_normal(), low, high))
    value = math.exp(value) if distribution.log else value
    return min(max(value, distribution.low), distribution.high)
