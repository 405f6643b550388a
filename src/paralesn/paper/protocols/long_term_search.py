"""The search of long-term forecasts: which configurations are judged, and what is chosen of them.

Every configuration of the space, the best ones with further seeds, and corrections of the very best
one's readout.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from paralesn.paper.catalogue import read
from paralesn.paper.configurations import Tuned
from paralesn.paper.records import Record

FILE = "longterm.toml"
MODEL = "ReservoirForecaster"
SPACE = "extended"  # the paper has none for it
KIND = "long-term trial"
CORRECTION = "correction"  # in a configuration: the penalty of corrections of the shared readout
SEED = 1000
_NAMES = ("units", "rho", "theta", "phases")  # hyperparameters that are searched
_FINALISTS, _FINAL_SEEDS = 4, range(1001, 1003)


def trials(task: str, judged: Sequence[Record]) -> list[Record]:
    """Runs that the search on a set consists of, as far as is known by those on record."""
    wanted = first_trials(task)
    if not are_judged(wanted, judged):
        return wanted
    once = [run for run in judged if run["seed"] == SEED and run["alpha"] is None]
    wanted += finals(once)
    if not are_judged(wanted, judged):
        return wanted
    return wanted + corrected_trials(choose_shared(judged)[task])


def first_trials(task: str) -> list[Record]:
    """Runs that a search begins with: every configuration of the space."""
    space = read(FILE)["space"]
    return [
        _trial(task, dict(zip(_NAMES, values, strict=True)), SEED)
        for values in product(space["units"][task], *(space[field] for field in _NAMES[1:]))
    ]


def finals(known: Iterable[Record]) -> list[Record]:
    """Runs of the best configurations of each set with further seeds."""
    wanted = []
    for name, groups in _grouped(known).items():
        ranked = sorted(groups, key=lambda group: group[0]["validation"])
        for group, seed in product(ranked[:_FINALISTS], _FINAL_SEEDS):
            wanted.append(_trial(name, group[0]["configuration"], seed))
    return wanted


def choose_shared(known: Iterable[Record]) -> dict[str, Tuned]:
    """The best configuration of each set on validation data, of those judged by most seeds."""
    chosen = {}
    for name, groups in _grouped(run for run in known if run["alpha"] is None).items():
        seeds = max(map(len, groups))
        scores = {
            float(np.mean([run["validation"] for run in group])): group
            for group in groups
            if len(group) == seeds
        }
        best = scores[min(scores)]
        configuration = best[0]["configuration"]
        judged = (min(scores), len(groups), 0.0, seeds)
        chosen[name] = Tuned(name, MODEL, SPACE, configuration, _middle(best), *judged)
    return chosen


def corrected_trials(chosen: Tuned) -> list[Record]:
    """Runs that judge corrections of the configuration that was chosen for a set."""
    seeds = (SEED, *_FINAL_SEEDS)
    return [
        _trial(chosen.task, chosen.configuration, seed) | {"alpha": chosen.alpha} for seed in seeds
    ]


def choose(known: Sequence[Record]) -> dict[str, Tuned]:
    """The best configuration of each set, with corrections where these are better than none."""
    chosen = choose_shared(known)
    for name, groups in _grouped(run for run in known if run["alpha"] is not None).items():
        for group in groups:
            score, shared = (np.mean([run[of] for run in group]) for of in ("validation", "shared"))
            if group[0]["configuration"] == chosen[name].configuration and score < shared:
                configuration = {**chosen[name].configuration, CORRECTION: _middle(group)}
                tuned = replace(chosen[name], configuration=configuration)
                chosen[name] = replace(tuned, validation=float(score))
    return chosen


def _middle(group: Iterable[Record]) -> float:
    """The penalty of several seeds, which may differ by a step of the grid."""
    return float(f"{np.exp(np.mean(np.log([run['chosen'] for run in group]))):.3g}")


def _grouped(known: Iterable[Record]) -> dict[str, list[list[Record]]]:
    """Runs by set and configuration."""
    by_set: dict[str, dict[str, list[Record]]] = {}
    for run in known:
        key = json.dumps(run["configuration"], sort_keys=True)
        by_set.setdefault(run["task"], {}).setdefault(key, []).append(run)
    return {name: list(groups.values()) for name, groups in by_set.items()}


def are_judged(wanted: Iterable[Record], judged: Iterable[Record]) -> bool:
    """Whether all wanted trials of a set are among those that were judged."""
    fields = ("configuration", "alpha", "seed")
    done = [[run[field] for field in fields] for run in judged]
    return all([run[field] for field in fields] in done for run in wanted)


def _trial(task: str, configuration: Mapping[str, Any], seed: int) -> Record:
    return {
        "kind": KIND,
        "task": task,
        "model": MODEL,
        "configuration": dict(configuration),
        "alpha": None,
        "seed": seed,
    }
