"""What a study tries besides what its sampler suggests: known good configurations, and neighbours.

A deep model has over twenty hyperparameters, too many for a model of the loss after a hundred
trials. So a study begins with the best configurations of other studies (of the shallow model, of
the paper's space, of other tasks), and every other trial changes a few hyperparameters of one of
its own best.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn.paper import spaces
from paralesn.paper.catalogue import models, read, tasks

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

SHALLOW = 3  # configurations of the shallow model that a deep one begins with
BEST = 6  # trials whose neighbours are tried
_CHANGES = 2.0  # hyperparameters that a neighbour changes, on average
_STEP = 0.15  # of a range, standard deviation


def starts(
    task: str,
    model: str,
    space: str,
    own: list[spaces.Configuration],
    shallow: list[spaces.Configuration],
) -> list[dict[str, Any]]:
    """Hyperparameters to begin with.

    `own` are configurations that other studies of the model chose or that come with the package,
    `shallow` good ones of its shallow form, which are stacked in every way. Where the task may be
    put to a model in several ways, those that do not say how are tried in two: values and changes.
    """
    stacked = [
        {**layer, **stack, "inter": layer} for layer in shallow for stack in spaces.stacks(space)
    ]
    ways = [{}, {"protocol": spaces.CHANGES}] if spaces.ways(tasks()[task], space) else [{}]
    return [
        spaces.hyperparameters(way | configuration, models()[model], space, tasks()[task])
        for configuration in [*own, *stacked]
        for way in (ways if "protocol" not in configuration else [{}])
    ]


def given(task: str, model: str, space: str) -> list[spaces.Configuration]:
    """Configurations to begin with that come with the package, for a task and for its group."""
    shipped = read("classification.toml")["starts"]
    return [
        configuration
        for name in (task, tasks()[task].group)
        for configuration in shipped.get(name, {}).get(model, {}).get(space, [])
    ]


def various(study: "Study", count: int) -> list[spaces.Configuration]:
    """The best configurations of a study that differ in their eigenvalues.

    Configurations that do equally well in one layer may differ widely in a stack, such as those
    with eigenvalues in the upper half plane and those with eigenvalues in all of it.
    """
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    distinct: dict[str, spaces.Configuration] = {}
    for trial in sorted(complete, key=lambda trial: trial.value or 0.0):
        configuration = trial.user_attrs["configuration"]
        key = repr([configuration.get(name) for name in ("rho", "theta", "scale", "phases")])
        distinct.setdefault(key, configuration)
    return list(distinct.values())[:count]


def neighbour(study: "Study", rng: np.random.Generator) -> dict[str, Any] | None:
    """One of the best trials with a few hyperparameters changed, or None if there are none."""
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not complete:
        return None
    tried = [trial.params for trial in study.get_trials(deepcopy=False)]
    ranked = sorted(complete, key=lambda trial: trial.value or 0.0)
    for _ in range(20):
        parent = ranked[min(int(rng.geometric(0.4)), BEST, len(ranked)) - 1]  # the best most often
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
